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
)

// finding is a claim, its state, and the reading that shows it best.
type finding struct {
	claim  claim
	state  state
	answer answer
	cause  physical.Cause
}

func (t *Trial) findAll(claims []claim, upTo int) []finding {
	all := make([]finding, len(claims))
	for i, c := range claims {
		all[i] = t.find(c, upTo)
	}
	return all
}

type sample struct {
	round  int
	answer answer
}

// find judges one claim at the end of the rounds.
func (t *Trial) find(c claim, upTo int) finding {
	f := finding{claim: c, state: silent, cause: physical.CauseStale}
	var usable []sample
	applied := false
	for i := 0; i <= upTo; i++ {
		a := t.ask(c, i)
		applied = applied || a.state != notApplicable
		if a.state == holds || a.state == fails {
			usable = append(usable, sample{i, a})
		} else if a.state == noAnswer {
			f.answer, f.cause = a, causeOf(a)
		}
	}
	if len(usable) == 0 {
		if !applied {
			f.state = skipped
		}
		return f
	}
	last := usable[len(usable)-1]
	if t.latest().Sub(last.answer.reading.Started) > t.staleAfter(c, upTo) {
		return f
	}
	f.answer = last.answer
	f.state = t.judgeTail(c, t.tail(c, usable))
	return f
}

func causeOf(a answer) physical.Cause {
	switch a.standing {
	case frozen, pending:
		return physical.CauseFrozen
	case unusable:
		if a.reading.Cause != physical.CauseNone {
			return a.reading.Cause
		}
	}
	return physical.CauseStale
}

// staleAfter is how old the last usable reading of a claim may be at the deadline.
func (t *Trial) staleAfter(c claim, upTo int) time.Duration {
	slowest := time.Duration(0)
	for i := max(0, upTo-3); i <= upTo; i++ {
		slowest = max(slowest, t.rounds[i].Readings[c.point.Ref].At.Sub(t.roundStart(i)))
	}
	return max(t.plan.Settle, t.plan.liveness[c.point.Device].Within) + 2*(t.plan.Poll+slowest)
}

// tail is the usable samples of the settle time before the last one, and the one sample that completes it.
func (t *Trial) tail(c claim, usable []sample) []sample {
	last := len(usable) - 1
	window := max(t.plan.Settle, 2*t.plan.Poll)
	for i := last; i >= 0; i-- {
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
	lowest, highest := number(tail[0]), number(tail[0])
	nearest := tail[0].answer.distance
	for _, s := range tail {
		lowest, highest = physical.Least(lowest, number(s)), physical.Greatest(highest, number(s))
		nearest = physical.Least(nearest, s.answer.distance)
	}
	half := physical.Whole(2)
	if highest.Sub(lowest).GreaterThan(physical.Greatest(c.expect.Tolerance, nearest.Div(half))) {
		return false
	}
	return !approaching(c, tail, nearest)
}

// approaching compares the mean distance of the first and the second half of the samples: closing in by more than a quarter of
// the tolerance (a tenth of the distance, without one) is motion, less is noise.
func approaching(c claim, tail []sample, nearest physical.Decimal) bool {
	mid := len(tail) / 2
	if mid == 0 {
		return false
	}
	threshold := c.expect.Tolerance.Div(physical.Whole(4))
	if threshold.IsZero() {
		threshold = nearest.Div(physical.Whole(10))
	}
	return meanDistance(tail[:mid]).Sub(meanDistance(tail[mid:])).GreaterThan(threshold)
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

// classify is the decision at the deadline: a contradiction refutes; else what must agree and is still moving, or silent, leaves
// it unknown; else everything up to the minimum level agreed.
func (t *Trial) classify(claims []claim) Decision {
	findings := t.findAll(claims, len(t.rounds)-1)
	level, reached := t.acked(), false
	var refutes, moves, silence *finding
	for i := range findings {
		f := &findings[i]
		needed := f.claim.level <= t.plan.MinLevel
		switch {
		case f.state == agreed:
			level = max(level, f.claim.level)
			reached = reached || f.claim.level >= t.plan.MinLevel
		case f.state == contradicted && (refutes == nil || f.claim.level < refutes.claim.level):
			refutes = f
		case f.state == moving && needed && moves == nil:
			moves = f
		case f.state == silent && needed && silence == nil:
			silence = f
		}
	}
	d := Decision{Verdict: outcome.Unknown, Level: level}
	switch {
	case refutes != nil:
		d = mismatch(*refutes, level)
	case moves != nil:
		d.Code, d.Layer, d.Counts = outcome.VerifyTimeout, outcome.LayerDevice, true
		d.Message = describe(*moves, "had not settled at the deadline: it reads")
	case silence != nil:
		d.Code, d.Layer = silenceCode(silence.cause)
		d.Message = silenceMessage(*silence)
	case reached:
		d.Verdict = outcome.Confirmed
	default:
		d.Code, d.Layer = outcome.VerifyTimeout, outcome.LayerVerification
		d.Message = fmt.Sprintf("no witness of level %s applied before the deadline", t.plan.MinLevel)
	}
	return t.finish(d, findings)
}

func mismatch(f finding, level outcome.Level) Decision {
	at := f.claim.level
	d := Decision{Verdict: outcome.Refuted, Level: level, RefutedAt: &at, Code: outcome.VerifyMismatch, Layer: outcome.LayerDevice, Counts: true,
		Message: describe(f, "settled at")}
	if at == outcome.E2 {
		d.Layer = outcome.LayerExecution
		d.Message = describe(f, "does not hold the value asked for: it reads")
	}
	return d
}

func silenceCode(c physical.Cause) (outcome.Code, outcome.Layer) {
	switch c {
	case physical.CauseOffline:
		return outcome.DeviceOffline, outcome.LayerExecution
	case physical.CauseFrozen:
		return outcome.FeedbackFrozen, outcome.LayerVerification
	case physical.CauseStale, physical.CauseNone:
		return outcome.FeedbackStale, outcome.LayerVerification
	default:
		return outcome.FeedbackBad, outcome.LayerVerification
	}
}

func silenceMessage(f finding) string {
	if f.cause == physical.CauseFrozen {
		return fmt.Sprintf("%s proves nothing: the liveness counter of %s has stood still since the act", f.claim.point.Ref, f.claim.point.Device)
	}
	text := fmt.Sprintf("%s gave no usable reading near the deadline (%s)", f.claim.point.Ref, f.cause)
	if f.answer.reading.Detail != "" {
		text += ": " + f.answer.reading.Detail
	}
	return text
}
