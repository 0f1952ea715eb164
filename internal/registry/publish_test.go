package registry

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"capd/internal/store"
)

func TestAGoodSetComesIntoForce(t *testing.T) {
	b := newBox(t)
	if s := b.Snapshot(); len(s.Names()) != 0 || s.Action("x") != nil || s.Inventory == nil || s.Binding == nil {
		t.Errorf("before the first publish: %+v", s)
	}
	b.write("assets.d/plant.yaml", plant, "contracts.d/valve.yaml", moving(), "contracts.d/look.json", `{"contract":"capd/v1","tool":"look","version":"1.0.0","title":"L","asset":"VALVE","points":{"p":"VALVE.position"},"actions":{"read":{"effect":"read","description":"D","returns":["p"]}}}`,
		"profiles.d/p.yml", profile("reader"), "contracts.d/notes.txt", "not a contract", "contracts.d/.hidden.yaml", "neither")
	s := b.expect("look_read valve_move")
	if s.ID != 1 || s.At.IsZero() || len(s.Warnings) > 0 || s.Profiles["reader"] == nil || len(s.Contracts) != 2 {
		t.Errorf("snapshot %d: warnings %v, profiles %v", s.ID, s.Warnings, s.Profiles)
	}
	a := s.Action("valve_move")
	if a.Level().String() != "E4" || !a.Absolute || names(a.Writes) != "VALVE" || a.Location() != "plant/x" || s.Action("look_read").Level().String() != "E0" {
		t.Errorf("action is %+v", a)
	}
	if got := strings.Join(a.Refs(), " "); got != "VALVE.mode VALVE.position VALVE.setpoint" {
		t.Errorf("it reads %s", got)
	}
	if again := b.publish(); again != s {
		t.Errorf("the same files were published once more, as snapshot %d", again.ID)
	}
	b.write("contracts.d/more.yaml", reading("more"))
	if next := b.publish(); next.ID != 2 || next == s {
		t.Errorf("the second snapshot has id %d", next.ID)
	}
}

func TestABadFileLeavesItsLastGoodVersionServingAlsoAfterARestart(t *testing.T) {
	b := newBox(t)
	b.write("assets.d/plant.yaml", plant, "contracts.d/valve.yaml", moving(), "contracts.d/other.yaml", reading("other"), "profiles.d/p.yaml", profile("reader"))
	b.expect("other_read valve_move")
	for name, bad := range map[string]string{"syntax": "contract: [", "unknown point": moving("VALVE.position,", "VALVE.positoin,"), "lint": moving("    security: {permissions: [valve:write]}\n", "")} {
		b.write("contracts.d/valve.yaml", bad)
		b.expect("other_read valve_move", "valve.yaml: last good: contracts.d/valve.yaml:")
		b.restart()
		s := b.expect("other_read valve_move", "valve.yaml: last good: contracts.d/valve.yaml:")
		if c := s.Action("valve_move").Contract; c.File != filepath.Join(b.dir, "contracts.d/valve.yaml") {
			t.Errorf("%s: served from %s", name, c.File)
		}
	}
	b.write("profiles.d/p.yaml", "profile: capd/v9\nname: reader", "contracts.d/valve.yaml", moving())
	if s := b.expect("other_read valve_move", "p.yaml: last good: profiles.d/p.yaml:1:10"); s.Profiles["reader"] == nil {
		t.Error("the profile is gone")
	}
	b.write("assets.d/plant.yaml", plant+"  BAD: 5\n")
	b.expect("other_read valve_move", "plant.yaml: last good: assets.d/plant.yaml:19:8", "p.yaml: last good")
	b.restart()
	b.expect("other_read valve_move", "plant.yaml: last good: assets.d/plant.yaml:19:8", "p.yaml: last good")
}

func TestAFileThatWasNeverGoodServesNothing(t *testing.T) {
	b := newBox(t)
	b.write("assets.d/plant.yaml", plant, "contracts.d/a.yaml", "contract: [", "contracts.d/b.yaml", reading("b"), "profiles.d/p.yaml", "profile: 1")
	b.expect("b_read", "a.yaml: nothing: contracts.d/a.yaml:1:", "p.yaml: nothing: profiles.d/p.yaml:1:")
}

func TestADeletedFileIsOutAlsoAfterARestart(t *testing.T) {
	b := newBox(t)
	b.write("assets.d/plant.yaml", plant, "contracts.d/a.yaml", reading("a"), "contracts.d/b.yaml", reading("b"))
	b.expect("a_read b_read")
	b.write("contracts.d/a.yaml", "")
	b.expect("b_read")
	b.restart()
	b.write("contracts.d/a.yaml", "contract: [")
	b.expect("b_read", "a.yaml: nothing")
}

func TestOneBadInventoryFileNeverBlocksOthers(t *testing.T) {
	devices := "inventory: capd/v1\nlinks: {NET: {transport: paper}}\ndevices: {PLC: {link: NET}}\n"
	assets := "inventory: capd/v1\n" + plant[strings.Index(plant, "assets:"):]
	b := newBox(t)
	b.write("assets.d/assets.yaml", assets, "assets.d/devices.yaml", devices, "contracts.d/a.yaml", reading("a"))
	b.expect("a_read")
	b.write("assets.d/devices.yaml", "devices: [")
	b.expect("a_read", "devices.yaml: last good: assets.d/devices.yaml:")
	b.write("assets.d/devices.yaml", devices, "assets.d/new.yaml", "inventory: capd/v1\nassets: {NEW: {device: NONE, points: {p: {at: {n: 900}, role: status}}}}")
	b.expect("a_read", `new.yaml: nothing: assets.d/new.yaml:2:15: assets.NEW.device: there is no device "NONE"`)
}

func TestWhatIsInForceKeepsItsNamesAndPlaces(t *testing.T) {
	b := newBox(t)
	b.write("assets.d/z.yaml", plant, "contracts.d/z.yaml", reading("z"), "profiles.d/z.yaml", profile("reader"))
	b.expect("z_read")
	t.Run("an asset", func(t *testing.T) {
		b.write("assets.d/a.yaml", "inventory: capd/v1\nassets: {PUMP: {device: PLC}}")
		b.expect("z_read", "a.yaml: nothing: assets.d/a.yaml:2:16: assets.PUMP: asset PUMP is already declared at")
		b.write("assets.d/a.yaml", "")
	})
	t.Run("a place on a device, though the blame lies on the later name", func(t *testing.T) {
		b.write("assets.d/a.yaml", "inventory: capd/v1\nassets: {AAA: {device: PLC, points: {p: {at: {n: 11}, role: status}}}}")
		b.expect("z_read", "a.yaml: nothing: assets.d/a.yaml: as written, it breaks what is in force in other files")
		b.write("assets.d/a.yaml", "")
	})
	t.Run("an action's name", func(t *testing.T) {
		b.write("contracts.d/a.yaml", strings.Replace(reading("a"), "{effect", "{name: z_read, effect", 1))
		b.expect("z_read", "a.yaml: nothing: contracts.d/a.yaml:8:9: actions.read: the name z_read is already taken by z in contracts.d/z.yaml")
		b.write("contracts.d/a.yaml", "")
	})
	t.Run("a tool", func(t *testing.T) {
		b.write("contracts.d/a.yaml", strings.Replace(reading("z"), "  read:", "  look:", 1))
		b.expect("z_read", "a.yaml: nothing: contracts.d/a.yaml:2:1: tool: major version 1 of z is already declared in")
		b.write("contracts.d/a.yaml", "")
	})
	t.Run("a profile", func(t *testing.T) {
		b.write("profiles.d/a.yaml", profile("reader"))
		b.expect("z_read", "a.yaml: nothing: profiles.d/a.yaml:2:1: name: the profile reader is declared in another file too")
		b.write("profiles.d/a.yaml", "")
	})
	t.Run("also against a bad new version of itself", func(t *testing.T) {
		b.write("contracts.d/z.yaml", "contract: [", "contracts.d/a.yaml", strings.Replace(reading("a"), "{effect", "{name: z_read, effect", 1))
		b.expect("z_read", "a.yaml: nothing", "z.yaml: last good")
	})
	b.restart()
	s := b.expect("z_read", "a.yaml: nothing", "z.yaml: last good")
	if len(s.Profiles) != 1 {
		t.Errorf("profiles: %v", s.Profiles)
	}
}

func TestNamesThatCannotBe(t *testing.T) {
	long := strings.Repeat("x", 44)
	for name, c := range map[string]struct{ source, want string }{
		"twice in a file": {head + "  a: {name: same, effect: read, description: D, returns: [position]}\n  b: {name: same, effect: read, description: D, returns: [position]}\n",
			"x.yaml: nothing: contracts.d/x.yaml:9:6: actions.b: the name same is already taken by the action a of this file; give this action another name:"},
		"capd's own": {head + "  a: {name: explain, effect: read, description: D, returns: [position]}\n",
			"x.yaml: nothing: contracts.d/x.yaml:8:6: actions.a: the name explain is already taken by capd itself"},
		"too long": {reading(long),
			"x.yaml: nothing: contracts.d/x.yaml:8:9: actions.read: the name " + long + "_read has 49 characters, and 48 is the limit; give this action a shorter name:"},
		"too long in version 2": {strings.Replace(reading(long[:43]), "1.0.0", "2.0.0", 1), "x.yaml: nothing: contracts.d/x.yaml:8:9: actions.read: the name " + long[:43] + "_read_v2 has 51 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			b.write("assets.d/plant.yaml", plant, "contracts.d/x.yaml", c.source)
			b.expect("", c.want)
		})
	}
}

func TestTwoMajorVersionsServeBesideEachOther(t *testing.T) {
	b := newBox(t)
	b.write("assets.d/plant.yaml", plant, "contracts.d/a1.yaml", reading("a"))
	b.expect("a_read")
	b.write("contracts.d/a2.yaml", strings.Replace(strings.Replace(reading("a"), "1.0.0", "2.0.0", 1), "[position]", "[open]", 1))
	s := b.expect("a_read a_read_v2")
	if s.Contracts[0].Version.Major != 1 || s.Contracts[1].Version.Major != 2 {
		t.Error("contracts are not in the order of their versions")
	}
}

func TestAContractWhosePointsVanishedIsSuspendedUntilTheyReturn(t *testing.T) {
	b := newBox(t)
	b.write("assets.d/plant.yaml", plant, "contracts.d/valve.yaml", moving(), "contracts.d/other.yaml", strings.Replace(reading("other"), "open: VALVE.open, ", "", 1))
	b.expect("other_read valve_move")
	b.write("assets.d/plant.yaml", strings.Replace(plant, "      open:", "      opened:", 1))
	b.expect("other_read", `valve.yaml: nothing: contracts.d/valve.yaml:6:68: points.open: suspended: its last good version no longer fits: there is no point "VALVE.open"; did you mean VALVE.opened?`)
	b.write("contracts.d/valve.yaml", "contract: [")
	b.expect("other_read", "valve.yaml: nothing: contracts.d/valve.yaml:")
	b.restart()
	b.write("assets.d/plant.yaml", plant)
	b.expect("other_read valve_move", "valve.yaml: last good: contracts.d/valve.yaml:")
}

func TestAFileThatBreaksOthersInForceStepsBack(t *testing.T) {
	devices := "inventory: capd/v1\nlinks: {NET: {transport: paper}}\ndevices: {PLC: {link: NET}, VFD: {link: NET}}\n"
	b := newBox(t)
	b.write("assets.d/devices.yaml", devices, "assets.d/plant.yaml", "inventory: capd/v1\n"+plant[strings.Index(plant, "assets:"):], "contracts.d/a.yaml", reading("a"),
		"assets.d/more.yaml", "inventory: capd/v1\nassets: {M: {title: M}}")
	b.expect("a_read")
	b.write("assets.d/devices.yaml", strings.Replace(devices, "PLC: {link: NET}, ", "", 1), "assets.d/more.yaml", "inventory: capd/v1\nassets: {M: {title: N}}")
	s := b.expect("a_read", `devices.yaml: last good: assets.d/devices.yaml: as written, it breaks what is in force in other files; see the problems there; change these files together
assets.d/plant.yaml:4:5: assets.VALVE.device: there is no device "PLC"`)
	if s.Inventory.Assets["M"].Title != "N" {
		t.Error("an innocent file was held back")
	}
	b.write("assets.d/devices.yaml", "")
	if s := b.publish(); len(s.Names()) != 0 || len(s.Inventory.Assets) != 1 {
		t.Errorf("a deleted file still serves: %v", s.Names())
	}
}

func TestABreakingChangeNeedsANewMajorVersionAlsoAfterARestart(t *testing.T) {
	b := newBox(t)
	b.write("assets.d/plant.yaml", plant, "contracts.d/valve.yaml", moving())
	b.expect("valve_move")
	narrower := moving("maximum: 100", "maximum: 50", "1.0.0", "1.1.0")
	want := "valve.yaml: last good: contracts.d/valve.yaml:3:1: actions.move.parameters.properties.opening: breaking change since 1.0.0: the range of opening is narrower: maximum 50 instead of 100; raise the major version to 2"
	b.write("contracts.d/valve.yaml", narrower)
	b.expect("valve_move", want)
	b.restart()
	b.expect("valve_move", want)
	b.write("contracts.d/valve.yaml", "", "contracts.d/renamed.yaml", narrower)
	b.expect("", strings.Replace(strings.Replace(want, "valve.yaml", "renamed.yaml", 2), "last good", "nothing", 1))
}

func TestAWeakerProofIsAWarningAndComesIntoForce(t *testing.T) {
	b := newBox(t)
	b.write("assets.d/plant.yaml", plant, "contracts.d/valve.yaml", moving())
	b.expect("valve_move")
	b.write("contracts.d/valve.yaml", moving("tolerance: 1}", "tolerance: 2}", "1.0.0", "1.0.1"))
	s := b.expect("valve_move")
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0].Message, "the tolerance of VALVE.position changed from 1 to 2") {
		t.Errorf("warnings: %v", s.Warnings)
	}
}

func TestHistoryKeepsEveryVersionInOrder(t *testing.T) {
	b := newBox(t)
	b.write("assets.d/plant.yaml", plant)
	for _, version := range []string{"1.9.0", "1.10.0", "1.10.0 # again", "2.0.0"} {
		b.write("contracts.d/a.yaml", strings.Replace(reading("a"), "1.0.0", version, 1), "contracts.d/ab.yaml", reading("ab"))
		b.publish()
		b.publish()
	}
	b.restart()
	history, err := b.History("a")
	must(t, err)
	var got []string
	for _, v := range history {
		got = append(got, v.version().String())
		if v.Path != filepath.Join(b.dir, "contracts.d/a.yaml") || v.Published.IsZero() || len(v.SHA256) != 64 {
			t.Errorf("%+v", v)
		}
	}
	if !slices.Equal(got, []string{"1.9.0", "1.10.0", "1.10.0", "2.0.0"}) {
		t.Errorf("history is %v", got)
	}
	if none, err := b.History("nothing"); err != nil || len(none) > 0 {
		t.Errorf("%v, %v", none, err)
	}
}

func TestAFolderThatCannotBeReadIsAnErrorAndNothingChanges(t *testing.T) {
	b := newBox(t)
	b.write("assets.d/plant.yaml", plant, "contracts.d/a.yaml", reading("a"))
	b.expect("a_read")
	must(t, os.Remove(filepath.Join(b.dir, "profiles.d")))
	b.expect("a_read") // profiles are optional
	must(t, os.Rename(filepath.Join(b.dir, "contracts.d"), filepath.Join(b.dir, "moved")))
	if _, err := ReadFolders(b.folders()); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "cannot read the contract folder "+b.folders().Contracts) {
		t.Errorf("missing folder: %v", err)
	}
	must(t, os.WriteFile(b.folders().Contracts, nil, 0o600))
	if _, err := ReadFolders(b.folders()); err == nil {
		t.Error("a file was taken for a folder")
	}
}

func TestAFileThatCannotBeReadKeepsItsLastGoodVersion(t *testing.T) {
	b := newBox(t)
	path := filepath.Join(b.dir, "contracts.d/a.yaml")
	b.write("assets.d/plant.yaml", plant, "contracts.d/a.yaml", reading("a"))
	b.expect("a_read")
	must(t, os.Remove(path))
	for what, spoil := range map[string]struct {
		make func() error
		want string
	}{
		"a dangling link": {func() error { return os.Symlink(filepath.Join(b.dir, "nothing"), path) }, "no such file"},
		"a named pipe":    {func() error { return syscall.Mkfifo(path, 0o600) }, "is not a regular file"},
		"a device":        {func() error { return os.Symlink("/dev/zero", path) }, "is not a regular file"},
		"a huge file":     {func() error { return os.WriteFile(path, make([]byte, MaxFile+1), 0o600) }, "is larger than the limit of 1048576 bytes"},
	} {
		t.Run(what, func(t *testing.T) {
			must(t, spoil.make())
			b.expect("a_read", "a.yaml: "+spoil.want)
			must(t, os.Remove(path))
		})
	}
}

func TestAPublishThatIsCancelledOrCannotBeSavedChangesNothing(t *testing.T) {
	b := newBox(t)
	b.write("assets.d/plant.yaml", plant, "contracts.d/a.yaml", reading("a"))
	s := b.expect("a_read")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Publish(ctx, Candidate{}); !errors.Is(err, context.Canceled) || b.Snapshot() != s {
		t.Errorf("cancelled: %v", err)
	}
	must(t, b.db.Close())
	if _, err := b.Publish(t.Context(), Candidate{}); err == nil || b.Snapshot() != s {
		t.Errorf("closed store: %v", err)
	}
	b.start()
}

func TestALastGoodVersionThatCannotBeReadIsNamedAndNothingChanges(t *testing.T) {
	b := newBox(t)
	b.write("assets.d/plant.yaml", plant, "contracts.d/a.yaml", reading("a"))
	b.expect("a_read")
	must(t, b.db.Update(func(tx store.Tx) error { return tx.Put(bucketFiles, "a.yaml", []byte("{")) }))
	b.restart()
	c, err := ReadFolders(b.folders())
	must(t, err)
	if _, err := b.Publish(t.Context(), c); err == nil || !strings.Contains(err.Error(), "registry: read the last good set: decode files/a.yaml: ") || b.Snapshot().ID != 0 {
		t.Errorf("snapshot %d, %v", b.Snapshot().ID, err)
	}
}

func TestSubscribersHearOfEachSnapshotInOrder(t *testing.T) {
	b := newBox(t)
	must(t, b.db.Close())
	var heard []uint64
	b.start(func(s *Snapshot) { heard = append(heard, s.ID) }, func(s *Snapshot) { heard = append(heard, 100+s.ID) })
	b.write("assets.d/plant.yaml", plant, "contracts.d/a.yaml", reading("a"))
	c, err := ReadFolders(b.folders())
	must(t, err)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := b.Publish(t.Context(), c); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() { _ = b.Snapshot().Names() })
	}
	all.Wait()
	b.write("contracts.d/a.yaml", reading("b"))
	b.publish()
	if !slices.Equal(heard, []uint64{1, 101, 2, 102}) { // the same set three times is one
		t.Errorf("heard %v", heard)
	}
}

func TestALostActionHasANameAndNothingThatRuns(t *testing.T) {
	a := Lost("valve_move", "valve", "VALVE")
	if a.Name != "valve_move" || a.Contract.Tool != "valve" || a.Asset.ID != "VALVE" || a.Plan != nil || len(a.Steps) > 0 || !a.Moves() || a.Location() != "" {
		t.Errorf("%+v", a)
	}
}
