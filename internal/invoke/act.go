package invoke

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"capd/internal/contract"
	"capd/internal/hal"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/registry"
	"capd/internal/standing"
	"capd/internal/verify"
)

// actResult is what the writes came to.
type actResult struct {
	end     time.Time
	sent    int              // how many writes, from the first, may have left the box
	err     error            // a write whose fate is unknown, or that did not follow the ones before it
	refusal *outcome.Refusal // surely nothing was sent
}

// act sends the writes in order, each once. The first one that fails ends the act; but a pulse that may have begun is always released. A
// write under way is never cut: its own deadline is the link's.
func (c *Corridor) act(ctx context.Context, r *run) actResult {
	for i := 0; i < len(r.writes); i++ {
		w := r.writes[i]
		if err := c.awaitAll(ctx, r, i); err != nil {
			return actResult{end: time.Now(), sent: i, err: err}
		}
		_, err := c.machine.Write(context.WithoutCancel(ctx), w.ref, w.value)
		switch {
		case err != nil && surelyNotSent(err) && i == 0:
			return actResult{end: time.Now(), refusal: notSent(err)}
		case err != nil && surelyNotSent(err):
			return actResult{end: time.Now(), sent: i, err: err}
		case w.step.Dwell > 0:
			i++
			err = errors.Join(err, c.endPulse(ctx, r, w.step.Dwell, r.writes[i]))
		}
		if err != nil {
			return actResult{end: time.Now(), sent: i + 1, err: err}
		}
	}
	return actResult{end: time.Now(), sent: len(r.writes)}
}

// endPulse lets a pulse stand for its time and releases it. What takes over, or ends capd, cuts the time short.
func (c *Corridor) endPulse(ctx context.Context, r *run, dwell time.Duration, release plannedWrite) error {
	whole := sleep(ctx, dwell)
	_, err := c.machine.Write(context.WithoutCancel(ctx), release.ref, release.value)
	c.oweRelease(r, release, err == nil)
	if err == nil && !whole {
		err = &unfinishedError{fmt.Sprintf("the pulse was cut short: %v", context.Cause(ctx))}
	}
	return err
}

// pulses reports whether a run takes back what it writes.
func (r *run) pulses() bool {
	return slices.ContainsFunc(r.action.Steps, func(s registry.Step) bool { return s.Release })
}

// unfinishedError says why an act ended before its last step.
type unfinishedError struct{ why string }

func (e *unfinishedError) Error() string { return e.why }

// awaitAll waits for what has to be so before write i, and says why the act ends there.
func (c *Corridor) awaitAll(ctx context.Context, r *run, i int) error {
	if cause := context.Cause(ctx); cause != nil && i > 0 {
		return &unfinishedError{fmt.Sprintf("write %d and what follows was not sent: %v", i+1, cause)}
	}
	for _, w := range r.writes[i].step.Await {
		if err := c.await1(ctx, r, w); err != nil {
			return &unfinishedError{fmt.Sprintf("write %d and what follows was not sent: %v", i+1, err)}
		}
	}
	return nil
}

// await1 reads until a condition holds on good readings of devices that are alive: each counter has to move while it waits.
func (c *Corridor) await1(ctx context.Context, r *run, w registry.Await) error {
	a := r.action
	var refs []string
	devices := map[string]string{} // the liveness counters by device
	for _, alias := range w.Aliases {
		p := a.Scope.Points[alias]
		refs = append(refs, p.Ref)
		if l, ok := a.Scope.Liveness[p.Device]; ok {
			devices[p.Device] = l.Ref
			refs = append(refs, l.Ref)
		}
	}
	first := c.machine.Read(ctx, refs)
	for end, latest := time.Now().Add(w.Within), first; ; latest = c.machine.Read(ctx, refs) {
		holds, _, seen := awaited(a, w, r.params, latest)
		for device, ref := range devices {
			if !hasMoved(first[ref], latest[ref]) {
				holds, seen = false, device+" stands still"
			}
			if !first[ref].Good() {
				first[ref] = latest[ref]
			}
		}
		switch {
		case holds:
			return nil
		case !time.Now().Before(end):
			return fmt.Errorf("waited %s for %s, which did not come (%s)", w.Within, w.When.Source(), seen)
		case !sleep(ctx, r.poll()):
			return context.Cause(ctx)
		}
	}
}

// awaited evaluates a condition, and says what was seen. It is not known while a reading is missing.
func awaited(a *registry.Action, w registry.Await, params map[string]any, readings map[string]physical.Reading) (holds, known bool, seen string) {
	env := map[string]any{}
	for k, v := range params {
		env[k] = v
	}
	var texts []string
	for _, alias := range w.Aliases {
		r := readings[a.Scope.Points[alias].Ref]
		if !r.Good() {
			return false, false, fmt.Sprintf("%s is %s (%s) %s", alias, r.Quality, r.Cause, r.Detail)
		}
		env[alias] = r.Value.Any()
		texts = append(texts, alias+" = "+r.Value.String()+unitText(r.Unit))
	}
	got, err := w.When.Eval(env)
	if err != nil {
		return false, false, err.Error()
	}
	holds, known = got.(bool)
	return holds, known, strings.Join(texts, ", ")
}

// poll is the time between two looks at the machine.
func (r *run) poll() time.Duration {
	if r.action.Plan == nil {
		return contract.DefaultPoll
	}
	return max(r.action.Plan.Poll, contract.MinPoll)
}

// explainUnfinished says which steps were left out. Without them nothing is confirmed, whatever the machine shows.
func explainUnfinished(d verify.Decision, err error) verify.Decision {
	cut, ok := errors.AsType[*unfinishedError](err)
	if !ok {
		return d
	}
	if d.Verdict == outcome.Confirmed {
		d = verify.Decision{Verdict: outcome.Unknown, Level: d.Level, Code: outcome.OutcomeUnknown, Layer: outcome.LayerExecution, Absent: d.Absent,
			Evidence: d.Evidence, Message: "the machine shows what was expected, but not because of this call"}
	}
	d.Message = cut.why + "; " + d.Message
	return d
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

// used notes writes for budgets, starts and minimum times. A start is a change from off to on, a stop one to off.
func (c *Corridor) used(writes []plannedWrite, baseline map[string]physical.Reading) {
	before := map[string]physical.Value{}
	for _, w := range writes {
		if _, written := before[w.ref]; !written {
			before[w.ref] = baseline[w.ref].Value
		}
		kind := standing.Write
		if on, isSwitch := switched(w.value); isSwitch {
			was, known := switched(before[w.ref])
			switch {
			case !on:
				kind = standing.Stop
			case !known || !was:
				kind = standing.Start
			}
		}
		before[w.ref] = w.value
		c.keep(c.Standing.Record(w.ref, standing.UsageEvent{Kind: kind}))
	}
}

// switched reads a value as off or on: a boolean, or a number that is 0 or not.
func switched(v physical.Value) (on, ok bool) {
	if on, ok := v.Bool(); ok {
		return on, true
	}
	n, ok := v.Number()
	return ok && !n.IsZero(), ok
}
