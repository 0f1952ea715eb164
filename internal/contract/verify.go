package contract

import (
	"strings"
	"time"

	"capd/internal/document"
	"capd/internal/outcome"
	"capd/internal/physical"
)

// operand reads a literal number or boolean, or a string as an expression.
func operand(m *document.Map, key string, ps *document.Problems) Operand {
	n := m.Node(key)
	if n == nil {
		return Operand{}
	}
	return operandOf(n, ps)
}

func operandOf(n *document.Node, ps *document.Problems) Operand {
	o := Operand{Pos: n.Pos()}
	switch n.Kind() {
	case document.Number:
		o.Literal = physical.NumberOf(decimal(n, ps))
	case document.Bool:
		o.Literal = physical.FlagOf(n.Text() == "true")
	case document.String:
		if o.Expr = strings.TrimSpace(n.Text()); o.Expr == "" {
			ps.Add(n.Problem(document.RuleValue, "write a parameter, a point or a literal", "the expression is empty"))
		}
	default:
		ps.Add(n.Problem(document.RuleType, `write a number, true, false, or an expression such as "opening"`, "found a %s, expected a number, a boolean or an expression", n.Kind()))
	}
	return o
}

// decimal reads a number, in every notation that documents allow.
func decimal(n *document.Node, ps *document.Problems) physical.Decimal {
	text, ok := n.ReadDecimal(ps)
	if !ok {
		return physical.Decimal{}
	}
	d, err := physical.ParseDecimal(text)
	if err != nil {
		ps.Add(n.Problem(document.RuleValue, "", "%v", err))
	}
	return d
}

// magnitude reads a number that may not be below 0; false when there is none.
func magnitude(m *document.Map, key string, ps *document.Problems) (physical.Decimal, bool) {
	n := m.Node(key)
	if n == nil {
		return physical.Decimal{}, false
	}
	d := decimal(n, ps)
	if d.IsNegative() {
		m.Problem(key, "%s %s is below 0; give its size in the point's unit", key, d)
	}
	return d, true
}

// MinPoll is the shortest time between two rounds of a verification.
const MinPoll = 10 * time.Millisecond

func parseVerify(m *document.Map, ps *document.Problems) *Verify {
	e := m.Map("verify")
	if e == nil {
		return nil
	}
	e.Required("within", "expect")
	v := &Verify{MinLevel: parseLevel(e), Within: atLeast(e, "within", time.Millisecond, "give at least the machine's travel time", ps), Settle: e.Duration("settle"),
		Poll: atLeast(e, "poll", MinPoll, "that is the shortest time between two rounds", ps), SelfClearing: e.Strings("self_clearing"), Pos: m.Node("verify").Pos()}
	for _, n := range e.List("expect") {
		v.Expect = append(v.Expect, parseExpect(n, ps))
	}
	for _, n := range e.List("refute") {
		v.Refute = append(v.Refute, parseRefute(n, ps))
	}
	v.Watch = parseWatch(e.Map("watch"), ps)
	checkVerify(v, e)
	e.Done()
	return v
}

// atLeast reads a duration that may not be shorter than least.
func atLeast(m *document.Map, key string, least time.Duration, hint string, ps *document.Problems) time.Duration {
	n := m.Node(key)
	if n == nil {
		return 0
	}
	d, ok := n.ReadDuration(ps)
	if ok && d < least {
		m.Report(key, document.RuleValue, hint, "%s %s is shorter than %s", key, d, least)
	}
	return d
}

func checkVerify(v *Verify, e *document.Map) {
	if e.Node("expect").Kind() == document.List && len(v.Expect) == 0 {
		e.Problem("expect", "a verification needs at least one expectation")
	}
	if v.Within > 0 && v.Settle > v.Within {
		e.Problem("settle", "settle %s is longer than within %s, so nothing could ever be confirmed", v.Settle, v.Within)
	}
}

func parseLevel(m *document.Map) outcome.Level {
	text := m.String("min_level")
	if text == "" {
		return outcome.E2
	}
	level, ok := outcome.ParseLevel(text)
	if !ok || level < outcome.E2 {
		m.Problem("min_level", "%q is not a level that a verification can ask for; use E2, E3, E4 or E5", text)
	}
	return level
}

func parseExpect(n *document.Node, ps *document.Problems) Expect {
	m := document.NewMap(n, ps)
	m.Required("point")
	e := Expect{Point: m.String("point"), Pos: n.Pos()}
	if m.Has("when") {
		e.When = text(m, "when")
	}
	forms := 0
	for _, kind := range []ExpectKind{Near, Is, ChangesBy} {
		if m.Has(string(kind)) {
			e.Kind, e.Target = kind, operand(m, string(kind), ps)
			forms++
		}
	}
	if m.Has(string(Between)) {
		e.Kind = Between
		e.Low, e.High = parseBetween(m, ps)
		forms++
	}
	if n := m.Node(string(Increases)); n != nil {
		e.Kind = Increases
		if forms++; !m.Bool(string(Increases)) && n.Kind() == document.Bool {
			m.Problem(string(Increases), "increases must be true; remove the expectation otherwise")
		}
	}
	if forms != 1 {
		m.Problem("point", "an expectation needs exactly one of near, is, between, changes_by, increases; found %d", forms)
	}
	parseTolerance(&e, m, ps)
	m.Done()
	return e
}

func parseTolerance(e *Expect, m *document.Map, ps *document.Problems) {
	d, given := magnitude(m, "tolerance", ps)
	e.Tolerance = d
	switch e.Kind {
	case Near, ChangesBy:
		if !given {
			m.Problem(string(e.Kind), "%s needs a tolerance in the point's unit", e.Kind)
		}
	case Is, Between:
		if given {
			m.Problem("tolerance", "%s compares exactly, so the tolerance would do nothing; use near, or remove it", e.Kind)
		}
	}
}

func parseBetween(m *document.Map, ps *document.Problems) (low, high Operand) {
	items := m.List(string(Between))
	if len(items) != 2 {
		if m.Node(string(Between)).Kind() == document.List {
			m.Problem(string(Between), "between needs two ends, such as [10, 20]; found %d", len(items))
		}
		return
	}
	low, high = operandOf(items[0], ps), operandOf(items[1], ps)
	l, okLow := low.Literal.Number()
	h, okHigh := high.Literal.Number()
	if okLow && okHigh && l.GreaterThan(h) {
		m.Problem(string(Between), "between %s and %s is empty; write the lower end first", l, h)
	}
	return low, high
}

func parseRefute(n *document.Node, ps *document.Problems) Refute {
	m := document.NewMap(n, ps)
	m.Required("when", "reason")
	r := Refute{When: text(m, "when"), Hold: m.Duration("hold"), Reason: text(m, "reason"), Counts: true, Pos: n.Pos()}
	if m.Has("counts") {
		r.Counts = m.Bool("counts")
	}
	m.Done()
	return r
}

func parseWatch(m *document.Map, ps *document.Problems) *Watch {
	if m == nil {
		return nil
	}
	m.Required("for", "tolerance")
	w := &Watch{For: atLeast(m, "for", time.Millisecond, "leave watch out for no watch", ps)}
	w.Tolerance, _ = magnitude(m, "tolerance", ps)
	m.Done()
	return w
}
