package modbus

import (
	"strings"
	"testing"

	"capd/internal/hal"
)

func TestForeignNotationsGetTheRightOneProposed(t *testing.T) {
	holding := func(rest string) string { return "{table: holding_register, address: " + rest + "}" }
	for place, want := range map[string]string{
		holding("4x0101, type: uint16"):                                   "write table: holding_register, address: 100",
		holding("3x00010, type: uint16"):                                  "write table: input_register, address: 9",
		holding(`"40001", type: uint16`):                                  "write table: holding_register, address: 0",
		holding(`"100", type: uint16`):                                    "write address: 100, without quotes",
		holding(`"00017", type: uint16`):                                  "if it is coil 17 in the notation that counts from 00001, write table: coil, address: 16",
		"{table: coil, address: 0x00005}":                                 "",
		holding("HR100, type: uint16"):                                    "write table: holding_register, address: 100, or 99 if the list counts from 1",
		holding("IR1, type: uint16"):                                      "write table: input_register, address: 1, or 0 if the list counts from 1",
		holding(`"%MW100", type: uint16`):                                 "write table: holding_register, address: 100",
		holding("64h, type: uint16"):                                      "write address: 0x64",
		holding("100.5, type: uint16"):                                    "write address: 100, bit: 5",
		holding("100.16, type: uint16"):                                   "write the zero-based address, such as 100, and bit: 0 to 15 for a single bit",
		holding("100.0, type: uint16"):                                    "write address: 100, and bit: 0 only if a single bit is meant",
		holding("40001.3, type: uint16"):                                  "write table: holding_register, address: 0, bit: 3",
		holding("abc, type: uint16"):                                      "write the zero-based address",
		holding("1, type: word"):                                          "write uint16",
		holding("1, type: dword, byte_order: ABCD"):                       "write uint32",
		holding("1, type: REAL, byte_order: ABCD"):                        "write float32",
		holding("1, type: float, byte_order: ABCD"):                       "write float32",
		holding("1, type: double, byte_order: ABCD"):                      "write float64",
		holding("1, type: int, byte_order: AB"):                           "write int16",
		holding("1, type: bool"):                                          "leave type out and write bit: 0 to 15",
		holding("1, type: uint64, byte_order: GHEFCDAB"):                  "write CDAB",
		holding("1, type: uint64, byte_order: ABCDEFGH"):                  "write ABCD",
		holding("1, type: uint16, byte_order: ABCD"):                      "16 bits have two bytes: leave byte_order out",
		holding("1, type: uint16, byte_order: DCBA"):                      "16 bits have two bytes: write BA",
		holding("1, type: float32, byte_order: big"):                      "write ABCD (high word first), CDAB (low word first), BADC or DCBA",
		"{table: holding, address: 1, type: uint16}":                      "did you mean \"holding_register\"?",
		"{table: 4x, address: 1, type: uint16}":                           "write holding_register",
		"{table: input_registers, address: 1, type: uint16}":              "did you mean \"input_register\"?",
		holding("1, type: uint16, scale_register: 2, byte_order: ABCD"):   "leave byte_order out",
		"{table: coil, address: 1, byte_order: ABCD}":                     "known keys",
		holding("65535, type: uint32, byte_order: ABCD"):                  "the last address that fits is 65534",
		"{table: holding_register, address: 70000, type: uint16, bit: 3}": "write the zero-based address, 0 to 65535",
	} {
		ps := check(t, place, "{unit_id: 1}", "", false)
		if want == "" {
			if ps.Err() != nil {
				t.Errorf("%s\n got %v", place, ps)
			}
			continue
		}
		if len(ps) != 1 || !strings.Contains(ps.Error(), want) {
			t.Errorf("%s\n got %v\nwant one problem with %q", place, ps, want)
		}
	}
}

func TestOneMistakeIsOneProblem(t *testing.T) {
	for _, place := range []string{
		"{table: nothing_like_it, address: 1, type: uint32, byte_order: ABCD, bit: 2, byte: low, length: 3, encoding: utf-8, padding: nul, scale_register: 3, rmw: true}",
		"{address: 1, type: uint16}",
	} {
		if ps := check(t, place, "{unit_id: 1}", "", false); len(ps) != 1 {
			t.Errorf("%s: %v", place, ps)
		}
	}
}

func TestADecimalMarkerOfAScaledPointIsItsRawValue(t *testing.T) {
	a := pointOn(t, "{table: holding_register, address: 1, type: int16, scale_register: 3}", "{unit_id: 1}", "[-32768]")
	if len(a.invalid) != 1 || string(a.invalid[0]) != "\x80\x00" {
		t.Errorf("markers % X", a.invalid)
	}
}

func TestADateMayHaveAMarker(t *testing.T) {
	a := pointOn(t, "{table: holding_register, address: 1, type: unix32, byte_order: CDAB}", "{unit_id: 1}", "[0xFFFFFFFF, 0x00000000]")
	for _, wire := range []string{"\xFF\xFF\xFF\xFF", "\x00\x00\x00\x00"} {
		if s := a.sample(a.canonical([]byte(wire))); s.Quality != "bad" {
			t.Errorf("% X is %+v", wire, s)
		}
	}
	long := pointOn(t, "{table: holding_register, address: 1, type: datetime16, byte_order: ABCD}", "{unit_id: 1}", "[0x000000000000000000000001]")
	if len(long.invalid) != 1 || len(long.invalid[0]) != 12 {
		t.Errorf("markers % X", long.invalid)
	}
	ps := check(t, "{table: holding_register, address: 1, type: unix32, byte_order: CDAB}", "{unit_id: 1}", "[0]", false)
	if !strings.Contains(ps.Error(), "bit patterns as wide as the type") {
		t.Errorf("a decimal marker of a date: %v", ps)
	}
}

func TestQuirksThatDoNothingOnTheirTransport(t *testing.T) {
	tcp, rtu := hal.LinkSpec{Transport: "modbus_tcp"}, hal.LinkSpec{Transport: "modbus_rtu"}
	for _, c := range []struct {
		link  hal.LinkSpec
		quirk string
		want  string
	}{
		{tcp, "echo", "modbus_tcp"},
		{rtu, "tid_swapped", "modbus_rtu"},
		{rtu, "tid_zero", "modbus_rtu"},
		{rtu, "echo", ""},
		{tcp, "tid_swapped", ""},
	} {
		var found string
		for _, p := range New().CheckDevice(c.link, hal.DeviceSpec{ID: "D", Options: node(t, "{unit_id: 1, quirks: {"+c.quirk+": true}}")}) {
			if p.Rule == "idle_quirk" {
				found = p.Error()
			}
			if !p.Warning {
				t.Errorf("%s is no warning: %v", c.quirk, p)
			}
		}
		if (found == "") != (c.want == "") || !strings.Contains(found, c.want) {
			t.Errorf("%s on %s: %q", c.quirk, c.link.Transport, found)
		}
	}
}
