package modbus

import (
	"slices"
	"strings"
	"testing"

	"capd/internal/document"
	"capd/internal/hal"
	"capd/internal/physical"
)

func TestPlacesAsATechnicianReadsThem(t *testing.T) {
	for text, want := range map[string]string{
		"{table: holding_register, address: 100, type: uint16}":                        "holding_register 100 uint16",
		"{table: input_register, address: 14, type: int16, byte_order: BA}":            "input_register 14 int16 BADC",
		"{table: input_register, address: 2, type: uint16, bit: 0}":                    "input_register 2 bit 0",
		"{table: input_register, address: 2, type: bit, bit: 15}":                      "input_register 2 bit 15",
		"{table: input_register, address: 2, bit: 3}":                                  "input_register 2 bit 3",
		"{table: coil, address: 5}":                                                    "coil 5",
		"{table: discrete_input, address: 0, type: bit}":                               "discrete_input 0",
		"{table: holding_register, address: 8, type: float32, byte_order: CDAB}":       "holding_register 8 float32 CDAB",
		"{table: holding_register, address: 8, type: uint8, byte: high}":               "holding_register 8 uint8 high",
		"{table: holding_register, address: 8, type: string, length: 7}":               "holding_register 8 string of 7 bytes",
		"{table: holding_register, address: 40000, type: uint16}":                      "holding_register 40000 uint16",
		"{table: holding_register, address: 40001, address_base: 0, type: uint16}":     "holding_register 40001 uint16",
		"{table: input_register, address: 40001, type: uint16}":                        "input_register 40001 uint16",
		"{table: holding_register, address: 65532, type: uint64, byte_order: ABCD}":    "holding_register 65532 uint64",
		"{table: holding_register, address: 0x10, type: uint32, byte_order: \"ABCD\"}": "holding_register 16 uint32",
	} {
		if got := at(t, text).String(); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

// check gives the problems of a point on a device.
func check(t *testing.T, place, device, invalid string, writable bool) document.Problems {
	t.Helper()
	p := hal.PointSpec{ID: "A.p", At: node(t, place), Writable: writable}
	if invalid != "" {
		p.Invalid = node(t, invalid)
	}
	a, ps := New().CheckPoint(hal.LinkSpec{}, hal.DeviceSpec{Options: node(t, device)}, p)
	if (a == nil) != (ps.Err() != nil) {
		t.Errorf("%s: address %v with problems %v", place, a, ps)
	}
	return ps
}

func TestWrongPlacesNameTheFaultAndTheWayOut(t *testing.T) {
	for _, c := range []struct{ place, want string }{
		{"{table: holding_register, address: 40001, type: uint16}", "write table: holding_register, address: 0, or add address_base: 0"},
		{"{table: holding_register, address: 49999, type: uint16}", "address: 9998"},
		{"{table: input_register, address: 30010, type: uint16}", "write table: input_register, address: 9"},
		{"{table: discrete_input, address: 10001}", "write table: discrete_input, address: 0"},
		{"{table: input_register, address: 400101, type: uint16}", "write table: holding_register, address: 100"},
		{"{table: holding_register, address: 65536, type: uint16}", "write the zero-based address, 0 to 65535"},
		{"{table: holding_register, address: -1, type: uint16}", "0 to 65535"},
		{"{table: holding_register, address: 65535, type: uint32, byte_order: ABCD}", "65535 to 65536"},
		{"{table: holding_register, type: uint16}", "\"address\" is missing"},
		{"{address: 1, type: uint16}", "\"table\" is missing"},
		{"{table: holding_registers, address: 1, type: uint16}", "holding_register"},
		{"{table: holding_register, address: 1}", "\"type\" is missing"},
		{"{table: holding_register, address: 1, type: uint17}", "uint16"},
		{"{table: holding_register, address: 1, type: uint32}", "needs a byte_order"},
		{"{table: holding_register, address: 1, type: float64}", "needs a byte_order"},
		{"{table: holding_register, address: 1, type: uint16, byte_order: CDAB}", "AB"},
		{"{table: holding_register, address: 1, type: uint16, bit: 16}", "from 0 to 15"},
		{"{table: holding_register, address: 1, type: uint32, bit: 1}", "from one register"},
		{"{table: holding_register, address: 1, type: bit}", "write bit: 0 to 15"},
		{"{table: holding_register, address: 1, type: uint8}", "\"byte\" is missing"},
		{"{table: holding_register, address: 1, type: string}", "\"length\" is missing"},
		{"{table: holding_register, address: 1, type: string, length: 251}", "from 1 to 250"},
		{"{table: coil, address: 1, type: uint16}", "bit"},
		{"{table: coil, address: 1, bit: 1}", "unknown key"},
		{"{table: holding_register, address: \"100\", type: uint16}", "address"},
		{"{table: holding_register, address: 100, typ: uint16}", "did you mean \"type\"?"},
		{"[1]", "map"},
	} {
		ps := check(t, c.place, "{unit_id: 1}", "", false)
		if ps.Err() == nil || !strings.Contains(ps.Error(), c.want) {
			t.Errorf("%s\n got %v\nwant %q", c.place, ps, c.want)
		}
	}
	if _, ps := New().CheckPoint(hal.LinkSpec{}, hal.DeviceSpec{}, hal.PointSpec{ID: "A.p"}); ps.Err() == nil {
		t.Error("a point without a place is accepted")
	}
}

func TestPlacesBeyondTheDevicesLimits(t *testing.T) {
	for _, c := range []struct{ place, device, want string }{
		{"{table: holding_register, address: 1, type: uint64, byte_order: ABCD}", "{unit_id: 1, quirks: {max_registers: 2}}", "needs 4 registers"},
		{"{table: coil, address: 2000}", "{unit_id: 1, quirks: {coils_from_zero: true}}", "coils_from_zero"},
	} {
		if ps := check(t, c.place, c.device, "", false); !strings.Contains(ps.Error(), c.want) {
			t.Errorf("%s: %v", c.place, ps)
		}
	}
}

func TestWhatCanBeWritten(t *testing.T) {
	bit := "{table: holding_register, address: 1, type: uint16, bit: 3}"
	for _, c := range []struct {
		place, device string
		ok            bool
	}{
		{"{table: holding_register, address: 1, type: uint16}", "{unit_id: 1}", true},
		{"{table: coil, address: 1}", "{unit_id: 1}", true},
		{"{table: input_register, address: 1, type: uint16}", "{unit_id: 1}", false},
		{"{table: discrete_input, address: 1}", "{unit_id: 1}", false},
		{bit, "{unit_id: 1}", false},
		{bit, "{unit_id: 1, quirks: {mask_write: true}}", true},
		{"{table: holding_register, address: 1, type: uint16, bit: 3, rmw: true}", "{unit_id: 1}", true},
		{"{table: holding_register, address: 1, type: int8, byte: low}", "{unit_id: 1}", false},
		{"{table: holding_register, address: 1, type: int8, byte: low, rmw: true}", "{unit_id: 1}", true},
		{"{table: holding_register, address: 1, type: string, length: 248}", "{unit_id: 1}", false},
	} {
		if ps := check(t, c.place, c.device, "", true); (ps.Err() == nil) != c.ok {
			t.Errorf("%s on %s: %v", c.place, c.device, ps)
		}
	}
}

func TestWhatCannotBeWrittenSaysWhy(t *testing.T) {
	for place, want := range map[string]string{
		"{table: input_register, address: 1, type: uint16}":                                        "an input_register can only be read; remove access, or write table: holding_register if the device has it there too",
		"{table: discrete_input, address: 1}":                                                      "a discrete_input can only be read; remove access, or write table: coil",
		"{table: holding_register, address: 1, type: string, length: 248}":                         "only 123",
		"{table: holding_register, address: 1, type: ti081, byte_order: ABCD}":                     "can only be read; remove access",
		"{table: holding_register, address: 1, type: uint64, byte_order: ABCD, scale_register: 9}": "can only be read; remove access",
	} {
		if ps := check(t, place, "{unit_id: 1}", "", true); !strings.Contains(ps.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", place, ps, want)
		}
	}
}

func TestInvalidMarkersAreAsWideAsTheType(t *testing.T) {
	wide := "byte_order: ABCD}"
	for _, c := range []struct {
		typ, invalid string
		want         string // canonical, or "" for a problem
	}{
		{"int16}", "[0x8000]", "8000"},
		{"int16}", "[-32768]", "8000"},
		{"uint16}", "[65535, 0xFFFE]", "FFFF FFFE"},
		{"uint32, " + wide, "[0xFFFFFFFF]", "FFFFFFFF"},
		{"uint64, " + wide, "[0x8000000000000000]", "8000000000000000"},
		{"float32, " + wide, "[0x7FC00000]", "7FC00000"},
		{"float32, " + wide, "[-9999]", "C61C3C00"},
		{"int8, byte: low}", "[0x80]", "80"},
		{"uint32, " + wide, "[0x8000]", ""},
		{"uint16}", "[0x08000]", ""},
		{"uint16}", "[0x80]", ""},
		{"uint16}", "[65536]", ""},
		{"uint16}", "[1.5]", ""},
		{"uint16}", "[none]", ""},
		{"uint16}", "0x8000", ""},
		{"string, length: 4}", "[0x80]", ""},
		{"uint16, bit: 1}", "[0x01]", ""},
	} {
		place := "{table: holding_register, address: 1, type: " + c.typ
		if c.want == "" {
			if ps := check(t, place, "{unit_id: 1}", c.invalid, false); ps.Err() == nil {
				t.Errorf("%s with %s is accepted", place, c.invalid)
			}
			continue
		}
		var got []string
		for _, m := range pointOn(t, place, "{unit_id: 1}", c.invalid).invalid {
			got = append(got, strings.ToUpper(physical.Reading{Raw: m}.RawHex()))
		}
		if want := strings.Fields(c.want); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", place, got, want)
		}
	}
}

func TestOverlaps(t *testing.T) {
	place := func(s string) string { return "{table: holding_register, " + s + "}" }
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{place("address: 1, type: uint16"), place("address: 1, type: uint16"), false}, // the same place
		{place("address: 1, type: uint16"), place("address: 2, type: uint16"), false},
		{place("address: 1, type: uint32, byte_order: ABCD"), place("address: 2, type: uint16"), true},
		{place("address: 1, type: uint32, byte_order: ABCD"), place("address: 2, type: uint32, byte_order: ABCD"), true},
		{place("address: 1, type: uint32, byte_order: ABCD"), place("address: 1, type: uint32, byte_order: CDAB"), true},
		{place("address: 1, type: uint16"), place("address: 1, type: int16"), true},
		{place("address: 1, type: uint16"), place("address: 1, bit: 3"), false}, // a view
		{place("address: 1, bit: 2"), place("address: 1, bit: 3"), false},
		{place("address: 1, type: uint8, byte: low"), place("address: 1, type: uint8, byte: high"), false},
		{place("address: 1, type: uint8, byte: low"), place("address: 1, type: uint8, byte: high, byte_order: BA"), true},
		{place("address: 1, type: uint16"), "{table: input_register, address: 1, type: int16}", false},
		{"{table: coil, address: 1}", "{table: coil, address: 1}", false},
	} {
		a, b := at(t, c.a), at(t, c.b)
		if a.Overlaps(b) != c.want || b.Overlaps(a) != c.want {
			t.Errorf("%s / %s: not %v both ways", a, b, c.want)
		}
	}
}

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		place   string
		kind    physical.Kind
		integer bool
	}{
		{"{table: coil, address: 1}", physical.Bool, false},
		{"{table: input_register, address: 1, type: bcd16}", physical.Number, true},
		{"{table: input_register, address: 1, type: float16}", physical.Number, false},
		{"{table: input_register, address: 1, type: string, length: 2}", physical.Text, false},
		{"{table: input_register, address: 1, type: uint16, bit: 1}", physical.Bool, false},
	} {
		if a := at(t, c.place); a.Kind() != c.kind || a.Integer() != c.integer {
			t.Errorf("%s: %s, integer %v", a, a.Kind(), a.Integer())
		}
	}
}

func TestLinkOptions(t *testing.T) {
	for _, c := range []struct{ options, endpoint, problem string }{
		{`{endpoint: "10.1.2.3:1502"}`, "10.1.2.3:1502", ""},
		{`{endpoint: "10.1.2.3"}`, "10.1.2.3:502", ""},
		{`{endpoint: plc.local}`, "plc.local:502", ""},
		{`{endpoint: "[fe80::1]:503", idle_close: 0s, connect_timeout: 500ms, timeout: 300ms}`, "[fe80::1]:503", ""},
		{`{endpoint: "fe80::1"}`, "[fe80::1]:502", ""},
		{`{}`, "", `"endpoint" is missing`},
		{`{endpoint: "10.1.2.3:0"}`, "", "1 to 65535"},
		{`{endpoint: ":502"}`, "", "host"},
		{`{endpoint: "http://x/"}`, "", "endpoint"},
		{`{endpoint: "x", timeout: 0s}`, "", "too short"},
		{`{endpoint: "x", timeout: 5}`, "", "timeout"},
		{`{endpoint: "x", time_out: 5s}`, "", `did you mean "timeout"?`},
	} {
		link := hal.LinkSpec{ID: "L", Transport: "modbus_tcp", Options: node(t, c.options)}
		ps := New().CheckLink(link)
		if c.problem != "" {
			if ps.Err() == nil || !strings.Contains(ps.Error(), c.problem) {
				t.Errorf("%s: %v", c.options, ps)
			}
			if _, err := New().Open(link, nil); err == nil {
				t.Errorf("%s: opened", c.options)
			}
			continue
		}
		if s, _ := parseLink(link); ps.Err() != nil || s.endpoint != c.endpoint {
			t.Errorf("%s: %q, %v", c.options, s.endpoint, ps)
		}
	}
	if ps := New().CheckLink(hal.LinkSpec{ID: "L", Transport: "smoke"}); ps.Err() == nil {
		t.Error("an unknown transport is accepted")
	}
}

func TestDeviceOptions(t *testing.T) {
	for _, c := range []struct{ options, problem string }{
		{"{unit_id: 0}", ""},
		{"{unit_id: 255, timeout: 2s, quirks: {min_gap: 5ms, connect_delay: 1s, max_registers: 50, max_bits: 100, max_gap: 0, write_fc: 16, write_coil_fc: 15, " +
			"close_after: true, one_per_request: true, coils_from_zero: true, mask_write: true}}", ""},
		{"{}", `"unit_id" is missing`},
		{"{unit_id: 256}", "from 0 to 255"},
		{"{unit_id: -1}", "from 0 to 255"},
		{"{unit_id: one}", "unit_id"},
		{"{unit_id: 1, quirks: {min_gab: 5ms}}", `did you mean "min_gap"?`},
		{"{unit_id: 1, quirks: {max_registers: 126}}", "from 1 to 125"},
		{"{unit_id: 1, quirks: {write_fc: 5}}", "write 6, 16 or 23"},
		{"{unit_id: 1, quirks: []}", "map"},
	} {
		ps := New().CheckDevice(hal.LinkSpec{}, hal.DeviceSpec{ID: "D", Options: node(t, c.options)})
		if c.problem == "" && len(ps) > 0 || c.problem != "" && (ps.Err() == nil || !strings.Contains(ps.Error(), c.problem)) {
			t.Errorf("%s: %v", c.options, ps)
		}
	}
	for _, q := range []string{"any_unit", "tid_zero", "longer_reply"} {
		ps := New().CheckDevice(hal.LinkSpec{}, hal.DeviceSpec{ID: "D", Options: node(t, "{unit_id: 1, quirks: {"+q+": true}}")})
		if len(ps) != 1 || !ps[0].Warning || ps[0].Rule != "dangerous_quirk" {
			t.Errorf("%s: no warning, but %v", q, ps)
		}
	}
	if ps := New().CheckDevice(hal.LinkSpec{}, hal.DeviceSpec{ID: "D"}); ps.Err() == nil {
		t.Error("a device without options is accepted")
	}
}

func FuzzPoint(f *testing.F) {
	f.Add("{table: holding_register, address: 100, type: uint16, bit: 1, byte_order: BA}", "[0x8000]", "{unit_id: 1}")
	f.Add("{table: holding_register, address: 40001, type: string, length: 9, rmw: true}", "[1]", "{quirks: {max_registers: 1}}")
	f.Add("{table: coil, address: 65535}", "[]", "{unit_id: 1, quirks: {coils_from_zero: true}}")
	f.Fuzz(func(t *testing.T, place, invalid, device string) {
		parse := func(s string) *document.Node {
			n, ps := document.Parse("f", []byte(s))
			if ps.Err() != nil {
				return nil
			}
			return n
		}
		a, ps := New().CheckPoint(hal.LinkSpec{}, hal.DeviceSpec{Options: parse(device)},
			hal.PointSpec{ID: "A.p", At: parse(place), Invalid: parse(invalid), Writable: true})
		if (a == nil) == (ps.Err() == nil) {
			t.Fatalf("address %v with problems %v", a, ps)
		}
		if a == nil {
			return
		}
		own := a.(*address)
		if own.start < 0 || own.start+own.count > 65536 || a.String() == "" || own.Overlaps(own) {
			t.Fatalf("%+v", own)
		}
		for _, m := range own.invalid {
			if len(m) != own.size {
				t.Fatalf("marker % X on %s", m, own)
			}
		}
	})
}
