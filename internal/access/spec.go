package access

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"capd/internal/document"
)

// Limits of a token's fields.
const (
	MinTTL    = time.Minute
	MaxTTL    = 10 * 366 * 24 * time.Hour
	maxText   = 64 // characters of a name, tenant, profile, role or scope
	maxRoles  = 32
	maxScopes = 64
)

// TokenSpec is what a new token shall be.
type TokenSpec struct {
	Name    string   // for people; unique among the tokens in use
	Roles   []string // at least one, all of the policy
	Scopes  []string // "*" or KIND:SEGMENT, such as site:ps07; see Covers
	Profile string   // may be empty
	Tenant  string   // may be empty
	// TTL is how long the token lives. A token that lives until it is revoked has NoExpiry instead: one of the two must be said.
	TTL      time.Duration
	NoExpiry bool
}

func (s TokenSpec) token(id string, now time.Time) Token {
	now = now.Round(0).UTC() // without the monotonic clock, which a restart forgets
	t := Token{ID: id, Name: s.Name, Tenant: s.Tenant, Roles: slices.Clone(s.Roles), Scopes: slices.Clone(s.Scopes), Profile: s.Profile, Created: now}
	if !s.NoExpiry {
		t.Expires = now.Add(s.TTL)
	}
	return t
}

// SpecError says which field of a TokenSpec is wrong.
type SpecError struct {
	Field   string // name, roles, scopes, profile, tenant or ttl
	Message string
}

func (e *SpecError) Error() string { return "token " + e.Field + ": " + e.Message }

// NoTokenError says that no token has an id or a name.
type NoTokenError struct {
	Asked string
	Near  string // a token that may have been meant; may be empty
}

func (e *NoTokenError) Error() string {
	if e.Near != "" {
		return fmt.Sprintf("there is no token %q; did you mean %s?", e.Asked, e.Near)
	}
	return fmt.Sprintf("there is no token %q; capd token list shows all", e.Asked)
}

func noToken(asked string, all []Token) error {
	var known []string
	for _, t := range all {
		known = append(known, t.Name, t.ID)
	}
	return &NoTokenError{Asked: asked, Near: document.Suggest(asked, known)}
}

func (p Policy) check(s TokenSpec) error {
	for _, f := range []struct {
		name, text string
		empty      bool
	}{{"name", s.Name, false}, {"profile", s.Profile, true}, {"tenant", s.Tenant, true}} {
		if why := badText(f.text); why != "" && (f.text != "" || !f.empty) {
			return &SpecError{f.name, fmt.Sprintf("%q %s", f.text, why)}
		}
	}
	if err := p.checkRoles(s.Roles); err != nil {
		return err
	}
	if err := checkScopes(s.Scopes); err != nil {
		return err
	}
	return checkTTL(s)
}

func (p Policy) checkRoles(roles []string) error {
	known := p.Roles()
	switch {
	case len(known) == 0:
		return &SpecError{"roles", "no role exists; declare one under roles: in capd.yaml"}
	case len(roles) == 0 || len(roles) > maxRoles:
		return &SpecError{"roles", fmt.Sprintf("a token needs 1 to %d roles, not %d; the roles are %s", maxRoles, len(roles), strings.Join(known, ", "))}
	}
	for _, r := range roles {
		if p.Has(r) {
			continue
		}
		hint := "the roles are " + strings.Join(known, ", ")
		if near := document.Suggest(r, known); near != "" {
			hint = "did you mean " + near + "?"
		}
		return &SpecError{"roles", fmt.Sprintf("there is no role %q in capd.yaml; %s", r, hint)}
	}
	return nil
}

func checkScopes(scopes []string) error {
	if len(scopes) > maxScopes {
		return &SpecError{"scopes", fmt.Sprintf("%d scopes are more than %d", len(scopes), maxScopes)}
	}
	for _, s := range scopes {
		kind, segment, ok := strings.Cut(s, ":")
		if s != EveryScope && (!ok || kind == "" || segment == "" || strings.ContainsAny(s, "*/ ") || strings.Contains(segment, ":") || badText(s) != "") {
			return &SpecError{"scopes", fmt.Sprintf("%q is not a scope; write KIND:SEGMENT with one segment of the assets' locations, such as site:ps07, or * for all", s)}
		}
	}
	return nil
}

func checkTTL(s TokenSpec) error {
	switch {
	case s.NoExpiry && s.TTL != 0:
		return &SpecError{"ttl", fmt.Sprintf("a token cannot both live %s and never expire; say one", s.TTL)}
	case s.NoExpiry:
		return nil
	case s.TTL == 0:
		return &SpecError{"ttl", "say how long the token lives, such as 2160h for 90 days, or that it never expires"}
	case s.TTL < MinTTL || s.TTL > MaxTTL:
		return &SpecError{"ttl", fmt.Sprintf("%s is not from %s to %s", s.TTL, MinTTL, MaxTTL)}
	}
	return nil
}

// badText says why a text is no name that can be shown in one line and typed again.
func badText(text string) string {
	switch {
	case text == "":
		return "is empty; give one"
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "has characters that cannot be shown; use letters and digits"
	case strings.TrimSpace(text) != text:
		return "begins or ends with a space; remove it"
	case utf8.RuneCountInString(text) > maxText:
		return fmt.Sprintf("has more than %d characters; shorten it", maxText)
	}
	return ""
}
