package guard

import (
	"errors"
	"fmt"

	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/verify"
)

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

// follows reports whether a feedback shows what this write asks for: where one action moves two things, each is measured from its
// own place. A target that cannot be computed beforehand counts as one that does.
func (f Fresh) follows(e verify.Expectation, w Write) bool {
	target, err := e.Target.Value(f.Params)
	return err != nil || target.Equal(w.Value)
}

// step holds a change against the largest one, from every base.
func (f Fresh) step(w Write, v physical.Decimal, bases []physical.Decimal) *outcome.Refusal {
	point := w.Step.Point.Point
	most := point.Envelope.MaxStep
	if most == nil {
		return nil
	}
	for _, base := range bases {
		if physical.Within(v, base, *most) {
			continue
		}
		r := outcome.Refuse(outcome.StepTooLarge, fmt.Sprintf("%s %s is a step of %s %s from %s %s, and %s may move at most %s %s at once",
			v, point.Unit, v.Sub(base).Abs(), point.Unit, base, point.Unit, point.Ref, most, point.Unit))
		if r.Allowed = window(w, bases); r.Allowed == nil {
			r.Next = "setpoint and feedback are too far apart for any step; bring the machine to its setpoint first"
			return r
		}
		r.Next = fmt.Sprintf("ask for %s to %s %s", r.Allowed.Low, r.Allowed.High, point.Unit)
		return r
	}
	return nil
}

// minStep holds a change of the setpoint against the smallest one that is worth moving for. No change at all is none.
func (f Fresh) minStep(w Write, v physical.Decimal, bases []physical.Decimal) *outcome.Refusal {
	point, setpoint := w.Step.Point.Point, bases[0]
	least := point.Envelope.MinStep
	change := v.Sub(setpoint)
	if least == nil || change.IsZero() || change.Abs().GreaterThanOrEqual(*least) {
		return nil
	}
	r := outcome.Refuse(outcome.OutOfRange, fmt.Sprintf("%s %s is only %s %s from the setpoint %s %s; the smallest move of %s is %s %s",
		v, point.Unit, change.Abs(), point.Unit, setpoint, point.Unit, point.Ref, least, point.Unit))
	r.Allowed = beyond(w, window(w, bases), setpoint, change.Sign() > 0)
	return r
}

// beyond is the part of a window that lies at least the smallest step from the setpoint: above or below it as asked, on the other
// side when there is no room.
func beyond(w Write, s *outcome.Span, setpoint physical.Decimal, above bool) *outcome.Span {
	if s == nil {
		return nil
	}
	least := *w.Step.Point.Point.Envelope.MinStep
	up := outcome.Span{Low: physical.Greatest(s.Low, inwards(w, setpoint.Add(least), true)), High: s.High}
	down := outcome.Span{Low: s.Low, High: physical.Least(s.High, inwards(w, setpoint.Sub(least), false))}
	if !above {
		up, down = down, up
	}
	for _, part := range []outcome.Span{up, down} {
		if part.Low.LessThanOrEqual(part.High) {
			return &part
		}
	}
	return nil
}
