package guard

import (
	"fmt"
	"time"

	"capd/internal/inventory"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/registry"
	"capd/internal/standing"
	"capd/internal/verify"
)

// Fresh is what Permit looks at: readings taken for this call.
type Fresh struct {
	Now      time.Time
	Action   *registry.Action
	Params   map[string]any
	Values   []Write
	Readings map[string]physical.Reading
	Alive    map[string]bool // by device that declares liveness: its counter was seen to move since the call began
	Usage    map[string]standing.Usage
	Mode     standing.Mode
	Lockouts []standing.Lockout
	Armed    bool
}

// Write is one value that the action would write.
type Write struct {
	Step  registry.Step
	Value physical.Value
}

// Permit is the second gate: lockout, arm and mode once more, the contract's permits, then the envelope of every point written.
func Permit(f Fresh) *outcome.Refusal {
	static := Static{Now: f.Now, Action: f.Action, Mode: f.Mode, Lockouts: f.Lockouts, Armed: f.Armed}
	for _, gate := range []func(Static) *outcome.Refusal{admitMode, admitLockout, admitArm} {
		if r := gate(static); r != nil {
			return r
		}
	}
	for _, p := range f.Action.Permits {
		if r := f.permit(p); r != nil {
			return r
		}
	}
	for _, w := range f.Values {
		if r := f.envelope(w); r != nil {
			return r
		}
	}
	return nil
}

// usable refuses a reading that cannot be judged.
func (f Fresh) usable(what string, p verify.Point, maxAge time.Duration) (physical.Reading, *outcome.Refusal) {
	r, ok := f.Readings[p.Ref]
	if !ok {
		return r, outcome.Refuse(outcome.PermitUnknown, fmt.Sprintf("%s cannot be judged: %s was not read", what, p.Ref))
	}
	if !r.Good() {
		return r, outcome.Refuse(outcome.PermitUnknown, fmt.Sprintf("%s cannot be judged: %s is %s (%s) %s", what, p.Ref, r.Quality, r.Cause, r.Detail))
	}
	if l, watched := f.Action.Scope.Liveness[p.Device]; watched && !f.Alive[p.Device] {
		return r, outcome.Refuse(outcome.PermitUnknown, fmt.Sprintf("%s cannot be judged: %s stands still (its counter %s has not moved for %s), so %s is not news",
			what, p.Device, l.Ref, l.Within, p.Ref))
	}
	if age := r.Age(f.Now); maxAge > 0 && age > maxAge {
		return r, outcome.Refuse(outcome.PermitUnknown, fmt.Sprintf("%s cannot be judged: %s is %s old and %s is the limit", what, p.Ref, age.Round(time.Millisecond), maxAge))
	}
	return r, nil
}

func (f Fresh) permit(p registry.Permit) *outcome.Refusal {
	env := map[string]any{}
	for k, v := range f.Params {
		env[k] = v
	}
	for _, alias := range p.Aliases {
		r, refusal := f.usable("permit "+p.ID, f.Action.Scope.Points[alias], p.MaxAge)
		if refusal != nil {
			return refusal
		}
		env[alias] = r.Value.Any()
	}
	got, err := p.When.Eval(env)
	if err != nil {
		return outcome.Refuse(outcome.PermitUnknown, fmt.Sprintf("permit %s cannot be judged: %v", p.ID, err))
	}
	if holds, _ := got.(bool); holds {
		return nil
	}
	r := outcome.Refuse(p.Rule.Code, fmt.Sprintf("%s (permit %s: %s; %s)", p.Rule.Reason, p.ID, p.When.Source(), f.seen(p.Aliases)))
	return r
}

// seen lists what was read, for the message.
func (f Fresh) seen(aliases []string) string {
	text := ""
	for i, alias := range aliases {
		if i > 0 {
			text += ", "
		}
		r := f.Readings[f.Action.Scope.Points[alias].Ref]
		text += alias + " = " + r.Value.String()
		if r.Unit != "" {
			text += " " + string(r.Unit)
		}
	}
	return text
}

// envelope holds a write against the hard limits of its point.
func (f Fresh) envelope(w Write) *outcome.Refusal {
	point := w.Step.Point.Point
	e := point.Envelope
	if e == nil {
		return nil
	}
	if v, ok := w.Value.Number(); ok {
		if r := f.span(w, v); r != nil {
			return r
		}
	}
	if f.Action.ToSafe {
		return nil
	}
	return f.timing(w)
}

func (f Fresh) span(w Write, v physical.Decimal) *outcome.Refusal {
	point := w.Step.Point.Point
	e := point.Envelope
	if !e.Contains(v) {
		r := outcome.Refuse(outcome.OutOfRange, fmt.Sprintf("%s %s is outside the envelope of %s: %s", v, point.Unit, point.Ref, limitsText(e.Limits, point.Unit)))
		if e.Min != nil && e.Max != nil {
			r.Allowed = &outcome.Span{Low: *e.Min, High: *e.Max}
		}
		return r
	}
	if f.Action.ToSafe || e.MaxStep == nil && e.MinStep == nil && e.MaxRate == nil {
		return nil
	}
	bases, refusal := f.bases(w)
	if refusal != nil {
		return refusal
	}
	if e.MaxStep != nil {
		if r := f.step(w, v, bases); r != nil {
			return r
		}
	}
	if r := f.minStep(w, v, bases[0]); r != nil {
		return r
	}
	return f.rate(w, v, bases[0])
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
		if e.Point.Role != physical.Feedback || e.Point.Unit != own.Unit || e.Kind != "near" {
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

func (f Fresh) step(w Write, v physical.Decimal, bases []physical.Decimal) *outcome.Refusal {
	point := w.Step.Point.Point
	e := point.Envelope
	low, high := bases[0].Sub(*e.MaxStep), bases[0].Add(*e.MaxStep)
	for _, b := range bases[1:] {
		low, high = physical.Greatest(low, b.Sub(*e.MaxStep)), physical.Least(high, b.Add(*e.MaxStep))
	}
	if e.Min != nil {
		low = physical.Greatest(low, *e.Min)
	}
	if e.Max != nil {
		high = physical.Least(high, *e.Max)
	}
	if v.GreaterThanOrEqual(low) && v.LessThanOrEqual(high) {
		return nil
	}
	r := outcome.Refuse(outcome.StepTooLarge, fmt.Sprintf("%s %s is a step of %s %s from %s %s, and %s may move at most %s %s at once",
		v, point.Unit, v.Sub(bases[0]).Abs(), point.Unit, bases[0], point.Unit, point.Ref, e.MaxStep, point.Unit))
	if low.GreaterThan(high) {
		r.Next = "setpoint and feedback are too far apart for any step; bring the machine to its setpoint first"
		return r
	}
	r.Allowed = &outcome.Span{Low: low, High: high}
	r.Next = fmt.Sprintf("ask for %s to %s %s", low, high, point.Unit)
	return r
}

func (f Fresh) minStep(w Write, v, setpoint physical.Decimal) *outcome.Refusal {
	point := w.Step.Point.Point
	least := point.Envelope.MinStep
	change := v.Sub(setpoint).Abs()
	if least == nil || change.IsZero() || change.GreaterThanOrEqual(*least) {
		return nil
	}
	return outcome.Refuse(outcome.OutOfRange, fmt.Sprintf("%s %s is only %s %s from the setpoint %s %s; the smallest move of %s is %s %s",
		v, point.Unit, change, point.Unit, setpoint, point.Unit, point.Ref, least, point.Unit))
}
