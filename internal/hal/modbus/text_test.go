package modbus

import (
	"fmt"
	"strings"
	"testing"

	"capd/internal/hal/modbus/faultserver"
	"capd/internal/physical"
)

// Scada-LTS 3285, Telegraf 14748: how devices put characters into registers.
func TestTextsAsDevicesWriteThem(t *testing.T) {
	for _, c := range []struct {
		options string
		words   []uint16
		text    string
	}{
		{"length: 6", []uint16{0x4769, 0x7468, 0x7562}, "Github"},
		{"length: 6, byte_order: BA", []uint16{0x6947, 0x6874, 0x6275}, "Github"},
		{"length: 3, byte: low", []uint16{0x0047, 0x0069, 0x0074}, "Git"},
		{"length: 3, byte: high", []uint16{0x4700, 0x6900, 0x7400}, "Git"},
		{"length: 6, padding: blank", []uint16{0x4769, 0x7420, 0x2020}, "Git"},
		{"length: 5", []uint16{0x4769, 0x7400, 0x0000}, "Git"},
		{"length: 5, padding: blank, encoding: iso-8859-1", []uint16{0x42E4, 0x6820, 0x2000}, "Bäh"},
		{"length: 6, encoding: utf-8", []uint16{0xE998, 0x8000, 0}, "阀"},
		{"length: 6, encoding: utf-16", []uint16{0x9600, 0x0041, 0}, "阀A"},
		{"length: 6, encoding: utf-16, padding: blank", []uint16{0x9600, 0x0041, 0x0020}, "阀A"},
		{"length: 6, encoding: gbk", []uint16{0xB7A7, 0xC3C5, 0}, "阀门"},
		{"length: 5, encoding: gbk, byte_order: BA, padding: blank", []uint16{0xA7B7, 0x2041, 0x0020}, "阀A"},
	} {
		a := at(t, "{table: holding_register, address: 0, type: string, "+c.options+"}")
		b := (&faultserver.Bank{}).Set(1, faultserver.HoldingRegisters, 0, c.words...)
		conn := open(t, serve(t, faultserver.Options{Memory: b}).Addr(), "{unit_id: 1}")
		wantValue(t, read(t, conn, a)[0], c.text)
		b.Set(1, faultserver.HoldingRegisters, 0, make([]uint16, len(c.words))...)
		if _, err := conn.Write(t.Context(), "A", a, physical.TextOf(c.text)); err != nil {
			t.Errorf("%s: %v", c.options, err)
		}
		for i, w := range c.words {
			if got := b.Get(1, faultserver.HoldingRegisters, i); got != w {
				t.Errorf("%s: register %d holds %04X instead of %04X", c.options, i, got, w)
			}
		}
	}
	for options, text := range map[string]string{
		"length: 4":                       "Git-h",
		"length: 4, encoding: iso-8859-1": "阀",
		"length: 4, encoding: utf-16":     "abc",
		"length: 9, encoding: gbk":        "€😀",
		"length: 3":                       "a\x00b",
	} {
		if _, err := at(t, "{table: holding_register, address: 0, type: string, "+options+"}").Encode(physical.TextOf(text)); err == nil {
			t.Errorf("%s takes %q", options, text)
		}
	}
	if _, err := at(t, "{table: holding_register, address: 0, type: string, length: 2}").Encode(physical.IntOf(1)); err == nil {
		t.Error("a text takes a number")
	}
	bad := textFormat{encoding: encodingUTF16}.decode([]byte{0xD8, 0x00, 0x00, 0x41})
	if bad.cause != physical.CauseImplausible {
		t.Errorf("half a character: %+v", bad)
	}
	if bad := (textFormat{encoding: encodingGBK}).decode([]byte{0xB7, 0xA7, 0xC3, 0}); bad.cause != physical.CauseImplausible {
		t.Errorf("half a Chinese character: %+v", bad)
	}
}

func TestDatesAndDecimals(t *testing.T) {
	for _, c := range []struct{ typ, raw, want string }{
		{"unix32", "00000000", "1970-01-01T00:00:00Z"},
		{"unix32", "FFFFFFFF", "2106-02-07T06:28:15Z"},
		{"unixms64", "0000018BCFE56801", "2023-11-14T22:13:20.001Z"},
		{"unixms64", "FFFFFFFFFFFFFFFF", "implausible"},
		{"ti081", "001A0B1E092A84D2", "2026-11-30T09:42:34.002"},
		{"ti081", "001A0B1E09AA84D2", "invalid"},
		{"ti081", "001A0D1E092A84D2", "implausible"},
		{"ti081", "001A0B1F092A84D2", "implausible"},
		{"bcd8", "42", "42"},
		{"bcd64", "1234567890123456", "1234567890123456"},
		{"bcd64", "A234567890123456", "implausible"},
	} {
		typ, _ := typeByName(c.typ)
		d := typ.decode(unhex(t, c.raw))
		got := d.value.String()
		if d.cause != physical.CauseNone {
			got = string(fmt.Sprint(d.cause))
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s, want %s (%s)", c.typ, c.raw, got, c.want, d.detail)
		}
	}
	a := at(t, "{table: holding_register, address: 0, type: unix32, byte_order: ABCD}")
	if _, err := a.Encode(physical.TextOf("2026-11-30T00:00:00Z")); err == nil || a.writable(settings{}) == nil {
		t.Error("a date is written")
	}
}
