package verify

import (
	"bytes"
	"fmt"
	"time"

	"capd/internal/contract"
	"capd/internal/outcome"
	"capd/internal/physical"
)

// claim is one thing that a round can agree with: an expectation, or a read-back.
type claim struct {
	point  Point
	level  outcome.Level
	expect *Expectation // nil for a read-back
}

func (t *Trial) claims() []claim {
	var all []claim
	for _, p := range t.plan.ReadBack {
		if t.act.Written[p.Ref] != nil {
			all = append(all, claim{point: p, level: outcome.E2})
		}
	}
	for i := range t.plan.Expect {
		e := &t.plan.Expect[i]
		all = append(all, claim{point: e.Point, level: e.Level, expect: e})
	}
	return all
}

// answer is what one round says about one claim.
type answer struct {
	state    answerState
	reading  physical.Reading
	standing standing
	expected string
	distance physical.Decimal // how far a number is from what is expected; 0 when it holds
}

type answerState uint8

const (
	holds answerState = iota
	fails
	notApplicable // the expectation's own condition does not hold
	noAnswer      // no usable reading
)

// ask evaluates a claim in round i.
func (t *Trial) ask(c claim, i int) answer {
	r, st := t.reading(i, c.point)
	a := answer{reading: r, standing: st, state: noAnswer}
	if c.expect == nil {
		want := t.act.Written[c.point.Ref]
		a.expected = askedText(c.point, t.act.Asked[c.point.Ref], want)
		if st == accepted {
			a.state = truth(bytes.Equal(r.Raw, want))
		}
		return a
	}
	env, usable := t.env(i)
	if c.expect.When != nil {
		ok, known := condition(c.expect.When, env)
		if !known {
			return a
		}
		if !ok {
			a.state = notApplicable
			return a
		}
	}
	low, high, text, ok := c.expect.bounds(env, t.act.Baseline[c.point.Ref], usable)
	a.expected = text
	if !ok || st != accepted {
		return a
	}
	a.state, a.distance = compare(c.expect, r.Value, low, high)
	return a
}

// askedText is the value that was written, for people.
func askedText(p Point, v physical.Value, raw []byte) string {
	if v.IsZero() {
		return fmt.Sprintf("raw %x", raw)
	}
	return v.String() + p.unitText()
}

// unitText is the unit with a space before it, nothing for a pure number.
func (p Point) unitText() string {
	if p.Unit == "" || p.Unit == "1" {
		return ""
	}
	return " " + string(p.Unit)
}

func truth(ok bool) answerState {
	if ok {
		return holds
	}
	return fails
}

// env is the names of round i for expressions: parameters, and every point with an accepted reading.
func (t *Trial) env(i int) (map[string]any, bool) {
	env := make(map[string]any, len(t.act.Params)+len(t.plan.names))
	for k, v := range t.act.Params {
		env[k] = v
	}
	complete := true
	for alias, p := range t.plan.names {
		if _, read := t.rounds[i].Readings[p.Ref]; !read {
			continue
		}
		r, st := t.reading(i, p)
		if st == accepted {
			env[alias] = r.Value.Any()
		} else {
			complete = false
		}
	}
	return env, complete
}

// value evaluates a target; false when a point that it needs has no accepted reading.
func (x Target) value(env map[string]any) (physical.Value, bool) {
	if x.program == nil {
		return x.literal, !x.literal.IsZero()
	}
	got, err := x.program.Eval(env)
	if err != nil {
		return physical.Value{}, false
	}
	return physical.OfAny(got)
}

// Value evaluates a target over parameters alone, for steps.
func (x Target) Value(params map[string]any) (physical.Value, error) {
	if x.program == nil {
		return x.literal, nil
	}
	got, err := x.program.Eval(params)
	if err != nil {
		return physical.Value{}, err
	}
	v, ok := physical.OfAny(got)
	if !ok {
		return v, fmt.Errorf("%q gives %v, which is no value", x.source, got)
	}
	return v, nil
}

// bounds is the interval (or the equal ends) that an expectation asks for, with its text for people.
func (e *Expectation) bounds(env map[string]any, base physical.Reading, _ bool) (low, high physical.Value, text string, ok bool) {
	unit := e.Point.unitText()
	switch e.Kind {
	case contract.Between:
		low, ok = e.Low.value(env)
		high, okHigh := e.High.value(env)
		return low, high, fmt.Sprintf("between %s and %s%s", low, high, unit), ok && okHigh
	case contract.Is:
		v, ok := e.Target.value(env)
		return v, v, "is " + v.String() + unit, ok
	case contract.Near:
		v, ok := e.Target.value(env)
		return v, v, fmt.Sprintf("%s +- %s%s", v, e.Tolerance, unit), ok
	}
	start, hasBase := base.Value.Number()
	if !hasBase || !base.Good() {
		return low, high, "a change from a baseline that could not be read", false
	}
	if e.Kind == contract.Increases {
		return physical.NumberOf(start), physical.NumberOf(start), fmt.Sprintf("above %s%s", start.Add(e.Tolerance), unit), true
	}
	by, ok := e.Target.value(env)
	n, isNumber := by.Number()
	v := physical.NumberOf(start.Add(n))
	return v, v, fmt.Sprintf("%s +- %s%s (a change by %s)", v, e.Tolerance, unit, by), ok && isNumber
}

func compare(e *Expectation, got, low, high physical.Value) (answerState, physical.Decimal) {
	if e.Kind == contract.Is {
		return truth(got.Equal(low)), physical.Decimal{}
	}
	v, okV := got.Number()
	lo, okLow := low.Number()
	hi, okHigh := high.Number()
	if !okV || !okLow || !okHigh {
		return noAnswer, physical.Decimal{}
	}
	if e.Kind == contract.Increases {
		lo = lo.Add(e.Tolerance)
		if v.GreaterThan(lo) {
			return holds, physical.Decimal{}
		}
		return fails, lo.Sub(v)
	}
	if e.Kind != contract.Between {
		lo, hi = lo.Sub(e.Tolerance), hi.Add(e.Tolerance)
	}
	switch {
	case v.LessThan(lo):
		return fails, lo.Sub(v)
	case v.GreaterThan(hi):
		return fails, v.Sub(hi)
	default:
		return holds, physical.Decimal{}
	}
}

// span is the time that rounds i to j surely cover for a claim: from the end of the first reading to the start of the last.
func (t *Trial) span(c claim, i, j int) time.Duration {
	first, last := t.rounds[i].Readings[c.point.Ref], t.rounds[j].Readings[c.point.Ref]
	return last.Started.Sub(first.At)
}
