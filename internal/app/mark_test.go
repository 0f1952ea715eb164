package app

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"capd/internal/config"
	"capd/internal/journal"
	"capd/internal/standing"
	"capd/internal/store"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// state is the disk and the box of a capd that is no more than that; write appends so many records.
func state(t *testing.T, dir string, write int) *core {
	t.Helper()
	c := config.Default()
	c.Mode, c.Folders.State = "active", dir
	k := &core{config: c}
	o := Options{Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	must(t, k.openState(t.Context(), o))
	must(t, k.openBox(t.Context(), o))
	for i := range write {
		_, err := k.journal.Append(t.Context(), journal.Event, map[string]int{"n": i})
		must(t, err)
	}
	return k
}

func (k *core) end(t *testing.T) {
	t.Helper()
	must(t, k.close(slog.New(slog.NewTextHandler(io.Discard, nil))))
}

// told is the alarms by key.
func (k *core) told() map[string]string {
	all := map[string]string{}
	for _, a := range k.alarms.List(false) {
		all[a.Key] = a.Text
	}
	return all
}

func TestABoxThatLostNothingTellsNothing(t *testing.T) {
	dir := t.TempDir()
	for _, records := range []int{0, 3, 0, 2} {
		k := state(t, dir, records)
		if told := k.told(); len(told) > 0 || k.standing.Mode().Mode != standing.Active {
			t.Errorf("%v, mode %+v", told, k.standing.Mode())
		}
		k.end(t)
	}
}

func TestALostRegistryIsToldAndTheBoxObserves(t *testing.T) {
	dir := t.TempDir()
	k := state(t, dir, 3)
	must(t, k.standing.Lock(standing.Lockout{Target: "PS07-FCV-04", By: "mei", Reason: "packing"}))
	k.end(t)
	must(t, os.Remove(filepath.Join(dir, "registry.db")))
	for range 2 {
		k = state(t, dir, 1)
		if text := k.told()[registryLost]; !strings.Contains(text, "lockouts") || !strings.Contains(text, "capd mode active") || len(k.told()) != 1 {
			t.Errorf("alarms %v", k.told())
		}
		if m := k.standing.Mode(); m.Mode != standing.Observe || m.By != byLoss {
			t.Errorf("mode %+v", m)
		}
		if a := k.alarms.List(false); a[0].Severity != "critical" || a[0].Count != 1 {
			t.Errorf("%+v", a[0])
		}
		k.end(t)
	}
	k = state(t, dir, 0)
	must(t, k.standing.SetMode(standing.Active, "wang"))
	_, err := k.alarms.Clear(registryLost, "wang")
	must(t, err)
	k.end(t)
	k = state(t, dir, 0)
	if k.standing.Mode().Mode != standing.Active || len(k.told()) > 0 {
		t.Errorf("what a person set does not hold: %+v %v", k.standing.Mode(), k.told())
	}
	k.end(t)
}

func TestALostJournalIsTold(t *testing.T) {
	dir := t.TempDir()
	state(t, dir, 3).end(t)
	must(t, os.RemoveAll(filepath.Join(dir, "journal")))
	k := state(t, dir, 1)
	if text := k.told()[journalLost]; !strings.Contains(text, "record 3") || len(k.told()) != 1 || k.standing.Mode().Mode != standing.Active {
		t.Errorf("alarms %v, mode %+v", k.told(), k.standing.Mode())
	}
	k.end(t)
}

func TestAJournalOfAnotherBoxIsTold(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	state(t, dir, 3).end(t)
	state(t, other, 5).end(t)
	must(t, os.RemoveAll(filepath.Join(dir, "journal")))
	must(t, os.Rename(filepath.Join(other, "journal"), filepath.Join(dir, "journal")))
	k := state(t, dir, 0)
	if text := k.told()[journalLost]; !strings.Contains(text, "record 3") || !strings.Contains(text, "another box") {
		t.Errorf("alarms %v", k.told())
	}
	k.end(t)
}

func TestACrashBetweenTheFindAndItsAlarmHidesNothing(t *testing.T) {
	dir := t.TempDir()
	state(t, dir, 3).end(t)
	must(t, os.Remove(filepath.Join(dir, "registry.db")))
	k := &core{config: config.Default()}
	k.config.Folders.State = dir
	must(t, k.openState(t.Context(), Options{}))
	must(t, k.marks.follow())
	k.end(t)
	k = state(t, dir, 0)
	if len(k.told()) != 1 || k.standing.Mode().Mode != standing.Observe {
		t.Errorf("alarms %v, mode %+v", k.told(), k.standing.Mode())
	}
	k.end(t)
}

func TestAnUpgradeOfABoxWithoutAMarkTellsNothing(t *testing.T) {
	dir := t.TempDir()
	k := state(t, dir, 3)
	must(t, k.db.Update(func(tx store.Tx) error { return tx.Delete(bucketMark, markKey) }))
	must(t, k.journal.Close())
	must(t, k.db.Close())
	k = state(t, dir, 0)
	if told := k.told(); len(told) > 0 || k.standing.Mode().Mode != standing.Active {
		t.Errorf("alarms %v, mode %+v", told, k.standing.Mode())
	}
	k.end(t)
	must(t, os.RemoveAll(filepath.Join(dir, "journal")))
	k = state(t, dir, 0)
	if k.told()[journalLost] == "" {
		t.Error("from the upgrade on, a lost journal is told")
	}
	k.end(t)
}

// A crash leaves a mark behind the journal; the records behind it are no loss, and neither are those that retention deleted.
func TestAMarkMayLieBehindTheJournal(t *testing.T) {
	for name, c := range map[string]struct {
		before *mark
		now    journal.Report
		hash   string
	}{
		"the journal went on":            {&mark{Seq: 3, Hash: "aa"}, journal.Report{First: 1, Last: 9}, "aa"},
		"retention deleted the record":   {&mark{Seq: 3, Hash: "aa"}, journal.Report{First: 5, Last: 9}, ""},
		"the hash was not known":         {&mark{Seq: 3}, journal.Report{First: 1, Last: 9}, "aa"},
		"no record was ever written":     {&mark{}, journal.Report{}, ""},
		"the first records after a mark": {&mark{}, journal.Report{First: 1, Last: 2}, ""},
	} {
		if got := findLoss(c.before, false, "/j", c.now, c.hash); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTheMarkFollowsTheJournal(t *testing.T) {
	k := state(t, t.TempDir(), 4)
	must(t, k.marks.follow())
	m, err := readMark(k.db)
	must(t, err)
	if m.Seq != 4 || len(m.Hash) != 64 {
		t.Errorf("%+v", m)
	}
	k.end(t)
}
