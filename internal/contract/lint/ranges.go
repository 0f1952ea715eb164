package lint

import (
	"fmt"

	"capd/internal/contract"
	"capd/internal/document"
	"capd/internal/expression"
	"capd/internal/inventory"
	"capd/internal/physical"
)

func rangeOfParameter(p *Pass) {
	for _, a := range p.motions() {
		for _, x := range parameters(a) {
			if !x.numeric() || x.listed() {
				continue
			}
			_, _, low := x.low()
			_, _, high := x.high()
			if !low || !high {
				p.report(x.pos, x.path, "add minimum: and maximum:, at most as wide as the envelope of the point it is for",
					"the parameter %q has no %s", x.name, missingEnds(low, high))
			}
		}
	}
}

func missingEnds(low, high bool) string {
	switch {
	case low:
		return "maximum"
	case high:
		return "minimum"
	default:
		return "minimum and maximum"
	}
}

func rangeOfPoint(p *Pass) {
	for _, a := range p.motions() {
		for _, u := range p.writtenNumbers(a) {
			e := u.point.Envelope
			if e == nil || e.Min == nil || e.Max == nil {
				p.report(u.pos, u.path, "add envelope: {min: ..., max: ...} to the point", "%s (%s) has no envelope with min and max, and this action writes it",
					u.point.Ref, u.point.Pos)
			}
		}
	}
}

// rangeWider finds values that an agent is promised and that the envelope would refuse on every call.
func rangeWider(p *Pass) {
	for _, a := range p.motions() {
		params := parameters(a)
		for _, u := range p.writes(a) {
			if u.point.Envelope == nil {
				continue
			}
			if n, ok := u.value.Literal.Number(); ok && !u.point.Envelope.Contains(n) {
				p.report(u.pos, u.path, "write a value inside the envelope", "the value %s is outside %s", n, envelopeText(u.point))
			}
			if x, ok := u.of(params); ok {
				p.wider(x, u.point)
			}
		}
	}
}

func (p *Pass) wider(x parameter, pt *inventory.Point) {
	e := pt.Envelope
	if v, pos, ok := x.low(); ok && e.Min != nil && v.LessThan(*e.Min) {
		p.reportWider(x, pos, fmt.Sprintf("%q may go down to %s", x.name, v), pt)
	}
	if v, pos, ok := x.high(); ok && e.Max != nil && v.GreaterThan(*e.Max) {
		p.reportWider(x, pos, fmt.Sprintf("%q may go up to %s", x.name, v), pt)
	}
	for _, item := range append(x.node.Get("enum").Items(), x.node.Get("const")) {
		if v, ok := numberOf(item); ok && !e.Contains(v) {
			p.reportWider(x, item.Pos(), fmt.Sprintf("%q may be %s", x.name, v), pt)
		}
	}
}

func (p *Pass) reportWider(x parameter, pos document.Pos, what string, pt *inventory.Point) {
	p.report(pos, x.path, "narrow the parameter; an envelope is widened in the inventory alone", "the parameter %s, which is outside %s", what, envelopeText(pt))
}

func envelopeText(pt *inventory.Point) string {
	end := func(d *physical.Decimal) string {
		if d == nil {
			return "open"
		}
		return d.String()
	}
	return fmt.Sprintf("the envelope %s to %s of %s (%s)", end(pt.Envelope.Min), end(pt.Envelope.Max), pt.Ref, pt.Envelope.Pos)
}

// kindOfValue is the form of a value that a step writes, None when that does not show.
func kindOfValue(a *contract.Action, o contract.Operand) physical.Kind {
	if o.Expr == "" {
		return o.Literal.Kind()
	}
	if _, err := expression.Compile(o.Expr, parameterTypes(a), expression.Number); err == nil {
		return physical.Number
	}
	return physical.None
}

// parameterTypes are the parameters as expressions know them.
func parameterTypes(a *contract.Action) expression.Env {
	env := expression.Env{}
	for _, x := range parameters(a) {
		switch x.node.Get("type").Text() {
		case "number", "integer":
			env[x.name] = expression.Number
		case "boolean":
			env[x.name] = expression.Bool
		case "string":
			env[x.name] = expression.Text
		}
	}
	return env
}

// rangeEmpty finds parameters that no value fits.
func rangeEmpty(p *Pass) {
	for _, a := range p.Contract.Actions {
		for _, x := range parameters(a) {
			low, pos, is := x.low()
			high, _, bounded := x.high()
			if is && bounded && low.GreaterThan(high) {
				p.report(pos, x.path, "exchange the two, or correct one", "the parameter %q has the minimum %s above its maximum %s, so no call can be right", x.name, low, high)
			}
		}
	}
}
