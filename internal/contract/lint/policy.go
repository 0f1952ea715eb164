package lint

import (
	"regexp"
	"slices"
	"strings"

	"capd/internal/contract"
)

func permitAge(p *Pass) {
	for _, a := range p.motions() {
		for _, permit := range a.Permits {
			if permit.MaxAge == 0 {
				p.report(permit.Pos, "actions."+a.ID+".permits."+permit.ID, "add max_age:, such as 1500ms", "the permit %s accepts a reading of any age", permit.ID)
			}
		}
	}
}

func permitNone(p *Pass) {
	for _, a := range p.motions() {
		if a.Risk == contract.Critical && len(a.Permits) == 0 && !a.ToSafe {
			p.reportAt(a, "risk", "add permits: for what must be so before it may act", "%s is critical and has no permit", a.ID)
		}
	}
}

func permitSafe(p *Pass) {
	for _, a := range p.motions() {
		if a.ToSafe && len(a.Permits) > 0 {
			p.reportAt(a, "permits", "remove the permits, or to_safe", "%s is the way to the safe side, and a permit, or a reading that is missing, can block it", a.ID)
		}
	}
}

func permissionNone(p *Pass) {
	for _, a := range p.motions() {
		if len(a.Permissions) == 0 {
			key := "effect"
			if a.Source.Get("security") != nil {
				key = "security"
			}
			p.reportAt(a, key, "add security: {permissions: [...]}, such as [valve:write]", "%s changes the world and needs no permission", a.ID)
		}
	}
}

// toggle finds commands that cannot be repeated safely: after a lost answer nobody knows which way the next one goes.
func toggle(p *Pass) {
	for _, a := range p.motions() {
		if named(a, "toggle") {
			p.report(a.Pos, "actions."+a.ID, "offer one action for each state, or a parameter that says which state is asked", "%s is named a toggle; a command must say which state it asks for", a.ID)
		}
		for _, s := range slices.Concat(a.Execute, a.Withdraw) {
			if p.negates(s) {
				p.report(s.Pos, "actions."+a.ID+"."+s.Write, "write the state that is asked for", "the value %q inverts whatever %s is", s.Value.Expr, s.Write)
			}
		}
	}
}

// named reports whether a word is part of an action's id or name.
func named(a *contract.Action, word string) bool {
	for _, name := range []string{a.ID, a.Name} {
		if slices.Contains(strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' }), word) {
			return true
		}
	}
	return false
}

// negation is the ways to invert a point; NAME stands for its alias.
const negation = `^((not\b|!)\s*\(?\s*NAME\s*\)?|1\s*-\s*NAME|NAME\s*(==\s*(false|0)|!=\s*(true|1))|NAME(\s*(==|!=|>)\s*(true|false|0|1))?\s*\?.*)$`

// negates reports whether a step's value is the inverse of the point that it writes, under whatever name.
func (p *Pass) negates(s contract.Step) bool {
	written := p.Contract.Points[s.Write].Ref
	for name, alias := range p.Contract.Points {
		if alias.Ref != written || !strings.Contains(s.Value.Expr, name) {
			continue
		}
		if regexp.MustCompile(strings.ReplaceAll(negation, "NAME", name)).MatchString(s.Value.Expr) {
			return true
		}
	}
	return false
}
