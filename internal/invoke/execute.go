package invoke

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	c.vigils.end(r.action.Writes) // a new command ends the watch over the last one
	readings, alive := gather(ctx, c.machine, r.action)
	if refusal := c.permit(ctx, r, readings, alive); refusal != nil {
		close(r.acting)
		c.conclude(r, refused(r.id, r.action.Name, r.action, refusal), nil, concluded{})
		return
	}
	if c.Standing.Mode().Mode == standing.Shadow {
		close(r.acting)
		c.conclude(r, c.shadow(r), nil, concluded{})
		return
	}
	act := verify.Act{End: time.Now(), Acked: true, Written: r.written(), Asked: r.asked(), Baseline: readings, Params: r.params}
	if standsAlready(r.writes, readings) && r.action.Absolute {
		if d, trial, ok := verify.Standing(ctx, c.machine, r.action.Plan, act); ok {
			close(r.acting)
			c.conclude(r, c.decided(r, d, false), trial, concluded{})
			return
		}
	}
	if err := c.intend(ctx, r, readings); err != nil && !r.action.ToSafe {
		close(r.acting)
		refusal := outcome.Refuse(outcome.JournalFailed, "the intent could not be written to disk, so nothing was sent: "+err.Error())
		c.conclude(r, refused(r.id, r.action.Name, r.action, refusal), nil, concluded{})
		return
	}
	c.actAndVerify(ctx, r, act)
}

func (c *Corridor) actAndVerify(ctx context.Context, r *run, act verify.Act) {
	began := time.Now()
	c.holds.release(r.writes)
	result := c.act(ctx, r, act.Baseline)
	if result.refusal == nil {
		c.beginHold(r)
	}
	close(r.acting)
	if result.refusal != nil {
		answer := refused(r.id, r.action.Name, r.action, result.refusal)
		answer.Timings = &Timings{ActedMS: result.end.Sub(began).Milliseconds()}
		c.conclude(r, answer, nil, concluded{intended: true})
		return
	}
	act.End, act.Acked = result.end, result.err == nil
	c.verify(ctx, r, act, result, began)
}

// verify measures, and concludes unless capd is stopping: then the intent stays open for the next start.
func (c *Corridor) verify(ctx context.Context, r *run, act verify.Act, result actResult, began time.Time) {
	plan := r.action.Plan
	if e := hal.AsError(result.err); e != nil && e.Kind == hal.Exception {
		plan = plan.Shortened() // the device itself refused: what it holds shows at once
	}
	d, trial := verify.Run(ctx, c.machine, plan, act)
	if c.ctx.Err() != nil && d.Verdict != outcome.Confirmed {
		return
	}
	if errors.Is(context.Cause(ctx), errSuperseded) && d.Verdict != outcome.Confirmed {
		d = supersededDecision(d)
	}
	d = refusedByDevice(explainLostReply(d, result), result.err)
	answer := c.decided(r, d, true)
	answer.Timings = &Timings{ActedMS: act.End.Sub(began).Milliseconds(), VerifyMS: time.Since(act.End).Milliseconds()}
	if mustWithdraw(r, answer) {
		c.withdraw(ctx, r, &answer)
	}
	c.conclude(r, answer, trial, concluded{intended: true, counts: d.Counts, act: act})
}

func supersededDecision(d verify.Decision) verify.Decision {
	return verify.Decision{Verdict: outcome.Unknown, Level: d.Level, Code: outcome.Superseded, Layer: outcome.LayerPolicy,
		Message: "an action to the safe side took over before the verdict", Evidence: d.Evidence}
}

// explainLostReply names the wire when no reply came and no witness could be heard either.
func explainLostReply(d verify.Decision, result actResult) verify.Decision {
	if result.err == nil || d.Verdict != outcome.Unknown || d.Code != outcome.DeviceOffline {
		return d
	}
	d.Code, d.Layer = outcome.OutcomeUnknown, outcome.LayerExecution
	d.Message = fmt.Sprintf("the command may have reached the machine (%v), and no witness can be heard: %s", result.err, d.Message)
	return d
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

func (c *Corridor) permit(ctx context.Context, r *run, readings map[string]physical.Reading, alive map[string]bool) *outcome.Refusal {
	if cause := context.Cause(ctx); cause != nil {
		return outcome.Refuse(outcome.Superseded, cause.Error())
	}
	return guard.Permit(c.fresh(r, readings, alive))
}

func (c *Corridor) fresh(r *run, readings map[string]physical.Reading, alive map[string]bool) guard.Fresh {
	f := guard.Fresh{Now: time.Now(), Action: r.action, Params: r.params, Readings: readings, Alive: alive, Mode: c.Standing.Mode().Mode,
		Lockouts: c.lockouts(r.action), Usage: map[string]standing.Usage{}}
	for _, w := range r.writes {
		f.Values = append(f.Values, guard.Write{Step: w.step, Value: w.value})
		f.Usage[w.ref] = c.Standing.Usage(w.ref)
	}
	return f
}

func (c *Corridor) shadow(r *run) Answer {
	refusal := outcome.Refuse(outcome.NotSent, "the box is in shadow mode: every gate passed and nothing was sent")
	return refused(r.id, r.action.Name, r.action, refusal)
}

// actResult is what the writes came to.
type actResult struct {
	end     time.Time
	err     error            // a write whose fate is unknown
	refusal *outcome.Refusal // surely nothing was sent
}

// act sends the writes in order, each once. The first one that fails ends the act. A write under way is never cut: its own
// deadline is the link's.
func (c *Corridor) act(ctx context.Context, r *run, baseline map[string]physical.Reading) actResult {
	c.acts.Add(1)
	defer c.acts.Done()
	for i, w := range r.writes {
		if context.Cause(ctx) != nil && i > 0 {
			return actResult{end: time.Now(), err: context.Cause(ctx)}
		}
		_, err := c.machine.Write(context.WithoutCancel(ctx), w.ref, w.value)
		c.used(w, baseline[w.ref])
		if err == nil {
			continue
		}
		if i == 0 && surelyNotSent(err) {
			return actResult{end: time.Now(), refusal: notSent(err)}
		}
		return actResult{end: time.Now(), err: err}
	}
	return actResult{end: time.Now()}
}

func surelyNotSent(err error) bool {
	e := hal.AsError(err)
	return e == nil || !e.MaySent
}

// notSent explains a write that surely did not leave the box.
func notSent(err error) *outcome.Refusal {
	code := outcome.NotSent
	if e := hal.AsError(err); e != nil {
		switch e.Kind {
		case hal.Unreachable:
			code = outcome.NetworkUnreachable
		case hal.Closed, hal.Timeout:
			code = outcome.DeviceOffline
		case hal.QueueFull:
			code = outcome.Busy
		}
	}
	r := outcome.Refuse(code, "the command was surely not sent: "+err.Error())
	r.Layer, r.RetrySafe = outcome.LayerExecution, true
	return r
}

// used notes a write for budgets, starts and minimum times. A start is a change from off to on, a stop one to off.
func (c *Corridor) used(w plannedWrite, before physical.Reading) {
	kind := standing.Write
	if on, isSwitch := switched(w.value); isSwitch {
		was, known := switched(before.Value)
		switch {
		case !on:
			kind = standing.Stop
		case !known || !was:
			kind = standing.Start
		}
	}
	c.keep(c.Standing.Record(w.ref, standing.UsageEvent{Kind: kind}))
}

// switched reads a value as off or on: a boolean, or a number that is 0 or not.
func switched(v physical.Value) (on, ok bool) {
	if on, ok := v.Bool(); ok {
		return on, true
	}
	n, ok := v.Number()
	return ok && !n.IsZero(), ok
}

// lockouts are those on every asset that the action writes.
func (c *Corridor) lockouts(a *registry.Action) []standing.Lockout {
	var all []standing.Lockout
	inv := c.Snapshots.Snapshot().Inventory
	for _, id := range a.Writes {
		location := ""
		if asset := inv.Assets[id]; asset != nil {
			location = asset.Location
		}
		all = append(all, c.Standing.For(id, location)...)
	}
	return all
}
