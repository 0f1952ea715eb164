package modbus

import (
	"context"
	"fmt"
	"strings"
	"time"

	"capd/internal/document"
)

// parity is a character's check bit.
type parity uint8

const (
	parityNone parity = iota
	parityEven
	parityOdd
)

func parityNames() []string { return []string{"none", "even", "odd"} }

func (p parity) String() string { return parityNames()[p] }

// rs485 is how the port's driver turns a two-wire line around (Linux, Documentation/driver-api/serial/serial-rs485.rst).
type rs485 struct {
	rtsOnSend   bool // RTS is high while sending; low otherwise
	delayBefore time.Duration
	delayAfter  time.Duration
}

// The speed at and above which the times of a line do not shrink any more, and the silence between frames there (MODBUS over Serial
// Line Specification V1.02, 2.5.1.1).
const (
	fastBaud = 19200
	fastGap  = 1750 * time.Microsecond
)

// readSerial reads what a link over a serial port needs. Without parity, the protocol asks for two stop bits, but nearly all devices
// use one: one is the default throughout.
func readSerial(m *document.Map, ps *document.Problems, s *linkSettings) {
	m.Required("port", "baud", "parity")
	s.port = m.String("port")
	if s.port != "" && !strings.HasPrefix(s.port, "/") {
		m.Report("port", document.RuleValue, "write the device's path, such as /dev/serial/by-id/usb-FTDI_... or /dev/ttyS1", "port %q is no absolute path", s.port)
	}
	s.baud = number(m, ps, "baud", fastBaud, 50, 4_000_000)
	switch m.Enum("parity", parityNames()...) {
	case "even":
		s.parity = parityEven
	case "odd":
		s.parity = parityOdd
	}
	s.stopBits = number(m, ps, "stop_bits", 1, 1, 2)
	s.turnaround = duration(m, ps, "turnaround", 100*time.Millisecond, 0)
	if d := m.Map("rs485"); d != nil {
		s.rs485 = readRS485(d, ps)
	}
}

func readRS485(m *document.Map, ps *document.Problems) *rs485 {
	r := &rs485{rtsOnSend: !m.Has("rts_on_send") || m.Bool("rts_on_send")}
	r.delayBefore = milliseconds(m, ps, "delay_before_send")
	r.delayAfter = milliseconds(m, ps, "delay_after_send")
	m.Done()
	return r
}

// milliseconds reads a delay as the kernel takes it.
func milliseconds(m *document.Map, ps *document.Problems, key string) time.Duration {
	d := duration(m, ps, key, 0, 0)
	if d%time.Millisecond != 0 || d > 100*time.Millisecond {
		m.Report(key, document.RuleValue, "write whole milliseconds, 0ms to 100ms", "%s %v cannot be set", key, d)
	}
	return d
}

func openSerial(s linkSettings, c *channel) {
	bits := 1 + 8 + s.stopBits
	if s.parity != parityNone {
		bits++
	}
	r := newRTU()
	r.char = time.Duration(bits) * time.Second / time.Duration(s.baud)
	r.gap = fastGap
	if s.baud <= fastBaud {
		r.gap = 7 * r.char / 2
	}
	r.quiet = 50*time.Millisecond + 10*r.char // USB adapters hold bytes back for 16 ms
	r.turnaround = s.turnaround
	c.framing, c.steady, c.unsure = r, true, true
	c.dial = func(context.Context) (stream, error) {
		p, err := openPort(s)
		if err != nil {
			return nil, fmt.Errorf("serial port %s: %w", s.port, err)
		}
		return p, nil
	}
}
