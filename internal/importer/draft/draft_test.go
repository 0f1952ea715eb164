package draft

import (
	"fmt"
	"strings"
	"testing"

	"capd/internal/document"
	"capd/internal/inventory"
)

func parse(t testing.TB, text []byte) *inventory.Inventory {
	t.Helper()
	n, ps := document.Parse("draft.yaml", text)
	if len(ps) > 0 {
		t.Fatalf("%v\n%s", ps, text)
	}
	inv, ps := inventory.Parse(n)
	if len(ps) > 0 {
		t.Fatalf("%v\n%s", ps, text)
	}
	return inv
}

func TestNamesOfPoints(t *testing.T) {
	for text, want := range map[string]string{
		"PS07.FCV-04/Position":  "ps07_fcv_04_position",
		"Größe Behälter (m³)":   "groesse_behaelter_m3",
		"débit":                 "debit",
		"1st stage":             "p_1st_stage",
		"出口压力":                  "",
		"P1 出口":                 "",
		"  --  ":                "",
		"Temp.°C":               "temp_c",
		strings.Repeat("a", 99): strings.Repeat("a", 63),
	} {
		if got := PointName(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := ID("PS07_P-01 / main", "X"); got != "PS07_P-01-main" {
		t.Error(got)
	}
	if got := ID("泵", "X"); got != "X" {
		t.Error(got)
	}
}

func TestNoNameIsGivenTwice(t *testing.T) {
	var n Names
	got := []string{n.Take("a"), n.Take("a_2"), n.Take("a"), n.Take("a"), n.Take("b")}
	if strings.Join(got, " ") != "a a_2 a_3 a_4 b" {
		t.Error(got)
	}
	long := strings.Repeat("x", longest)
	n.Take(long)
	if got := n.Take(long); len(got) > longest || got == long {
		t.Error(got)
	}
}

func TestAFileOfManyPointsIsSplitIntoAssets(t *testing.T) {
	parts := split([]Asset{{ID: "A", Points: make([]Point, 2*maxPoints+1), Tail: []string{"end"}}, {ID: "A", Points: make([]Point, 1)}, {ID: "B"}})
	var got []string
	for _, p := range parts {
		got = append(got, fmt.Sprintf("%s %d %d", p.ID, len(p.Points), len(p.Tail)))
	}
	if want := "A 5000 0, A_2 5000 0, A_3 1 1, A_4 1 0, B 0 0"; strings.Join(got, ", ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestADraftWithoutPointsIsAnInventory(t *testing.T) {
	f := File{Link: "L", Endpoint: "192.0.2.1:502", Devices: []Device{{ID: "D"}}, Assets: []Asset{{ID: "A", Device: "D", Tail: []string{"nothing"}}}}
	parse(t, f.YAML())
	f.Assets = nil
	parse(t, f.YAML())
}

// FuzzAnyTextIsWrittenSafely gives every text of a draft the same hostile value.
func FuzzAnyTextIsWrittenSafely(f *testing.F) {
	for _, s := range []string{"", "plain", `a "b" \ c`, "true", "x: y # z", "\ufeff\u2028\x00\t\r\n", strings.Repeat("<", 999), "- a", "{", "\xff", "No", "泵"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		target := Target{Link: s, Device: s, Asset: s}.Complete()
		name := PointName(s)
		if name == "" {
			name = PlaceName("coil", 7)
		}
		p := Point{Name: name, Above: []string{s}, Note: s, At: Map{}.Raw("table", "coil").Int("address", 7), Rest: Map{}.Text("title", s).Text("unit", s).Raw("role", "status")}
		file := File{Head: []string{s, "- " + s}, Link: target.Link, Endpoint: "192.0.2.1:502", Devices: []Device{{ID: target.Device, Note: s}},
			Assets: []Asset{{ID: target.Asset, Title: s, Location: s, Device: target.Device, Notes: []string{s}, Points: []Point{p}, Tail: []string{s}}}}
		inv := parse(t, file.YAML())
		got := inv.Assets[target.Asset].Points[name]
		if got == nil || got.Access != inventory.ReadOnly || got.Title != OneLine(s, 200) {
			t.Fatalf("%+v", got)
		}
	})
}

func TestAUnitThatCannotBeIsNeverAnotherOne(t *testing.T) {
	for _, unit := range []int{-1, 256, 300} {
		text := string(File{Devices: []Device{{ID: "D", UnitID: Target{UnitID: unit}.Complete().UnitID}}}.YAML())
		if !strings.Contains(text, fmt.Sprintf("unit_id: %d}", unit)) || !strings.Contains(text, "unit ids are 0 to 255") {
			t.Errorf("unit %d:\n%s", unit, text)
		}
	}
}
