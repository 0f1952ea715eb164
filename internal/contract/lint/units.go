package lint

import (
	"capd/internal/contract"
	"capd/internal/inventory"
	"capd/internal/physical"
)

// dimensionless is how a number without a dimension says so.
const dimensionless = `write unit: "1" if the number has no dimension`

func unitOfParameter(p *Pass) {
	for _, a := range p.motions() {
		for _, x := range parameters(a) {
			if x.numeric() && x.unit() == "" {
				p.report(x.pos, x.path, `add x-unit: with the unit of the point it is for, or x-unit: "1" if it has no dimension`,
					"the parameter %q is a number without a unit", x.name)
			}
		}
	}
}

// unitDiffers looks at what is written and at what is expected: a number in the wrong unit is as wrong in a proof as in a command.
func unitDiffers(p *Pass) {
	for _, a := range p.motions() {
		params, seen := parameters(a), map[string]bool{}
		for _, u := range append(p.writes(a), p.expects(a)...) {
			x, ok := u.of(params)
			if !ok || !x.numeric() || x.unit() == "" || u.point.Unit == "" || x.unit() == u.point.Unit || seen[x.name+u.point.Ref] {
				continue
			}
			seen[x.name+u.point.Ref] = true
			p.report(x.node.KeyPos("x-unit"), x.path, "capd converts no units: use the point's, or compute in an expression",
				"the parameter %q is in %s, but %s is in %s", x.name, x.unit(), u.point.Ref, u.point.Unit)
		}
	}
}

func unitOfPoint(p *Pass) {
	for _, a := range p.motions() {
		for _, u := range p.writtenNumbers(a) {
			if u.point.Unit == "" {
				p.report(u.pos, u.path, "add unit: to the point; "+dimensionless, "%s (%s) is a number without a unit, and this action writes it", u.point.Ref, u.point.Pos)
			}
		}
	}
}

func unitOfRead(p *Pass) {
	for _, a := range p.Contract.Actions {
		for _, alias := range a.Returns {
			pt := p.point(alias)
			if pt != nil && p.kind(pt) == physical.Number && pt.Unit == "" {
				p.reportAt(a, "returns", "add unit: to the point; "+dimensionless, "%s (%s) is a number without a unit, and agents would guess one", pt.Ref, pt.Pos)
			}
		}
	}
}

// writtenNumbers lists the first write of each point that takes numbers. Where nothing else shows the form of the point, the value
// written to it does.
func (p *Pass) writtenNumbers(a *contract.Action) []use {
	var numbers []use
	seen := map[*inventory.Point]bool{}
	for _, u := range p.writes(a) {
		k := p.kind(u.point)
		if k == physical.None {
			k = kindOfValue(a, u.value)
		}
		if k == physical.Number && !seen[u.point] {
			seen[u.point] = true
			numbers = append(numbers, u)
		}
	}
	return numbers
}
