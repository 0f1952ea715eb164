package field

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"capd/internal/document"
	"capd/internal/hal"
	"capd/internal/inventory"
	"capd/internal/physical"
)

// Binding is an inventory whose every link, device and point a driver has understood. It is immutable.
type Binding struct {
	lines   map[string]*boundLine
	devices map[string]*boundDevice
	points  map[string]*Bound
}

// Bound is a point and the place that its driver found for it. It is immutable.
type Bound struct {
	Point     *inventory.Point
	Address   hal.Address
	ValueKind physical.Kind // what a reading holds and a write takes: Text for a point with labels, else the address's own kind
	Device    string
	Link      string
	Driver    string

	station string           // the same for devices that are one on the wire
	codes   map[string]int64 // raw code by label
}

// boundLine is a link with its driver. Equal keys mean that an opened connection serves both.
type boundLine struct {
	spec    hal.LinkSpec
	driver  hal.Driver
	devices []hal.DeviceSpec
	place   string // transport and options: links of the same place use the same wire
	key     string
}

// boundDevice is a device with its points, in order of their names. Equal keys on a kept link mean that its readings may be kept.
type boundDevice struct {
	spec     hal.DeviceSpec
	liveness *inventory.Liveness
	points   []*Bound
	key      string
}

// Point finds ASSET.point, nil when there is none.
func (b *Binding) Point(ref string) *Bound { return b.points[ref] }

// Refs lists every bound ASSET.point in order.
func (b *Binding) Refs() []string { return slices.Sorted(maps.Keys(b.points)) }

// binder is one run of Bind.
type binder struct {
	transports map[string]hal.Driver
	out        *Binding
	ps         document.Problems
}

// Bind lets the drivers check a whole inventory, without any I/O. The binding holds everything that was understood; it is
// complete when the problems are warnings at most. References that name nothing are left to the inventory's own check.
func Bind(inv *inventory.Inventory, drivers []hal.Driver) (*Binding, document.Problems) {
	b := &binder{transports: map[string]hal.Driver{},
		out: &Binding{lines: map[string]*boundLine{}, devices: map[string]*boundDevice{}, points: map[string]*Bound{}}}
	for _, d := range drivers {
		for _, t := range d.Transports() {
			b.transports[t] = d
		}
	}
	for _, id := range inventory.SortedKeys(inv.Links) {
		b.link(inv.Links[id])
	}
	b.checkLinks(drivers)
	for _, id := range inventory.SortedKeys(inv.Devices) {
		b.device(inv.Devices[id])
	}
	for _, ref := range inv.Refs() {
		b.point(inv.Point(ref))
	}
	for _, station := range b.stations() {
		for _, d := range station {
			for _, p := range d.points {
				p.station = station[0].spec.ID
			}
		}
		b.checkPlaces(station)
	}
	for _, id := range inventory.SortedKeys(b.out.devices) {
		d := b.out.devices[id]
		b.checkPoints(d)
		b.checkLiveness(inv.Devices[id])
		d.key = deviceKey(d)
	}
	for _, l := range b.out.lines {
		l.key = lineKey(l)
	}
	return b.out, b.ps
}

// add keeps problems and reports whether all of them are warnings at most.
func (b *binder) add(ps document.Problems) bool {
	b.ps.Add(ps...)
	return ps.Err() == nil
}

func (b *binder) link(l *inventory.Link) {
	driver, known := b.transports[l.Transport]
	if !known {
		b.unknownTransport(l)
		return
	}
	spec := hal.LinkSpec{ID: l.ID, Transport: l.Transport, Options: l.Options}
	b.add(driver.CheckLink(spec))
	b.out.lines[l.ID] = &boundLine{spec: spec, driver: driver, place: l.Transport + " " + nodeText(l.Options)}
}

func (b *binder) unknownTransport(l *inventory.Link) {
	known := inventory.SortedKeys(b.transports)
	hint := "the transports are " + strings.Join(known, ", ")
	if near := document.Suggest(l.Transport, known); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	b.ps.Add(document.Problem{Pos: l.Pos, Path: "links." + l.ID + ".transport", Rule: ruleTransport,
		Message: fmt.Sprintf("there is no transport %q", l.Transport), Hint: hint})
}

func (b *binder) device(d *inventory.Device) {
	line := b.out.lines[d.Link]
	if line == nil {
		return
	}
	spec := hal.DeviceSpec{ID: d.ID, Link: d.Link, Options: d.Options}
	b.add(line.driver.CheckDevice(line.spec, spec))
	line.devices = append(line.devices, spec)
	b.out.devices[d.ID] = &boundDevice{spec: spec, liveness: d.Liveness}
}

func (b *binder) point(p *inventory.Point) {
	d := b.out.devices[p.Device]
	if d == nil {
		return
	}
	line := b.out.lines[d.spec.Link]
	at, ps := line.driver.CheckPoint(line.spec, d.spec, specOf(p))
	if !b.add(ps) || at == nil {
		return
	}
	bound := &Bound{Point: p, Address: at, ValueKind: at.Kind(), Device: d.spec.ID, Link: d.spec.Link, Driver: line.driver.Name()}
	if len(p.Labels) > 0 {
		bound.ValueKind = physical.Text
		bound.codes = make(map[string]int64, len(p.Labels))
		for code, label := range p.Labels {
			bound.codes[label] = code
		}
	}
	b.checkForm(bound)
	d.points = append(d.points, bound)
	b.out.points[p.Ref] = bound
}

func lineKey(l *boundLine) string {
	var k strings.Builder
	k.WriteString(l.place)
	for _, d := range l.devices {
		fmt.Fprintf(&k, "\n%s %s", d.ID, nodeText(d.Options))
	}
	return k.String()
}

// deviceKey holds everything, its link apart, that gives a kept reading of the device its meaning.
func deviceKey(d *boundDevice) string {
	var k strings.Builder
	if d.liveness != nil {
		fmt.Fprintf(&k, "\nliveness %s %s", d.liveness.Point, d.liveness.Within)
	}
	for _, b := range d.points {
		p := b.Point
		fmt.Fprintf(&k, "\n%s %s %s %s %s %q %s %s %q %s", p.Ref, nodeText(p.At), nodeText(p.Invalid), p.Scale.Factor, p.Scale.Offset,
			p.Unit, p.Access, p.Update, b.labels(), limitsText(p.Range))
	}
	return k.String()
}

// nodeText is a node as canonical text. A node that has no JSON form gets none in common with any other.
func nodeText(n *document.Node) string {
	text, err := n.JSON()
	if err != nil {
		return n.Pos().String() + err.Error()
	}
	return string(text)
}

func limitsText(l *inventory.Limits) string {
	low, high := "", ""
	if l != nil && l.Min != nil {
		low = l.Min.String()
	}
	if l != nil && l.Max != nil {
		high = l.Max.String()
	}
	return low + ".." + high
}
