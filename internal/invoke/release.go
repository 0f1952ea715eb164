package invoke

import (
	"bytes"
	"cmp"
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
	"capd/internal/physical"
	"capd/internal/verify"
)

// What the journal says of an obligation that is discharged, and of one that never came to be because its pulse was not sent.
const (
	releaseEnded = "release ended"
	releaseVoid  = "release void"
)

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
		if why := c.keepRelease(ctx, held, w, acked); why != "" {
			c.endRelease(held, w, why)
		}
	})
}

// endRelease notes that a release is owed no more.
func (c *Corridor) endRelease(held *hold, w plannedWrite, why string) {
	c.obligationOn(held.run, releaseEnded, w.ref, why)
	c.clearRelease("release/" + w.ref)
	c.holds.endOwed(held)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.needOldest()
}

// overtake decides on the releases that a command paused, now that its writes are over: one that may have set the point to something
// else stands in their place; else they go on, and an acknowledged command of the same value stands in for them where nothing can be read.
func (c *Corridor) overtake(r *run, paused []*hold, sent []plannedWrite, acked bool) {
	for _, held := range paused {
		w := held.writes[0]
		same, other := false, false
		for _, s := range sent {
			equal := bytes.Equal(s.raw, w.raw)
			same, other = same || s.ref == w.ref && equal, other || s.ref == w.ref && !equal
		}
		if other {
			c.endRelease(held, w, "taken over by call "+r.id)
		} else {
			c.holds.goOn(held, same && acked)
		}
	}
}

// voidReleases notes that pulses were never begun, so that no later life releases them.
func (c *Corridor) voidReleases(r *run, left []plannedWrite) {
	for _, w := range left {
		if w.step.Release {
			c.obligationOn(r, releaseVoid, w.ref, "its pulse was not sent")
		}
	}
}

// keepRelease reads and writes until the release stands, and says how that shows; "" when it was taken over, or capd ends.
func (c *Corridor) keepRelease(ctx context.Context, held *hold, w plannedWrite, acked bool) string {
	pause, why, proof := held.run.poll(), "it was not acknowledged", &releaseProof{}
	for tried := time.Now(); ; {
		state, seen := c.released(ctx, held.run, w, acked, proof)
		switch {
		case state == stands:
			return seen
		case state == unread && c.holds.isRelieved(held):
			return "a later command of the same value was acknowledged"
		case !sleep(ctx, pause):
			return ""
		case c.holds.isPaused(held), (acked || state == unproved) && time.Since(tried) < releaseLooks*pause+2*proof.within:
			continue
		}
		if acked || state == unproved {
			why = seen
		}
		tried, pause = time.Now(), min(2*pause, releasePause)
		bar := cmp.Or(c.moved(w), c.mayNotHold(held.run))
		if c.alarmRelease(held.run, w, cmp.Or(bar, why)); bar != "" || acked && state == unproved || !c.holds.begin(held, w.ref) {
			continue
		}
		err := c.assertOne(context.WithoutCancel(ctx), held, w)
		if err == nil || !surelyNotSent(err) {
			c.used([]plannedWrite{w}, nil)
		}
		if acked = err == nil; err != nil {
			why = err.Error()
		}
	}
}

// releaseState is what a look shows of a release.
type releaseState uint8

const (
	missing  releaseState = iota // it does not stand
	unread                       // nobody knows
	unproved                     // the point reads back, on a device that has not been seen to be alive since
	stands
)

// releaseProof is what the looks at a release remember.
type releaseProof struct {
	counter physical.Reading // of the device, when the point first read back
	within  time.Duration    // of the device's counter
}

// released reports whether a release stands, and how that shows: on a device with a counter, only what a move of it covers is no old
// picture. What cannot be read, or clears itself, stands once acknowledged.
func (c *Corridor) released(ctx context.Context, r *run, w plannedWrite, acked bool, proof *releaseProof) (state releaseState, seen string) {
	if err := safely(func() error { state, seen = c.lookAtRelease(ctx, r, w, acked, proof); return nil }); err != nil {
		return missing, err.Error()
	}
	return state, seen
}

func (c *Corridor) lookAtRelease(ctx context.Context, r *run, w plannedWrite, acked bool, proof *releaseProof) (releaseState, string) {
	if why := c.moved(w); why != "" {
		return missing, why
	}
	if !c.readsBack(r, w.ref) {
		return map[bool]releaseState{true: stands}[acked], "released and acknowledged"
	}
	refs, device := []string{w.ref}, c.deviceOf(w.ref)
	if device != nil && device.Liveness != nil {
		refs, proof.within = append(refs, device.Liveness.Point), device.Liveness.Within
	}
	readings := c.machine.Read(ctx, refs)
	got, before := readings[w.ref], proof.counter
	if !got.Good() || !bytes.Equal(got.Raw, w.raw) {
		proof.counter = physical.Reading{}
		if got.Good() {
			return missing, "it reads " + got.Value.String()
		}
		return unread, fmt.Sprintf("it cannot be read: %s %s", got.Cause, got.Detail)
	}
	if len(refs) == 1 || hasMoved(before, readings[refs[1]]) {
		return stands, "released and read back"
	}
	if !before.Good() {
		proof.counter = readings[refs[1]]
	}
	return unproved, device.ID + " stands still, so that it reads back is no news"
}

// deviceOf is the device of a point in the inventory, nil when there is none.
func (c *Corridor) deviceOf(ref string) *inventory.Device {
	inv := c.Snapshots.Snapshot().Inventory
	if p := inv.Point(ref); p != nil {
		return inv.Devices[p.Device]
	}
	return nil
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

func (c *Corridor) alarmRelease(r *run, w plannedWrite, why string) {
	_, err := c.Alarms.Raise(health.Alarm{Key: "release/" + w.ref, Asset: r.action.Contract.Asset, Action: r.action.Name, Invocation: r.id, Code: outcome.OutcomeUnknown,
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
	intent  intent
	seq     journal.Seq
	write   intendedWrite
	takenBy string // the call without an outcome that may have set the point to something else
}

// noteOwed keeps the books of a replay. Of several pulses of a point the latest counts.
func (f *replay) noteOwed(i intent, seq journal.Seq) {
	for _, w := range i.Writes {
		if owed := f.owed[w.Point]; len(owed) > 0 && w.Raw != owed[len(owed)-1].write.Raw {
			owed[len(owed)-1].takenBy = i.Invocation
		}
	}
	for _, w := range i.Writes {
		if w.Release {
			f.owed[w.Point] = append(f.owed[w.Point], owedRelease{intent: i, seq: seq, write: w})
		}
	}
}

// untake notes that a call has its outcome: what it took over is on record by then.
func (f *replay) untake(invocation string) {
	for _, owed := range f.owed {
		for n := range owed {
			if owed[n].takenBy == invocation {
				owed[n].takenBy = ""
			}
		}
	}
}

// endOwed ends what an invocation owes on a point, or on all for "", and what was owed there before.
func (f *replay) endOwed(invocation, point string, before bool) {
	for ref, owed := range f.owed {
		n := slices.IndexFunc(owed, func(o owedRelease) bool { return o.intent.Invocation == invocation })
		switch {
		case n < 0 || point != "" && point != ref:
			continue
		case before:
			owed = owed[n+1:]
		default:
			owed = slices.Delete(owed, n, n+1)
		}
		if f.owed[ref] = owed; len(owed) == 0 {
			delete(f.owed, ref)
		}
	}
}

// takeUpRelease releases what an earlier life may have left standing. It reads first, and writes only what does not stand.
func (c *Corridor) takeUpRelease(o owedRelease) {
	r, _, err := c.restore(o.intent)
	if err != nil {
		r = c.lostRun(o.intent)
	}
	w := plannedWrite{ref: o.write.Point, value: o.write.Value, place: o.write.Place}
	if o.takenBy != "" {
		c.obligationOn(r, releaseEnded, w.ref, "call "+o.takenBy+", which may have been sent, took it over")
		c.clearRelease("release/" + w.ref)
		return
	}
	if w.raw, err = hex.DecodeString(o.write.Raw); err != nil {
		c.alarmRelease(r, w, "its record is damaged")
		return
	}
	r.intent = o.seq
	c.oweRelease(r, w, false)
}

// lostRun stands for a run whose action is no longer in force.
func (c *Corridor) lostRun(i intent) *run {
	return &run{id: i.Invocation, subject: access.Subject{ID: i.Subject, Name: i.SubjectName}, args: i.Args, key: i.Key, requestID: i.RequestID,
		started: i.At, restored: true, sent: true, done: make(chan struct{}), action: lostAction(i)}
}
