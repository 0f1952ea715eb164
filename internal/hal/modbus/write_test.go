package modbus

import (
	"slices"
	"testing"

	"capd/internal/hal"
	"capd/internal/hal/modbus/faultserver"
	"capd/internal/physical"
)

func TestWrites(t *testing.T) {
	word := func(address int, v uint16) faultserver.Write {
		return faultserver.Write{Unit: 1, Table: faultserver.HoldingRegisters, Address: address, Value: v}
	}
	for _, c := range []struct {
		device, place string
		value         physical.Value
		raw           string
		want          []faultserver.Write
	}{
		{"{unit_id: 1}", "{table: holding_register, address: 1, type: uint16}", physical.IntOf(600), "\x02\x58", []faultserver.Write{word(1, 600)}},
		{"{unit_id: 1}", "{table: holding_register, address: 1, type: int16, byte_order: BA}", physical.IntOf(-2), "\xFF\xFE", []faultserver.Write{word(1, 0xFEFF)}},
		{"{unit_id: 1}", "{table: holding_register, address: 1, type: uint32, byte_order: CDAB}", physical.IntOf(0x01020304), "\x01\x02\x03\x04",
			[]faultserver.Write{word(1, 0x0304), word(2, 0x0102)}},
		{"{unit_id: 1}", "{table: holding_register, address: 1, type: string, length: 3}", physical.TextOf("abc"), "abc",
			[]faultserver.Write{word(1, 0x6162), word(2, 0x6300)}},
		{"{unit_id: 1, quirks: {write_fc: 16}}", "{table: holding_register, address: 1, type: uint16}", physical.IntOf(600), "\x02\x58", []faultserver.Write{word(1, 600)}},
		{"{unit_id: 1}", "{table: coil, address: 2}", physical.FlagOf(true), "\x01", []faultserver.Write{{Unit: 1, Table: faultserver.Coils, Address: 2, Value: 1}}},
		{"{unit_id: 1, quirks: {write_coil_fc: 15}}", "{table: coil, address: 2}", physical.FlagOf(false), "\x00", []faultserver.Write{{Unit: 1, Table: faultserver.Coils, Address: 2}}},
		{"{unit_id: 1, quirks: {mask_write: true}}", "{table: holding_register, address: 5, bit: 15}", physical.FlagOf(true), "\x01", []faultserver.Write{word(5, 105|0x8000)}},
		{"{unit_id: 1}", "{table: holding_register, address: 5, bit: 0, rmw: true}", physical.FlagOf(false), "\x00", []faultserver.Write{word(5, 104)}},
		{"{unit_id: 1, quirks: {write_fc: 16}}", "{table: holding_register, address: 5, bit: 1, byte_order: BA, rmw: true}", physical.FlagOf(true), "\x01", []faultserver.Write{word(5, 105|0x0200)}},
		{"{unit_id: 1}", "{table: holding_register, address: 5, type: uint8, byte: high, rmw: true}", physical.IntOf(0xAB), "\xAB", []faultserver.Write{word(5, 0xAB00|105)}},
	} {
		b := bank()
		s := serve(t, faultserver.Options{Memory: b})
		conn := open(t, s.Addr(), c.device)
		a := pointOn(t, c.place, c.device, "")
		ack, err := conn.Write(t.Context(), "A", a, c.value)
		if err != nil || string(ack.Raw) != c.raw || ack.At.Before(ack.Started) || ack.Started.IsZero() {
			t.Errorf("%s: %+v, %v", a, ack, err)
		}
		if got := b.Writes(); !slices.Equal(got, c.want) {
			t.Errorf("%s: executed %v, want %v", a, got, c.want)
		}
		if back := read(t, conn, a)[0]; string(back.Raw) != string(ack.Raw) {
			t.Errorf("%s: reads back % X, acknowledged % X", a, back.Raw, ack.Raw)
		}
	}
}

func TestWritesThatCannotBeMadeSendNothing(t *testing.T) {
	s := serve(t, faultserver.Options{Memory: bank()})
	c := open(t, s.Addr(), "{unit_id: 1}")
	word := at(t, reg1)
	for _, w := range []struct {
		device string
		at     hal.Address
		value  physical.Value
	}{
		{"A", word, physical.IntOf(65536)},
		{"A", word, physical.FlagOf(true)},
		{"Z", word, physical.IntOf(1)},
		{"A", foreign{}, physical.IntOf(1)},
		{"A", at(t, "{table: input_register, address: 1, type: uint16}"), physical.IntOf(1)},
		{"A", at(t, "{table: holding_register, address: 1, bit: 1}"), physical.FlagOf(true)},
	} {
		_, err := c.Write(t.Context(), w.device, w.at, w.value)
		if e := wantKind(t, err, hal.BadAddress); e.MaySent || e.Device != w.device || e.Op != "write "+w.at.String() {
			t.Errorf("%+v", e)
		}
		if _, err := c.Preview(w.device, w.at, w.value); err == nil {
			t.Errorf("%s is previewed", w.at)
		}
	}
	if s.Requests() != 0 {
		t.Errorf("%d requests", s.Requests())
	}
}

func TestAReadModifyWriteThatCannotReadSendsNoWrite(t *testing.T) {
	b := bank()
	s := serve(t, faultserver.Options{Memory: b, Next: script(faultserver.Busy)})
	c := open(t, s.Addr(), "{unit_id: 1, quirks: {busy_retries: 0}}")
	_, err := c.Write(t.Context(), "A", at(t, "{table: holding_register, address: 1, bit: 1, rmw: true}"), physical.FlagOf(true))
	if e := wantKind(t, err, hal.BusyDevice); e.MaySent || e.Code != 6 || len(b.Writes()) != 0 {
		t.Errorf("%+v, executed %v", e, b.Writes())
	}
}

func TestExceptionsOfAWriteAreTheDevicesAnswer(t *testing.T) {
	for _, x := range []struct {
		fault faultserver.Fault
		kind  hal.ErrorKind
		code  int
	}{{faultserver.IllegalAddress, hal.Exception, 2}, {faultserver.Busy, hal.BusyDevice, 6}, {faultserver.GatewayTarget, hal.Gateway, 11}} {
		s := serve(t, faultserver.Options{Memory: bank(), Next: script(x.fault)})
		c := open(t, s.Addr(), "{unit_id: 1}")
		_, err := c.Write(t.Context(), "A", at(t, reg1), physical.IntOf(1))
		if e := wantKind(t, err, x.kind); e.Code != x.code || !e.MaySent {
			t.Errorf("%+v", e)
		}
		if s.Accepted() != 1 || c.ch.s == nil {
			t.Error("an exception cost the connection")
		}
	}
}

func TestPreviewsShowTheFrame(t *testing.T) {
	for _, c := range []struct {
		device, place string
		value         physical.Value
		want          string
	}{
		{"{unit_id: 1}", "{table: holding_register, address: 100, type: uint16}", physical.IntOf(600),
			"FC06 write_single_register unit 1 address 100 value 0x0258 | 00 00 00 00 00 06 01 06 00 64 02 58"},
		{"{unit_id: 1, quirks: {write_fc: 16}}", "{table: holding_register, address: 100, type: uint16}", physical.IntOf(600),
			"FC16 write_multiple_registers unit 1 address 100 values 0x0258 | 00 00 00 00 00 09 01 10 00 64 00 01 02 02 58"},
		{"{unit_id: 1}", "{table: holding_register, address: 100, type: uint32, byte_order: CDAB}", physical.IntOf(0x01020304),
			"FC16 write_multiple_registers unit 1 address 100 values 0x0304 0x0102 | 00 00 00 00 00 0B 01 10 00 64 00 02 04 03 04 01 02"},
		{"{unit_id: 2}", "{table: coil, address: 7}", physical.FlagOf(true),
			"FC05 write_single_coil unit 2 address 7 value 0xFF00 | 00 00 00 00 00 06 02 05 00 07 FF 00"},
		{"{unit_id: 2, quirks: {write_coil_fc: 15}}", "{table: coil, address: 7}", physical.FlagOf(true),
			"FC15 write_multiple_coils unit 2 address 7 values 1 | 00 00 00 00 00 08 02 0F 00 07 00 01 01 01"},
		{"{unit_id: 1, quirks: {mask_write: true}}", "{table: holding_register, address: 4, bit: 3}", physical.FlagOf(true),
			"FC22 mask_write_register unit 1 address 4 and 0xFFF7 or 0x0008 | 00 00 00 00 00 08 01 16 00 04 FF F7 00 08"},
		{"{unit_id: 1}", "{table: holding_register, address: 4, bit: 3, rmw: true}", physical.FlagOf(true),
			"FC03 read_holding_registers unit 1 address 4, then FC06 write_single_register unit 1 address 4 bits 0008 set to 0008"},
	} {
		conn := open(t, "127.0.0.1:1", c.device)
		got, err := conn.Preview("A", pointOn(t, c.place, c.device, ""), c.value)
		if err != nil || got != c.want {
			t.Errorf("\n got %s (%v)\nwant %s", got, err, c.want)
		}
	}
}
