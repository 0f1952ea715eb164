package registerlist

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"capd/internal/document"
	"capd/internal/importer/draft"
	"capd/internal/inventory"
)

func target() draft.Target {
	return draft.Target{Link: "PLC-NET", Endpoint: "192.0.2.1:502", Device: "PS07-PLC", Asset: "PS07-X-01", UnitID: 1}
}

// TestLists holds one list in each folder against the draft and the problems that must come of it. With GOLDEN=write in the
// environment the expectations are written anew, for a person to read.
func TestLists(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*/in.csv")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no lists: %v", err)
	}
	for _, in := range inputs {
		dir := filepath.Dir(in)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			data, err := os.ReadFile(in)
			if err != nil {
				t.Fatal(err)
			}
			l, ps := Read("in.csv", data, options(t, dir))
			draft := l.Inventory(target())
			compareFile(t, filepath.Join(dir, "want.yaml"), string(draft))
			compareFile(t, filepath.Join(dir, "want.problems"), problemText(ps))
			checkDraft(t, l, draft)
		})
	}
}

func options(t *testing.T, dir string) Options {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "options.yaml"))
	if os.IsNotExist(err) {
		return Options{}
	}
	if err != nil {
		t.Fatal(err)
	}
	n, ps := document.Parse("options.yaml", data)
	m := document.NewMap(n, &ps)
	o := Options{Base: Base(m.String("base")), Table: m.String("table"), Encoding: m.String("encoding")}
	m.Done()
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	return o
}

func problemText(ps document.Problems) string {
	var b strings.Builder
	for _, p := range ps {
		level := "error"
		if p.Warning {
			level = "warning"
		}
		b.WriteString(level + " " + p.Rule + " " + p.Error() + "\n")
	}
	return b.String()
}

func compareFile(t *testing.T, path, got string) {
	t.Helper()
	if os.Getenv("GOLDEN") == "write" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s", path, got)
	}
}

// checkDraft holds a draft against what reads it: it is an inventory without problems, and it writes nothing.
func checkDraft(t *testing.T, l List, text []byte) {
	t.Helper()
	n, ps := document.Parse("draft.yaml", text)
	if len(ps) > 0 {
		t.Fatalf("%v\n%s", ps, text)
	}
	inv, ps := inventory.Parse(n)
	if len(ps) > 0 {
		t.Fatalf("%v\n%s", ps, text)
	}
	if len(inv.Refs()) != len(l.Points) {
		t.Errorf("%d points in the draft, %d in the list", len(inv.Refs()), len(l.Points))
	}
	for _, a := range inv.Assets {
		for _, p := range a.Points {
			if p.Access != inventory.ReadOnly || p.Role != "status" && p.Role != "process" {
				t.Errorf("%s: access %s, role %s", p.Ref, p.Access, p.Role)
			}
		}
	}
}
