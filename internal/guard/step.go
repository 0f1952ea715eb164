package guard

import (
	"errors"
	"fmt"
	"slices"

	"capd/internal/inventory"
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
		r.Allowed = window(w, bases)
		switch {
		case r.Allowed != nil:
			r.Next = ask(point.Unit, *r.Allowed)
		case !point.Envelope.Contains(bases[0]):
			r.Message = fmt.Sprintf("%s stands at %s %s, outside its own envelope (%s): somebody else wrote it, or it was never set; no step of at most %s %s leads back",
				point.Ref, bases[0], point.Unit, limitsText(point.Envelope.Limits, point.Unit), most, point.Unit)
			r.Next = "have it set at the machine, or use an action to the safe side"
		default:
			r.Next = "setpoint and feedback are too far apart for any step; bring the machine to its setpoint first"
		}
		return r
	}
	return nil
}

// ask is the next step: values that are allowed, from the lowest on.
func ask(unit physical.Unit, parts ...outcome.Span) string {
	text := "ask for "
	for i, s := range parts {
		if i > 0 {
			text += ", or "
		}
		text += s.Low.String()
		if !s.Low.Equal(s.High) {
			text += " to " + s.High.String()
		}
		if unit != "" {
			text += " " + string(unit)
		}
	}
	return text
}

// NoRawValue refuses a value that no raw value of a point stands for, with the values beside it that have one and that the envelope allows.
// err is what encoding it gave.
func NoRawValue(p *inventory.Point, err error) *outcome.Refusal {
	r := outcome.Refuse(outcome.OutOfRange, err.Error())
	between, ok := errors.AsType[*physical.NotRepresentableError](err)
	if !ok {
		return r
	}
	var beside []outcome.Span
	for _, v := range []physical.Decimal{between.Below, between.Above} {
		if p.Envelope == nil || p.Envelope.Contains(v) {
			beside = append(beside, outcome.Span{Low: v, High: v})
		}
	}
	if len(beside) > 0 {
		r.Next = ask(p.Unit, beside...)
	}
	return r
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
	s := window(w, bases)
	if s == nil {
		r.Next = fmt.Sprintf("ask for %s %s or less, or %s %s or more, within the limits of the point", inwards(w, setpoint.Sub(*least), false), point.Unit,
			inwards(w, setpoint.Add(*least), true), point.Unit)
		return r
	}
	parts := beyond(w, *s, setpoint)
	switch {
	case len(parts) == 0:
		r.Next = fmt.Sprintf("ask for %s %s to leave it there; no other value is far enough away and near enough for one step", setpoint, point.Unit)
	case len(parts) == 2 && change.Sign() > 0:
		r.Allowed, r.Next = &parts[1], ask(point.Unit, parts...)
	default:
		r.Allowed, r.Next = &parts[0], ask(point.Unit, parts...)
	}
	return r
}

// beyond is the parts of a window that lie at least the smallest step from the setpoint, below and above it, as far as there is room.
func beyond(w Write, s outcome.Span, setpoint physical.Decimal) []outcome.Span {
	least := *w.Step.Point.Point.Envelope.MinStep
	down := outcome.Span{Low: s.Low, High: physical.Least(s.High, inwards(w, setpoint.Sub(least), false))}
	up := outcome.Span{Low: physical.Greatest(s.Low, inwards(w, setpoint.Add(least), true)), High: s.High}
	return slices.DeleteFunc([]outcome.Span{down, up}, func(part outcome.Span) bool { return part.Low.GreaterThan(part.High) })
}
