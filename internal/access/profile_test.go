package access

import (
	"reflect"
	"strings"
	"testing"

	"capd/internal/document"
)

func parseProfile(t testing.TB, text string) (*Profile, document.Problems) {
	t.Helper()
	n, ps := document.Parse("shift.yaml", []byte(text))
	if ps.Err() != nil {
		t.Fatal(ps)
	}
	return ParseProfile(n)
}

const shift = `profile: capd/v1
name: shift
title: Shift operators
tools: ["ps07-*", read_state]
deny: ["*_v1", "ps07-p-0?_start"]
tags: [valve, flow]
pinned: [ps07-fcv-04_read_opening, read_state]
top_k: 8
max_tools: 16
sources: [scada]
`

func TestAProfileIsRead(t *testing.T) {
	p, ps := parseProfile(t, shift)
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	want := &Profile{Name: "shift", Title: "Shift operators", Tools: []string{"ps07-*", "read_state"}, Deny: []string{"*_v1", "ps07-p-0?_start"},
		Tags: []string{"valve", "flow"}, Pinned: []string{"ps07-fcv-04_read_opening", "read_state"}, TopK: 8, MaxTools: 16, Sources: []string{"scada"},
		Pos: document.Pos{File: "shift.yaml", Line: 1, Column: 1}}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
}

func TestWhatAProfileShowsAndWhichRuleSaysSo(t *testing.T) {
	p, _ := parseProfile(t, shift)
	for _, c := range []struct {
		tool string
		ok   bool
		rule string
	}{
		{"ps07-fcv-04_read_opening", true, "tools ps07-*"},
		{"read_state", true, "tools read_state"},
		{"read_state_x", false, "no entry"},
		{"ps08-fcv-04_read_opening", false, "no entry"},
		{"ps07-fcv-04_set_v1", false, "deny *_v1"},
		{"ps07-p-01_start", false, "deny ps07-p-0?_start"},
		{"", false, "no entry"},
	} {
		ok, rule := p.Permits(c.tool)
		if ok != c.ok || !strings.Contains(rule, c.rule) || !strings.Contains(rule, "profile shift") {
			t.Errorf("%s: %v by %q, want %v by %q", c.tool, ok, rule, c.ok, c.rule)
		}
	}
}

func TestNoListShowsEverythingAndAnEmptyListNothing(t *testing.T) {
	all, ps := parseProfile(t, "profile: capd/v1\nname: a\ndeny: [pump]\n")
	if ps != nil {
		t.Fatal(ps)
	}
	if ok, _ := all.Permits("valve"); !ok || !all.AllSources || all.Title != "a" {
		t.Errorf("without tools: %+v", all)
	}
	if ok, _ := all.Permits("pump"); ok {
		t.Error("deny is not obeyed")
	}
	none, ps := parseProfile(t, "profile: capd/v1\nname: a\ntools: []\nsources: []\n")
	if ps != nil {
		t.Fatal(ps)
	}
	if ok, _ := none.Permits("valve"); ok || none.AllSources {
		t.Errorf("with empty lists: %+v", none)
	}
	var missing *Profile
	if ok, rule := missing.Permits("valve"); !ok || rule != "no profile" {
		t.Errorf("without a profile: %v %q", ok, rule)
	}
}

func TestAWrongProfileNamesThePlace(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"name: Shift", `the profile name "Shift" is not allowed`},
		{"name: a/b", "is not allowed"},
		{"name: a\ntool: [x]", `did you mean "tools"?`},
		{"name: a\ntools: x", "expected a list"},
		{`name: a` + "\n" + `tools: ["a b"]`, "is not a pattern of tool names"},
		{`name: a` + "\n" + `deny: [""]`, "is not a pattern of tool names"},
		{`name: a` + "\n" + `pinned: ["x*"]`, "is not the name of a tool"},
		{"name: a\npinned: [x, x]", "pinned twice"},
		{"name: a\npinned: [x]\ndeny: [x]", "hides it (deny x of profile a)"},
		{"name: a\npinned: [x]\ntools: [y]", "hides it (no entry in tools of profile a)"},
		{"name: a\npinned: [x, y]\nmax_tools: 1", "pin fewer"},
		{"name: a\ntop_k: 0", "from 1 to 1000"},
		{"name: a\ntop_k: many", "expected a whole number"},
		{"name: a\ntop_k: 9\nmax_tools: 8", "give 8 or less"},
		{"title: a", `key "name" is missing`},
	} {
		_, ps := parseProfile(t, "profile: capd/v1\n"+c.line+"\n")
		if len(ps) != 1 || ps.Err() == nil || !strings.Contains(ps[0].Error(), c.want) || ps[0].Pos.Line == 0 {
			t.Errorf("%s:\n got %v\nwant %q", c.line, ps, c.want)
		}
	}
	for _, text := range []string{"", "[]", "name: a\n", "profile: capd/v2\nname: a\n"} {
		if _, ps := parseProfile(t, text); ps.Err() == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true}, {"*", "abc", true}, {"", "", true}, {"", "a", false}, {"a", "", false}, {"?", "", false}, {"?", "a", true},
		{"a*c", "abbc", true}, {"a*c", "abcb", false}, {"*a*b*", "xxaybz", true}, {"**a", "a", true}, {"a?", "a", false}, {"*?", "", false},
		{"*ab", "aab", true}, {"a*", "a", true},
	} {
		if got := glob(c.pattern, c.name); got != c.want {
			t.Errorf("%q matches %q: %v, want %v", c.pattern, c.name, got, c.want)
		}
	}
}

// slowGlob says the same as glob in the plainest way.
func slowGlob(pattern, name string) bool {
	switch {
	case pattern == "":
		return name == ""
	case pattern[0] == '*':
		return slowGlob(pattern[1:], name) || name != "" && slowGlob(pattern, name[1:])
	}
	return name != "" && (pattern[0] == '?' || pattern[0] == name[0]) && slowGlob(pattern[1:], name[1:])
}

func FuzzGlob(f *testing.F) {
	f.Add("ps07-*_v?", "ps07-fcv-04_set_v1")
	f.Add("*a*a*b", "aaaaaa")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 12 || len(name) > 12 {
			return
		}
		if got, want := glob(pattern, name), slowGlob(pattern, name); got != want {
			t.Errorf("glob(%q, %q) = %v", pattern, name, got)
		}
	})
}

func FuzzParseProfile(f *testing.F) {
	f.Add([]byte(shift))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, ps := document.Parse("shift.yaml", data)
		if ps.Err() != nil {
			return
		}
		p, ps := ParseProfile(n)
		if ps.Err() != nil {
			return
		}
		for _, tool := range p.Pinned {
			if ok, rule := p.Permits(tool); !ok {
				t.Errorf("pinned %q is hidden: %s", tool, rule)
			}
		}
	})
}

func BenchmarkPermits(b *testing.B) {
	p, _ := parseProfile(b, shift)
	b.ReportAllocs()
	for b.Loop() {
		if ok, _ := p.Permits("ps07-fcv-04_read_opening"); !ok {
			b.Fatal("hidden")
		}
	}
}
