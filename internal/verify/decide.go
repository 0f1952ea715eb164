package verify

import (
	"fmt"
	"time"

	"capd/internal/expression"
	"capd/internal/outcome"
	"capd/internal/physical"
)

// Decision is what a verification found.
type Decision struct {
	Verdict   outcome.Verdict
	Level     outcome.Level
	RefutedAt *outcome.Level
	Code      outcome.Code
	Layer     outcome.Layer
	Message   string
	Counts    bool // whether a failure is physical and counts for the breaker
	Evidence  []outcome.Evidence
}

// Decide judges the rounds so far. Before the deadline it answers only when the case is settled; at the deadline it always
// answers. It is a pure function of the trial.
func (t *Trial) Decide(deadline bool) (Decision, bool) {
	if len(t.rounds) == 0 {
		if !deadline {
			return Decision{}, false
		}
		return t.finish(Decision{Verdict: outcome.Unknown, Code: outcome.FeedbackStale, Layer: outcome.LayerVerification,
			Message: "no reading came before the deadline"}, nil), true
	}
	if d, ok := t.refuted(); ok {
		return d, true
	}
	claims := t.claims()
	if d, ok := t.confirmed(claims); ok {
		return d, true
	}
	if !deadline {
		return Decision{}, false
	}
	return t.classify(claims), true
}

// condition evaluates a boolean program; unknown when a name has no accepted reading.
func condition(p *expression.Program, env map[string]any) (value, known bool) {
	got, err := p.Eval(env)
	if err != nil {
		return false, false
	}
	b, ok := got.(bool)
	return b, ok
}

// refuted looks for a refute condition that was false, rose after the act and held.
func (t *Trial) refuted() (Decision, bool) {
	for _, r := range t.plan.Refute {
		if !t.risen(r) {
			continue
		}
		level := r.Level
		return t.finish(Decision{Verdict: outcome.Refuted, RefutedAt: &level, Level: t.acked(), Code: outcome.VerifyMismatch,
			Layer: outcome.LayerDevice, Message: r.Reason, Counts: r.Counts}, nil), true
	}
	return Decision{}, false
}

func (t *Trial) risen(r Refute) bool {
	wasFalse := t.falseAtBaseline(r)
	var since time.Time
	for i := range t.rounds {
		env, _ := t.env(i)
		value, known := condition(r.When, env)
		switch {
		case !known:
			since = time.Time{}
		case !value:
			wasFalse, since = true, time.Time{}
		case wasFalse && since.IsZero():
			since = t.roundStart(i)
		}
		if !since.IsZero() && t.roundStart(i).Sub(since) >= r.Hold {
			return true
		}
	}
	return false
}

func (t *Trial) falseAtBaseline(r Refute) bool {
	env := map[string]any{}
	for k, v := range t.act.Params {
		env[k] = v
	}
	for alias, p := range t.plan.names {
		if b, ok := t.act.Baseline[p.Ref]; ok && b.Good() {
			env[alias] = b.Value.Any()
		}
	}
	value, known := condition(r.When, env)
	return known && !value
}

// confirmed looks for a window at the end of the rounds, at least settle long, in which every claim held.
func (t *Trial) confirmed(claims []claim) (Decision, bool) {
	if len(claims) == 0 {
		return Decision{}, false
	}
	end := len(t.rounds) - 1
	for end >= 0 && t.anyPending(claims, end) {
		end--
	}
	start := end + 1
	agreed := make([]bool, len(claims))
	for i := range agreed {
		agreed[i] = true
	}
	for i := end; i >= 0 && t.allHold(claims, i, agreed); i-- {
		start = i
	}
	if start > end {
		return Decision{}, false
	}
	level := outcome.E0
	for i, c := range claims {
		if agreed[i] {
			if t.span(c, start, end) < t.plan.Settle {
				return Decision{}, false
			}
			level = max(level, c.level)
		}
	}
	if level < t.plan.MinLevel || level == outcome.E0 {
		return Decision{}, false
	}
	return t.finish(Decision{Verdict: outcome.Confirmed, Level: level}, t.findAll(claims, end)), true
}

func (t *Trial) anyPending(claims []claim, i int) bool {
	for _, c := range claims {
		if _, st := t.reading(i, c.point); st == pending {
			return true
		}
	}
	return false
}

// allHold reports whether every claim holds or does not apply in round i, and marks those that did not apply: they are no
// contradiction, but they agree with nothing.
func (t *Trial) allHold(claims []claim, i int, agreed []bool) bool {
	marks := make([]bool, len(claims))
	for j, c := range claims {
		switch t.ask(c, i).state {
		case holds:
		case notApplicable:
			marks[j] = true
		default:
			return false
		}
	}
	for j, skip := range marks {
		if skip {
			agreed[j] = false
		}
	}
	return true
}

// acked is the level that the protocol's own acknowledgement reaches.
func (t *Trial) acked() outcome.Level {
	if t.act.Acked {
		return outcome.E1
	}
	return outcome.E0
}

// finish adds evidence: the baseline, and for each finding its last reading.
func (t *Trial) finish(d Decision, findings []finding) Decision {
	if findings == nil {
		findings = t.findAll(t.claims(), len(t.rounds)-1)
	}
	now := time.Time{}
	if len(t.rounds) > 0 {
		now = t.latest()
	}
	for _, f := range findings {
		if b, ok := t.act.Baseline[f.claim.point.Ref]; ok && f.claim.expect != nil {
			d.Evidence = append(d.Evidence, EvidenceOf(f.claim.point, b, "baseline", now))
		}
	}
	for _, f := range findings {
		if f.answer.reading.At.IsZero() {
			continue
		}
		e := EvidenceOf(f.claim.point, f.answer.reading, "deciding", now)
		e.Expected, e.Level = f.answer.expected, f.claim.level
		if f.answer.state == holds || f.answer.state == fails {
			ok := f.answer.state == holds
			e.OK = &ok
		}
		d.Evidence = append(d.Evidence, e)
	}
	return d
}

// EvidenceOf is a reading as evidence.
func EvidenceOf(p Point, r physical.Reading, phase string, now time.Time) outcome.Evidence {
	return outcome.Evidence{Point: p.Ref, Phase: phase, Value: r.Value, Unit: r.Unit, Quality: r.Quality, Cause: r.Cause, Detail: r.Detail,
		Started: r.Started, At: r.At, AgeMS: max(0, now.Sub(r.At).Milliseconds()), Raw: r.RawHex(), Level: outcome.LevelOf(p.Role)}
}

// describe is a finding in words, such as "PS07-FCV-04.position settled at 37 %, expected 30 +- 1.5 %".
func describe(f finding, what string) string {
	text := fmt.Sprintf("%s %s %s%s", f.claim.point.Ref, what, f.answer.reading.Value, f.claim.point.unitText())
	if f.answer.expected != "" {
		text += ", expected " + f.answer.expected
	}
	return text
}
