package guard

import (
	"fmt"

	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/verify"
)

// follows reports whether a feedback shows what this write asks for. Where one action moves two things, each is measured from its own.
func (f Fresh) follows(e verify.Expectation, w Write) bool {
	target, err := e.Target.Value(f.Params)
	return err != nil || target.Equal(w.Value)
}

func (f Fresh) step(w Write, v physical.Decimal, bases []physical.Decimal) *outcome.Refusal {
	point := w.Step.Point.Point
	most := point.Envelope.MaxStep
	if most == nil {
		return nil
	}
	far := false
	for _, base := range bases {
		far = far || !physical.Within(v, base, *most)
	}
	if !far {
		return nil
	}
	r := outcome.Refuse(outcome.StepTooLarge, fmt.Sprintf("%s %s is a step of %s from %s, and %s may move at most %s %s at once",
		v, point.Unit, amounts(v, bases, point.Unit), valuesOf(bases, point.Unit), point.Ref, most, point.Unit))
	if r.Allowed = window(w, bases); r.Allowed == nil {
		r.Next = "setpoint and feedback are too far apart for any step; bring the machine to its setpoint first"
		return r
	}
	r.Next = fmt.Sprintf("ask for %s to %s %s", r.Allowed.Low, r.Allowed.High, point.Unit)
	return r
}
