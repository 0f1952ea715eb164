package lint

import (
	"bytes"
	"slices"
	"time"

	"capd/internal/contract"
	"capd/internal/inventory"
	"capd/internal/physical"
)

func verificationNone(p *Pass) {
	for _, a := range p.motions() {
		if a.Verify == nil {
			p.reportAt(a, "effect", "add verify: with an expectation of a status, feedback or process point", "%s changes the world and nothing proves that it happened", a.ID)
		}
	}
}

// verificationEcho spares configure: a stored setting is proved by reading it back.
func verificationEcho(p *Pass) {
	for _, a := range p.motions() {
		if a.Effect == contract.Configure || a.Verify == nil || len(a.Verify.Expect) == 0 {
			continue
		}
		if independent, known := p.witnessed(a); known && !independent {
			p.report(a.Verify.Pos, "actions."+a.ID+".verify", "add an expectation of a status, feedback or process point that this action does not write",
				"every expectation of %s reads back what was written, which a machine that does not move passes as well", a.ID)
		}
	}
}

// witnessed reports whether one expectation looks at a point that tells more than what was written; known is false when a point
// cannot be judged.
func (p *Pass) witnessed(a *contract.Action) (independent, known bool) {
	var written []*inventory.Point
	for _, s := range a.Execute {
		pt := p.point(s.Write)
		if pt == nil {
			return false, false
		}
		written = append(written, pt)
	}
	for _, e := range a.Verify.Expect {
		pt := p.point(e.Point)
		if pt == nil || pt.RoleFor(p.Contract.Asset) == "" {
			return false, false
		}
		echo := slices.ContainsFunc(written, func(w *inventory.Point) bool { return samePlace(w, pt) })
		if pt.RoleFor(p.Contract.Asset) != physical.Setpoint && !echo {
			independent = true
		}
	}
	return independent, true
}

// samePlace reports whether two points are one place of one device, whatever their names and roles say.
func samePlace(x, y *inventory.Point) bool {
	if x.Ref == y.Ref {
		return true
	}
	if x.Device != y.Device {
		return false
	}
	a, errA := x.At.JSON()
	b, errB := y.At.JSON()
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

func verificationWindow(p *Pass) {
	for _, a := range p.motions() {
		v := a.Verify
		if v == nil {
			continue
		}
		settle := v.Settle
		for _, e := range v.Expect {
			if pt := p.point(e.Point); pt != nil {
				settle = max(settle, 2*pt.Update) // the settle time spans two updates of each witness
			}
		}
		least := settle + 2*v.Poll
		if v.Within < least && settle <= v.Within {
			p.report(v.Pos, "actions."+a.ID+".verify.within", "lengthen within to the machine's travel time and this at least",
				"within %s is shorter than settle %s and two polls of %s, so nearly nothing can be confirmed", v.Within, settle, v.Poll)
		}
	}
}

func verificationPending(p *Pass) {
	for _, a := range p.motions() {
		if a.Verify != nil && a.Verify.Within > a.AnswerIn {
			p.report(a.Verify.Pos, "actions."+a.ID+".verify.within", "raise answer_within, or leave it: agents follow the call with explain",
				"within %s is longer than the %s that a call waits, so the first answer may be pending", a.Verify.Within, a.AnswerIn)
		}
	}
}

// longestWindow is how long a verification may keep an asset to itself.
const longestWindow = 24 * time.Hour

func verificationEndless(p *Pass) {
	for _, a := range p.motions() {
		if a.Verify != nil && a.Verify.Within > longestWindow {
			p.report(a.Verify.Pos, "actions."+a.ID+".verify.within", "give the machine's own time", "within %s is longer than %s, and nothing else may move the asset until then",
				a.Verify.Within, longestWindow)
		}
	}
}

// verificationWide finds tolerances that agree with a machine wherever it stands.
func verificationWide(p *Pass) {
	p.tolerances(func(path string, e contract.Expect, w *inventory.Point) {
		if e := w.Envelope; e.Min == nil || e.Max == nil {
			return
		}
		if span := w.Envelope.Max.Sub(*w.Envelope.Min); !span.IsPositive() || e.Tolerance.Add(e.Tolerance).LessThan(span) {
			return
		}
		p.report(e.Pos, path, "give what the machine and its sensor really need, and less than min_step",
			"the tolerance %s on either side is as wide as all that %s may be, %s to %s, so it proves nothing", e.Tolerance, w.Ref, w.Envelope.Min, w.Envelope.Max)
	})
}

// verificationStill finds moves that a machine passes by standing still.
func verificationStill(p *Pass) {
	p.tolerances(func(path string, e contract.Expect, w *inventory.Point) {
		if least := w.Envelope.MinStep; least != nil && e.Tolerance.GreaterThanOrEqual(*least) {
			p.report(e.Pos, path, "raise min_step of "+w.Ref+" above the tolerance, or narrow the tolerance",
				"%s may move by %s, and a machine that does not move passes for that within the tolerance %s", w.Ref, least, e.Tolerance)
		}
	})
}

// tolerances visits every expectation that a witness comes near to what is written, with the point that is written, if it has an envelope.
func (p *Pass) tolerances(visit func(path string, e contract.Expect, w *inventory.Point)) {
	for _, a := range p.motions() {
		if a.Verify == nil {
			continue
		}
		for _, e := range a.Verify.Expect {
			i := slices.IndexFunc(a.Execute, func(s contract.Step) bool { return s.Value.Expr != "" && s.Value.Expr == e.Target.Expr })
			if e.Kind != contract.Near || i < 0 {
				continue
			}
			if w := p.point(a.Execute[i].Write); w != nil && w.Envelope != nil {
				visit("actions."+a.ID+".verify.expect."+e.Point, e, w)
			}
		}
	}
}

// longestAnswer is how long a call may wait; clients give up sooner.
const longestAnswer = 10 * time.Minute

func answerLong(p *Pass) {
	for _, a := range p.Contract.Actions {
		if a.AnswerIn > longestAnswer {
			p.reportAt(a, "answer_within", "shorten it; the call answers pending and is followed with explain", "answer_within %s is longer than %s, and clients give up sooner",
				a.AnswerIn, longestAnswer)
		}
	}
}
