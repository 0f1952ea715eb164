package modbus

import (
	"strings"
	"testing"

	"capd/internal/hal"
)

// together checks points of one device with each other.
func together(t *testing.T, device string, places ...string) string {
	t.Helper()
	d := hal.DeviceSpec{ID: "D", Options: node(t, device)}
	var points []hal.PointSpec
	var at []hal.Address
	for i, place := range places {
		p := hal.PointSpec{ID: "A." + string(rune('a'+i)), At: node(t, place)}
		a, ps := New().CheckPoint(hal.LinkSpec{}, d, p)
		if err := ps.Err(); err != nil {
			t.Fatal(err)
		}
		points, at = append(points, p), append(at, a)
	}
	return New().CheckPoints(hal.LinkSpec{}, d, points, at).Error()
}

func TestAGroupThatNoRequestCanHoldIsFoundWhenItIsPublished(t *testing.T) {
	in := func(table, rest string) string { return "{table: " + table + ", group: g, " + rest + "}" }
	first, far := in("holding_register", "address: 10, type: uint16"), in("holding_register", "address: 20, type: uint16")
	for name, c := range map[string]struct {
		device, want string
		places       []string
	}{
		"within the limit":   {"{unit_id: 1}", "", []string{first, far}},
		"beyond the device":  {"{unit_id: 1, quirks: {max_registers: 10}}", "group g reaches from 10 (A.a) to 20 (A.b), 11 registers; the device gives 10 at once (max_registers)", []string{first, far}},
		"just within it":     {"{unit_id: 1, quirks: {max_registers: 11}}", "", []string{first, far}},
		"beyond the request": {"{unit_id: 1}", "126 registers; one request holds 125", []string{in("holding_register", "address: 0, type: uint16"), in("holding_register", "address: 125, type: uint16")}},
		"by its scale":       {"{unit_id: 1, quirks: {max_registers: 11}}", "12 registers", []string{first, in("holding_register", "address: 20, type: uint16, scale_register: 21")}},
		"across blocks":      {"{unit_id: 1, quirks: {register_block: 16}}", "does not lie in one of the device's blocks of 16", []string{first, far}},
		"bits":               {"{unit_id: 1, quirks: {max_bits: 8}}", "bits", []string{in("coil", "address: 0"), in("coil", "address: 8")}},
		"bits from zero":     {"{unit_id: 1, quirks: {coils_from_zero: true, max_bits: 100}}", "", []string{in("coil", "address: 90"), in("coil", "address: 99")}},
		"two tables":         {"{unit_id: 1}", "group g has points in input_register (A.b) and in holding_register (A.a)", []string{first, in("input_register", "address: 10, type: uint16")}},
		"of one":             {"{unit_id: 1, quirks: {max_registers: 1}}", "", []string{first}},
	} {
		got := together(t, c.device, c.places...)
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s\n got %q\nwant %q", name, got, c.want)
		}
	}
}

func TestTwoLinksOfOneWire(t *testing.T) {
	link := func(id, transport, options string) hal.LinkSpec {
		return hal.LinkSpec{ID: id, Transport: transport, Options: node(t, options)}
	}
	serial := func(id, port string) hal.LinkSpec {
		return link(id, "modbus_rtu", "{port: "+port+", baud: 9600, parity: none}")
	}
	for name, c := range map[string]struct {
		a, b    hal.LinkSpec
		want    string
		warning bool
	}{
		"one port":            {serial("L", "/dev/ttyS1"), serial("M", "/dev/ttyS1"), "link M uses the serial port /dev/ttyS1 of link L", false},
		"one port, spelled":   {serial("L", "/dev/ttyS1"), serial("M", "/dev//./ttyS1"), "of link L", false},
		"two ports":           {serial("L", "/dev/ttyS1"), serial("M", "/dev/ttyS2"), "", false},
		"one endpoint":        {link("L", "modbus_tcp", `{endpoint: "10.1.2.3"}`), link("M", "modbus_tcp", `{endpoint: "10.1.2.3:502", timeout: 2s}`), "link M uses the endpoint 10.1.2.3:502 of link L", true},
		"one name":            {link("L", "modbus_tcp", `{endpoint: "plc.local:502"}`), link("M", "modbus_rtu_over_tcp", `{endpoint: "PLC.local.:502"}`), "of link L", true},
		"another port of it":  {link("L", "modbus_tcp", `{endpoint: "10.1.2.3"}`), link("M", "modbus_tcp", `{endpoint: "10.1.2.3:503"}`), "", true},
		"a link without any":  {link("L", "modbus_tcp", `{endpoint: ""}`), link("M", "modbus_tcp", `{endpoint: ""}`), "", true},
		"the same v6 address": {link("L", "modbus_tcp", `{endpoint: "[fe80:0::1]:502"}`), link("M", "modbus_tcp", `{endpoint: "fe80::1"}`), "of link L", true},
	} {
		ps := New().CheckLinks([]hal.LinkSpec{c.a, c.b})
		if (c.want == "") != (len(ps) == 0) || !strings.Contains(ps.Error(), c.want) {
			t.Errorf("%s\n got %v\nwant %q", name, ps, c.want)
		}
		if len(ps) == 1 && ps[0].Warning != c.warning {
			t.Errorf("%s: warning %v", name, ps[0].Warning)
		}
	}
}

func TestOneUnitUnderTwoNames(t *testing.T) {
	link := hal.LinkSpec{ID: "L", Transport: "modbus_tcp", Options: node(t, `{endpoint: "10.1.2.3"}`)}
	again := hal.LinkSpec{ID: "M", Transport: "modbus_tcp", Options: node(t, `{endpoint: "10.1.2.3:502"}`)}
	station := func(l hal.LinkSpec, unit string) string {
		return New().Station(l, hal.DeviceSpec{ID: "D", Options: node(t, "{unit_id: "+unit+"}")})
	}
	if a, b := station(link, "1"), station(again, "0x01"); a == "" || a != b {
		t.Errorf("one unit is %q and %q", a, b)
	}
	if station(link, "1") == station(link, "2") {
		t.Error("two units are one")
	}
	if got := New().Station(link, hal.DeviceSpec{ID: "D", Options: node(t, "{unit_id: one}")}); got != "" {
		t.Errorf("a wrong unit is %q", got)
	}
}

func TestPlacesThatShareMemory(t *testing.T) {
	place := func(s string) *address { return at(t, "{table: holding_register, "+s+"}") }
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"address: 1, type: uint16", "address: 1, bit: 3", true},
		{"address: 1, bit: 3", "address: 1, bit: 3", true},
		{"address: 1, bit: 2", "address: 1, bit: 3", false},
		{"address: 1, type: string, length: 3", "address: 1, type: string, length: 4", true},
		{"address: 1, type: uint8, byte: low", "address: 1, bit: 8", false},
		{"address: 1, type: uint8, byte: high", "address: 1, bit: 8", true},
		{"address: 1, type: uint32, byte_order: ABCD", "address: 2, bit: 0", true},
		{"address: 1, type: uint16", "address: 2, type: uint16", false},
	} {
		a, b := place(c.a), place(c.b)
		if a.Shares(b) != c.want || b.Shares(a) != c.want {
			t.Errorf("%s / %s: not %v both ways", a, b, c.want)
		}
	}
	if at(t, "{table: coil, address: 1}").Shares(at(t, "{table: discrete_input, address: 1}")) {
		t.Error("two tables share memory")
	}
}
