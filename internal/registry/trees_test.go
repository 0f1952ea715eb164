package registry

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"capd/internal/hal"
	"capd/internal/store"
)

// trees is what the store keeps, by the names of the files.
func (b *box) trees() map[string][]byte {
	b.t.Helper()
	_, stored, err := b.load()
	must(b.t, err)
	out := map[string][]byte{}
	for path, sealed := range stored {
		out[filepath.Base(path)] = sealed
	}
	return out
}

// taken names the files that a start would not parse.
func (b *box) taken() string {
	b.t.Helper()
	_, stored, err := b.load()
	must(b.t, err)
	c, err := ReadFolders(b.folders())
	must(b.t, err)
	t := newTrees(b.program, stored)
	var names []string
	for _, f := range c.Files {
		if t.of(f).taken {
			names = append(names, filepath.Base(f.Path))
		}
	}
	return strings.Join(names, " ")
}

func plantAndTwoTools(t *testing.T) *box {
	b := newBox(t)
	b.write("assets.d/plant.yaml", plant, "contracts.d/a.yaml", reading("a"), "contracts.d/b.yaml", moving(), "profiles.d/p.yaml", profile("reader"))
	b.expect("a_read valve_move")
	return b
}

func TestASecondStartParsesNothingAndServesTheSame(t *testing.T) {
	b := plantAndTwoTools(t)
	first := b.Snapshot()
	b.restart()
	if got := b.taken(); got != "plant.yaml a.yaml b.yaml p.yaml" {
		t.Errorf("not parsed again: %s", got)
	}
	kept := b.trees()
	second := b.publish()
	if !reflect.DeepEqual(first.Contracts, second.Contracts) || !reflect.DeepEqual(first.Inventory, second.Inventory) || !reflect.DeepEqual(first.Profiles, second.Profiles) {
		t.Error("the second start serves something else")
	}
	if !reflect.DeepEqual(kept, b.trees()) {
		t.Error("the second start wrote the trees anew")
	}
}

func TestAChangedFileIsParsed(t *testing.T) {
	b := plantAndTwoTools(t)
	longer := strings.Replace(reading("a"), "\nactions:", "\n\n# a\nactions:", 1) + "  look: {effect: read, description: Looks., returns: [open]}\n"
	b.write("contracts.d/a.yaml", longer)
	if got := b.taken(); got != "plant.yaml b.yaml p.yaml" {
		t.Errorf("not parsed again: %s", got)
	}
	s := b.expect("a_look a_read valve_move")
	if at := s.Action("a_read").Pos; at.Line != 10 || at.Column != 9 {
		t.Errorf("the action stands at %s", at)
	}
	b.restart()
	b.expect("a_look a_read valve_move")
	b.write("contracts.d/a.yaml", strings.Replace(reading("a"), "1.0.0", "2.0.0", 1))
	b.expect("a_read_v2 valve_move")
}

func TestAFileNeverTakesOverTheTreeOfAnother(t *testing.T) {
	b := plantAndTwoTools(t)
	b.write("contracts.d/b.yaml", "", "contracts.d/c.yaml", moving("min_level: E4", "min_level: E5", "tool: valve", "tool: other"))
	c, sealed := filepath.Join(b.dir, "contracts.d/c.yaml"), b.trees()["b.yaml"]
	put := func(path string) {
		must(t, b.db.Update(func(tx store.Tx) error { return tx.Put(bucketTrees, path, sealed) }))
	}
	put(c)
	b.expect("a_read", "c.yaml: nothing: contracts.d/c.yaml:15:13:")
	b.write("contracts.d/c.yaml", moving()) // even if the bytes are the same, the places are in another file
	put(c)
	if s := b.expect("a_read valve_move"); s.Action("valve_move").Pos.File != c {
		t.Errorf("the action stands at %s", s.Action("valve_move").Pos)
	}
	b.write("contracts.d/c.yaml", "", "contracts.d/c.json", moving()) // and mean something else
	put(filepath.Join(b.dir, "contracts.d/c.json"))
	b.expect("a_read", "c.json: nothing: contracts.d/c.json:1:1: invalid JSON")
}

func TestATreeThatIsNotOfThisProgramOrIsDamagedIsParsedAnewAndReplaced(t *testing.T) {
	b := plantAndTwoTools(t)
	good := b.trees()["a.yaml"]
	other := newTrees("another program", nil).of(File{Path: filepath.Join(b.dir, "contracts.d/a.yaml"), Source: []byte(reading("a"))}).sealed
	flipped := slices.Clone(good)
	flipped[0] ^= 1
	for what, sealed := range map[string][]byte{"of another program": other, "empty": {}, "cut in the seal": good[:5], "a seal alone": good[:32], "cut short": good[:len(good)-1],
		"longer": append(slices.Clone(good), 1), "of another encoding": slices.Concat(good[:32], []byte{0xFF}, good[33:]), "with a damaged seal": flipped} {
		must(t, b.db.Update(func(tx store.Tx) error {
			return tx.Put(bucketTrees, filepath.Join(b.dir, "contracts.d/a.yaml"), sealed)
		}))
		b.restart()
		if got := b.taken(); got != "plant.yaml b.yaml p.yaml" {
			t.Errorf("%s: not parsed again: %s", what, got)
		}
		b.expect("a_read valve_move")
		if !reflect.DeepEqual(b.trees()["a.yaml"], good) {
			t.Errorf("%s: was not replaced", what)
		}
	}
}

func TestTheStoreKeepsTheTreesOfTheFilesInForceAndNoOthers(t *testing.T) {
	b := plantAndTwoTools(t)
	expect := func(want string) {
		t.Helper()
		if got := strings.Join(slices.Sorted(maps.Keys(b.trees())), " "); got != want {
			t.Errorf("kept: %s, want %s", got, want)
		}
	}
	expect("a.yaml b.yaml p.yaml plant.yaml")
	good := b.trees()["a.yaml"]
	b.write("contracts.d/a.yaml", "contract: [", "contracts.d/b.yaml", "", "contracts.d/c.yaml", "contract: [", "profiles.d/p.yaml", "name: x")
	b.expect("a_read", "a.yaml: last good", "c.yaml: nothing", "p.yaml: last good")
	expect("a.yaml p.yaml plant.yaml")
	if !reflect.DeepEqual(b.trees()["a.yaml"], good) {
		t.Error("the last good version lost its tree")
	}
	b.write("contracts.d/a.yaml", "", "contracts.d/c.yaml", "", "profiles.d/p.yaml", "")
	b.expect("")
	expect("plant.yaml")
}

func TestAProgramThatDoesNotKnowItselfKeepsNoTrees(t *testing.T) {
	b := plantAndTwoTools(t)
	b.restart()
	b.program = ""
	if got := b.taken(); got != "" {
		t.Errorf("taken over: %s", got)
	}
	b.expect("a_read valve_move")
	if kept := b.trees(); len(kept) > 0 {
		t.Errorf("kept: %d trees", len(kept))
	}
}

func TestTreesBeyondTheRoomForThemAreNotKept(t *testing.T) {
	b := newBox(t)
	small, large := File{Path: "small.yaml", Source: []byte("a: 1")}, File{Path: "large.yaml", Source: []byte(strings.Repeat("- text\n", 100))}
	save := func(room int, files ...File) string {
		_, stored, err := b.load()
		must(t, err)
		x := newTrees(b.program, stored)
		x.room = room
		must(t, b.db.Update(func(tx store.Tx) error { return x.save(tx, files) }))
		return strings.Join(slices.Sorted(maps.Keys(b.trees())), " ")
	}
	for _, c := range []struct {
		room  int
		files []File
		want  string
	}{{10_000, []File{large, small}, "large.yaml small.yaml"}, {10_000, []File{small}, "small.yaml"}, {200, []File{large, small}, "small.yaml"}, {10, []File{large}, ""}} {
		if got := save(c.room, c.files...); got != c.want {
			t.Errorf("%d bytes: kept %s, want %s", c.room, got, c.want)
		}
	}
}

// A store that is too full for the trees holds the set in force all the same.
func TestTreesNeverStandInTheWayOfAPublish(t *testing.T) {
	b := newBox(t)
	must(t, b.db.Close())
	var err error
	b.db, err = store.Open(filepath.Join(b.dir, "small.db"), store.Options{Format: 1, MaxSize: store.MinMaxSize})
	must(t, err)
	b.Registry = New(b.db, []hal.Driver{paper{}}, b.log)
	b.program = "this program"
	b.write("assets.d/plant.yaml", plant, "contracts.d/a.yaml", reading("a"))
	b.expect("a_read")
	if len(b.trees()) != 2 {
		t.Error("there is room for two small trees")
	}
	assets := make([]string, 3000)
	for i := range assets {
		assets[i] = fmt.Sprintf(`"ASSET-%d": {"title": "One of many assets", "location": "plant/ps07/line%d", "aliases": ["a%d", "b%d"]}`, i, i, i, i)
	}
	b.write("assets.d/large.json", `{"inventory": "capd/v1", "assets": {`+strings.Join(assets, ",\n")+"}}", "contracts.d/a.yaml", reading("b"))
	if s := b.expect("b_read"); len(s.Inventory.Assets) != 3002 {
		t.Errorf("%d assets", len(s.Inventory.Assets))
	}
	good, trees, err := b.load()
	must(t, err)
	if len(good) != 3 || len(trees) > 0 {
		t.Errorf("%d files and %d trees are kept", len(good), len(trees))
	}
}

func TestThisProgramKnowsItself(t *testing.T) {
	id, err := programID()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := programID(); again != id || err != nil || strings.Count(id, "/") != 3 {
		t.Errorf("%q, then %q, %v", id, again, err)
	}
}
