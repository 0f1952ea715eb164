package field

import (
	"time"

	"capd/internal/hal"
	"capd/internal/inventory"
	"capd/internal/physical"
)

// LinkStatus is a link's figures and those of its devices, in order of their ids.
type LinkStatus struct {
	ID        string
	Transport string
	Open      bool // a transaction has opened it; false with zero figures before
	Stats     hal.LinkStats
	Devices   []DeviceStatus
}

// DeviceStatus is what the kept readings say about a device.
type DeviceStatus struct {
	ID        string
	Points    int       // bound points
	Polled    int       // of these, read in the background
	Bad       int       // kept readings that are bad now, as Last shows them
	LastGood  time.Time // when the latest good reading was measured; zero for never
	LastWrite time.Time // end of the last write; zero for never
	BackedOff time.Time // until when polls of the silent device pause; zero for no pause
	Silent    bool      // it does not answer now, or its wire cannot be reached
	Liveness  Liveness
}

// Stats are the figures of every link, in order of their ids.
func (f *Field) Stats() []LinkStatus {
	r := f.current()
	now := time.Now()
	all := make([]LinkStatus, 0, len(r.lines))
	for _, id := range inventory.SortedKeys(r.lines) {
		l := r.lines[id]
		s := LinkStatus{ID: id, Transport: l.spec.Transport}
		if link := l.opened(); link != nil {
			s.Open, s.Stats = true, link.Stats()
		}
		for _, spec := range l.devices {
			d := r.devices[spec.ID].status(now)
			until, silent := s.Stats.BackedOff[spec.ID]
			if d.Silent = silent || s.Stats.Unreachable > 0; until.After(now) {
				d.BackedOff = until
			}
			s.Devices = append(s.Devices, d)
		}
		all = append(all, s)
	}
	return all
}

// isBad reports whether a point needs a look. One that is not polled grows old between the calls that read it, which is no fault.
func (d *device) isBad(r physical.Reading, b *Bound, now time.Time) bool {
	r = d.judge(r, b, now)
	return r.Quality == physical.Bad && (r.Cause != physical.CauseStale || b.Point.Update > 0)
}

func (d *device) status(now time.Time) DeviceStatus {
	s := DeviceStatus{ID: d.spec.ID, Points: len(d.points), Liveness: d.livenessAt(now)}
	d.mu.Lock()
	defer d.mu.Unlock()
	s.LastWrite = d.wrote
	if d.poller != nil {
		for _, g := range d.poller.groups {
			s.Polled += len(g.points)
		}
	}
	for _, b := range d.points {
		r, ok := d.last[b.Point.Ref]
		if !ok {
			continue
		}
		if r.Good() && r.At.After(s.LastGood) {
			s.LastGood = r.At
		}
		if d.isBad(r, b, now) {
			s.Bad++
		}
	}
	return s
}
