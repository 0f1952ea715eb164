package invoke

import (
	"context"
	"errors"
	"slices"
	"time"

	"capd/internal/contract"
	"capd/internal/guard"
	"capd/internal/hal"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/registry"
	"capd/internal/standing"
	"capd/internal/verify"
)

var errSuperseded = errors.New("superseded by an action to the safe side")

// execute takes a leased run through permits, intent, act and verification. ctx ends when the run is superseded or capd stops.
func (c *Corridor) execute(ctx context.Context, r *run) {
	p, early := c.prepare(ctx, r)
	if early != nil {
		c.conclude(r, early.answer, early.trial, concluded{})
		return
	}
	if err := c.intend(ctx, r, p.readings); err != nil && !r.action.ToSafe {
		refusal := outcome.Refuse(outcome.JournalFailed, "the intent could not be written to disk, so nothing was sent: "+err.Error())
		c.conclude(r, refused(r.id, r.action.Name, r.action, refusal), nil, concluded{})
		return
	}
	if answer := c.gate(ctx, r, p); answer != nil { // the disk took its time, and what was permitted before it may be old
		c.conclude(r, *answer, nil, concluded{intended: true})
		return
	}
	c.actAndVerify(ctx, r, verify.Act{Acked: true, Written: r.written(), Asked: r.asked(), Baseline: p.readings, Params: r.params})
}

// prepared is what is known of the machine before an act.
type prepared struct {
	readings map[string]physical.Reading
	alive    map[string]bool
}

// early is the end of a run that needs no act, or may not have one.
type early struct {
	answer Answer
	trial  *verify.Trial
}

// prepare reads, asks the gates, and looks whether the target stands already. That look takes a settle time, so after one that found
// no proof everything is read and asked again: no act rests on old permits.
func (c *Corridor) prepare(ctx context.Context, r *run) (prepared, *early) {
	for looked := false; ; looked = true {
		readings, alive := gather(ctx, c.machine, r.action)
		p := prepared{readings, alive}
		if answer := c.gate(ctx, r, p); answer != nil {
			return p, &early{answer: *answer}
		}
		if refusal := c.chooseToken(r, readings); refusal != nil {
			return p, &early{answer: refused(r.id, r.action.Name, r.action, refusal)}
		}
		if looked || !r.action.Absolute || !standsAlready(r.writes, readings) || c.holds.undoes(r.writes) {
			return p, nil
		}
		act := verify.Act{End: time.Now(), Written: r.written(), Asked: r.asked(), Baseline: readings, Params: r.params}
		if d, trial, ok := verify.Standing(ctx, c.machine, r.action.Plan, act); ok {
			return p, &early{c.decided(r, d, false), trial}
		}
	}
}

// gate is the second gate at this moment: nil, or why nothing is sent.
func (c *Corridor) gate(ctx context.Context, r *run, p prepared) *Answer {
	refusal := c.cut(ctx)
	if refusal == nil {
		refusal = guard.Permit(c.fresh(r, p.readings, p.alive))
	}
	if refusal == nil && c.Standing.Mode().Mode == standing.Shadow {
		refusal = outcome.Refuse(outcome.NotSent, "the box is in shadow mode: every gate passed and nothing was sent")
	}
	if refusal == nil {
		return nil
	}
	answer := refused(r.id, r.action.Name, r.action, refusal)
	return &answer
}

// cut is why a run that has not acted may not act any more, nil when it may.
func (c *Corridor) cut(ctx context.Context) *outcome.Refusal {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errSuperseded):
		return outcome.Refuse(outcome.Superseded, "an action to the safe side took over before anything was sent")
	case cause != nil:
		return outcome.Refuse(outcome.NotSent, "capd is stopping, so nothing was sent")
	default:
		return nil
	}
}

func (c *Corridor) actAndVerify(ctx context.Context, r *run, act verify.Act) {
	began := time.Now()
	if refusal := c.beginWrite(ctx, r); refusal != nil {
		c.conclude(r, refused(r.id, r.action.Name, r.action, refusal), nil, concluded{intended: true})
		return
	}
	c.vigils.end(r.action.Writes) // a new command ends the watch over the last one
	result := c.write(ctx, r)
	if result.refusal == nil && !unfinished(result.err) { // what was never sent is not re-asserted
		c.beginHold(r)
	}
	c.endWrite(r)
	c.used(r.writes[:result.sent], act.Baseline)
	if result.refusal == nil {
		c.voidReleases(r, r.writes[result.sent:])
	}
	if result.refusal != nil {
		answer := refused(r.id, r.action.Name, r.action, result.refusal)
		answer.Timings = &Timings{ActedMS: result.end.Sub(began).Milliseconds()}
		c.conclude(r, answer, nil, concluded{intended: true})
		return
	}
	act.End, act.Acked = result.end, result.err == nil
	c.verify(ctx, r, act, result, began)
}

// beginWrite lets a run write. From here on an action to the safe side waits for it, and so does capd when it stops; a run that was
// superseded before, or that comes after the stop, may not write any more.
func (c *Corridor) beginWrite(ctx context.Context, r *run) *outcome.Refusal {
	c.mu.Lock()
	defer c.mu.Unlock()
	if refusal := c.cut(ctx); refusal != nil {
		return refusal
	}
	if c.closing {
		return outcome.Refuse(outcome.NotSent, "capd is stopping, so nothing was sent")
	}
	if refusal := c.useArm(r); refusal != nil {
		return refusal
	}
	r.sent, r.writing = true, make(chan struct{})
	c.acts.Add(1)
	return nil
}

// armed reports whether a technician consents to one call of an action as it stands in its contract.
func (c *Corridor) armed(a *registry.Action) bool {
	_, ok := c.Standing.Armed(a.Name, a.Contract.SHA256)
	return ok
}

// useArm uses up the consent to a critical action, once nothing can stop its write any more; a withdrawal rests on the consent to what
// it takes back. The caller holds the lock.
func (c *Corridor) useArm(r *run) *outcome.Refusal {
	if r.action.Risk != contract.Critical || r.action.ToSafe || r.armedBy != "" {
		return nil
	}
	arm, ok := c.Standing.TakeArm(r.action.Name, r.action.Contract.SHA256)
	if !ok {
		return outcome.Refuse(outcome.NotArmed, "the consent to "+r.action.Name+" ended before anything was sent")
	}
	r.armedBy = arm.By
	return nil
}

func (c *Corridor) endWrite(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(r.writing)
	r.writing = nil
	c.acts.Done()
}

// verify measures, and concludes unless capd is stopping: then the intent stays open for the next start.
func (c *Corridor) verify(ctx context.Context, r *run, act verify.Act, result actResult, began time.Time) {
	plan := r.action.Plan
	if e := hal.AsError(result.err); e != nil && e.Kind == hal.Exception {
		plan = plan.Shortened() // the device itself refused: what it holds shows at once
	}
	d, trial := verify.Run(ctx, c.machine, plan, act)
	d.Absent = d.Absent && !r.pulses() // what a pulse leaves behind does not say whether it came
	switch stopping := c.ctx.Err() != nil && d.Verdict != outcome.Confirmed; {
	case stopping && unfinished(result.err): // no later look can prove it
		d.Absent = false
		d = nobodyKnows(d, "capd stopped before the verdict")
	case stopping:
		return
	}
	d = judged(ctx, r, plan, act, result, d)
	answer := c.decided(r, d, true)
	answer.Timings = &Timings{ActedMS: act.End.Sub(began).Milliseconds(), VerifyMS: time.Since(act.End).Milliseconds()}
	if mustWithdraw(r, answer) {
		c.holds.end(r) // what is taken back is not re-asserted
		c.withdraw(ctx, r, &answer)
	}
	c.conclude(r, answer, trial, concluded{intended: true, counts: d.Counts, act: act})
}

func (r *run) written() map[string][]byte {
	out := map[string][]byte{}
	for _, w := range r.writes {
		out[w.ref] = w.raw
	}
	return out
}

func (r *run) asked() map[string]physical.Value {
	out := map[string]physical.Value{}
	for _, w := range r.writes {
		out[w.ref] = w.value
	}
	return out
}

func (c *Corridor) fresh(r *run, readings map[string]physical.Reading, alive map[string]bool) guard.Fresh {
	f := guard.Fresh{Now: time.Now(), Action: r.action, Params: r.params, Readings: readings, Alive: alive, Mode: c.Standing.Mode().Mode,
		Lockouts: c.lockouts(r.action), Armed: c.armed(r.action), Usage: map[string]standing.Usage{}}
	for _, w := range r.writes {
		f.Values = append(f.Values, guard.Write{Step: w.step, Value: w.value})
		f.Usage[w.ref] = c.Standing.Usage(w.ref)
	}
	return f
}

// lockouts are those on the action's asset and on every asset that it writes.
func (c *Corridor) lockouts(a *registry.Action) []standing.Lockout {
	var all []standing.Lockout
	inv := c.Snapshots.Snapshot().Inventory
	for _, id := range assetsOf(a) {
		location := ""
		if asset := inv.Assets[id]; asset != nil {
			location = asset.Location
		}
		all = append(all, c.Standing.For(id, location)...)
	}
	return all
}

// assetsOf is every asset that an action touches: its own, and those that it writes.
func assetsOf(a *registry.Action) []string {
	own := a.Contract.Asset
	if slices.Contains(a.Writes, own) {
		return a.Writes
	}
	return append([]string{own}, a.Writes...)
}
