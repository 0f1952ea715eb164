package modbus

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"capd/internal/document"
	"capd/internal/hal"
)

// CheckLinks looks for links that are one wire: two masters on one serial port disturb each other, and most gateways serve one
// client properly. Two links of one TCP endpoint are a warning, as some devices do serve several connections.
func (*Driver) CheckLinks(links []hal.LinkSpec) document.Problems {
	var ps document.Problems
	first := map[string]string{}
	for _, l := range links {
		key, wire := wireOf(l)
		if key == "" {
			continue
		}
		if before, taken := first[wire]; taken {
			p := l.Options.Get(key).Problem("same_wire", "put the devices of both on link "+before, "link %s uses the %s of link %s: a link is one wire, and two do not wait for each other",
				l.ID, wire, before)
			p.Warning = key != "port"
			ps.Add(p)
			continue
		}
		first[wire] = l.ID
	}
	return ps
}

// wireOf names the wire of a link and the option that says it; the empty key means that it is not known. One place may have other
// names that only the system knows, such as links to a serial port.
func wireOf(l hal.LinkSpec) (key, wire string) {
	s, _ := parseLink(l) // its problems are CheckLink's to report
	switch {
	case s.port != "":
		return "port", "serial port " + filepath.Clean(s.port)
	case s.endpoint != "":
		return "endpoint", "endpoint " + canonicalEndpoint(s.endpoint)
	default:
		return "", ""
	}
}

// canonicalEndpoint writes an endpoint as all of its spellings.
func canonicalEndpoint(text string) string {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return text
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return net.JoinHostPort(a.Unmap().String(), port)
	}
	return net.JoinHostPort(strings.ToLower(strings.TrimSuffix(host, ".")), port)
}

// Station names the one unit on the one wire that a device is; devices of equal names are the same. It is empty when the options do
// not say it.
func (*Driver) Station(link hal.LinkSpec, device hal.DeviceSpec) string {
	key, wire := wireOf(link)
	s, ps := parseDevice(device, time.Second)
	if key == "" || ps.Err() != nil {
		return ""
	}
	return fmt.Sprintf("unit %d on %s", s.unit, wire)
}

// CheckPoints holds the points of one device against each other: every group has to fit into one request. at are the places that
// CheckPoint gave for them.
func (*Driver) CheckPoints(_ hal.LinkSpec, device hal.DeviceSpec, points []hal.PointSpec, at []hal.Address) document.Problems {
	s, _ := parseDevice(device, time.Second) // its problems are CheckDevice's to report
	g := grouping{dev: newDevice(device.ID, s), points: points, batch: make([]*address, len(at))}
	for i := range at {
		g.batch[i], _ = at[i].(*address)
	}
	first := map[string]int{} // an index into points by group
	for _, a := range atoms(g.batch) {
		name := g.batch[a.items[0]].group
		if name == "" {
			continue
		}
		before, known := first[name]
		if !known {
			first[name] = a.items[0]
			g.fits(a)
			continue
		}
		g.report(a.items[0], "give the points of each table a group of their own", "group %s has points in %s (%s) and in %s (%s), which no request reads together",
			name, g.batch[before].table, points[before].ID, a.table, points[a.items[0]].ID)
	}
	return g.ps
}

// grouping is one run of CheckPoints.
type grouping struct {
	dev    *device
	points []hal.PointSpec
	batch  []*address
	ps     document.Problems
}

func (g *grouping) report(item int, hint, format string, args ...any) {
	at := g.points[item].At
	if key := at.Get("group"); key != nil {
		at = key
	}
	g.ps.Add(at.Problem("group", hint, format, args...))
}

// fits reports a group that does not fit into one request of the device. What one point alone needs is CheckPoint's to report.
func (g *grouping) fits(a atom) {
	b, limit := g.dev.blockOf([]atom{a}), g.dev.limit(a.table)
	if b.to-b.from <= limit || len(a.items) == 1 {
		return
	}
	low, high := a.items[0], a.items[0]
	for _, i := range a.items {
		from, to := g.batch[i].span()
		if lowest, _ := g.batch[low].span(); from < lowest {
			low = i
		}
		if _, highest := g.batch[high].span(); to > highest {
			high = i
		}
	}
	text := fmt.Sprintf("group %s reaches from %d (%s) to %d (%s), ", g.batch[low].group, a.from, g.points[low].ID, a.to-1, g.points[high].ID)
	const split = "make two groups of it, or leave group out of the points that need not be of one moment"
	if whole := g.dev.whole(a.table); whole.size > 0 {
		g.report(high, split, "%sand does not lie in one of the device's blocks of %d from %d on", text, whole.size, whole.start)
		return
	}
	g.report(high, split, "%s%d %s; %s", text, b.to-b.from, unitsOf(a.table), g.giver(a.table, limit))
}

func unitsOf(t table) string {
	if t.bits() {
		return "bits"
	}
	return "registers"
}

// giver says who sets a limit.
func (g *grouping) giver(t table, limit int) string {
	switch {
	case t.bits() && limit < maxReadBits:
		return fmt.Sprintf("the device gives %d at once (max_bits)", limit)
	case !t.bits() && limit < maxReadRegisters:
		return fmt.Sprintf("the device gives %d at once (max_registers)", limit)
	default:
		return fmt.Sprintf("one request holds %d", limit)
	}
}

// Shares reports whether both addresses have a part of the device's memory in common, so that a write to one may change the other.
func (a *address) Shares(other hal.Address) bool {
	b, ok := other.(*address)
	if !ok || a.table != b.table {
		return false
	}
	aFrom, aTo := a.extent()
	bFrom, bTo := b.extent()
	return aFrom < bTo && bFrom < aTo
}
