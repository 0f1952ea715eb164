package resolve

import (
	"slices"
	"strings"
	"testing"
)

func conceptsIn(th *thesaurus, src string) []string {
	var out []string
	for _, tok := range th.analyze(&tokenizer{}, src) {
		if tok.kind == conceptKind {
			out = append(out, strings.TrimPrefix(tok.text, "#"))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestConcepts(t *testing.T) {
	th := newThesaurus(synonymTable)
	for src, want := range map[string][]string{
		"the valves":                        {"valve"},
		"电磁阀":                               {"solenoid", "valve"},
		"输送带":                               {"belt", "conveyor"},
		"Auslassventil":                     {"outlet", "valve"},
		"Tür":                               {"door"},
		"Schiebetuer":                       {"door"},
		"emergency stop":                    {"emergency stop"}, // not stop
		"急停":                                {"emergency stop"},
		"switching off the lift":            {"lift", "stop"},
		"开始":                                {}, // begin, not open
		"60 %":                              {"percent"},
		"a villa in Bordeaux, İ\u0130lager": {},
	} {
		if got := conceptsIn(th, src); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", src, got, want)
		}
	}
}

func TestSynonymTableIsWellFormed(t *testing.T) {
	names := map[string]bool{}
	for line := range strings.Lines(synonymTable) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		columns := strings.Split(line, "|")
		if len(columns) < 2 || len(columns) > 3 {
			t.Errorf("%q has %d columns, want English | Chinese | German", line, len(columns))
			continue
		}
		name, _, _ := strings.Cut(columns[0], ",")
		if names[name] {
			t.Errorf("two lines are named %q", name)
		}
		names[name] = true
		for i, column := range columns {
			seen := map[string]bool{}
			for spelling := range strings.SplitSeq(column, ",") {
				spelling = strings.TrimSpace(spelling)
				var tk tokenizer
				tk.tokenize(spelling)
				chinese := len(tk.runs) == 1 && tk.runs[0] == span{0, len(spelling)}
				if spelling == "" || seen[spelling] || chinese != (i == 1) || !chinese && len(tk.runs) > 0 {
					t.Errorf("%q: phrase %q is empty, double, or not of its column's script", line, spelling)
				}
				seen[spelling] = true
			}
		}
	}
}
