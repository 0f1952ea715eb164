package invoke

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"capd/internal/contract"
	"capd/internal/field"
	"capd/internal/hal"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/registry"
	"capd/internal/standing"
)

// actResult is what the writes came to.
type actResult struct {
	end     time.Time
	sent    int              // how many writes, from the first, may have left the box
	err     error            // a write whose fate is unknown, or that did not follow the ones before it
	refusal *outcome.Refusal // surely nothing was sent
}

// write runs the act of a run in the place of what is held and owed on its points.
func (c *Corridor) write(ctx context.Context, r *run) (result actResult) {
	result.sent, result.err = len(r.writes), errDefect // should a defect end the act, any of them may have been
	paused := c.holds.release(r.writes, r.action.ToSafe)
	defer func() { c.overtake(r, paused, r.writes[:result.sent], result.err == nil) }()
	result = c.act(ctx, r)
	return result
}

var errDefect = errors.New("a defect of capd ended the act")

// act sends the writes in order, each once. The first one that fails ends the act; but a pulse that may have begun is always released. A
// write under way is never cut: its own deadline is the link's.
func (c *Corridor) act(ctx context.Context, r *run) actResult {
	for i := 0; i < len(r.writes); {
		begun, sent, err := true, 1, c.awaitAll(ctx, r, i)
		switch w := r.writes[i]; {
		case err != nil:
			begun = false
		case w.step.Dwell > 0:
			sent = 2
			begun, err = c.pulse(ctx, r, w, r.writes[i+1])
		default:
			err = c.send(context.WithoutCancel(ctx), w)
			begun = err == nil || !surelyNotSent(err)
		}
		if !begun && i == 0 {
			return actResult{end: time.Now(), refusal: notSent(err)}
		}
		if begun {
			i += sent
		}
		if err != nil {
			return actResult{end: time.Now(), sent: i, err: leftOut(r, i, err)}
		}
	}
	return actResult{end: time.Now(), sent: len(r.writes)}
}

// leftOut marks an act that ended before write i.
func leftOut(r *run, i int, err error) error {
	if cut, marked := errors.AsType[*unfinishedError](err); i == len(r.writes) || marked && cut.left {
		return err
	}
	return errors.Join(err, &unfinishedError{why: fmt.Sprintf("write %d and what follows was not sent: %v", i+1, err), left: true})
}

// send sends one write, unless its point has come to mean something else since it was planned.
func (c *Corridor) send(ctx context.Context, w plannedWrite) error {
	if why := c.moved(w); why != "" {
		return errors.New(why)
	}
	_, err := c.machine.Write(ctx, w.ref, w.value)
	return err
}

// moved is why a planned write would not do any more what it was planned to do, "" while it would.
func (c *Corridor) moved(w plannedWrite) string {
	b := c.Snapshots.Snapshot().Binding.Point(w.ref)
	if b == nil {
		return w.ref + " is no longer in the inventory"
	}
	if now := placeOf(b); w.place != "" && w.place != now {
		return fmt.Sprintf("%s was at %s, and the inventory has moved it to %s", w.ref, w.place, now)
	}
	if raw, err := c.machine.Encode(w.ref, w.value); err != nil || !bytes.Equal(raw, w.raw) {
		return fmt.Sprintf("the inventory has given %s of %s another raw value", w.value, w.ref)
	}
	return ""
}

// placeOf says where a point is, for a comparison.
func placeOf(b *field.Bound) string { return b.Device + " " + b.Address.String() }

// pulse writes, lets it stand for its time and releases it. What takes over, or ends capd, cuts the time short. Once the first write may
// have been sent the release is owed, whatever happens here; begun is false if it surely was not.
func (c *Corridor) pulse(ctx context.Context, r *run, press, release plannedWrite) (begun bool, err error) {
	acked := false
	begun = true
	defer func() {
		if begun {
			c.oweRelease(r, release, acked)
		}
	}()
	last := context.WithoutCancel(ctx)
	if err = c.send(last, press); err != nil && surelyNotSent(err) {
		return false, err
	}
	whole := sleep(ctx, press.step.Dwell)
	if why := c.mayNotHold(r); why != "" {
		return true, errors.Join(err, &unfinishedError{why: "the pulse stands, because " + why, kept: true})
	}
	failed := c.send(last, release)
	if acked = failed == nil; acked && !whole {
		failed = &unfinishedError{why: fmt.Sprintf("the pulse was cut short: %v", context.Cause(ctx)), kept: true}
	}
	return true, errors.Join(err, failed)
}

// pulses reports whether a run takes back what it writes.
func (r *run) pulses() bool {
	return slices.ContainsFunc(r.action.Steps, func(s registry.Step) bool { return s.Release })
}

// unfinishedError says why an act ended before its last step.
type unfinishedError struct {
	why  string
	left bool // it tells of the writes that were not sent
	kept bool // people, another command or the end of capd kept it from going on
	vain bool // the machine did not come to what was waited for
}

func (e *unfinishedError) Error() string { return e.why }

// unfinished reports whether an act was not carried out as its contract says.
func unfinished(err error) bool {
	_, cut := errors.AsType[*unfinishedError](err)
	return cut
}

// awaitAll waits for what has to be so before write i, and says why the act ends there. Time has passed since the gates, so lockouts and
// the mode are asked again.
func (c *Corridor) awaitAll(ctx context.Context, r *run, i int) error {
	if i == 0 {
		return nil
	}
	end := func(vain bool, why any) error {
		return &unfinishedError{why: fmt.Sprintf("write %d and what follows was not sent: %v", i+1, why), left: true, kept: !vain, vain: vain}
	}
	if cause := context.Cause(ctx); cause != nil {
		return end(false, cause)
	}
	for _, w := range r.writes[i].step.Await {
		if err := c.await1(ctx, r, w); err != nil {
			return end(ctx.Err() == nil, err)
		}
	}
	if why := c.mayNotHold(r); why != "" {
		return end(false, why)
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
