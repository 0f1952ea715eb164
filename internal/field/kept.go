package field

import (
	"context"
	"fmt"
	"time"

	"capd/internal/hal"
	"capd/internal/physical"
)

// minStale is the least age at which a kept reading is stale, and the age for points without `update`.
const minStale = 5 * time.Second

// staleAfter is the age at which a kept reading no longer tells what is: three missed polls, but no less than 5 s.
func (d *device) staleAfter(b *Bound) time.Duration {
	period, _ := b.polled(d.liveness)
	return max(3*period, minStale)
}

// lastOf is the kept reading of a point as it may be shown now, false when it was never read.
func (d *device) lastOf(b *Bound, now time.Time) (physical.Reading, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, ok := d.last[b.Point.Ref]
	return d.judge(r, b, now), ok
}

// judge makes a kept reading bad when its device stands still or it is too old; its value stays. The caller holds mu.
func (d *device) judge(r physical.Reading, b *Bound, now time.Time) physical.Reading {
	limit := d.staleAfter(b)
	switch {
	case r.Quality == physical.Bad || r.Quality == "":
	case d.alive != nil && d.alive.isFrozen():
		spoil(&r, physical.CauseFrozen, d.alive.why())
	case r.Age(now) > limit:
		spoil(&r, physical.CauseStale, fmt.Sprintf("measured %s ago, older than %s", r.Age(now).Round(time.Millisecond), limit))
	}
	return r
}

// young is the kept reading of a point if it may stand for a new one: measured within maxAge on a device that does not stand still
// and that was not written since, or in any case if its request left after asked.
func (d *device) young(b *Bound, maxAge time.Duration, asked, now time.Time) (physical.Reading, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, ok := d.last[b.Point.Ref]
	switch {
	case !ok || r.Started.Before(d.wrote):
		return r, false
	case !r.Started.Before(asked):
		return d.judge(r, b, now), true
	}
	frozen := d.alive != nil && d.alive.isFrozen()
	return r, !frozen && r.Age(now) <= min(maxAge, d.staleAfter(b))
}

// cached answers points from kept readings that are young enough and reads the others, at most one caller at a time, so that many
// callers cost no more than one. The caller has acquired the line.
func (d *device) cached(ctx context.Context, points []*Bound, maxAge time.Duration, asked time.Time) []physical.Reading {
	select {
	case d.refresh <- struct{}{}:
		defer func() { <-d.refresh }()
	case <-ctx.Done():
		return d.gaveUp(ctx, points, asked)
	}
	readings := make([]physical.Reading, len(points))
	var missing []*Bound
	var at []int
	now := time.Now()
	for i, b := range points {
		r, ok := d.young(b, maxAge, asked, now)
		readings[i] = r
		if !ok {
			missing, at = append(missing, b), append(at, i)
		}
	}
	if len(missing) == 0 {
		return readings
	}
	fresh := d.read(ctx, missing, (*hal.Link).Read)
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, r := range fresh {
		readings[at[i]] = d.judge(r, missing[i], r.At)
	}
	return readings
}

func (d *device) gaveUp(ctx context.Context, points []*Bound, asked time.Time) []physical.Reading {
	e := &hal.Error{Kind: hal.Timeout, Err: fmt.Errorf("gave up while another read of the device ran: %w", context.Cause(ctx))}
	readings := make([]physical.Reading, len(points))
	for i, s := range d.failed(points, e, asked) {
		readings[i] = points[i].Reading(s)
	}
	return readings
}
