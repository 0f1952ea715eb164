package health

import (
	"errors"
	"sync"
	"testing"
	"time"

	"capd/internal/store"
)

const valve = "ps07-fcv-04_set_opening"

func fail(t *testing.T, b *Breakers, n int) (tripped bool) {
	t.Helper()
	for range n {
		var err error
		tripped, err = b.Record(valve, Verification{Invocation: "inv-1", Reason: "settled at 45 %"})
		must(t, err)
	}
	return tripped
}

func succeed(t *testing.T, b *Breakers) {
	t.Helper()
	_, err := b.Record(valve, Verification{OK: true})
	must(t, err)
}

func TestThreeFailuresInARowDegradeAnAction(t *testing.T) {
	c := newClock()
	b := breakers(t, open(t, registry(t)), c)
	if fail(t, b, 2); b.State(valve).Degraded {
		t.Fatal("degraded after two failures")
	}
	c.advance(time.Minute)
	if !fail(t, b, 1) {
		t.Error("the third failure did not say that it tripped the breaker")
	}
	s := b.State(valve)
	if !s.Degraded || s.Failures != 3 || !s.Since.Equal(c.at) || s.Reason != "settled at 45 %" || s.Invocation != "inv-1" || s.By != "" {
		t.Errorf("state %+v", s)
	}
	if fail(t, b, 1) {
		t.Error("a fourth failure tripped it again")
	}
	if other := b.State("other"); other.Degraded || other.Action != "other" {
		t.Errorf("another action: %+v", other)
	}
}

func TestASuccessForgetsFailuresAndEndsADegradationByTheBreaker(t *testing.T) {
	b := breakers(t, open(t, registry(t)), newClock())
	fail(t, b, 2)
	succeed(t, b)
	if fail(t, b, 2); b.State(valve).Degraded {
		t.Error("failures before a success were counted")
	}
	fail(t, b, 1)
	if succeed(t, b); b.State(valve) != (State{Action: valve}) {
		t.Errorf("after a success: %+v", b.State(valve))
	}
	if len(b.States()) != 0 {
		t.Errorf("healthy actions are listed: %+v", b.States())
	}
}

func TestAPersonsDegradationStandsUntilRestored(t *testing.T) {
	c := newClock()
	b := breakers(t, open(t, registry(t)), c)
	must(t, b.Degrade(valve, "wang", "actuator is being replaced"))
	succeed(t, b)
	if s := b.State(valve); !s.Degraded || s.By != "wang" || s.Reason != "actuator is being replaced" {
		t.Fatalf("after a success: %+v", s)
	}
	c.advance(time.Hour)
	must(t, b.Restore(valve, "li"))
	if s := b.State(valve); s.Degraded || s.Failures != 0 || s.RestoredBy != "li" || !s.RestoredAt.Equal(c.at) {
		t.Errorf("after restore: %+v", s)
	}
	must(t, b.Restore(valve, "zhao"))
	if s := b.State(valve); s.RestoredBy != "li" {
		t.Errorf("restoring a healthy action changed it: %+v", s)
	}
}

func TestAPersonTakesOverWhatTheBreakerDegraded(t *testing.T) {
	c := newClock()
	b := breakers(t, open(t, registry(t)), c)
	fail(t, b, 3)
	since := c.at
	c.advance(time.Hour)
	must(t, b.Degrade(valve, "wang", "waiting for a part"))
	succeed(t, b)
	if s := b.State(valve); !s.Degraded || s.By != "wang" || !s.Since.Equal(since) || s.Failures != 0 {
		t.Errorf("state %+v", s)
	}
}

func TestBreakersSurviveARestart(t *testing.T) {
	path, c := registry(t), newClock()
	db := open(t, path)
	b := breakers(t, db, c)
	fail(t, b, 3)
	_, err := b.Record("pump", Verification{Reason: "no current"})
	must(t, err)
	before := b.States()
	must(t, db.Close())
	c.advance(time.Hour)
	b = breakers(t, open(t, path), c)
	after := b.States()
	if len(after) != 2 || after[0] != before[0] || after[1] != before[1] || after[0].Action != "ps07-fcv-04_set_opening" {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
}

func TestAFailureCountsAndARestoreDoesNotWhenTheDiskRefuses(t *testing.T) {
	db := open(t, registry(t))
	b := breakers(t, db, newClock())
	must(t, db.Close())
	for range Threshold {
		if _, err := b.Record(valve, Verification{Reason: "stuck"}); !errors.Is(err, store.ErrClosed) {
			t.Errorf("error %v", err)
		}
	}
	if !b.State(valve).Degraded {
		t.Error("three failures did not degrade")
	}
	_, err := b.Record(valve, Verification{OK: true})
	for _, err := range []error{err, b.Restore(valve, "li"), b.Degrade("pump", "li", "why")} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("error %v", err)
		}
	}
	if !b.State(valve).Degraded || b.State("pump").Degraded {
		t.Errorf("changed without the disk: %+v", b.States())
	}
}

func TestBreakerInputIsChecked(t *testing.T) {
	b := breakers(t, open(t, registry(t)), newClock())
	_, err := b.Record("", Verification{})
	wantInput(t, err, "action")
	wantInput(t, b.Degrade(valve, " ", "why"), "by")
	wantInput(t, b.Degrade(valve, "li", ""), "reason")
	wantInput(t, b.Degrade(valve, "li", "two\nlines"), "reason")
	wantInput(t, b.Restore(valve, ""), "by")
}

func TestDamagedBreakersAreAnError(t *testing.T) {
	db := open(t, registry(t))
	damage(t, db, bucketBreakers, valve)
	if _, err := OpenBreakers(db, time.Now); err == nil {
		t.Error("opened")
	}
}

func TestBreakersMayBeUsedFromManyGoroutines(t *testing.T) {
	b := breakers(t, open(t, registry(t)), newClock())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				if _, err := b.Record(valve, Verification{}); err != nil {
					t.Error(err)
				}
				b.State(valve)
				b.States()
			}
		})
	}
	wg.Wait()
	if n := b.State(valve).Failures; n != 20 {
		t.Errorf("%d failures were counted, want 20", n)
	}
}
