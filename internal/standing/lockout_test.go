package standing

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"capd/internal/store"
)

func lock(target, by string) Lockout {
	return Lockout{Target: target, By: by, Reason: "seal is being replaced"}
}

const place = "plant/ps07/discharge"

func TestALockoutBlocksTheAssetOrEverythingAtThePlace(t *testing.T) {
	for _, c := range []struct {
		target string
		blocks bool
	}{
		{"PS07-FCV-04", true},
		{"plant", true},
		{"plant/ps07", true},
		{"plant/ps07/discharge", true},
		{"plant/ps0", false},
		{"plant/ps07/dis", false},
		{"plant/ps07/discharge/pit", false},
		{"ps07", false},
		{"PS07-FCV-0", false},
		{"PS07-FCV-041", false},
	} {
		b := newBox(t, Observe)
		must(t, b.Lock(lock(c.target, "li")))
		if got := b.For("PS07-FCV-04", place); (len(got) == 1) != c.blocks {
			t.Errorf("%s: %+v, want blocked %v", c.target, got, c.blocks)
		}
		if got := b.For("PS08-FCV-04", ""); got != nil {
			t.Errorf("%s blocks an asset without a place: %+v", c.target, got)
		}
	}
}

func TestLockoutsSurviveARestartAndAreListedOldestFirst(t *testing.T) {
	b := newBox(t, Observe)
	must(t, b.Lock(lock("PS07-FCV-04", "zhao")))
	b.clock.advance(time.Minute)
	must(t, b.Lock(lock("plant/ps07", "li")))
	before := b.For("PS07-FCV-04", place)
	if len(before) != 2 || before[0].By != "zhao" || before[1].By != "li" {
		t.Fatalf("lockouts %+v", before)
	}
	b.restart(Observe)
	if after := b.For("PS07-FCV-04", place); !reflect.DeepEqual(before, after) {
		t.Errorf("before %+v\nafter  %+v", before, after)
	}
}

func TestEachPersonHasOneLockoutPerTarget(t *testing.T) {
	b := newBox(t, Observe)
	must(t, b.Lock(lock("PS07-FCV-04", "li")))
	since := b.clock.at
	b.clock.advance(time.Hour)
	again := lock("PS07-FCV-04", "li")
	again.Reason = "actuator as well"
	must(t, b.Lock(again))
	must(t, b.Lock(lock("PS07-FCV-04", "wang")))
	got := b.Lockouts()
	if len(got) != 2 || got[0].Reason != "actuator as well" || !got[0].At.Equal(since) || got[1].By != "wang" {
		t.Errorf("lockouts %+v", got)
	}
}

func TestUnlockLiftsOnlyThePersonsOwn(t *testing.T) {
	b := newBox(t, Observe)
	must(t, b.Lock(lock("PS07-FCV-04", "li")))
	b.clock.advance(time.Second)
	must(t, b.Lock(lock("PS07-FCV-04", "wang")))

	_, err := b.Unlock("PS07-FCV-04", "zhao")
	var none *NotLockedError
	if !errors.As(err, &none) || !reflect.DeepEqual(none.Others, []string{"li", "wang"}) || !strings.Contains(err.Error(), "locked by li, wang") {
		t.Errorf("error %v", err)
	}
	lifted, err := b.Unlock("PS07-FCV-04", "li")
	if err != nil || lifted.By != "li" || lifted.Reason == "" {
		t.Errorf("lifted %+v, error %v", lifted, err)
	}
	b.restart(Observe)
	if got := b.For("PS07-FCV-04", ""); len(got) != 1 || got[0].By != "wang" {
		t.Errorf("after unlock and restart: %+v", got)
	}
	if _, err = b.Unlock("plant/ps07", "li"); !errors.As(err, &none) || !strings.Contains(err.Error(), "capd status") {
		t.Errorf("error %v", err)
	}
}

func TestAForcedUnlockIsRecordedWithBothNames(t *testing.T) {
	b := newBox(t, Observe)
	must(t, b.Lock(lock("PS07-FCV-04", "li")))
	b.clock.advance(time.Hour)
	if _, err := b.ForceUnlock("PS07-FCV-04", "wang", "root"); err == nil || len(b.Lockouts()) != 1 {
		t.Errorf("lifted the lockout of somebody who has none: %v", err)
	}
	_, err := b.ForceUnlock("PS07-FCV-04", "li", "")
	wantInput(t, err, "by")
	lifted, err := b.ForceUnlock("PS07-FCV-04", "li", "root")
	if err != nil || lifted.By != "li" || len(b.Lockouts()) != 0 {
		t.Fatalf("lifted %+v, error %v, left %+v", lifted, err, b.Lockouts())
	}
	want := []ForcedUnlock{{Lockout: lifted, ForcedBy: "root", ForcedAt: b.clock.at}}
	if got := b.Forced(); !reflect.DeepEqual(got, want) {
		t.Errorf("recorded %+v, want %+v", got, want)
	}
	b.restart(Observe)
	if got := b.Forced(); !reflect.DeepEqual(got, want) || len(b.Lockouts()) != 0 {
		t.Errorf("after a restart %+v and %+v", got, b.Lockouts())
	}
}

func TestOnlyTheLatestForcedUnlocksAreKept(t *testing.T) {
	b := newBox(t, Observe)
	for i := range maxForced {
		f := ForcedUnlock{Lockout: lock(fmt.Sprint("A", i), "li"), ForcedBy: "root", ForcedAt: b.clock.at.Add(time.Duration(i) * time.Second)}
		b.forced.set(f.ForcedAt.Format(sortable), f)
	}
	b.clock.advance(time.Hour)
	must(t, b.Lock(lock("NEW", "li")))
	_, err := b.ForceUnlock("NEW", "li", "root")
	must(t, err)
	got := b.Forced()
	if len(got) != maxForced || got[0].Target != "NEW" || got[maxForced-1].Target != "A1" {
		t.Errorf("%d kept, newest %s, oldest %s", len(got), got[0].Target, got[len(got)-1].Target)
	}
}

func TestAWrongLockoutNamesTheField(t *testing.T) {
	b := newBox(t, Observe)
	for _, c := range []struct {
		field string
		l     Lockout
	}{
		{"target", Lockout{By: "li", Reason: "x"}},
		{"target", lock("/plant", "li")},
		{"target", lock("plant/ps07/", "li")},
		{"target", lock("plant//ps07", "li")},
		{"target", lock(" PS07", "li")},
		{"target", lock("PS07\nP", "li")},
		{"target", lock(strings.Repeat("x", MaxTarget+1), "li")},
		{"by", lock("PS07", "")},
		{"by", lock("PS07", "l\x00i")},
		{"by", lock("PS07", strings.Repeat("李", MaxName+1))},
		{"reason", Lockout{Target: "PS07", By: "li"}},
		{"reason", Lockout{Target: "PS07", By: "li", Reason: "  "}},
		{"reason", Lockout{Target: "PS07", By: "li", Reason: "\x1b[2J"}},
		{"reason", Lockout{Target: "PS07", By: "li", Reason: strings.Repeat("x", MaxReason+1)}},
	} {
		wantInput(t, b.Lock(c.l), c.field)
	}
	if got := b.Lockouts(); got != nil {
		t.Errorf("locked all the same: %+v", got)
	}
	must(t, b.Lock(Lockout{Target: strings.Repeat("长", MaxTarget), By: strings.Repeat("李", MaxName), Reason: strings.Repeat("修", MaxReason)}))
}

func TestTheTimeOfALockoutMayBeGiven(t *testing.T) {
	b := newBox(t, Observe)
	l := lock("PS07", "li")
	l.At = time.Date(2026, 7, 1, 8, 0, 0, 0, time.FixedZone("CST", 8*3600))
	must(t, b.Lock(l))
	if got := b.Lockouts()[0].At; !got.Equal(l.At) {
		t.Errorf("at %s", got)
	}
}

func TestTheNumberOfLockoutsIsBounded(t *testing.T) {
	b := newBox(t, Observe)
	for i := range MaxLockouts {
		l := lock(fmt.Sprint("A", i), "li")
		b.lockouts.set(l.key(), l)
	}
	wantInput(t, b.Lock(lock("one-more", "li")), "target")
	must(t, b.Lock(lock("A5", "li"))) // one that stands already
}

func TestLockoutsMayChangeWhileTheyAreRead(t *testing.T) {
	b := newBox(t, Observe)
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			by := fmt.Sprint("person", i)
			if err := b.Lock(lock("plant/ps07", by)); err != nil {
				t.Error(err)
			}
			if len(b.For("PS07-FCV-04", place)) == 0 {
				t.Error("a lockout that Lock has confirmed does not block")
			}
			if _, err := b.Unlock("plant/ps07", by); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := b.Lockouts(); got != nil {
		t.Errorf("left over: %+v", got)
	}
}

// FuzzLock holds what a lockout promises for any text: it blocks what it names, it survives, and its owner can lift it.
func FuzzLock(f *testing.F) {
	f.Add("plant/ps07", "li", "why")
	f.Add("a\nb", "c", "d")
	b := newBox(f, Observe)
	f.Fuzz(func(t *testing.T, target, by, reason string) {
		if b.Lock(Lockout{Target: target, By: by, Reason: reason}) != nil {
			return
		}
		if len(b.For(target, "")) != 1 || len(b.For("", target)) != 1 || len(b.For("", target+"/x")) != 1 {
			t.Errorf("%q does not block itself", target)
		}
		again, err := Open(b.db, Observe, b.clock.now)
		if err != nil || len(again.For(target, "")) != 1 {
			t.Errorf("%q is not on disk: %v", target, err)
		}
		if _, err := b.Unlock(target, by); err != nil || len(b.Lockouts()) != 0 {
			t.Errorf("%q by %q cannot be lifted: %v", target, by, err)
		}
		must(t, b.db.View(func(tx store.Tx) error {
			return tx.ForEach("lockouts", "", func(key string, _ []byte) error { return fmt.Errorf("%q is left on disk", key) })
		}))
	})
}

func BenchmarkFor(b *testing.B) {
	box := newBox(b, Observe)
	for i := range 20 {
		l := lock(fmt.Sprint("PS08-P-", i), "li")
		box.lockouts.set(l.key(), l)
	}
	b.ReportAllocs()
	for b.Loop() {
		if box.For("PS07-FCV-04", place) != nil {
			b.Fatal("blocked")
		}
	}
}
