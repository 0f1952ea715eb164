package modbus

import (
	"fmt"
	"time"

	"capd/internal/document"
	"capd/internal/hal"
)

// Driver is the Modbus driver.
type Driver struct{}

var _ hal.Driver = (*Driver)(nil)

// New makes the driver. It holds nothing.
func New() *Driver { return &Driver{} }

// Name implements hal.Driver.
func (*Driver) Name() string { return "modbus" }

// transport is one way to carry Modbus: how its link options are read, and how a channel for them is made. A further transport is
// a further entry in transports.
type transport struct {
	name   string
	serial bool // the frames and units of serial lines
	read   func(*document.Map, *document.Problems, *linkSettings)
	open   func(linkSettings, *channel)
}

func transports() []transport {
	return []transport{
		{"modbus_tcp", false, readTCP, openTCP},
		{"modbus_tls", false, readTLS, openTLS},
		{"modbus_rtu", true, readSerial, openSerial},
		{"modbus_rtu_over_tcp", true, readRTUOverTCP, openRTUOverTCP},
	}
}

func transportOf(link hal.LinkSpec) (transport, bool) {
	for _, t := range transports() {
		if t.name == link.Transport {
			return t, true
		}
	}
	return transport{}, false
}

// Transports implements hal.Driver.
func (*Driver) Transports() []string {
	var names []string
	for _, t := range transports() {
		names = append(names, t.name)
	}
	return names
}

// CheckLink implements hal.Driver. Options of modbus_tcp: endpoint, timeout, connect_timeout, idle_close; of modbus_tls besides:
// server_name, ca_file, cert_file, key_file; of modbus_rtu_over_tcp besides: turnaround; of modbus_rtu: port, baud, parity, stop_bits,
// rs485, timeout, turnaround.
func (*Driver) CheckLink(link hal.LinkSpec) document.Problems {
	_, ps := parseLink(link)
	return ps
}

// CheckDevice implements hal.Driver. Options: unit_id, timeout, and quirks: min_gap, connect_delay, close_after, one_per_request,
// max_registers, max_bits, max_gap, coils_from_zero, block, register_block, write_fc, write_coil_fc, mask_write, busy_retries, busy_wait,
// echo, tid_swapped and the dangerous any_unit, tid_zero and longer_reply.
func (*Driver) CheckDevice(link hal.LinkSpec, device hal.DeviceSpec) document.Problems {
	s, ps := parseDevice(device, time.Second)
	t, known := transportOf(link)
	if known {
		idleQuirks(t, device.Options.Get("quirks"), &ps)
	}
	if !known || !t.serial || ps.Err() != nil {
		return ps
	}
	unit := device.Options.Get("unit_id")
	switch {
	case s.unit == 0:
		p := unit.Problem("broadcast_unit", "", "unit 0 is all units of the line at once: its points can be written but not read, so no write is verified")
		p.Warning = true
		ps.Add(p)
	case s.unit > lastSerialUnit:
		p := unit.Problem("reserved_unit", fmt.Sprintf("write 1 to %d unless the device really has this number", lastSerialUnit), "unit %d is reserved on serial lines", s.unit)
		p.Warning = true
		ps.Add(p)
	}
	return ps
}

// idleQuirks warns of quirks that have no effect on a transport, as the device's trouble stays.
func idleQuirks(t transport, quirks *document.Node, ps *document.Problems) {
	idle, why := []string{"echo"}, "has no line that echoes"
	if t.serial {
		idle, why = []string{"tid_zero", "tid_swapped"}, "has no transaction numbers"
	}
	for _, key := range idle {
		if n := quirks.Get(key); n.Text() == "true" {
			p := n.Problem("idle_quirk", "leave it out", "%s does nothing: %s %s", key, t.name, why)
			p.Warning = true
			ps.Add(p)
		}
	}
}

// lastSerialUnit is the highest number a unit of a serial line may have (MODBUS over Serial Line Specification V1.02, 2.2).
const lastSerialUnit = 247

// CheckPoint implements hal.Driver. The address is nil when there are problems beyond warnings.
func (*Driver) CheckPoint(link hal.LinkSpec, device hal.DeviceSpec, point hal.PointSpec) (hal.Address, document.Problems) {
	settings, _ := parseDevice(device, time.Second) // its own problems are CheckDevice's to report
	a, ps := parsePoint(point, settings)
	if ps.Err() != nil {
		return nil, ps
	}
	return a, ps
}

// Open implements hal.Driver. It makes no connection.
func (*Driver) Open(link hal.LinkSpec, devices []hal.DeviceSpec) (hal.Conn, error) {
	options, ps := parseLink(link)
	if err := ps.Err(); err != nil {
		return nil, fmt.Errorf("modbus: link %s: %w", link.ID, err)
	}
	t, _ := transportOf(link)
	c := &conn{devices: map[string]*device{}, timeout: options.timeout, idleClose: options.idleClose, ch: &channel{}}
	t.open(options, c.ch)
	units := map[byte]bool{}
	for _, spec := range devices {
		s, ps := parseDevice(spec, options.timeout)
		if err := ps.Err(); err != nil {
			return nil, fmt.Errorf("modbus: device %s: %w", spec.ID, err)
		}
		units[s.unit] = true
		c.devices[spec.ID] = newDevice(spec.ID, s)
	}
	c.ch.keep = len(units) > 1
	return c, nil
}
