package verify

import (
	"strings"

	"capd/internal/contract"
	"capd/internal/physical"
)

// doubt finds the claims that a broken sensor speaks against. Two switches of one asset, both independent sensors, of which an
// action expects one on and the other off, show where the machine is only while they differ: both on, at the deadline, says
// nothing about the machine. That one of them came on since the act is news of the machine, and no doubt.
//
// A doubt takes a contradiction away and an agreement too; it never adds one, so nothing is confirmed because of it.
func (t *Trial) doubt(findings []finding) {
	for i := range findings {
		off := &findings[i]
		if off.state != contradicted || !showsOn(*off, fails) || t.cameOn(off.claim) {
			continue
		}
		for j := range findings {
			if on := &findings[j]; on.state == agreed && showsOn(*on, holds) && assetOf(on.claim) == assetOf(off.claim) {
				off.state, off.rival = doubtful, on.claim.point.Ref
				on.state, on.rival = doubtful, off.claim.point.Ref
				break
			}
		}
	}
}

// showsOn reports whether the finding is that of an independent switch that is on, and so holds, or fails.
func showsOn(f finding, as answerState) bool {
	on, isFlag := f.answer.reading.Value.Bool()
	e := f.claim.expect
	return e != nil && e.Kind == contract.Is && e.Point.Role == physical.Feedback && isFlag && on && f.answer.state == as
}

// cameOn reports whether the claim's switch was off before the act.
func (t *Trial) cameOn(c claim) bool {
	base := t.act.Baseline[c.point.Ref]
	on, isFlag := base.Value.Bool()
	return base.Good() && isFlag && !on
}

func assetOf(c claim) string {
	return c.point.Ref[:max(0, strings.LastIndexByte(c.point.Ref, '.'))]
}

// failedSince is the latest reading, in the rounds from one on, that only a broken sensor gives: a value outside the declared range,
// one that stands for no value, a code without a label.
func (t *Trial) failedSince(c claim, from int) (silence, bool) {
	for i := len(t.looks) - 1; i >= from; i-- {
		r, ok := t.looks[i].readings[c.point.Ref]
		if !ok || r.Good() {
			continue
		}
		switch r.Cause {
		case physical.CauseOutOfRange, physical.CauseInvalid, physical.CauseNotANumber, physical.CauseImplausible, physical.CauseNoLabel:
			return silence{point: c.point, reading: r, standing: unusable}, true
		}
	}
	return silence{}, false
}
