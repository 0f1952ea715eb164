package field

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"capd/internal/document"
	"capd/internal/hal"
	"capd/internal/physical"
)

// batch is the points of one device that a call asks for. Its line is acquired until it has run.
type batch struct {
	device   *device
	points   []*Bound
	readings []physical.Reading
}

// Read reads points from their devices, always afresh: every reading's request leaves after the call. It answers one reading for
// each ref; what cannot be read has a bad one with the reason. Links are read in parallel, each device in one batch. The readings
// are raw truth: nothing is held against them for a liveness counter that stands still.
func (f *Field) Read(ctx context.Context, refs []string) map[string]physical.Reading {
	out := make(map[string]physical.Reading, len(refs))
	run(f.gather(refs, out), out, func(b *batch) []physical.Reading {
		return b.device.read(ctx, b.points, (*hal.Link).Read)
	})
	return out
}

// ReadCached answers with the last readings that are at most maxAge old, and reads the others afresh. A reading made before the last
// write to its device, a stale one, or one of a device whose counter stands still, is always read again; a bad one that is young
// is not, so that a silent device is not asked by every caller. Callers of one device wait for each other and share what one of
// them read. Readings of a device whose counter was seen standing still are bad, CauseFrozen.
func (f *Field) ReadCached(ctx context.Context, refs []string, maxAge time.Duration) map[string]physical.Reading {
	asked := time.Now()
	out := make(map[string]physical.Reading, len(refs))
	missing := f.current().young(refs, out, maxAge, asked)
	if len(missing) == 0 {
		return out
	}
	run(f.gather(missing, out), out, func(b *batch) []physical.Reading {
		return b.device.cached(ctx, b.points, maxAge, asked)
	})
	return out
}

// young puts the kept readings that need no reading into out and lists the other refs.
func (r running) young(refs []string, out map[string]physical.Reading, maxAge time.Duration, asked time.Time) (missing []string) {
	for _, ref := range refs {
		if b := r.binding.Point(ref); b != nil {
			if reading, ok := r.devices[b.Device].young(b, maxAge, asked, asked); ok {
				out[ref] = reading
				continue
			}
		}
		missing = append(missing, ref)
	}
	return missing
}

// gather sorts refs into batches, acquires their lines and answers the refs that name nothing.
func (f *Field) gather(refs []string, out map[string]physical.Reading) map[*line][]*batch {
	f.mu.Lock()
	now := f.now
	work, unknown := now.batches(refs)
	f.mu.Unlock()
	for _, ref := range unknown {
		at := time.Now()
		out[ref] = physical.BadReading(physical.CauseOffline, now.unknown(ref), at, at)
	}
	return work
}

// batches acquires a line once for each of its batches. The caller holds the field's mu, so that no line is on its way out.
func (r running) batches(refs []string) (work map[*line][]*batch, unknown []string) {
	work = map[*line][]*batch{}
	byDevice := map[string]*batch{}
	for _, ref := range refs {
		b := r.binding.Point(ref)
		if b == nil {
			unknown = append(unknown, ref)
			continue
		}
		t := byDevice[b.Device]
		if t == nil {
			t = &batch{device: r.devices[b.Device]}
			byDevice[b.Device] = t
			l := t.device.line
			l.acquire()
			work[l] = append(work[l], t)
		}
		if !slices.Contains(t.points, b) {
			t.points = append(t.points, b)
		}
	}
	return work, unknown
}

// unknown is the sentence about a ref that names nothing.
func (r running) unknown(ref string) string {
	text := fmt.Sprintf("there is no point %q in the active inventory", ref)
	if near := document.Suggest(ref, r.binding.Refs()); near != "" {
		text += "; did you mean " + near + "?"
	}
	return text
}

// run does the batches, links in parallel, releases their lines and puts the readings into out.
func run(work map[*line][]*batch, out map[string]physical.Reading, do func(*batch) []physical.Reading) {
	var wg sync.WaitGroup
	for l, batches := range work {
		one := func() {
			for _, b := range batches {
				b.readings = do(b)
				l.release()
			}
		}
		if len(work) == 1 {
			one()
			continue
		}
		wg.Go(one)
	}
	wg.Wait()
	for _, batches := range work {
		for _, b := range batches {
			for i, p := range b.points {
				out[p.Point.Ref] = b.readings[i]
			}
		}
	}
}

// Last is the last reading of a point, whoever asked for it; false when it was never read, or not since the point changed. It is
// bad, with its value, when its device's liveness counter was seen standing still (CauseFrozen) or when it is older than 5 s and
// than three of the point's polls (CauseStale).
func (f *Field) Last(ref string) (physical.Reading, bool) {
	r := f.current()
	b := r.binding.Point(ref)
	if b == nil {
		return physical.Reading{}, false
	}
	return r.devices[b.Device].lastOf(b, time.Now())
}

// Alive is what the device's liveness counter shows. Without polling only calls that read the counter tell anything.
func (f *Field) Alive(device string) Liveness {
	d := f.current().devices[device]
	if d == nil {
		return Liveness{}
	}
	return d.livenessAt(time.Now())
}
