package guard

import (
	"errors"
	"fmt"
	"maps"

	"capd/internal/inventory"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/standing"
)

// envelope holds a write against the hard limits of its point. The way to the safe side skips what limits steps and rates; the
// range, the pauses and starts that protect a motor, and the lifetime of a register hold for it too.
func (f Fresh) envelope(w Write) *outcome.Refusal {
	if w.Step.Point.Point.Envelope == nil {
		return nil
	}
	if v, ok := w.Value.Number(); ok {
		if r := f.span(w, v); r != nil {
			return r
		}
	}
	return f.timing(w)
}

// after is the plant as the next write of the same action will find it: the point holds what was written just now.
func (f Fresh) after(w Write) Fresh {
	ref := w.Step.Point.Point.Ref
	u := f.Usage[ref]
	u.Writes++
	u.LastWrite = f.Now
	switch on := isOn(w.Value); {
	case !on:
		u.LastStop = f.Now
	case f.starts(w):
		u.Starts = append(u.Starts[:len(u.Starts):len(u.Starts)], f.Now)
	}
	usage, readings := maps.Clone(f.Usage), maps.Clone(f.Readings)
	if usage == nil {
		usage = map[string]standing.Usage{}
	}
	usage[ref] = u
	if r, ok := readings[ref]; ok {
		r.Value = w.Value
		readings[ref] = r
	}
	f.Usage, f.Readings = usage, readings
	return f
}

func (f Fresh) span(w Write, v physical.Decimal) *outcome.Refusal {
	e := w.Step.Point.Point.Envelope
	var bases []physical.Decimal
	var refusal *outcome.Refusal
	if !f.Action.ToSafe && (e.MaxStep != nil || e.MinStep != nil || e.MaxRate != nil) {
		bases, refusal = f.bases(w)
	}
	switch {
	case !e.Contains(v):
		return f.outOfRange(w, v, bases)
	case refusal != nil:
		return refusal
	case bases == nil:
		return nil
	}
	for _, limit := range []func(Write, physical.Decimal, []physical.Decimal) *outcome.Refusal{f.step, f.minStep, f.rate} {
		if r := limit(w, v, bases); r != nil {
			return r
		}
	}
	return nil
}

func (f Fresh) outOfRange(w Write, v physical.Decimal, bases []physical.Decimal) *outcome.Refusal {
	point := w.Step.Point.Point
	r := outcome.Refuse(outcome.OutOfRange, fmt.Sprintf("%s %s is outside the envelope of %s: %s", v, point.Unit, point.Ref, limitsText(point.Envelope.Limits, point.Unit)))
	r.Allowed = window(w, bases)
	return r
}

func limitsText(l inventory.Limits, unit physical.Unit) string {
	text := ""
	if l.Min != nil {
		text = fmt.Sprintf("at least %s %s", l.Min, unit)
	}
	if l.Max != nil {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("at most %s %s", l.Max, unit)
	}
	return text
}

// bases is what a step is measured from: the fresh setpoint, and the fresh feedback where it differs from the setpoint by more
// than the verification's own tolerance.
func (f Fresh) bases(w Write) ([]physical.Decimal, *outcome.Refusal) {
	own := f.Action.Scope.Points[w.Step.Alias]
	r, refusal := f.usable("the step of "+own.Ref, own, 0)
	if refusal != nil {
		return nil, refusal
	}
	setpoint, ok := r.Value.Number()
	if !ok {
		return nil, outcome.Refuse(outcome.PermitUnknown, fmt.Sprintf("the step of %s cannot be judged: its setpoint reads %s", own.Ref, r.Value))
	}
	bases := []physical.Decimal{setpoint}
	if f.Action.Plan == nil {
		return bases, nil
	}
	for _, e := range f.Action.Plan.Expect {
		if e.Point.Role != physical.Feedback || e.Point.Unit != own.Unit || e.Kind != "near" || !f.follows(e, w) {
			continue
		}
		r, refusal := f.usable("the step of "+own.Ref, e.Point, 0)
		if refusal != nil {
			return nil, refusal
		}
		if v, ok := r.Value.Number(); ok && !physical.Within(v, setpoint, e.Tolerance) {
			bases = append(bases, v)
		}
	}
	return bases, nil
}

// window is the values that range and steps allow now, nil when there is none or an end is open. Its ends are allowed themselves:
// they keep the smallest step from the setpoint, or are the setpoint, and a raw value stands for each.
func window(w Write, bases []physical.Decimal) *outcome.Span {
	e := w.Step.Point.Point.Envelope
	low, high := e.Min, e.Max
	for _, base := range bases {
		if e.MaxStep != nil {
			low, high = atLeast(low, base.Sub(*e.MaxStep)), atMost(high, base.Add(*e.MaxStep))
		}
	}
	if low == nil || high == nil {
		return nil
	}
	s := &outcome.Span{Low: *low, High: *high}
	if len(bases) > 0 && e.MinStep != nil {
		s.Low, s.High = clear(s.Low, bases[0], *e.MinStep, 1), clear(s.High, bases[0], *e.MinStep, -1)
	}
	s.Low, s.High = inwards(w, s.Low, true), inwards(w, s.High, false)
	if s.Low.GreaterThan(s.High) {
		return nil
	}
	return s
}

func atLeast(a *physical.Decimal, b physical.Decimal) *physical.Decimal {
	if a == nil || b.GreaterThan(*a) {
		return &b
	}
	return a
}

func atMost(a *physical.Decimal, b physical.Decimal) *physical.Decimal {
	if a == nil || b.LessThan(*a) {
		return &b
	}
	return a
}

// clear moves an end that is nearer to the setpoint than the smallest step inwards: to the setpoint, or past it by that step.
func clear(end, setpoint, least physical.Decimal, inward int) physical.Decimal {
	way := end.Sub(setpoint)
	switch {
	case way.IsZero() || way.Abs().GreaterThanOrEqual(least):
		return end
	case way.Sign() != inward:
		return setpoint
	case inward > 0:
		return setpoint.Add(least)
	default:
		return setpoint.Sub(least)
	}
}

// inwards is the nearest value inside the window for which there is a raw value.
func inwards(w Write, end physical.Decimal, low bool) physical.Decimal {
	_, _, err := w.Step.Point.Raw(physical.NumberOf(end))
	between, ok := errors.AsType[*physical.NotRepresentableError](err)
	switch {
	case !ok:
		return end
	case low:
		return between.Above
	default:
		return between.Below
	}
}
