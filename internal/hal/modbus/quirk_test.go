package modbus

import (
	"strings"
	"testing"

	"capd/internal/hal"
	"capd/internal/hal/modbus/faultserver"
	"capd/internal/physical"
)

// wholeBlocks is a device that gives bits only in blocks of 8 and registers only in blocks of 10 from 100 on.
type wholeBlocks struct{ faultserver.Memory }

func (w wholeBlocks) Execute(unit byte, pdu []byte) []byte {
	at, n := int(pdu[1])<<8|int(pdu[2]), int(pdu[3])<<8|int(pdu[4])
	switch {
	case pdu[0] <= 2 && (at%8 != 0 || n != 8), pdu[0] == 3 && (at%10 != 0 || n != 10):
		return []byte{pdu[0] | 0x80, 2}
	}
	return w.Memory.Execute(unit, pdu)
}

func TestADeviceThatGivesWholeBlocksOnly(t *testing.T) {
	b := holding(span(100, 120)...).Set(1, faultserver.Coils, 0, span16(16)...)
	device := "{unit_id: 1, quirks: {block: 8, register_block: {size: 10, start: 100}}}"
	c, n := session(t, wholeBlocks{b}, device)
	place := func(text string) *address { return pointOn(t, text, device, "") }
	samples := read(t, c, place("{table: coil, address: 9}"), place("{table: coil, address: 3}"), place("{table: coil, address: 14}"),
		place("{table: holding_register, address: 104, type: uint16}"), place("{table: holding_register, address: 118, type: uint32, byte_order: ABCD}"))
	for i, want := range []string{"true", "true", "false", "1104", "73270367"} {
		wantValue(t, samples[i], want)
	}
	wantRequests(t, n, "1 0+8", "1 8+8", "3 100+10", "3 110+10")
	bit := place("{table: holding_register, address: 112, bit: 0, rmw: true}")
	if _, err := c.Write(t.Context(), "A", bit, physical.FlagOf(true)); err != nil {
		t.Error(err)
	}
	wantRequests(t, n, "3 110+10", "6 112+1113")
	for _, bad := range []struct{ at, problem string }{
		{"{table: holding_register, address: 109, type: uint32, byte_order: ABCD}", "do not lie in one of the device's blocks of 10 from 100"},
		{"{table: holding_register, address: 99, type: uint16}", "lies before 100"},
	} {
		_, ps := New().CheckPoint(hal.LinkSpec{}, hal.DeviceSpec{Options: node(t, device)}, hal.PointSpec{ID: "A.p", At: node(t, bad.at)})
		if ps.Err() == nil || !strings.Contains(ps.Error(), bad.problem) {
			t.Errorf("%s: %v", bad.at, ps)
		}
	}
	for _, bad := range []string{"{block: 8, coils_from_zero: true}", "{block: 8, max_bits: 16}", "{block: {start: 1}}", "{block: 0}",
		"{register_block: 10, max_registers: 5}", "{block: [8]}", "{register_block: {size: 126}}", "{block: {size: 8, from: 1}}"} {
		if ps := New().CheckDevice(hal.LinkSpec{}, hal.DeviceSpec{Options: node(t, "{unit_id: 1, quirks: "+bad+"}")}); ps.Err() == nil {
			t.Errorf("%s passes", bad)
		}
	}
}

// evcc 2162, ioBroker 127, openbridgeserver 1255: the scale changes during the day, so it comes in the same request as the value.
func TestTheScaleComesWithItsValue(t *testing.T) {
	b := (&faultserver.Bank{}).Set(1, faultserver.HoldingRegisters, 10, 0x8001, 1234, 0, 0xFFFF).Set(1, faultserver.HoldingRegisters, 20, 0xFFFE)
	c, n := session(t, b, "{unit_id: 1, quirks: {max_gap: 0}}")
	watt := at(t, "{table: holding_register, address: 11, type: int16, scale_register: 20}")
	after := at(t, "{table: holding_register, address: 12, type: int16}")
	for _, x := range []struct {
		scale uint16
		want  string
	}{{0xFFFE, "12.34"}, {0, "1234"}, {3, "1234000"}, {0xFFFF, "123.4"}} {
		b.Set(1, faultserver.HoldingRegisters, 20, x.scale)
		n.requests()
		b.Set(1, faultserver.HoldingRegisters, 14, 0, 0, 0, 0, 0, 0)
		s := read(t, c, after, watt)
		wantValue(t, s[1], x.want)
		wantRequests(t, n, "3 11+10")
	}
	for _, none := range []uint16{0x8000, 11, 0xFFF5} {
		b.Set(1, faultserver.HoldingRegisters, 20, none)
		if s := read(t, c, watt)[0]; s.Quality != physical.Bad || s.Cause != physical.CauseInvalid || s.Err != nil {
			t.Errorf("scale %04X: %+v", none, s)
		}
	}
	b.Set(1, faultserver.HoldingRegisters, 20, 0)
	marked := pointOn(t, "{table: holding_register, address: 10, type: int16, scale_register: 20}", "{unit_id: 1}", "[0x8001]")
	if s := read(t, c, marked)[0]; s.Quality != physical.Bad {
		t.Errorf("the marker is a value: %+v", s)
	}
	if watt.Integer() || watt.String() != "holding_register 11 int16 scaled by 20" {
		t.Errorf("%s", watt)
	}
	if _, err := c.Write(t.Context(), "A", watt, physical.IntOf(1)); err == nil {
		t.Error("written without knowing the scale")
	}
	for _, bad := range []string{
		"{table: holding_register, address: 1, type: int16, scale_register: 1}",
		"{table: holding_register, address: 1, type: int16, scale_register: 300}",
		"{table: holding_register, address: 1, type: float32, byte_order: ABCD, scale_register: 4}",
		"{table: holding_register, address: 1, type: int16, scale_register: 70000}",
		"{table: coil, address: 1, scale_register: 4}",
	} {
		if _, ps := New().CheckPoint(hal.LinkSpec{}, hal.DeviceSpec{Options: node(t, "{unit_id: 1}")}, hal.PointSpec{At: node(t, bad)}); ps.Err() == nil {
			t.Errorf("%s passes", bad)
		}
	}
}

func TestAGroupIsReadInOneRequestOrNotAtAll(t *testing.T) {
	b := holding(span(0, 200)...)
	c, n := session(t, b, "{unit_id: 1, quirks: {max_gap: 0, max_registers: 60}}")
	p := func(at int, group string) *address {
		a := words(t, at)[0]
		a.group = group
		return a
	}
	samples := read(t, c, p(40, "g"), p(41, ""), p(2, "g"), p(20, "g"), p(150, "far"), p(50, "far"))
	for i, want := range []string{"1040", "1041", "1002", "1020"} {
		wantValue(t, samples[i], want)
	}
	for _, s := range samples[4:] {
		if e := wantKind(t, s.Err, hal.BadAddress); e.MaySent || !strings.Contains(e.Error(), "from 50 to 150") {
			t.Error(e)
		}
	}
	wantRequests(t, n, "3 2+40")
	c, n = session(t, holding(1, 2, 4, 5), "{unit_id: 1}")
	samples = read(t, c, p(1, "g"), p(4, "g"), p(5, ""))
	wantKind(t, samples[0].Err, hal.Exception)
	wantKind(t, samples[1].Err, hal.Exception)
	wantValue(t, samples[2], "1005")
	wantRequests(t, n, "3 1+5", "3 1+4", "3 5+1")
}

func TestWritingWithFunction23(t *testing.T) {
	b := holding(span(0, 10)...)
	device := "{unit_id: 1, quirks: {write_fc: 23}}"
	s := serve(t, faultserver.Options{Memory: b})
	c := open(t, s.Addr(), device)
	for i, at := range []string{"{table: holding_register, address: 4, type: uint16}", "{table: holding_register, address: 6, type: uint32, byte_order: CDAB}"} {
		a := pointOn(t, at, device, "")
		if _, err := c.Write(t.Context(), "A", a, physical.IntOf(int64(70+i))); err != nil {
			t.Error(err)
		}
		wantValue(t, read(t, c, a)[0], []string{"70", "71"}[i])
	}
	text, err := c.Preview("A", pointOn(t, "{table: holding_register, address: 4, type: uint16}", device, ""), physical.IntOf(1))
	if want := "FC23 read_write_multiple_registers unit 1 address 4 values 0x0001 | 00 00 00 00 00 0D 01 17 00 04 00 01 00 04 00 01 02 00 01"; text != want || err != nil {
		t.Errorf("%s, %v", text, err)
	}
}

// Home Assistant 134665, evcc 30803: bursts of "busy". A read is asked again after a while, a write never.
func TestABusyDeviceIsAskedAgain(t *testing.T) {
	busy := script(faultserver.Busy, faultserver.Busy, faultserver.None, faultserver.Busy)
	b := bank()
	s := serve(t, faultserver.Options{Memory: b, Next: busy})
	c := open(t, s.Addr(), "{unit_id: 1, quirks: {busy_wait: 5ms}}")
	wantValue(t, read(t, c, at(t, reg1))[0], "101")
	_, err := c.Write(t.Context(), "A", at(t, reg1), physical.IntOf(1))
	if wantKind(t, err, hal.BusyDevice); len(b.Writes()) != 1 || s.Requests() != 4 {
		t.Errorf("%d writes in %d requests", len(b.Writes()), s.Requests())
	}
	c = open(t, serve(t, faultserver.Options{Memory: bank(), Next: busy}).Addr(), "{unit_id: 1, quirks: {busy_retries: 1, busy_wait: 1ms}}")
	wantKind(t, read(t, c, at(t, reg1))[0].Err, hal.BusyDevice)
}

// pymodbus 2709, with the quirk.
func TestSwappedTransactionNumbers(t *testing.T) {
	s := serve(t, faultserver.Options{Memory: bank(), Next: func(faultserver.Request) faultserver.Fault { return faultserver.SwappedTID }})
	c := open(t, s.Addr(), "{unit_id: 1, quirks: {tid_swapped: true}}")
	for range 3 {
		wantValue(t, read(t, c, at(t, reg1))[0], "101")
	}
}
