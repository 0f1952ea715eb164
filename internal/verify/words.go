package verify

import (
	"fmt"

	"capd/internal/outcome"
	"capd/internal/physical"
)

// unsettled is the decision for a machine that needs more time, or does not come to rest.
func unsettled(f finding, level outcome.Level) Decision {
	d := Decision{Verdict: outcome.Unknown, Level: level, Code: outcome.VerifyTimeout, Layer: outcome.LayerDevice, Counts: true,
		Message: describe(f, "had not settled at the deadline: it reads")}
	if f.answer.state == holds {
		d.Message = describe(f, "had reached its target, but not for long enough at the deadline: it reads")
	}
	return d
}

// mismatch is the decision for a claim that settled elsewhere. A setpoint that never showed what was written lies with the wire; one
// that did, and was changed again, does not.
func mismatch(f finding, level outcome.Level, held bool) Decision {
	at := f.claim.level
	d := Decision{Verdict: outcome.Refuted, Level: level, RefutedAt: &at, Code: outcome.VerifyMismatch, Layer: outcome.LayerDevice, Counts: true,
		Message: describe(f, "settled at")}
	switch {
	case at == outcome.E2 && held:
		d.Counts = false // the machine obeyed; somebody else spoke after
		d.Message = describe(f, "took the value asked for and was changed again: it reads")
	case at == outcome.E2:
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
	s := f.mute
	switch {
	case s.target != "":
		return fmt.Sprintf("%s cannot be judged: %s", s.point.Ref, s.target)
	case (s.standing == frozen || s.standing == pending) && !s.counter.Good():
		return fmt.Sprintf("%s proves nothing: the liveness counter of %s cannot be read (%s)", s.point.Ref, s.point.Device, s.counter.Cause)
	case s.standing == frozen || s.standing == pending:
		return fmt.Sprintf("%s proves nothing: the liveness counter of %s has stood still since the act", s.point.Ref, s.point.Device)
	}
	text := fmt.Sprintf("%s gave no usable reading near the deadline (%s)", s.point.Ref, s.cause())
	if s.reading.Detail != "" {
		text += ": " + s.reading.Detail
	}
	return text
}

// doubtMessage says which sensor to look at, and what it was asked.
func doubtMessage(f finding) string {
	if f.rival == "" {
		return fmt.Sprintf("%s is not to be believed: it read %s, expected %s, and gave no valid value meanwhile (%s)", f.claim.point.Ref,
			f.answer.reading.Value, f.answer.expected, f.mute.cause())
	}
	one, other := f.rival, f.claim.point.Ref
	if f.answer.state == holds {
		one, other = other, one
	}
	return fmt.Sprintf("%s and %s contradict each other: both read true, expected are true and false", one, other)
}

// describe is a finding in words, such as "PS07-FCV-04.position settled at 37 %, expected 30 +- 1.5 %".
func describe(f finding, what string) string {
	text := fmt.Sprintf("%s %s %s%s", f.claim.point.Ref, what, f.answer.reading.Value, f.claim.point.unitText())
	if f.answer.expected != "" {
		text += ", expected " + f.answer.expected
	}
	return text
}
