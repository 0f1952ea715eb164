package field

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"capd/internal/hal"
	"capd/internal/physical"
)

// device is a device in use: its kept readings, its liveness, and the one refresh of them that may run at a time.
type device struct {
	*boundDevice
	line    *line
	refresh chan struct{} // holds one token while ReadCached reads
	poller  *poller       // nil when nothing of it is polled

	mu    sync.Mutex
	last  map[string]physical.Reading
	still map[string]*stillness
	alive *tracker  // nil when the device declares no liveness
	wrote time.Time // end of the last write: what was read before may have changed since
}

func newDevice(b *boundDevice, l *line) *device {
	d := &device{boundDevice: b, line: l, refresh: make(chan struct{}, 1), last: make(map[string]physical.Reading, len(b.points)),
		still: map[string]*stillness{}}
	if b.liveness != nil {
		d.alive = &tracker{counter: b.liveness.Point, within: b.liveness.Within}
	}
	return d
}

// how is one way to read a link: hal's Read or Poll.
type how func(l *hal.Link, ctx context.Context, device string, at []hal.Address) []hal.Sample

// read reads points afresh in one batch and keeps what is news. The caller has acquired the line.
func (d *device) read(ctx context.Context, points []*Bound, do how) []physical.Reading {
	samples := d.sample(ctx, points, do)
	readings := make([]physical.Reading, len(points))
	for i, b := range points {
		readings[i] = b.Reading(samples[i])
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, b := range points {
		if isNews(ctx, samples[i].Err) {
			d.watchStill(b, &readings[i])
			d.keep(b.Point.Ref, readings[i])
		}
	}
	return readings
}

func (d *device) sample(ctx context.Context, points []*Bound, do how) []hal.Sample {
	started := time.Now()
	link, e := d.line.open(ctx)
	if e != nil {
		return d.failed(points, e, started)
	}
	at := make([]hal.Address, len(points))
	for i, b := range points {
		at[i] = b.Address
	}
	samples := do(link, ctx, d.spec.ID, at)
	if len(samples) != len(points) {
		return d.failed(points, &hal.Error{Kind: hal.Protocol, MaySent: true,
			Err: fmt.Errorf("driver %s gave %d samples for %d points", d.line.driver.Name(), len(samples), len(points))}, started)
	}
	return samples
}

// failed answers every point with the same error, under its own name.
func (d *device) failed(points []*Bound, e *hal.Error, started time.Time) []hal.Sample {
	samples := make([]hal.Sample, len(points))
	for i, b := range points {
		own := *e
		own.Device, own.Op = d.spec.ID, "read "+b.Address.String()
		samples[i] = hal.FailedSample(&own, started)
	}
	return samples
}

// keep makes a reading the last one, unless one whose request left later is there. The caller holds mu.
func (d *device) keep(ref string, r physical.Reading) {
	if before, ok := d.last[ref]; ok && r.Started.Before(before.Started) {
		return
	}
	d.last[ref] = r
	if d.alive != nil && d.alive.counter == ref {
		d.alive.observe(r)
	}
}

// livenessAt is what is known of the device's counter.
func (d *device) livenessAt(now time.Time) Liveness {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.alive == nil {
		return Liveness{}
	}
	return d.alive.state(now)
}

// turned reports once whenever the device's counter freezes or moves again.
func (d *device) turned() (frozen, changed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.alive == nil {
		return false, false
	}
	return d.alive.turned()
}

// isNews tells what a device, or the way to it, showed of itself from a transaction that capd or its caller gave up, or never
// began. Only news may take the place of the last reading.
func isNews(ctx context.Context, err error) bool {
	e := hal.AsError(err)
	switch {
	case err == nil:
		return true
	case isOver(ctx) || isBackedOff(err):
		return false
	case e == nil || e.MaySent:
		return true
	}
	return e.Kind != hal.Timeout && e.Kind != hal.QueueFull && e.Kind != hal.Closed
}

// isOver looks at the clock too: a transaction that has ctx's deadline may end by it an instant before ctx does.
func isOver(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

func isBackedOff(err error) bool {
	_, ok := errors.AsType[*hal.BackedOffError](err)
	return ok
}
