package modbus

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"capd/internal/document"
	"capd/internal/hal"
)

// linkSettings are a link's options with defaults filled in.
type linkSettings struct {
	endpoint       string // host:port
	timeout        time.Duration
	connectTimeout time.Duration
	idleClose      time.Duration
}

func parseLink(link hal.LinkSpec) (linkSettings, document.Problems) {
	var ps document.Problems
	t, ok := transportOf(link)
	if !ok {
		ps.Add(link.Options.Problem(document.RuleValue, "", "transport %q of link %s is not one of the modbus driver", link.Transport, link.ID))
		return linkSettings{}, ps
	}
	m := document.NewMap(link.Options, &ps)
	s := linkSettings{
		timeout:   duration(m, &ps, "timeout", time.Second, time.Millisecond),
		idleClose: duration(m, &ps, "idle_close", time.Minute, 0),
	}
	t.read(m, &ps, &s)
	m.Done()
	return s, ps
}

// duration reads an optional duration of at least low.
func duration(m *document.Map, ps *document.Problems, key string, absent, low time.Duration) time.Duration {
	if !m.Has(key) {
		return absent
	}
	d, ok := m.Node(key).ReadDuration(ps)
	if ok && d < low {
		m.Report(key, document.RuleValue, fmt.Sprintf("write at least %v", low), "%s %v is too short", key, d)
	}
	return d
}

// number reads an optional whole number between low and high.
func number(m *document.Map, ps *document.Problems, key string, absent, low, high int) int {
	if !m.Has(key) {
		return absent
	}
	i, ok := m.Node(key).ReadInt(ps)
	if !ok {
		return absent
	}
	if i < int64(low) || i > int64(high) {
		m.Report(key, document.RuleValue, fmt.Sprintf("write a whole number from %d to %d", low, high), "%s %d is out of range", key, i)
		return absent
	}
	return int(i)
}

// endpointOf completes host or host:port with the default port.
func endpointOf(text, port string) (string, error) {
	if a, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return net.JoinHostPort(a.String(), port), nil
	}
	if !strings.Contains(text, ":") {
		text = net.JoinHostPort(text, port)
	}
	host, p, err := net.SplitHostPort(text)
	if err != nil {
		return "", err
	}
	if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("port %q is not a number from 1 to 65535", p)
	}
	if host == "" || strings.ContainsAny(host, " /") {
		return "", fmt.Errorf("host %q is neither a name nor an address", host)
	}
	return text, nil
}

func parseDevice(spec hal.DeviceSpec, timeout time.Duration) (settings, document.Problems) {
	var ps document.Problems
	m := document.NewMap(spec.Options, &ps)
	if spec.Options == nil {
		ps.Add(spec.Options.Problem(document.RuleMissingKey, "write unit_id: 0 to 255", "device %s has no unit_id", spec.ID))
	}
	m.Required("unit_id")
	s := settings{
		unit:    byte(number(m, &ps, "unit_id", 0, 0, 255)),
		timeout: duration(m, &ps, "timeout", timeout, time.Millisecond),
	}
	parseQuirks(m.Map("quirks"), &s, &ps)
	m.Done()
	return s, ps
}

// parseQuirks reads what is unusual about a device. The map may be absent.
func parseQuirks(m *document.Map, s *settings, ps *document.Problems) {
	s.writeFC, s.coilFC = fcWriteSingleRegister, fcWriteSingleCoil
	s.maxRegisters, s.maxBits, s.maxGap = maxReadRegisters, maxReadBits, 16
	if m == nil {
		return
	}
	s.minGap = duration(m, ps, "min_gap", 0, 0)
	s.connectDelay = duration(m, ps, "connect_delay", 0, 0)
	s.maxRegisters = number(m, ps, "max_registers", s.maxRegisters, 1, maxReadRegisters)
	s.maxBits = number(m, ps, "max_bits", s.maxBits, 1, maxReadBits)
	s.maxGap = number(m, ps, "max_gap", s.maxGap, 0, maxReadRegisters)
	s.writeFC = either(m, ps, "write_fc", s.writeFC, fcWriteMultipleRegisters)
	s.coilFC = either(m, ps, "write_coil_fc", s.coilFC, fcWriteMultipleCoils)
	s.closeAfter = m.Bool("close_after")
	s.onePerRequest = m.Bool("one_per_request")
	s.coilsFromZero = m.Bool("coils_from_zero")
	s.maskWrite = m.Bool("mask_write")
	s.tolerance = tolerance{
		anyUnit: dangerous(m, ps, "any_unit", "an answer of another unit is taken for this one's"),
		tidZero: dangerous(m, ps, "tid_zero", "a late answer cannot be told from the right one by its transaction number"),
		longer:  dangerous(m, ps, "longer_reply", "an answer of the wrong length is taken for a right one"),
	}
	m.Done()
}

// either reads a function code that is one of two.
func either(m *document.Map, ps *document.Problems, key string, usual, other byte) byte {
	fc := byte(number(m, ps, key, int(usual), 1, 16))
	if fc != usual && fc != other {
		m.Report(key, document.RuleValue, fmt.Sprintf("write %d or %d", usual, other), "%s %d is no function that writes it", key, fc)
		return usual
	}
	return fc
}

// dangerous reads a quirk that weakens a check, and warns of it.
func dangerous(m *document.Map, ps *document.Problems, key, risk string) bool {
	on := m.Bool(key)
	if on {
		p := m.Node(key).Problem("dangerous_quirk", "leave it out unless the device does not work without it", "with %s, %s", key, risk)
		p.Warning = true
		ps.Add(p)
	}
	return on
}
