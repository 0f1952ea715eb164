package lint

import (
	"slices"

	"capd/internal/contract"
	"capd/internal/document"
	"capd/internal/inventory"
	"capd/internal/physical"
)

// parameter is one property of an action's schema.
type parameter struct {
	name string
	node *document.Node
	pos  document.Pos
	path string
}

// parameters lists an action's parameters in file order. A schema that is none gives none; publishing reports it.
func parameters(a *contract.Action) []parameter {
	properties := a.Parameters.Get("properties")
	if properties.Kind() != document.Mapping {
		return nil
	}
	var all []parameter
	for _, name := range properties.Keys() {
		all = append(all, parameter{name, properties.Get(name), properties.KeyPos(name), "actions." + a.ID + ".parameters.properties." + name})
	}
	return all
}

// numeric reports whether the parameter may be a number.
func (x parameter) numeric() bool {
	types := []*document.Node{x.node.Get("type")}
	if types[0].Kind() == document.List {
		types = types[0].Items()
	}
	return slices.ContainsFunc(types, func(n *document.Node) bool { return n.Text() == "number" || n.Text() == "integer" })
}

// unit is the parameter's x-unit, "" when it has none.
func (x parameter) unit() physical.Unit { return physical.Unit(x.node.Get("x-unit").Text()) }

// listed reports whether the schema names every value that the parameter may have.
func (x parameter) listed() bool { return x.node.Get("enum") != nil || x.node.Get("const") != nil }

// limit is the number of the first of the keys that the schema has, and where it stands.
func (x parameter) limit(keys ...string) (physical.Decimal, document.Pos, bool) {
	for _, key := range keys {
		if d, ok := numberOf(x.node.Get(key)); ok {
			return d, x.node.KeyPos(key), true
		}
	}
	return physical.Decimal{}, x.pos, false
}

func (x parameter) low() (physical.Decimal, document.Pos, bool) {
	return x.limit("minimum", "exclusiveMinimum")
}

func (x parameter) high() (physical.Decimal, document.Pos, bool) {
	return x.limit("maximum", "exclusiveMaximum")
}

func numberOf(n *document.Node) (physical.Decimal, bool) {
	text, ok := n.Decimal()
	if !ok {
		return physical.Decimal{}, false
	}
	d, err := physical.ParseDecimal(text)
	return d, err == nil
}

// use is a place where the contract gives a point a value.
type use struct {
	point *inventory.Point
	value contract.Operand
	pos   document.Pos
	path  string
}

// writes lists what an action writes, also when it withdraws, to points that are known.
func (p *Pass) writes(a *contract.Action) []use {
	var all []use
	add := func(steps []contract.Step, key string) {
		for _, s := range steps {
			if pt := p.point(s.Write); pt != nil {
				if s.Shakes() {
					continue // capd chooses the value
				}
				path := "actions." + a.ID + "." + key + "." + s.Write
				all = append(all, use{pt, s.Value, s.Pos, path})
				if s.Pulses() {
					all = append(all, use{pt, s.Release, s.Pos, path})
				}
			}
		}
	}
	add(a.Execute, "execute")
	add(a.Withdraw, "withdraw")
	return all
}

// expects lists the values that an action's verification compares known points with, in the unit of the point.
func (p *Pass) expects(a *contract.Action) []use {
	if a.Verify == nil {
		return nil
	}
	var all []use
	for _, e := range a.Verify.Expect {
		pt := p.point(e.Point)
		if pt == nil {
			continue
		}
		for _, o := range []contract.Operand{e.Target, e.Low, e.High} {
			all = append(all, use{pt, o, e.Pos, "actions." + a.ID + ".verify.expect." + e.Point})
		}
	}
	return all
}

// of gives the parameter that is used as it is, not inside of a larger expression.
func (u use) of(params []parameter) (parameter, bool) {
	i := slices.IndexFunc(params, func(x parameter) bool { return x.name == u.value.Expr })
	if i < 0 {
		return parameter{}, false
	}
	return params[i], true
}
