package field

import (
	"capd/internal/document"
	"capd/internal/hal"
	"capd/internal/inventory"
)

// What a driver may know of things that are right by themselves and wrong together.
type (
	linkChecker interface {
		// CheckLinks looks at all links of the driver, in order of their ids.
		CheckLinks(links []hal.LinkSpec) document.Problems
	}
	stationer interface {
		// Station is the same for devices that are one and the same on the wire; "" when that is not known.
		Station(link hal.LinkSpec, device hal.DeviceSpec) string
	}
	pointChecker interface {
		// CheckPoints looks at all readable points of one device; at are the places that CheckPoint gave for them.
		CheckPoints(link hal.LinkSpec, device hal.DeviceSpec, points []hal.PointSpec, at []hal.Address) document.Problems
	}
	sharer interface {
		// Shares reports whether a write to one address may change the other.
		Shares(other hal.Address) bool
	}
)

// checkLinks lets the drivers look at their links together.
func (b *binder) checkLinks(drivers []hal.Driver) {
	of := map[string][]hal.LinkSpec{}
	for _, id := range inventory.SortedKeys(b.out.lines) {
		l := b.out.lines[id]
		of[l.driver.Name()] = append(of[l.driver.Name()], l.spec)
	}
	for _, d := range drivers {
		if c, can := d.(linkChecker); can {
			b.add(c.CheckLinks(of[d.Name()]))
		}
	}
}

// stations are the bound devices in order of their ids, those together that are one and the same. Its limits and its memory are one,
// whatever the number of its names, so more than one is a warning.
func (b *binder) stations() [][]*boundDevice {
	var all [][]*boundDevice
	known := map[string]int{} // an index into all
	for _, id := range inventory.SortedKeys(b.out.devices) {
		d := b.out.devices[id]
		name := b.station(d)
		i, twice := known[name]
		if name == "" || !twice {
			known[name] = len(all)
			all = append(all, []*boundDevice{d})
			continue
		}
		first := all[i][0].spec
		p := d.spec.Options.Problem(ruleStation, "declare it once, or correct the unit", "device %s is %s, as device %s is: their time-outs, breakers and liveness do not know of each other",
			id, name, first.ID)
		p.Warning = true
		b.ps.Add(p)
		all[i] = append(all[i], d)
	}
	return all
}

func (b *binder) station(d *boundDevice) string {
	line := b.out.lines[d.spec.Link]
	if s, can := line.driver.(stationer); can {
		return s.Station(line.spec, d.spec)
	}
	return ""
}

// checkPoints lets the driver look at the readable points of a device together.
func (b *binder) checkPoints(d *boundDevice) {
	line := b.out.lines[d.spec.Link]
	c, can := line.driver.(pointChecker)
	if !can {
		return
	}
	var points []hal.PointSpec
	var at []hal.Address
	for _, p := range d.points {
		if p.Point.Access != inventory.WriteOnly {
			points, at = append(points, specOf(p.Point)), append(at, p.Address)
		}
	}
	b.add(c.CheckPoints(line.spec, d.spec, points, at))
}

// checkPlaces looks for points of one device, under all its names, that cannot both be meant: overlapping ones, and two written ones
// in one place.
func (b *binder) checkPlaces(station []*boundDevice) {
	var points []*Bound
	for _, d := range station {
		points = append(points, d.points...)
	}
	for i, p := range points {
		for _, q := range points[:i] {
			b.comparePlaces(p, q)
		}
	}
}

func (b *binder) comparePlaces(p, q *Bound) {
	switch {
	case p.Address.Overlaps(q.Address):
		b.report(p.Point, ruleOverlap, "at", "correct one of the addresses or types", "%s (%s) overlaps %s (%s) on device %s without being the same place",
			p.Point.Ref, p.Address, q.Point.Ref, q.Address, p.Device)
	case !p.Point.Access.Writes() || !q.Point.Access.Writes() || !shares(p.Address, q.Address):
	case p.Address.String() == q.Address.String():
		b.report(p.Point, ruleWriters, "access", "make one of them read only", "%s and %s both write %s of device %s; the limits of one would not hold for the other",
			p.Point.Ref, q.Point.Ref, p.Address, p.Device)
	default:
		b.report(p.Point, ruleWriters, "access", "make one of them read only", "%s (%s) and %s (%s) write the same memory of device %s; the limits of one would not hold for the other",
			p.Point.Ref, p.Address, q.Point.Ref, q.Address, p.Device)
	}
}

// Shares reports whether a write to one of two points may change the other: they lie in the same memory of one device, under whatever
// names.
func (b *Bound) Shares(o *Bound) bool { return b.station == o.station && shares(b.Address, o.Address) }

func shares(a, b hal.Address) bool {
	if s, can := a.(sharer); can {
		return s.Shares(b)
	}
	return a.String() == b.String()
}

func specOf(p *inventory.Point) hal.PointSpec {
	return hal.PointSpec{ID: p.Ref, At: p.At, Invalid: p.Invalid, Writable: p.Access.Writes()}
}
