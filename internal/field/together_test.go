package field_test

import (
	"strings"
	"testing"

	"capd/internal/document"
	"capd/internal/field"
	"capd/internal/hal"
	"capd/internal/hal/modbus"
	"capd/internal/inventory"
)

func TestWhatIsRightAloneAndWrongTogether(t *testing.T) {
	const (
		tcp    = `L: {transport: modbus_tcp, endpoint: "10.1.2.3:502"}`
		serial = `L: {transport: modbus_rtu, port: /dev/ttyS1, baud: 9600, parity: none}`
		write  = "role: setpoint, access: read_write"
	)
	holding := func(rest string) string { return "at: {table: holding_register, address: " + rest + "}" }
	tests := map[string]struct {
		links, devices, points string
		want                   []string // one for each problem; those that begin with ! are errors
	}{
		"two masters on a port": {serial + ", " + strings.Replace(strings.Replace(serial, "L:", "M:", 1), "9600", "19200", 1), "", "",
			[]string{"!plant.yaml:2:114: links.M.port: link M uses the serial port /dev/ttyS1 of link L"}},
		"two links to an endpoint": {tcp + ", " + strings.Replace(tcp, "L:", "M:", 1), "", "", []string{"links.M.endpoint: link M uses the endpoint 10.1.2.3:502 of link L"}},
		"a unit twice":             {tcp, "D: {link: L, unit_id: 1}, E: {link: L, unit_id: 1}", "", []string{"device E is unit 1 on endpoint 10.1.2.3:502, as device D is"}},
		"units of other links":     {tcp + `, M: {transport: modbus_tcp, endpoint: "10.1.2.4"}`, "D: {link: L, unit_id: 1}, E: {link: M, unit_id: 1}", "", nil},
		"overlaps under two names": {tcp, "D: {link: L, unit_id: 1}, E: {link: L, unit_id: 1}",
			"x: {" + holding("1, type: uint32, byte_order: ABCD") + ", role: status}, y: {device: E, " + holding("2, type: uint16") + ", role: status}",
			[]string{"device E is unit 1", "!A.y (holding_register 2 uint16) overlaps A.x"}},
		"writers under two names": {tcp, "D: {link: L, unit_id: 1}, E: {link: L, unit_id: 1}",
			"x: {" + holding("1, type: uint16") + ", " + write + "}, y: {device: E, " + holding("1, type: uint16") + ", " + write + "}",
			[]string{"device E is unit 1", "!A.y and A.x both write holding_register 1 uint16"}},
		"a bit and its register": {tcp, "D: {link: L, unit_id: 1}",
			"x: {" + holding("1, type: uint16") + ", " + write + "}, y: {" + holding("1, bit: 3, rmw: true") + ", " + write + "}",
			[]string{"!A.y (holding_register 1 bit 3) and A.x (holding_register 1 uint16) write the same memory of device D"}},
		"a text twice": {tcp, "D: {link: L, unit_id: 1}",
			"x: {" + holding("1, type: string, length: 3") + ", " + write + "}, y: {" + holding("1, type: string, length: 4") + ", " + write + "}",
			[]string{"!write the same memory"}},
		"two bits":           {tcp, "D: {link: L, unit_id: 1}", "x: {" + holding("1, bit: 2, rmw: true") + ", " + write + "}, y: {" + holding("1, bit: 3, rmw: true") + ", " + write + "}", nil},
		"a view of a bit":    {tcp, "D: {link: L, unit_id: 1}", "x: {" + holding("1, type: uint16") + ", " + write + "}, y: {" + holding("1, bit: 3") + ", role: status}", nil},
		"a group too long":   {tcp, "D: {link: L, unit_id: 1, quirks: {max_registers: 4}}", "x: {" + holding("1, type: uint16, group: g") + ", role: status}, y: {" + holding("9, type: uint16, group: g") + ", role: status}", []string{"!plant.yaml:4:187: assets.A.points.y.at.group: group g reaches from 1 (A.x) to 9 (A.y), 9 registers; the device gives 4 at once"}},
		"a write-only group": {tcp, "D: {link: L, unit_id: 1, quirks: {max_registers: 4}}", "x: {" + holding("1, type: uint16, group: g") + ", role: status}, y: {" + holding("9, type: uint16, group: g") + ", role: setpoint, access: write}", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.devices == "" {
				tt.devices = "D: {link: L, unit_id: 1}"
			}
			text := "inventory: capd/v1\nlinks: {" + tt.links + "}\ndevices: {" + tt.devices + "}\nassets: {A: {device: D, points: {" + tt.points + "}}}\n"
			node, ps := document.Parse("plant.yaml", []byte(text))
			if err := ps.Err(); err != nil {
				t.Fatal(err)
			}
			inv, ps := inventory.Parse(node)
			if err := ps.Err(); err != nil {
				t.Fatal(err)
			}
			_, ps = field.Bind(inv, []hal.Driver{modbus.New()})
			if len(ps) != len(tt.want) {
				t.Fatalf("got %v\nwant %d", ps, len(tt.want))
			}
			for i, want := range tt.want {
				text, isError := strings.CutPrefix(want, "!")
				if !strings.Contains(ps[i].Error(), text) || ps[i].Warning == isError {
					t.Errorf("got %v (warning %v)\nwant %s", ps[i], ps[i].Warning, want)
				}
			}
		})
	}
}
