package diff

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"capd/internal/contract"
)

// execution compares what is done to the machine.
func (p pair) execution() {
	from, to := writtenRefs(p.old, p.a), writtenRefs(p.new, p.b)
	if !slices.Equal(from, to) {
		p.note(Breaking, "execute", "it writes %s instead of %s", list(to), list(from))
	} else if stepsText(p.a) != stepsText(p.b) {
		p.note(Compatible, "execute", "the values written changed")
	}
	if p.a.OnFail == contract.WithdrawFail && p.b.OnFail != contract.WithdrawFail {
		p.note(Weakened, "on_fail", "a command that was not confirmed is no longer withdrawn")
	}
	if p.a.OnDegraded == "refuse" && p.b.OnDegraded != "refuse" {
		p.note(Weakened, "on_degraded", "on_degraded is %s instead of refuse", p.b.OnDegraded)
	}
	switch {
	case p.a.Hold == nil:
	case p.b.Hold == nil:
		p.note(Weakened, "hold", "the command is no longer held")
	case p.b.Hold.Every > p.a.Hold.Every || p.b.Hold.For < p.a.Hold.For:
		p.note(Weakened, "hold", "the command is held every %s for %s instead of every %s for %s", p.b.Hold.Every, p.b.Hold.For, p.a.Hold.Every, p.a.Hold.For)
	}
	if looser(p.a.Limits.MaxConcurrent, p.b.Limits.MaxConcurrent) || faster(p.a.Limits.Rate, p.b.Limits.Rate) {
		p.note(Weakened, "limits", "limits are wider")
	}
}

// looser reports whether a limit, 0 for none, has grown.
func looser(from, to int) bool { return from != 0 && (to == 0 || to > from) }

// faster reports whether a rate, the zero one for no limit, has grown.
func faster(from, to contract.Rate) bool {
	if from.Count == 0 || to.Count == 0 {
		return from.Count != 0
	}
	return int64(to.Count)*int64(from.Per) > int64(from.Count)*int64(to.Per)
}

// writtenRefs lists the points that an action writes, in order.
func writtenRefs(c *contract.Contract, a *contract.Action) []string {
	var refs []string
	for _, s := range a.Execute {
		refs = append(refs, c.Points[s.Write].Ref)
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

func stepsText(a *contract.Action) string {
	var b strings.Builder
	for _, s := range slices.Concat(a.Execute, a.Withdraw) {
		for _, w := range s.Await {
			fmt.Fprintf(&b, "wait %s %s;", w.When, w.Within)
		}
		fmt.Fprintf(&b, "%s %s", s.Write, operandText(s.Value))
		if s.Shakes() {
			fmt.Fprintf(&b, " echoed in %s", s.Echo)
		}
		if s.Pulses() {
			fmt.Fprintf(&b, " for %s then %s", s.For, operandText(s.Release))
		}
		b.WriteByte(';')
	}
	return b.String()
}

func operandText(o contract.Operand) string {
	if o.Expr != "" {
		return o.Expr
	}
	return o.Literal.String()
}

func list(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}

// permits compares by condition, then by id.
func (p pair) permits() {
	for _, old := range p.a.Permits {
		same := slices.IndexFunc(p.b.Permits, func(n contract.Permit) bool { return n.When == old.When })
		named := slices.IndexFunc(p.b.Permits, func(n contract.Permit) bool { return n.ID == old.ID })
		switch {
		case same >= 0:
			n := p.b.Permits[same]
			if old.MaxAge > 0 && (n.MaxAge == 0 || n.MaxAge > old.MaxAge) {
				p.add(Weakened, n.Pos, p.path+".permits."+n.ID, "the permit %s takes older readings: max_age %s instead of %s", n.ID, age(n.MaxAge), old.MaxAge)
			}
		case named >= 0:
			n := p.b.Permits[named]
			p.add(Weakened, n.Pos, p.path+".permits."+n.ID, "the permit %s asks %q instead of %q", n.ID, n.When, old.When)
		default:
			p.note(Weakened, "permits", "the permit %s (%s) is gone", old.ID, old.When)
		}
	}
}

func age(d time.Duration) string {
	if d == 0 {
		return "any"
	}
	return d.String()
}

// verification compares how an outcome is proved.
func (p pair) verification() {
	a, b := p.a.Verify, p.b.Verify
	if a == nil {
		return
	}
	if b == nil {
		p.note(Weakened, "verify", "nothing proves it any more")
		return
	}
	weak := func(format string, args ...any) { p.add(Weakened, b.Pos, p.path+".verify", format, args...) }
	if b.MinLevel < a.MinLevel {
		weak("min_level fell from %s to %s", a.MinLevel, b.MinLevel)
	}
	if b.Settle < a.Settle {
		weak("settle fell from %s to %s", a.Settle, b.Settle)
	}
	if more := missing(b.SelfClearing, a.SelfClearing); len(more) > 0 {
		weak("%s is no longer read back", list(more))
	}
	for _, r := range a.Refute {
		if !slices.ContainsFunc(b.Refute, func(n contract.Refute) bool { return n.When == r.When }) {
			weak("the refute condition %q is gone", r.When)
		}
	}
	switch {
	case a.Watch == nil:
	case b.Watch == nil:
		weak("nothing watches the confirmed state any more")
	case b.Watch.For < a.Watch.For || b.Watch.Tolerance.GreaterThan(a.Watch.Tolerance):
		weak("the watch is %s +- %s instead of %s +- %s", b.Watch.For, b.Watch.Tolerance, a.Watch.For, a.Watch.Tolerance)
	}
	for _, e := range a.Expect {
		p.expectation(e)
	}
}

// expectation finds what became of one: the same form of the same point, else another form.
func (p pair) expectation(e contract.Expect) {
	ref := p.old.Points[e.Point].Ref
	of := func(x contract.Expect) bool { return p.new.Points[x.Point].Ref == ref }
	i := slices.IndexFunc(p.b.Verify.Expect, func(x contract.Expect) bool {
		return of(x) && x.Kind == e.Kind && targetText(x) == targetText(e) && x.When == e.When
	})
	if i < 0 {
		i = slices.IndexFunc(p.b.Verify.Expect, of)
	}
	if i < 0 {
		p.add(Weakened, p.b.Verify.Pos, p.path+".verify.expect", "it no longer looks at %s", ref)
		return
	}
	x := p.b.Verify.Expect[i]
	weak := func(format string, args ...any) {
		p.add(Weakened, x.Pos, p.path+".verify.expect."+x.Point, format, args...)
	}
	switch {
	case x.Kind != e.Kind || targetText(x) != targetText(e) && !inside(x, e):
		weak("it expects %s %s of %s instead of %s %s", x.Kind, targetText(x), ref, e.Kind, targetText(e))
	case looserTolerance(e, x):
		weak("the tolerance of %s changed from %s to %s", ref, e.Tolerance, x.Tolerance)
	case x.When != e.When && x.When != "":
		weak("the expectation of %s holds only when %q", ref, x.When)
	}
}

// looserTolerance reports whether less accuracy is asked; a rise by more than the tolerance is the other way round.
func looserTolerance(from, to contract.Expect) bool {
	if from.Kind == contract.Increases {
		return to.Tolerance.LessThan(from.Tolerance)
	}
	return to.Tolerance.GreaterThan(from.Tolerance)
}

// inside reports whether an interval of literals lies in an older one.
func inside(x, e contract.Expect) bool {
	low, okLow := x.Low.Literal.Number()
	high, okHigh := x.High.Literal.Number()
	before, okBefore := e.Low.Literal.Number()
	after, okAfter := e.High.Literal.Number()
	return okLow && okHigh && okBefore && okAfter && low.GreaterThanOrEqual(before) && high.LessThanOrEqual(after)
}

func targetText(e contract.Expect) string {
	if e.Kind == contract.Between {
		return "[" + operandText(e.Low) + ", " + operandText(e.High) + "]"
	}
	return operandText(e.Target)
}
