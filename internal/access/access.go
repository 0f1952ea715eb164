// Package access says who calls and what that caller may do: subjects, tokens, roles, scopes and profiles.
//
// Its promise: what is not granted is refused, and every refusal names what is missing. A token's secret exists in the
// answer of Create and nowhere else; what is stored cannot be turned back into it. An unknown role, a malformed pattern or
// a scope that matches nothing grants nothing. It never asks a network, never looks at a machine, and never puts a secret
// into an error.
package access

import (
	"slices"
	"strings"
)

// Subject is who calls. Treat its lists as read-only.
type Subject struct {
	ID      string   `json:"id"` // "token:<id>" or "uid:<number>"; stays the same across restarts
	Name    string   `json:"name"`
	Tenant  string   `json:"tenant,omitempty"`
	Roles   []string `json:"roles,omitempty"`
	Scopes  []string `json:"scopes,omitempty"`
	Profile string   `json:"profile,omitempty"`
	// Local is set for callers of a local socket whose uid the kernel vouched for.
	Local bool `json:"local,omitempty"`
	// Technician is set for a person at the box: root or a member of the technicians' group on the status socket. A door for
	// agents never sets it, whatever uid an agent runs under.
	Technician bool `json:"technician,omitempty"`
}

// atTheBox reports a person who could as well lay hand on the machine.
func (s Subject) atTheBox() bool { return s.Local && s.Technician }

// Policy is what each role may do. The zero Policy grants nothing but what a technician at the box may do. It is immutable and safe
// for concurrent use.
type Policy struct{ roles map[string][]string }

// NewPolicy makes a policy of permission patterns by role. A pattern is parts with colons between them; "*" stands for one whole part,
// as the last part for one or more: "*:read" grants valve:read, "valve:*" grants valve:write, "*" grants everything.
func NewPolicy(roles map[string][]string) Policy {
	p := Policy{roles: make(map[string][]string, len(roles))}
	for role, patterns := range roles {
		p.roles[role] = slices.Clone(patterns)
	}
	return p
}

// Roles lists the roles in order.
func (p Policy) Roles() []string {
	roles := make([]string, 0, len(p.roles))
	for r := range p.roles {
		roles = append(roles, r)
	}
	slices.Sort(roles)
	return roles
}

// Has reports whether a role exists.
func (p Policy) Has(role string) bool { _, ok := p.roles[role]; return ok }

// Allows reports whether the subject holds all of the permissions, and else the first that is missing. A technician at the box holds every one.
func (p Policy) Allows(s Subject, permissions []string) (ok bool, missing string) {
	if s.atTheBox() {
		return true, ""
	}
	for _, permission := range permissions {
		if !p.grants(s, permission) {
			return false, permission
		}
	}
	return true, ""
}

func (p Policy) grants(s Subject, permission string) bool {
	for _, role := range s.Roles {
		for _, pattern := range p.roles[role] {
			if matches(pattern, permission) {
				return true
			}
		}
	}
	return false
}

// matches compares part by part, without allocating: it runs for every tool of every list.
func matches(pattern, permission string) bool {
	if permission == "" {
		return false
	}
	for {
		want, wantRest, wantMore := strings.Cut(pattern, ":")
		have, haveRest, haveMore := strings.Cut(permission, ":")
		switch {
		case want == "*" && !wantMore:
			return true
		case want != "*" && want != have, wantMore != haveMore:
			return false
		case !wantMore:
			return true
		}
		pattern, permission = wantRest, haveRest
	}
}

// EveryScope is the scope that covers all assets.
const EveryScope = "*"

// InScope reports whether one of the subject's scopes covers a location. The scope "site:ps07" covers every location with the
// whole segment ps07, such as "plant/ps07/discharge"; the word before the colon is for people. "*" covers everything. Without
// scopes a technician at the box covers everything and everybody else nothing.
func InScope(s Subject, location string) bool {
	if unlimited(s) {
		return true
	}
	for _, scope := range s.Scopes {
		if _, segment, ok := strings.Cut(scope, ":"); ok && hasSegment(location, segment) {
			return true
		}
	}
	return false
}

// Covers is the whole rule for an action that requires scopes (those of its contract) on an asset at a location:
//   - a subject without scopes sees what requires none, and nothing that requires one
//   - a subject with scopes sees only what lies in one of them: by the asset's location, or because the contract requires that very scope
//   - a subject with the scope "*", and a technician at the box without scopes, see everything
func Covers(s Subject, required []string, location string) bool {
	if unlimited(s) {
		return true
	}
	if len(s.Scopes) == 0 {
		return len(required) == 0
	}
	return InScope(s, location) || slices.ContainsFunc(required, func(r string) bool { return slices.Contains(s.Scopes, r) })
}

func unlimited(s Subject) bool {
	return slices.Contains(s.Scopes, EveryScope) || len(s.Scopes) == 0 && s.atTheBox()
}

func hasSegment(location, segment string) bool {
	if segment == "" {
		return false
	}
	for part := range strings.SplitSeq(location, "/") {
		if part == segment {
			return true
		}
	}
	return false
}
