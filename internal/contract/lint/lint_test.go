package lint

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capd/internal/contract"
	"capd/internal/document"
	"capd/internal/inventory"
	"capd/internal/physical"
)

func parse(t testing.TB, path string) *document.Node {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n, ps := document.Parse(path, source)
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

func plant(t testing.TB, paths ...string) *inventory.Inventory {
	t.Helper()
	var nodes []*document.Node
	for _, path := range paths {
		nodes = append(nodes, parse(t, path))
	}
	inv, ps := inventory.Parse(nodes...)
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	return inv
}

func parseContract(t testing.TB, path string) *contract.Contract {
	t.Helper()
	c, ps := contract.Parse(parse(t, path), "")
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

// wanted reads the expectations of a case, by line: "# want: part of the message".
func wanted(t *testing.T, path string) map[int]string {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]string{}
	for i, line := range strings.Split(string(source), "\n") {
		if _, text, ok := strings.Cut(line, "# want: "); ok {
			want[i+1] = text
		}
	}
	return want
}

// of gives what one rule found in a file.
func of(rule Rule, ps document.Problems) document.Problems {
	return slices.DeleteFunc(ps, func(p document.Problem) bool { return p.Rule != rule.ID })
}

func TestEveryRuleFindsItsMistakeAndNothingElse(t *testing.T) {
	inv := plant(t, filepath.Join("testdata", "plant.yaml"))
	for _, rule := range Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			folder := filepath.Join("testdata", "cases", rule.ID)
			bad := filepath.Join(folder, "bad.yaml")
			want := wanted(t, bad)
			if len(want) == 0 {
				t.Fatalf("%s expects nothing", bad)
			}
			for _, p := range of(rule, Run(parseContract(t, bad), inv)) {
				text, ok := want[p.Pos.Line]
				if !ok || !strings.Contains(p.Message, text) || p.Pos.File != bad {
					t.Errorf("unexpected: %v", p)
				}
				if p.Warning != rule.Warning || p.Hint == "" || p.Path == "" {
					t.Errorf("warning %v, hint %q, path %q of %v", p.Warning, p.Hint, p.Path, p)
				}
				delete(want, p.Pos.Line)
			}
			for _, line := range slices.Sorted(maps.Keys(want)) {
				t.Errorf("%s:%d: nothing found, want %q", bad, line, want[line])
			}
			for _, p := range of(rule, Run(parseContract(t, filepath.Join(folder, "good.yaml")), inv)) {
				t.Errorf("false alarm: %v", p)
			}
		})
	}
}

func TestEveryCaseBelongsToARule(t *testing.T) {
	folders, err := os.ReadDir(filepath.Join("testdata", "cases"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if !slices.ContainsFunc(Rules(), func(r Rule) bool { return r.ID == folder.Name() }) {
			t.Errorf("there is no rule %s", folder.Name())
		}
	}
	seen := map[string]bool{}
	for _, r := range Rules() {
		if seen[r.ID] || r.Title == "" {
			t.Errorf("rule %q twice or without title", r.ID)
		}
		seen[r.ID] = true
	}
}

func TestWhatDriversKnowOfAPointCounts(t *testing.T) {
	inv := plant(t, filepath.Join("testdata", "plant.yaml"))
	c := parseContract(t, filepath.Join("testdata", "cases", "UNIT-READ", "good.yaml"))
	kinds := func(ref string) physical.Kind {
		return map[string]physical.Kind{"VALVE.command": physical.Number, "VALVE.open": physical.Bool, "VALVE.position": physical.Number}[ref]
	}
	var found []string
	for _, p := range Check(c, inv, kinds) {
		found = append(found, fmt.Sprint(p.Pos.Line, " ", p.Rule))
	}
	if want := []string{"11 UNIT-READ"}; !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
}

func TestASecretIsNeverRepeated(t *testing.T) {
	inv := plant(t, filepath.Join("testdata", "plant.yaml"))
	ps := Run(parseContract(t, filepath.Join("testdata", "cases", "SECRET", "bad.yaml")), inv)
	for _, secret := range []string{"hunter2", "s3cret", "ghp_", "swordfish", "abcdefghij"} {
		if strings.Contains(ps.Error(), secret) {
			t.Errorf("%q shows in %v", secret, ps)
		}
	}
}

func TestProblemsComeInTheOrderOfTheFile(t *testing.T) {
	inv := plant(t, filepath.Join("testdata", "plant.yaml"))
	c := parseContract(t, filepath.Join("testdata", "cases", "TOGGLE", "bad.yaml"))
	first := Run(c, inv)
	if !slices.IsSortedFunc(first, func(a, b document.Problem) int { return a.Pos.Line - b.Pos.Line }) {
		t.Errorf("not sorted: %v", first)
	}
	for range 5 {
		if again := Run(c, inv); !slices.Equal(first, again) {
			t.Fatalf("%v\nthen\n%v", first, again)
		}
	}
}

// A contract built by hand has no source; the rules still look at what it holds.
func TestAContractWithoutSourceIsJudgedToo(t *testing.T) {
	inv := plant(t, filepath.Join("testdata", "plant.yaml"))
	c := &contract.Contract{Tool: "x", Actions: []*contract.Action{{ID: "toggle", Effect: contract.Actuate, Execute: []contract.Step{{Write: "nothing"}}}}}
	var rules []string
	for _, p := range Run(c, inv) {
		rules = append(rules, p.Rule)
	}
	if want := []string{"DESC-MISSING", "VER-NONE", "SEC-NONE", "TOGGLE"}; !slices.Equal(rules, want) {
		t.Errorf("rules %v, want %v", rules, want)
	}
}

func FuzzRun(f *testing.F) {
	inv := plant(f, filepath.Join("testdata", "plant.yaml"))
	for _, rule := range Rules() {
		source, err := os.ReadFile(filepath.Join("testdata", "cases", rule.ID, "bad.yaml"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(source))
	}
	f.Fuzz(func(t *testing.T, source string) {
		n, ps := document.Parse("x.yaml", []byte(source))
		if ps.Err() != nil {
			return
		}
		c, _ := contract.Parse(n, "") // also what parses with problems must not stop a rule
		for _, p := range Run(c, inv) {
			if p.Rule == "" || p.Message == "" || p.Hint == "" {
				t.Errorf("%+v", p)
			}
		}
	})
}
