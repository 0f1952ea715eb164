package verify

import (
	"time"

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
// answers. It is a pure function of the rounds that were added.
func (t *Trial) Decide(deadline bool) (Decision, bool) {
	if len(t.looks) == 0 {
		if !deadline {
			return Decision{}, false
		}
		return t.finish(Decision{Verdict: outcome.Unknown, Code: outcome.FeedbackStale, Layer: outcome.LayerVerification,
			Message: "no reading came before the deadline"}, nil), true
	}
	if d, ok := t.refuted(); ok {
		return d, true
	}
	if d, ok := t.confirmed(); ok {
		return d, true
	}
	if !deadline {
		return Decision{}, false
	}
	return t.classify(), true
}

// confirmed looks for a window at the end of the rounds, at least settle long, in which every claim held.
func (t *Trial) confirmed() (Decision, bool) {
	end := len(t.looks) - 1
	for ; end >= t.final && t.anyPending(end); end-- {
		if t.contradicted(end) {
			return Decision{}, false
		}
	}
	if end < 0 {
		return Decision{}, false
	}
	level, ok := t.together(t.claims, end)
	if !ok || level < t.plan.MinLevel {
		return Decision{}, false
	}
	return t.finish(Decision{Verdict: outcome.Confirmed, Level: level}, t.findAll(end)), true
}

// anyPending reports whether something that a claim rests on in round i still waits for its device's counter.
func (t *Trial) anyPending(i int) bool {
	for _, c := range t.claims {
		if _, st := t.reading(i, c.point); st == pending {
			return true
		}
		for _, p := range c.needs() {
			if _, st := t.reading(i, p); st == pending {
				return true
			}
		}
	}
	return false
}

// contradicted reports whether a reading of round i speaks against a claim. It may still wait for its device's counter: it cannot
// refute, but nothing is confirmed against what the witness shows now.
func (t *Trial) contradicted(i int) bool {
	for _, c := range t.claims {
		if t.askBy(t.atItsWord, c, i).state == fails {
			return true
		}
	}
	return false
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
	for i := end; i >= 0 && t.allHold(claims, i); i-- {
		for j, c := range claims {
			if stays[j].broken = stays[j].broken || t.state(c, i) == notApplicable; !stays[j].broken {
				stays[j].from = i
			}
		}
	}
	for j, c := range claims {
		if stays[j].from > end {
			continue
		}
		if t.span(c, stays[j].from, end) >= t.plan.Settle {
			level, ok = max(level, c.level), true
		} else if !stays[j].broken {
			return outcome.E0, false
		}
	}
	return level, ok
}

// allHold reports whether no claim fails in round i, or has no answer.
func (t *Trial) allHold(claims []claim, i int) bool {
	for _, c := range claims {
		if s := t.state(c, i); s != holds && s != notApplicable {
			return false
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
		findings = t.findAll(len(t.looks) - 1)
	}
	now := t.latest()
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
