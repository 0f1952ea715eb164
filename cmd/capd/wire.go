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

// open makes the connection; nothing is dialled before the first request.
func (w *wire) open() (modbus.Explorer, error) {
	transport, yaml := w.options()
	n, ps := document.Parse("command line", []byte(yaml))
	if err := ps.Err(); err != nil {
		return nil, err
	}
	driver, link := modbus.New(), hal.LinkSpec{ID: w.endpoint, Transport: transport, Options: n}
	if ps := driver.CheckLink(link); ps.Err() != nil {
		return nil, fmt.Errorf("%s: %s: %s; %s", w.endpoint, ps[0].Path, ps[0].Message, ps[0].Hint)
	}
	conn, err := driver.Open(link, nil)
	if err != nil {
		return nil, err
	}
	explorer, ok := conn.(modbus.Explorer)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s cannot be looked at", transport), conn.Close())
	}
	return explorer, nil
}

// holding reads blocks of holding registers of one unit, for SunSpec discovery.
type holding struct {
	conn   modbus.Explorer
	driver *modbus.Driver
	link   hal.LinkSpec
	device hal.DeviceSpec
}

// openUnit opens a wire with one unit on it.
func (w *wire) openUnit(unit int) (*holding, error) {
	transport, yaml := w.options()
	linkNode, ps := document.Parse("command line", []byte(yaml))
	if err := ps.Err(); err != nil {
		return nil, err
	}
	deviceNode, ps := document.Parse("command line", fmt.Appendf(nil, "{unit_id: %d}", unit))
	if err := ps.Err(); err != nil {
		return nil, err
	}
	h := &holding{driver: modbus.New(), link: hal.LinkSpec{ID: w.endpoint, Transport: transport, Options: linkNode}}
	h.device = hal.DeviceSpec{ID: fmt.Sprintf("unit %d", unit), Link: w.endpoint, Options: deviceNode}
	for _, problems := range []document.Problems{h.driver.CheckLink(h.link), h.driver.CheckDevice(h.link, h.device)} {
		if problems.Err() != nil {
			return nil, fmt.Errorf("%s: %s: %s; %s", w.endpoint, problems[0].Path, problems[0].Message, problems[0].Hint)
		}
	}
	conn, err := h.driver.Open(h.link, []hal.DeviceSpec{h.device})
	if err != nil {
		return nil, err
	}
	explorer, ok := conn.(modbus.Explorer)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s cannot be looked at", transport), conn.Close())
	}
	h.conn = explorer
	return h, nil
}

// ReadHolding reads count registers from a zero-based address.
func (h *holding) ReadHolding(ctx context.Context, address, count uint16) ([]uint16, error) {
	at := make([]hal.Address, count)
	for i := range at {
		node, ps := document.Parse("command line", fmt.Appendf(nil, "{table: holding_register, address: %d, address_base: 0, type: uint16}", int(address)+i))
		if err := ps.Err(); err != nil {
			return nil, err
		}
		place, ps := h.driver.CheckPoint(h.link, h.device, hal.PointSpec{ID: "register", At: node})
		if err := ps.Err(); err != nil {
			return nil, err
		}
		at[i] = place
	}
	words := make([]uint16, count)
	for i, s := range h.conn.Read(ctx, h.device.ID, at) {
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
