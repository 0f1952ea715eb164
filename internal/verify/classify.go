package verify

import (
	"bytes"
	"fmt"
	"time"

	"capd/internal/contract"
	"capd/internal/outcome"
	"capd/internal/physical"
)

// state is what the end of a trial shows of one claim.
type state uint8

const (
	skipped      state = iota // it never applied
	agreed                    // it held through the settle time
	contradicted              // it settled elsewhere
	moving                    // it had not settled
	silent                    // no usable reading near the deadline
	doubtful                  // it settled, but its witness is not to be believed
)

// finding is a claim, its state, and the reading that shows it best.
type finding struct {
	claim  claim
	state  state
	answer answer
	mute   silence // of a silent or doubtful one: what gave no usable reading
	rival  string  // of a doubtful one: the ASSET.point that contradicts its witness, "" when the witness itself failed
}

func (t *Trial) findAll(upTo int) []finding {
	all := make([]finding, len(t.claims))
	for i, c := range t.claims {
		all[i] = t.find(c, upTo)
	}
	return all
}

// sample is a round in which a claim holds or fails.
type sample struct {
	round  int
	answer answer
}

// find judges one claim at the end of the rounds. Only what it said since it last did not apply counts.
func (t *Trial) find(c claim, upTo int) finding {
	f := finding{claim: c, state: skipped}
	var usable []sample
	known := -1 // the last round that answers
	for i := 0; i <= upTo; i++ {
		switch a := t.ask(c, i); a.state {
		case noAnswer:
			f.state, f.answer = silent, a
			f.mute = t.silenceOf(c, i).after(f.mute)
		case notApplicable:
			known, usable = i, nil
		default:
			known, usable = i, append(usable, sample{i, a})
		}
	}
	switch {
	case known < 0 || t.looks[upTo].end.Sub(t.looks[known].start) > t.staleAfter(c, upTo):
		return f
	case len(usable) == 0:
		f.state = skipped
		return f
	}
	f.answer = usable[len(usable)-1].answer
	tail := t.tail(c, usable)
	f.state = t.judgeTail(c, tail)
	if newer, ok := t.newest(c, known+1); ok && newer.state != f.answer.state && f.state != moving {
		f.state, f.answer = moving, newer
	}
	if mute, ok := t.failedSince(c, tail[0].round); ok && f.state == contradicted {
		f.state, f.mute = doubtful, mute
	}
	return f
}

// newest is what the latest of the rounds from one on says of a claim when its readings are taken at their word; false when none
// holds or fails.
func (t *Trial) newest(c claim, from int) (a answer, ok bool) {
	for i := len(t.looks) - 1; i >= from; i-- {
		if a := t.askBy(t.atItsWord, c, i); a.state == holds || a.state == fails {
			return a, true
		}
	}
	return answer{}, false
}

// staleAfter is how old the last usable reading of a claim may be at the deadline. A slow round does not make its own readings old.
func (t *Trial) staleAfter(c claim, upTo int) time.Duration {
	within := time.Duration(0)
	if p := t.pulses[c.point.Device]; p != nil {
		within = p.Within
	}
	return max(t.plan.Settle, within) + 2*(t.plan.Poll+t.slowest(upTo))
}

// tail is the usable samples of the settle time before the last one, and the one sample that completes it. It does not reach over
// a hole: what the machine did there is not known.
func (t *Trial) tail(c claim, usable []sample) []sample {
	last := len(usable) - 1
	window, hole := max(t.plan.Settle, 2*t.plan.Poll), max(t.plan.Settle/2, 3*t.plan.Poll)+t.slowest(len(t.looks)-1)
	for i := last; i >= 0; i-- {
		if i < last && t.span(c, usable[i].round, usable[i+1].round) > hole {
			return usable[i+1:]
		}
		if t.span(c, usable[i].round, usable[last].round) >= window {
			return usable[i:]
		}
	}
	return usable
}

func (t *Trial) judgeTail(c claim, tail []sample) state {
	held, last := 0, len(tail)-1
	for _, s := range tail {
		if s.answer.state == holds {
			held++
		}
	}
	long := t.span(c, tail[0].round, tail[last].round) >= t.plan.Settle && (last > 0 || t.plan.Settle == 0)
	switch {
	case held == len(tail) && long:
		return agreed
	case held == 0 && long && still(c, tail):
		return contradicted
	default:
		return moving
	}
}

// still reports whether the samples show a machine at rest, neither wandering nor on its way to the target.
func still(c claim, tail []sample) bool {
	first := tail[0].answer.reading
	if c.expect == nil {
		return all(tail, func(a answer) bool { return bytes.Equal(a.reading.Raw, first.Raw) })
	}
	if c.expect.Kind == contract.Is {
		return all(tail, func(a answer) bool { return a.reading.Value.Equal(first.Value) })
	}
	nearest := tail[0].answer.distance
	for _, s := range tail {
		nearest = physical.Least(nearest, s.answer.distance)
	}
	return spread(tail).LessThanOrEqual(wander(c.expect, nearest)) && !approaching(c, tail, nearest)
}

// wander is how far a machine at rest may move about: as far as it may at its target; without a tolerance, half of its distance.
func wander(e *Expectation, nearest physical.Decimal) physical.Decimal {
	if e.Tolerance.IsZero() {
		return nearest.Div(physical.Whole(2))
	}
	return e.Tolerance.Mul(physical.Whole(2))
}

// approaching reports whether the samples close in on the target. The mean distance of the second half below that of the first by
// more than a quarter of the tolerance (a tenth of the distance, without one) is motion. Less may be noise, unless each sample is at
// least as near as the one before: then half as much is motion too.
func approaching(c claim, tail []sample, nearest physical.Decimal) bool {
	mid, last := len(tail)/2, len(tail)-1
	if mid == 0 {
		return false
	}
	threshold := c.expect.Tolerance.Div(physical.Whole(4))
	if threshold.IsZero() {
		threshold = physical.Greatest(nearest.Div(physical.Whole(10)), spread(tail).Div(physical.Whole(3)))
	}
	if meanDistance(tail[:mid]).Sub(meanDistance(tail[mid:])).GreaterThan(threshold) {
		return true
	}
	for i := range last {
		if tail[i+1].answer.distance.GreaterThan(tail[i].answer.distance) {
			return false
		}
	}
	return tail[0].answer.distance.Sub(tail[last].answer.distance).GreaterThan(threshold.Div(physical.Whole(2)))
}

// spread is how far apart the samples lie. On a straight way the halves' means differ by half of it; noise rarely gets to a third.
func spread(tail []sample) physical.Decimal {
	lowest, highest := number(tail[0]), number(tail[0])
	for _, s := range tail {
		lowest, highest = physical.Least(lowest, number(s)), physical.Greatest(highest, number(s))
	}
	return highest.Sub(lowest)
}

func meanDistance(samples []sample) physical.Decimal {
	sum := physical.Whole(0)
	for _, s := range samples {
		sum = sum.Add(s.answer.distance)
	}
	return sum.Div(physical.Whole(int64(len(samples))))
}

func number(s sample) physical.Decimal {
	n, _ := s.answer.reading.Value.Number()
	return n
}

func all(samples []sample, ok func(answer) bool) bool {
	for _, s := range samples {
		if !ok(s.answer) {
			return false
		}
	}
	return true
}

// classify is the decision at the deadline: a contradiction refutes, unless its witness is not to be believed; else what must agree
// and is still moving, or silent, leaves it unknown; else everything up to the minimum level agreed, and it is confirmed if it did
// so together.
func (t *Trial) classify() Decision {
	findings := t.findAll(len(t.looks) - 1)
	t.doubt(findings)
	level, reached := t.acked(), false
	var refutes, doubts, moves, silence *finding
	for i := range findings {
		f := &findings[i]
		needed := f.claim.level <= t.plan.MinLevel
		switch {
		case f.state == agreed:
			level = max(level, f.claim.level)
			reached = reached || f.claim.level >= t.plan.MinLevel
		case f.state == contradicted && (refutes == nil || f.claim.level < refutes.claim.level):
			refutes = f
		case f.state == doubtful && doubts == nil:
			doubts = f
		case f.state == moving && needed && (moves == nil || moves.answer.state == holds):
			moves = f
		case f.state == silent && needed && silence == nil:
			silence = f
		}
	}
	d := Decision{Verdict: outcome.Unknown, Level: level}
	switch {
	case refutes != nil:
		d = mismatch(*refutes, level, t.everHeld(refutes.claim))
	case doubts != nil:
		d.Code, d.Layer, d.Message = outcome.FeedbackBad, outcome.LayerVerification, doubtMessage(*doubts)
	case moves != nil:
		d = unsettled(*moves, level)
	case silence != nil:
		d.Code, d.Layer = silenceCode(silence.mute.cause())
		d.Message = silenceMessage(*silence)
	case !reached:
		d.Code, d.Layer = outcome.VerifyTimeout, outcome.LayerVerification
		d.Message = fmt.Sprintf("no witness of level %s applied before the deadline", t.plan.MinLevel)
	case !t.heldTogether():
		d.Code, d.Layer, d.Counts = outcome.VerifyTimeout, outcome.LayerDevice, true
		d.Message = fmt.Sprintf("every expectation held for a while, but not all of them together for %s", t.plan.Settle)
	default:
		d.Verdict = outcome.Confirmed
	}
	return t.finish(d, findings)
}

// heldTogether reports whether the claims up to the minimum level held together through a settle time, one of that level among them,
// up to the last round in which all of them answer.
func (t *Trial) heldTogether() bool {
	var needed []claim
	for _, c := range t.claims {
		if c.level <= t.plan.MinLevel {
			needed = append(needed, c)
		}
	}
	for end := len(t.looks) - 1; end >= 0; end-- {
		if t.allHold(needed, end) {
			level, ok := t.together(needed, end)
			return ok && level >= t.plan.MinLevel
		}
	}
	return false
}

// everHeld reports whether a claim held in any round.
func (t *Trial) everHeld(c claim) bool {
	for i := t.final; i < len(t.looks); i++ {
		if t.state(c, i) == holds {
			return true
		}
	}
	return t.held[c.index]
}

// absent reports whether every value that was written reads otherwise at the end: then no command stands in the machine.
func (t *Trial) absent(findings []finding) bool {
	gone := map[string]bool{}
	for _, f := range findings {
		if f.claim.expect == nil && f.state == contradicted {
			gone[f.claim.point.Ref] = true
		}
	}
	return len(gone) > 0 && len(gone) == len(t.act.Written)
}
