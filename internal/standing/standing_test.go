package standing

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"capd/internal/store"
)

// clock is a wall clock that tests set; it may be read from many goroutines while it stands.
type clock struct{ at time.Time }

func (c *clock) now() time.Time          { return c.at }
func (c *clock) advance(d time.Duration) { c.at = c.at.Add(d) }

func newClock() *clock { return &clock{time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)} }

// box is a state folder that can be opened again.
type box struct {
	*Standing
	t     testing.TB
	path  string
	db    *store.DB
	clock *clock
}

func newBox(t testing.TB, fresh Mode) *box {
	b := &box{t: t, path: filepath.Join(t.TempDir(), "registry.db"), clock: newClock()}
	b.open(fresh)
	t.Cleanup(b.close)
	return b
}

func (b *box) open(fresh Mode) {
	b.t.Helper()
	var err error
	if b.db, err = store.Open(b.path, store.Options{Format: 1}); err != nil {
		b.t.Fatal(err)
	}
	if b.Standing, err = Open(b.db, fresh, b.clock.now); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) close() {
	b.t.Helper()
	must(b.t, b.db.Close())
}

func (b *box) restart(fresh Mode) {
	b.t.Helper()
	b.close()
	b.clock.advance(time.Minute)
	b.open(fresh)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantInput(t *testing.T, err error, field string) {
	t.Helper()
	var input *InputError
	if !errors.As(err, &input) || input.Field != field || !strings.HasPrefix(err.Error(), field+": ") {
		t.Errorf("error %v, want an InputError about %s", err, field)
	}
}

func wantClosed(t *testing.T, errs ...error) {
	t.Helper()
	for i, err := range errs {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("error %d is %v, want that the store is closed", i, err)
		}
	}
}

func TestAFreshStateFolderTakesTheGivenModeForGood(t *testing.T) {
	b := newBox(t, Shadow)
	if m := b.Mode(); m.Mode != Shadow || m.By != "configuration" || !m.At.Equal(b.clock.at) {
		t.Errorf("mode %+v", m)
	}
	b.restart(Active)
	if m := b.Mode(); m.Mode != Shadow {
		t.Errorf("another configuration changed the mode to %s", m.Mode)
	}
}

func TestTheModeStandsUntilAPersonChangesIt(t *testing.T) {
	b := newBox(t, Observe)
	b.clock.advance(time.Hour)
	must(t, b.SetMode(Active, "li"))
	set := b.Mode()
	if set != (ModeState{Active, "li", b.clock.at}) {
		t.Errorf("mode %+v", set)
	}
	b.restart(Observe)
	if m := b.Mode(); m != set {
		t.Errorf("after a restart %+v, want %+v", m, set)
	}
}

func TestAWrongModeIsRefused(t *testing.T) {
	b := newBox(t, Observe)
	wantInput(t, b.SetMode("on", "li"), "mode")
	wantInput(t, b.SetMode(Active, ""), "by")
	if b.Mode().Mode != Observe {
		t.Errorf("mode %+v", b.Mode())
	}
	if _, err := ParseMode("Active"); err == nil || !strings.Contains(err.Error(), "observe, shadow and active") {
		t.Errorf("error %v", err)
	}
	if m, err := ParseMode("active"); m != Active || err != nil {
		t.Errorf("%s, %v", m, err)
	}
	db := newBox(t, Observe).db
	if _, err := Open(db, "sleep", time.Now); err != nil {
		t.Errorf("a stored mode does not go before a wrong one of the configuration: %v", err)
	}
}

func TestAStoredModeOfAnotherCapdIsAnError(t *testing.T) {
	b := newBox(t, Observe)
	must(t, b.db.Update(func(tx store.Tx) error {
		return store.PutJSON(tx, "mode", modeKey, ModeState{Mode: "autonomous", By: "li"})
	}))
	if _, err := Open(b.db, Observe, time.Now); err == nil || !strings.Contains(err.Error(), "autonomous") {
		t.Errorf("error %v", err)
	}
}

func TestADamagedStateIsAnErrorThatNamesTheBucket(t *testing.T) {
	for _, bucket := range []string{"mode", "lockouts", "forced_unlocks", "usage", "unsettled"} {
		b := newBox(t, Observe)
		must(t, b.db.Update(func(tx store.Tx) error { return tx.Put(bucket, "x", []byte("[")) }))
		if _, err := Open(b.db, Observe, time.Now); err == nil || !strings.Contains(err.Error(), bucket) {
			t.Errorf("%s: error %v", bucket, err)
		}
	}
}

func TestWhatPeopleDecideNeedsTheDiskAndWhatHappenedDoesNot(t *testing.T) {
	b := newBox(t, Observe)
	held := lock("PS07-P-01", "li")
	must(t, b.Lock(held))
	must(t, b.Unsettle("PS07-P-01", "inv-1", "no answer"))
	b.close()

	_, unlocked := b.Unlock(held.Target, "li")
	_, forced := b.ForceUnlock(held.Target, "li", "root")
	wantClosed(t, b.SetMode(Active, "li"), b.Lock(lock("PS07-XV-03", "li")), unlocked, forced, b.Settle("PS07-P-01", "li"))
	if b.Mode().Mode != Observe || len(b.Lockouts()) != 1 || len(b.For("PS07-P-01", "")) != 1 || len(b.Forced()) != 0 {
		t.Errorf("changed without the disk: %+v %+v %+v", b.Mode(), b.Lockouts(), b.Forced())
	}
	if _, ok := b.Unsettled("PS07-P-01"); !ok {
		t.Error("settled without the disk")
	}

	wantClosed(t, b.Record("PS07-P-01.run", UsageEvent{Kind: Start}), b.Unsettle("PS07-XV-03", "inv-2", "no answer"))
	if u := b.Usage("PS07-P-01.run"); u.Writes != 1 || len(u.Starts) != 1 {
		t.Errorf("a start was not counted: %+v", u)
	}
	if _, ok := b.Unsettled("PS07-XV-03"); !ok {
		t.Error("an unknown outcome was not marked")
	}
}

func TestAFreshStateFolderThatCannotBeWrittenIsAnError(t *testing.T) {
	db, err := store.Open(filepath.Join(t.TempDir(), "registry.db"), store.Options{Format: 1})
	must(t, err)
	must(t, db.Close())
	_, err = Open(db, Observe, time.Now)
	wantClosed(t, err)
}
