package guard

import (
	"fmt"
	"time"

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

// Permit is the second gate: lockout, arm and mode once more, the contract's permits, what must prove the act, then the envelope
// of every point written, in the order of the writes.
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
	if r := f.provable(); r != nil {
		return r
	}
	for i, w := range f.Values {
		if r := f.envelope(w); r != nil {
			return r
		}
		if i+1 < len(f.Values) {
			f = f.after(w)
		}
	}
	return nil
}

// provable refuses an act that nothing could prove afterwards, because a device that must is dead now, or because a change has no
// baseline. What goes to the safe side goes all the same.
func (f Fresh) provable() *outcome.Refusal {
	plan := f.Action.Plan
	if plan == nil || f.Action.ToSafe {
		return nil
	}
	for _, p := range plan.ReadBack {
		if r := f.living("the proof of "+f.Action.Name, p); r != nil {
			return r
		}
	}
	for i := range plan.Expect {
		e := &plan.Expect[i]
		if e.Level > plan.MinLevel {
			continue
		}
		if r := f.living("the proof of "+f.Action.Name, e.Point); r != nil {
			return r
		}
		if e.Relative() {
			if _, r := f.usable("a change of "+e.Point.Ref, e.Point, 0); r != nil {
				return r
			}
		}
	}
	return nil
}

// living refuses a point of a device that stands still.
func (f Fresh) living(what string, p verify.Point) *outcome.Refusal {
	l, watched := f.Action.Scope.Liveness[p.Device]
	if !watched || f.Alive[p.Device] {
		return nil
	}
	return outcome.Refuse(outcome.PermitUnknown, fmt.Sprintf("%s cannot be judged: %s stands still (its counter %s has not moved for %s), so %s is not news",
		what, p.Device, l.Ref, l.Within, p.Ref))
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
	if dead := f.living(what, p); dead != nil {
		return r, dead
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
