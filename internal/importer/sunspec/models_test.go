package sunspec

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// definition is a model of the SunSpec Alliance's JSON files.
type definition struct {
	ID    int             `json:"id"`
	Group definitionGroup `json:"group"`
}

type definitionGroup struct {
	Name   string            `json:"name"`
	Label  string            `json:"label"`
	Count  any               `json:"count"`
	Points []definitionPoint `json:"points"`
	Groups []definitionGroup `json:"groups"`
}

type definitionPoint struct {
	Name, Type, Units, Access, Label, Desc string
	Size                                   int
	SF                                     any
	Symbols                                []struct {
		Name  string
		Value int
	}
}

// definitions reads the JSON files of https://github.com/sunspec/models, when they are there.
func definitions(t *testing.T) []definition {
	t.Helper()
	dir := cmp.Or(os.Getenv("SUNSPEC_MODELS"), filepath.Join("..", "..", "..", "..", "shared", "data", "sunspec"))
	files, err := filepath.Glob(filepath.Join(dir, "model_*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skipf("no SunSpec model definitions in %s: get the folder json of https://github.com/sunspec/models and name it in SUNSPEC_MODELS", dir)
	}
	var all []definition
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var d definition
		if err := json.Unmarshal(data, &d); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b definition) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// embedded are the models that are part of the program, with the prefix of their points.
func embedded() map[int]string {
	m := map[int]string{1: "common", 120: "nameplate", 121: "settings", 122: "status", 123: "controls", 124: "storage", 160: "mppt",
		701: "ac", 702: "capacity", 703: "enter_service", 704: "der_controls", 802: "battery"}
	for _, id := range []int{101, 102, 103, 111, 112, 113} {
		m[id] = "inverter"
	}
	for _, id := range []int{201, 202, 203, 204, 211, 212, 213, 214} {
		m[id] = "meter"
	}
	return m
}

// TestTheEmbeddedModelsAreThoseOfTheAlliance holds models.txt against the definitions; with GOLDEN=write it is written anew.
func TestTheEmbeddedModelsAreThoseOfTheAlliance(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Derived from the SunSpec Alliance's model definitions, Apache License 2.0; see NOTICE. Tabs between name, type, size, scale factor,\n" +
		"# unit, access, title and codes; id and length, which begin every model, are left out.\n")
	for _, d := range definitions(t) {
		if prefix, ok := embedded()[d.ID]; ok {
			fmt.Fprintf(&b, "model\t%d\t%s\t%s\n", d.ID, prefix, oneLine(d.Group.Label))
			writePoints(t, &b, d.Group.Points[2:])
			for _, g := range d.Group.Groups {
				count := "1"
				if g.Count != nil {
					count = "*"
				}
				fmt.Fprintf(&b, "group\t%s\t%s\n", g.Name, count)
				writePoints(t, &b, g.Points)
			}
		}
	}
	if os.Getenv("GOLDEN") == "write" {
		if err := os.WriteFile("models.txt", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if b.String() != modelsText {
		t.Error("models.txt is not what the definitions give; write it anew with GOLDEN=write")
	}
}

func writePoints(t *testing.T, b *strings.Builder, points []definitionPoint) {
	t.Helper()
	for _, p := range points {
		scale := ""
		if p.SF != nil {
			scale = fmt.Sprint(p.SF)
		}
		title := oneLine(strings.TrimSuffix(p.Desc, "."))
		if title == "" || len(title) > 60 {
			title = oneLine(p.Label)
		}
		if p.Type == "pad" || p.Type == "sunssf" {
			title = ""
		}
		var codes []string
		for _, s := range p.Symbols {
			codes = append(codes, fmt.Sprintf("%d=%s", s.Value, strings.Join(strings.Fields(s.Name), "_")))
		}
		b.WriteString(strings.Join([]string{p.Name, p.Type, strconv.Itoa(p.Size), scale, strings.TrimSpace(p.Units), p.Access, title, strings.Join(codes, " ")}, "\t") + "\n")
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestEveryEmbeddedModelIsComplete looks at the layouts themselves: types, scale factors and names.
func TestEveryEmbeddedModelIsComplete(t *testing.T) {
	all, err := layouts()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		m := all[id]
		names := map[string]string{}
		placed := m.place(2000)
		for _, p := range placed {
			if typ, _ := inventoryType(p.typ); typ == "" && p.typ != "pad" && p.typ != "sunssf" {
				t.Errorf("model %d %s: type %s", id, p.name, p.typ)
			}
			if _, found := find(placed, p.scale); p.scale != "" && !found {
				t.Errorf("model %d %s: no scale factor %s", id, p.name, p.scale)
			}
			name := strings.ToLower(snake(p.name))
			if other, twice := names[name]; twice && p.typ != "pad" {
				t.Errorf("model %d: %s and %s are both %s", id, p.name, other, name)
			}
			names[name] = p.name
		}
	}
	if len(all) != len(embedded()) {
		t.Errorf("%d models, want %d", len(all), len(embedded()))
	}
	for _, text := range []string{"Apache License", "SunSpec Alliance"} {
		if !strings.Contains(Licence(), text) {
			t.Errorf("the licence does not say %q", text)
		}
	}
}
