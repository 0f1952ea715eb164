package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"capd/internal/document"
	"capd/internal/hal"
	"capd/internal/hal/modbus"
)

// wire is a Modbus line that a command opens by itself, beside the daemon: to look around before anything is in the inventory.
type wire struct {
	endpoint string
	timeout  time.Duration
	baud     int
	parity   string
	stopBits int
	rtu      bool
}

func (w *wire) flags(f *pflag.FlagSet) {
	f.DurationVar(&w.timeout, "timeout", 300*time.Millisecond, "how long a unit may take to answer")
	f.IntVar(&w.baud, "baud", 19200, "speed of a serial port")
	f.StringVar(&w.parity, "parity", "even", "parity of a serial port: none, even or odd")
	f.IntVar(&w.stopBits, "stop-bits", 1, "stop bits of a serial port: 1 or 2")
	f.BoolVar(&w.rtu, "rtu", false, "RTU frames over TCP, as some converters want them")
}

// serial reports whether the endpoint is a port of this computer.
func (w *wire) serial() bool { return strings.HasPrefix(w.endpoint, "/") }

// options is the link as the inventory would have it.
func (w *wire) options() (transport, yaml string) {
	if w.serial() {
		return "modbus_rtu", fmt.Sprintf("{port: %q, baud: %d, parity: %s, stop_bits: %d, timeout: %s}", w.endpoint, w.baud, w.parity, w.stopBits, w.timeout)
	}
	transport = "modbus_tcp"
	if w.rtu {
		transport = "modbus_rtu_over_tcp"
	}
	endpoint := w.endpoint
	if !strings.Contains(endpoint, ":") {
		endpoint += ":502"
	}
	return transport, fmt.Sprintf("{endpoint: %q, timeout: %s}", endpoint, w.timeout)
}

// line is a wire that is open: its driver, and the one unit that was declared on it, if any.
type line struct {
	conn   modbus.Explorer
	driver *modbus.Driver
	link   hal.LinkSpec
	device hal.DeviceSpec
}

// open opens the wire with the given units declared on it; nothing is dialled before the first request.
func (w *wire) open(units ...int) (*line, error) {
	transport, yaml := w.options()
	options, ps := document.Parse("command line", []byte(yaml))
	if err := ps.Err(); err != nil {
		return nil, err
	}
	l := &line{driver: modbus.New(), link: hal.LinkSpec{ID: w.endpoint, Transport: transport, Options: options}}
	problems := l.driver.CheckLink(l.link)
	var devices []hal.DeviceSpec
	for _, unit := range units {
		own, ps := document.Parse("command line", fmt.Appendf(nil, "{unit_id: %d}", unit))
		if err := ps.Err(); err != nil {
			return nil, err
		}
		l.device = hal.DeviceSpec{ID: fmt.Sprintf("unit %d", unit), Link: w.endpoint, Options: own}
		problems.Add(l.driver.CheckDevice(l.link, l.device)...)
		devices = append(devices, l.device)
	}
	for _, p := range problems {
		if !p.Warning {
			return nil, fmt.Errorf("%s: %s: %s; %s", w.endpoint, p.Path, p.Message, p.Hint)
		}
	}
	conn, err := l.driver.Open(l.link, devices)
	if err != nil {
		return nil, err
	}
	explorer, ok := conn.(modbus.Explorer)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s cannot be looked at", transport), conn.Close())
	}
	l.conn = explorer
	return l, nil
}

// ReadHolding reads count registers from a zero-based address.
func (l *line) ReadHolding(ctx context.Context, address, count uint16) ([]uint16, error) {
	at := make([]hal.Address, count)
	for i := range at {
		node, ps := document.Parse("command line", fmt.Appendf(nil, "{table: holding_register, address: %d, address_base: 0, type: uint16}", int(address)+i))
		if err := ps.Err(); err != nil {
			return nil, err
		}
		place, ps := l.driver.CheckPoint(l.link, l.device, hal.PointSpec{ID: "register", At: node})
		if err := ps.Err(); err != nil {
			return nil, err
		}
		at[i] = place
	}
	words := make([]uint16, count)
	for i, s := range l.conn.Read(ctx, l.device.ID, at) {
		if s.Err != nil {
			return nil, s.Err
		}
		if len(s.Raw) != 2 {
			return nil, fmt.Errorf("register %d has %d bytes instead of 2", int(address)+i, len(s.Raw))
		}
		words[i] = uint16(s.Raw[0])<<8 | uint16(s.Raw[1])
	}
	return words, nil
}
