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
	index  int // among the claims of its trial
	point  Point
	level  outcome.Level
	expect *Expectation // nil for a read-back
}

func claimsOf(p *Plan, a Act) []claim {
	var all []claim
	for _, point := range p.ReadBack {
		if a.Written[point.Ref] != nil {
			all = append(all, claim{index: len(all), point: point, level: outcome.E2})
		}
	}
	for i := range p.Expect {
		e := &p.Expect[i]
		all = append(all, claim{index: len(all), point: e.Point, level: e.Level, expect: e})
	}
	return all
}

// needs is the points, besides its own, without which the claim cannot be judged.
func (c claim) needs() []Point {
	if c.expect == nil {
		return nil
	}
	return c.expect.needs
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

// view is a way to take a point's reading in a round: with the proof that its device is alive, or at its word.
type view func(round int, p Point) (physical.Reading, standing)

// ask evaluates a claim in round i.
func (t *Trial) ask(c claim, i int) answer { return t.askBy(t.reading, c, i) }

// state is what round i says of a claim.
func (t *Trial) state(c claim, i int) answerState {
	if i < t.final {
		return t.looks[i].states[c.index]
	}
	return t.ask(c, i).state
}

func (t *Trial) askBy(read view, c claim, i int) answer {
	r, st := read(i, c.point)
	a := answer{reading: r, standing: st, state: noAnswer}
	if c.expect == nil {
		want := t.act.Written[c.point.Ref]
		a.expected = askedText(c.point, t.act.Asked[c.point.Ref], want)
		if st == accepted {
			a.state = truth(bytes.Equal(r.Raw, want))
		}
		return a
	}
	env := t.env(c.expect.needs, i, read)
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
	low, high, text, ok := c.expect.bounds(env, t.act.Baseline[c.point.Ref])
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

// env is the names of round i for expressions: parameters, and those of the given points that have a reading that counts.
func (t *Trial) env(points []Point, i int, read view) map[string]any {
	if len(points) == 0 {
		return t.act.Params
	}
	env := t.params(len(points))
	for _, p := range points {
		if r, st := read(i, p); st == accepted {
			env[p.Alias] = r.Value.Any()
		}
	}
	return env
}

// params is a copy of the parameters with room for more names.
func (t *Trial) params(room int) map[string]any {
	env := make(map[string]any, len(t.act.Params)+room)
	for k, v := range t.act.Params {
		env[k] = v
	}
	return env
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
func (e *Expectation) bounds(env map[string]any, base physical.Reading) (low, high physical.Value, text string, ok bool) {
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
		return increased(v, lo.Add(e.Tolerance), e.slack)
	}
	reach := e.Tolerance.Add(e.slack) // a range has no tolerance of its own
	lo, hi = lo.Sub(reach), hi.Add(reach)
	switch {
	case v.LessThan(lo):
		return fails, lo.Sub(v)
	case v.GreaterThan(hi):
		return fails, v.Sub(hi)
	default:
		return holds, physical.Decimal{}
	}
}

// increased wants more than a least value, or no less than the slack below it where there is one.
func increased(v, least, slack physical.Decimal) (answerState, physical.Decimal) {
	if v.GreaterThan(least) || slack.IsPositive() && v.GreaterThanOrEqual(least.Sub(slack)) {
		return holds, physical.Decimal{}
	}
	return fails, least.Sub(v)
}

// span is the time that rounds i to j surely cover for a claim: from the end of the first reading to the start of the last.
func (t *Trial) span(c claim, i, j int) time.Duration {
	first, last := t.looks[i].readings[c.point.Ref], t.looks[j].readings[c.point.Ref]
	return last.Started.Sub(first.At)
}
