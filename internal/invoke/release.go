package invoke

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"capd/internal/access"
	"capd/internal/health"
	"capd/internal/inventory"
	"capd/internal/journal"
	"capd/internal/outcome"
	"capd/internal/verify"
)

// releaseEnded is what the journal says of an obligation that is discharged.
const releaseEnded = "release ended"

// A release that was acknowledged and does not read back is looked at some times before it is written once more; the pauses grow.
const (
	releaseLooks = 8
	releasePause = 10 * time.Second
)

// oweRelease keeps at the end of a pulse until the point reads back: a command that may stand in the machine is never left there. acked
// says that the release was acknowledged already.
func (c *Corridor) oweRelease(r *run, w plannedWrite, acked bool) {
	ctx, cancel := context.WithCancel(c.ctx)
	held := &hold{run: r, writes: []plannedWrite{w}, cancel: cancel, owed: true}
	c.holds.take(held)
	c.holds.group.Go(func() {
		defer cancel()
		defer c.survive("release", r.id)
		why := c.keepRelease(ctx, held, w, acked)
		if c.ctx.Err() == nil { // else the next start takes it up
			c.obligationOn(r, releaseEnded, w.ref, why)
			c.holds.endOwed(held)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.needOldest()
		}
	})
}

// keepRelease reads and writes until the release stands, and says how it ended.
func (c *Corridor) keepRelease(ctx context.Context, held *hold, w plannedWrite, acked bool) string {
	key := "release/" + w.ref
	pause, why := held.run.poll(), "it was not acknowledged"
	for look := 1; ; look++ {
		done, seen := c.released(ctx, held.run, w, acked)
		switch {
		case done:
			c.clearRelease(key)
			return seen
		case !sleep(ctx, pause):
			return "taken over"
		case acked && look%releaseLooks != 0:
			continue
		}
		if acked {
			why = seen
		}
		pause = min(2*pause, releasePause)
		c.alarmRelease(held.run, key, w, why)
		if bar := c.mayNotHold(held.run); bar != "" {
			why = bar
			continue
		}
		if c.holds.begin(held, w.ref) {
			err := c.assertOne(context.WithoutCancel(ctx), held, w)
			c.used([]plannedWrite{w}, nil)
			if acked = err == nil; err != nil {
				why = err.Error()
			}
		}
	}
}

// released reports whether a release stands, and how that shows. What cannot be read, or clears itself, stands once acknowledged.
func (c *Corridor) released(ctx context.Context, r *run, w plannedWrite, acked bool) (bool, string) {
	if !c.readsBack(r, w.ref) {
		return acked, "released and acknowledged"
	}
	got := c.machine.Read(ctx, []string{w.ref})[w.ref]
	switch {
	case got.Good() && bytes.Equal(got.Raw, w.raw):
		return true, "released and read back"
	case got.Good():
		return false, "it reads " + got.Value.String()
	default:
		return false, fmt.Sprintf("it cannot be read: %s %s", got.Cause, got.Detail)
	}
}

// readsBack reports whether a point shows what was written to it.
func (c *Corridor) readsBack(r *run, ref string) bool {
	p := c.Snapshots.Snapshot().Inventory.Point(ref)
	if p == nil || p.Access == inventory.WriteOnly {
		return false
	}
	if r.action.Plan == nil {
		return true
	}
	return slices.ContainsFunc(r.action.Plan.ReadBack, func(b verify.Point) bool { return b.Ref == ref })
}

func (c *Corridor) alarmRelease(r *run, key string, w plannedWrite, why string) {
	_, err := c.Alarms.Raise(health.Alarm{Key: key, Asset: r.action.Contract.Asset, Action: r.action.Name, Invocation: r.id, Code: outcome.OutcomeUnknown,
		Severity: health.Critical, Text: fmt.Sprintf("the pulse of %s on %s may still stand: %s; capd goes on releasing it", r.action.Name, w.ref, why)})
	c.keep(err)
}

func (c *Corridor) clearRelease(key string) {
	for _, a := range c.Alarms.List(false) {
		if a.Key == key {
			_, err := c.Alarms.Clear(key, "capd")
			c.keep(err)
		}
	}
}

// owedRelease is a release that an earlier life may have left undone.
type owedRelease struct {
	intent intent
	seq    journal.Seq
	write  intendedWrite
}

// noteOwed keeps the books of a replay: each intent takes over the points that it writes.
func (f *replay) noteOwed(i intent, seq journal.Seq) {
	for _, w := range i.Writes {
		delete(f.owed, w.Point)
		if w.Release {
			f.owed[w.Point] = owedRelease{i, seq, w}
		}
	}
}

// endOwed ends what an invocation owes on a point, or on all for "".
func (f *replay) endOwed(invocation, point string) {
	for ref, o := range f.owed {
		if o.intent.Invocation == invocation && (point == "" || point == ref) {
			delete(f.owed, ref)
		}
	}
}

// takeUpRelease releases what an earlier life may have left standing. It reads first, and writes only what does not stand.
func (c *Corridor) takeUpRelease(o owedRelease) {
	raw, err := hex.DecodeString(o.write.Raw)
	if err != nil || c.Snapshots.Snapshot().Inventory.Point(o.write.Point) == nil {
		c.alarmRelease(c.lostRun(o.intent), "release/"+o.write.Point, plannedWrite{ref: o.write.Point}, "the point is no longer in the inventory, or its record is damaged")
		return
	}
	r, _, err := c.restore(o.intent)
	if err != nil {
		r = c.lostRun(o.intent)
	}
	r.intent = o.seq
	c.oweRelease(r, plannedWrite{ref: o.write.Point, value: o.write.Value, raw: raw}, false)
}

// lostRun stands for a run whose action is no longer in force.
func (c *Corridor) lostRun(i intent) *run {
	return &run{id: i.Invocation, subject: access.Subject{ID: i.Subject, Name: i.SubjectName}, args: i.Args, key: i.Key, requestID: i.RequestID,
		started: i.At, restored: true, sent: true, done: make(chan struct{}), action: lostAction(i)}
}
