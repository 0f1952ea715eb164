package diff

import (
	"slices"
	"strings"

	"capd/internal/document"
	"capd/internal/physical"
)

// parameters compares the parameters by name. What is inside of lists and maps is compared as written.
func (p pair) parameters() {
	from, to := p.a.Parameters.Get("properties"), p.b.Parameters.Get("properties")
	needed, before := texts(p.b.Parameters.Get("required")), texts(p.a.Parameters.Get("required"))
	for _, name := range from.Keys() {
		if to.Get(name) == nil {
			p.note(Breaking, "parameters", "the parameter %s is gone", name)
			continue
		}
		q := property{p, name, from.Get(name), to.Get(name)}
		q.compare()
		if slices.Contains(needed, name) && !slices.Contains(before, name) {
			q.note(Breaking, "", "the parameter %s is now required", name)
		}
	}
	for _, name := range to.Keys() {
		if from.Get(name) != nil {
			continue
		}
		q := property{p, name, nil, to.Get(name)}
		if slices.Contains(needed, name) {
			q.note(Breaking, "", "the parameter %s is new and required", name)
		} else {
			q.note(Compatible, "", "the parameter %s is new", name)
		}
	}
}

// texts are the words of a list, or the one word that stands in its place.
func texts(n *document.Node) []string {
	if n.Kind() == document.String {
		return []string{n.Text()}
	}
	var all []string
	for _, item := range n.Items() {
		all = append(all, item.Text())
	}
	return all
}

// property is a parameter in both versions.
type property struct {
	pair
	name     string
	from, to *document.Node
}

// note adds a change at a key of the parameter's schema, at the parameter itself when the key is gone or "".
func (q property) note(kind Kind, key, format string, args ...any) {
	pos := q.b.Parameters.Get("properties").KeyPos(q.name)
	if q.to.Get(key) != nil {
		pos = q.to.KeyPos(key)
	}
	q.add(kind, pos, q.path+".parameters.properties."+q.name, format, args...)
}

func (q property) compare() {
	q.types()
	q.enum()
	q.bound("minimum", "exclusiveMinimum", 1)
	q.bound("maximum", "exclusiveMaximum", -1)
	for _, key := range []string{"minLength", "minItems", "minProperties"} {
		q.bound(key, "", 1)
	}
	for _, key := range []string{"maxLength", "maxItems", "maxProperties"} {
		q.bound(key, "", -1)
	}
	for _, key := range []string{"multipleOf", "pattern", "format", "const", "items", "properties", "required", "$ref", "allOf", "anyOf", "oneOf", "not"} {
		if to := q.to.Get(key); to != nil && written(q.from.Get(key)) != written(to) {
			q.note(Breaking, key, "%s of %s changed from %s to %s", key, q.name, written(q.from.Get(key)), written(to))
		}
	}
	for _, key := range []string{"x-unit", "default"} {
		if from, to := written(q.from.Get(key)), written(q.to.Get(key)); from != to {
			q.note(Breaking, key, "%s of %s changed from %s to %s, so the same call means something else", key, q.name, from, to)
		}
	}
	if written(q.from.Get("description")) != written(q.to.Get("description")) {
		q.note(Compatible, "description", "the description of %s changed", q.name)
	}
}

// written is a part of a schema in one canonical form, "nothing" when it is absent.
func written(n *document.Node) string {
	if n == nil {
		return "nothing"
	}
	if d, ok := number(n); ok {
		return d.String()
	}
	text, err := n.JSON()
	if err != nil {
		return n.Text()
	}
	return string(text)
}

func number(n *document.Node) (physical.Decimal, bool) {
	text, ok := n.Decimal()
	if !ok {
		return physical.Decimal{}, false
	}
	d, err := physical.ParseDecimal(text)
	return d, err == nil
}

// types finds types that were taken and no longer are. An integer is a number.
func (q property) types() {
	from, to := texts(q.from.Get("type")), texts(q.to.Get("type"))
	if len(to) == 0 {
		return
	}
	if len(from) == 0 {
		q.note(Breaking, "type", "%s took anything and now takes %s", q.name, strings.Join(to, " or "))
	}
	for _, t := range from {
		if !slices.Contains(to, t) && !(t == "integer" && slices.Contains(to, "number")) {
			q.note(Breaking, "type", "%s no longer takes a value of type %s", q.name, t)
		}
	}
}

func (q property) enum() {
	to := q.to.Get("enum")
	if to == nil {
		return
	}
	from := q.from.Get("enum")
	if from == nil {
		q.note(Breaking, "enum", "%s now takes listed values alone", q.name)
		return
	}
	var kept []string
	for _, item := range to.Items() {
		kept = append(kept, written(item))
	}
	for _, item := range from.Items() {
		if !slices.Contains(kept, written(item)) {
			q.note(Breaking, "enum", "%s no longer takes %s", q.name, written(item))
		}
	}
}

// bound compares one end of a range; side is 1 for a lower end and -1 for an upper one. open is the key that excludes the end itself.
func (q property) bound(key, open string, side int) {
	from, fromOpen, had := end(q.from, key, open, side)
	to, toOpen, has := end(q.to, key, open, side)
	if !has {
		return
	}
	inward := to.Cmp(from) * side
	if !had || inward > 0 || inward == 0 && toOpen && !fromOpen {
		before := "nothing"
		if had {
			before = from.String()
		}
		q.note(Breaking, key, "the range of %s is narrower: %s %s instead of %s", q.name, key, to, before)
	}
}

// end is the tighter of the two keys for one end of a range.
func end(n *document.Node, key, open string, side int) (d physical.Decimal, excluded, ok bool) {
	d, ok = number(n.Get(key))
	x, hasOpen := number(n.Get(open))
	if hasOpen && (!ok || x.Cmp(d)*side >= 0) {
		return x, true, true
	}
	return d, false, ok
}
