package access

import (
	"testing"
)

func TestPermissionPatternsMatchPartByPart(t *testing.T) {
	for _, c := range []struct {
		pattern, permission string
		want                bool
	}{
		{"valve:write", "valve:write", true},
		{"valve:write", "valve:read", false},
		{"valve:write", "valve", false},
		{"valve", "valve:write", false},
		{"*:read", "valve:read", true},
		{"*:read", "valve:write", false},
		{"*:read", "plant:valve:read", false},
		{"valve:*", "valve:write", true},
		{"valve:*", "valve:write:fast", true},
		{"valve:*", "valve", false},
		{"valve:*:fast", "valve:write:fast", true},
		{"*", "valve:write", true},
		{"*", "anything", true},
		{"*", "", false},
		{"", "", false},
		{"val*:write", "valve:write", false},
		{"valve:write", "*", false},
		{"valve:write", "valve:*", false},
	} {
		if got := matches(c.pattern, c.permission); got != c.want {
			t.Errorf("%q grants %q: %v, want %v", c.pattern, c.permission, got, c.want)
		}
	}
}

func TestAllPermissionsAreNeededAndTheMissingOneIsNamed(t *testing.T) {
	p := NewPolicy(map[string][]string{"operator": {"valve:write", "*:read"}, "pumper": {"pump:write"}})
	operator := Subject{Roles: []string{"operator"}}
	for _, c := range []struct {
		s       Subject
		need    []string
		missing string
	}{
		{operator, nil, ""},
		{operator, []string{"valve:read", "valve:write"}, ""},
		{operator, []string{"valve:read", "pump:write"}, "pump:write"},
		{Subject{Roles: []string{"operator", "pumper"}}, []string{"valve:write", "pump:write"}, ""},
		{Subject{Roles: []string{"director"}}, []string{"valve:read"}, "valve:read"},
		{Subject{}, []string{"valve:read"}, "valve:read"},
		{Subject{Local: true}, []string{"valve:read"}, "valve:read"},
		{Subject{Technician: true}, []string{"valve:read"}, "valve:read"}, // not at the box
		{Subject{Local: true, Technician: true}, []string{"valve:write", "pump:write"}, ""},
	} {
		if ok, missing := p.Allows(c.s, c.need); ok != (c.missing == "") || missing != c.missing {
			t.Errorf("%+v needs %v: %v, missing %q, want %q", c.s, c.need, ok, missing, c.missing)
		}
	}
	var none Policy
	if ok, _ := none.Allows(operator, []string{"valve:read"}); ok {
		t.Error("the zero policy grants something")
	}
}

func TestAPolicyDoesNotChangeWithTheMapItWasMadeOf(t *testing.T) {
	roles := map[string][]string{"viewer": {"*:read"}}
	p := NewPolicy(roles)
	roles["viewer"][0], roles["admin"] = "*", []string{"*"}
	if ok, _ := p.Allows(Subject{Roles: []string{"viewer"}}, []string{"valve:write"}); ok || p.Has("admin") {
		t.Error("the policy was changed from outside")
	}
}

const place = "plant/ps07/discharge"

func TestAScopeCoversWholeSegmentsOfALocation(t *testing.T) {
	for _, c := range []struct {
		scopes   []string
		location string
		want     bool
	}{
		{[]string{"site:ps07"}, place, true},
		{[]string{"area:discharge"}, place, true},
		{[]string{"site:ps0"}, place, false},
		{[]string{"site:ps08"}, place, false},
		{[]string{"site:ps08", "site:ps07"}, place, true},
		{[]string{"ps07"}, place, false},
		{[]string{"site:"}, "plant//x", false},
		{[]string{"site:PS07"}, place, false},
		{[]string{"site:ps07"}, "", false},
		{[]string{"*"}, "", true},
		{nil, place, false},
		{nil, "", false},
	} {
		if got := InScope(Subject{Scopes: c.scopes}, c.location); got != c.want {
			t.Errorf("%v at %q: %v, want %v", c.scopes, c.location, got, c.want)
		}
	}
	technician := Subject{Local: true, Technician: true}
	if !InScope(technician, place) {
		t.Error("a technician at the box does not see the plant")
	}
	technician.Scopes = []string{"site:ps08"}
	if InScope(technician, place) {
		t.Error("a technician's own scope does not limit")
	}
}

func TestScopesOfASubjectAndOfAContractTogether(t *testing.T) {
	for name, c := range map[string]struct {
		scopes, required []string
		location         string
		want             bool
	}{
		"no scope, none required":                           {nil, nil, place, true},
		"no scope, one required":                            {nil, []string{"site:ps07"}, place, false},
		"scope by location":                                 {[]string{"site:ps07"}, []string{"site:ps07"}, place, true},
		"narrower scope by location":                        {[]string{"area:discharge"}, []string{"site:ps07"}, place, true},
		"required scope, asset without a place":             {[]string{"site:ps07"}, []string{"site:ps07"}, "", true},
		"other scope":                                       {[]string{"site:ps08"}, []string{"site:ps07"}, place, false},
		"other scope, though the contract requires none":    {[]string{"site:ps08"}, nil, place, false},
		"everything, though the contract requires one":      {[]string{"*"}, []string{"site:ps07"}, "", true},
		"scope, none required, and the asset has no place":  {[]string{"site:ps07"}, nil, "", false},
		"a scope that only the contract writes with a star": {[]string{"site:ps08"}, []string{"*"}, place, false},
	} {
		if got := Covers(Subject{Scopes: c.scopes}, c.required, c.location); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if !Covers(Subject{Local: true, Technician: true}, []string{"site:ps07"}, place) {
		t.Error("a technician at the box is not covered")
	}
}

func FuzzMatches(f *testing.F) {
	f.Add("*:read", "valve:read")
	f.Add("::*", "::")
	f.Fuzz(func(t *testing.T, pattern, permission string) {
		matches(pattern, permission)
		if permission != "" && !matches("*", permission) {
			t.Errorf("* does not grant %q", permission)
		}
		if permission != "" && !matches(permission, permission) {
			t.Errorf("%q does not grant itself", permission)
		}
	})
}

func BenchmarkAllows(b *testing.B) {
	p := NewPolicy(map[string][]string{"operator": {"valve:write", "pump:write", "*:read"}})
	s, need := Subject{Roles: []string{"operator"}}, []string{"valve:read", "pump:write"}
	b.ReportAllocs()
	for b.Loop() {
		if ok, _ := p.Allows(s, need); !ok {
			b.Fatal("refused")
		}
	}
}

func BenchmarkCovers(b *testing.B) {
	s := Subject{Scopes: []string{"site:ps08", "site:ps07"}}
	b.ReportAllocs()
	for b.Loop() {
		if !Covers(s, nil, place) {
			b.Fatal("refused")
		}
	}
}
