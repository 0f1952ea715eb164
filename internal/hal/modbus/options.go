package modbus

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
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
	tls            tlsFiles

	port       string // path of a serial device
	baud       int
	parity     parity
	stopBits   int
	rs485      *rs485 // nil: the adapter turns the line around itself
	turnaround time.Duration
}

func parseLink(link hal.LinkSpec) (linkSettings, document.Problems) {
	var ps document.Problems
	t, ok := transportOf(link)
	if !ok {
		ps.Add(link.Options.Problem(document.RuleValue, "", "transport %q of link %s is not one of the modbus driver", link.Transport, link.ID))
		return linkSettings{}, ps
	}
	m := document.NewMap(link.Options, &ps)
	s := linkSettings{timeout: duration(m, &ps, "timeout", time.Second, time.Millisecond)}
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
	s.busyRetries, s.busyWait = 2, 50*time.Millisecond
	if m == nil {
		return
	}
	s.minGap = duration(m, ps, "min_gap", 0, 0)
	s.connectDelay = duration(m, ps, "connect_delay", 0, 0)
	s.maxRegisters = number(m, ps, "max_registers", s.maxRegisters, 1, maxReadRegisters)
	s.maxBits = number(m, ps, "max_bits", s.maxBits, 1, maxReadBits)
	s.maxGap = number(m, ps, "max_gap", s.maxGap, 0, maxReadRegisters)
	s.writeFC = oneOf(m, ps, "write_fc", fcWriteSingleRegister, fcWriteMultipleRegisters, fcReadWriteRegisters)
	s.coilFC = oneOf(m, ps, "write_coil_fc", fcWriteSingleCoil, fcWriteMultipleCoils)
	s.busyRetries = number(m, ps, "busy_retries", s.busyRetries, 0, 10)
	s.busyWait = duration(m, ps, "busy_wait", s.busyWait, time.Millisecond)
	parseBlocks(m, s, ps)
	s.closeAfter = m.Bool("close_after")
	s.onePerRequest = m.Bool("one_per_request")
	s.coilsFromZero = m.Bool("coils_from_zero")
	s.maskWrite = m.Bool("mask_write")
	s.tolerance = tolerance{
		anyUnit: dangerous(m, ps, "any_unit", "an answer of another unit is taken for this one's"),
		tidZero: dangerous(m, ps, "tid_zero", "a late answer cannot be told from the right one by its transaction number"),
		swapped: m.Bool("tid_swapped"),
		echo:    m.Bool("echo"),
		longer:  dangerous(m, ps, "longer_reply", "an answer of the wrong length is taken for a right one"),
	}
	m.Done()
}

// parseBlocks reads the sizes in which a device gives its bits (block) and registers (register_block).
func parseBlocks(m *document.Map, s *settings, ps *document.Problems) {
	s.bitBlock = readAlignment(m, ps, "block", maxReadBits)
	s.registerBlock = readAlignment(m, ps, "register_block", maxReadRegisters)
	for _, other := range []string{"coils_from_zero", "max_bits"} {
		if s.bitBlock.size > 0 && m.Has(other) {
			m.Report(other, document.RuleValue, "leave one of them out", "%s and block cannot both say how bits are read", other)
		}
	}
	if s.registerBlock.size > 0 && m.Has("max_registers") {
		m.Report("max_registers", document.RuleValue, "leave one of them out", "max_registers and register_block cannot both say how registers are read")
	}
}

// readAlignment reads block: 8 or block: {size: 8, start: 0}.
func readAlignment(m *document.Map, ps *document.Problems, key string, largest int) alignment {
	if m.Has(key) && m.Node(key).Kind() != document.Mapping {
		return alignment{size: number(m, ps, key, 0, 1, largest)}
	}
	sub := m.Map(key)
	if sub == nil {
		return alignment{}
	}
	sub.Required("size")
	g := alignment{size: number(sub, ps, "size", 0, 1, largest), start: number(sub, ps, "start", 0, 0, 65535)}
	sub.Done()
	return g
}

// oneOf reads a function code; the first is the usual one.
func oneOf(m *document.Map, ps *document.Problems, key string, allowed ...byte) byte {
	fc := byte(number(m, ps, key, int(allowed[0]), 1, 127))
	if !slices.Contains(allowed, fc) {
		m.Report(key, document.RuleValue, "write "+alternatives(allowed), "%s %d is no function that writes it", key, fc)
		return allowed[0]
	}
	return fc
}

// alternatives is "5 or 15", "6, 16 or 23".
func alternatives(allowed []byte) string {
	text := strconv.Itoa(int(allowed[0]))
	for _, fc := range allowed[1 : len(allowed)-1] {
		text += ", " + strconv.Itoa(int(fc))
	}
	return text + " or " + strconv.Itoa(int(allowed[len(allowed)-1]))
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
