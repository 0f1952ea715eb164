package verify

import (
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
	Absent    bool // every value written reads otherwise at the end: no command stands in the machine
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
	end := len(t.rounds) - 1
	for end >= 0 && t.anyPending(claims, end) {
		end--
	}
	if t.contradictedSince(claims, end+1) {
		return Decision{}, false
	}
	level, ok := t.together(claims, end)
	if !ok || level < t.plan.MinLevel {
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

// contradictedSince reports whether a reading in the rounds from one on speaks against a claim. Such a reading may still wait for
// its device's counter: it cannot refute, but nothing is confirmed against what the witness shows now.
func (t *Trial) contradictedSince(claims []claim, from int) bool {
	for i := from; i < len(t.rounds); i++ {
		for _, c := range claims {
			if t.atItsWord(i).ask(c, 0).state == fails {
				return true
			}
		}
	}
	return false
}

// atItsWord is a trial of one round alone, which takes the readings of every device at their word.
func (t *Trial) atItsWord(i int) *Trial {
	return &Trial{plan: &Plan{names: t.plan.names}, act: t.act, rounds: t.rounds[i : i+1], lives: map[string][]life{}}
}

// stay is the last rounds of a window in which a claim holds.
type stay struct {
	from   int  // the first of them; behind the window when the claim does not hold at its end
	broken bool // the claim did not apply before them
}

// together looks back from round end over the rounds in which every claim holds or does not apply, and gives the highest level of
// those that hold for the settle time. It is false when none does, or when one that applies all along has not held for so long. A
// claim that did not apply for a part of the time is no contradiction.
func (t *Trial) together(claims []claim, end int) (level outcome.Level, ok bool) {
	stays := make([]stay, len(claims))
	for j := range stays {
		stays[j].from = end + 1
	}
	for i := end; i >= 0; i-- {
		if !t.extend(claims, stays, i) {
			break
		}
	}
	for j, c := range claims {
		if stays[j].from > end {
			continue
		}
		if long := t.span(c, stays[j].from, end) >= t.plan.Settle; long {
			level, ok = max(level, c.level), true
		} else if !stays[j].broken {
			return outcome.E0, false
		}
	}
	return level, ok
}

// extend takes round i into the window before which stays was found; false when a claim fails in it, or has no answer.
func (t *Trial) extend(claims []claim, stays []stay, i int) bool {
	states := make([]answerState, len(claims))
	for j, c := range claims {
		if states[j] = t.ask(c, i).state; states[j] != holds && states[j] != notApplicable {
			return false
		}
	}
	for j, s := range states {
		if s == notApplicable {
			stays[j].broken = true
		} else if !stays[j].broken {
			stays[j].from = i
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
	d.Absent = t.absent(findings)
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
