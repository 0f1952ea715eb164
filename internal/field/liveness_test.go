package field

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"capd/internal/hal"
	"capd/internal/physical"
)

// beat moves the counter of device D every 500 ms for a while, each time 100 ms after a poll.
func beat(f *fakeDriver, from int64, d time.Duration) (next int64) {
	for ; d > 0; d -= 500 * time.Millisecond {
		f.set("D", 0, physical.IntOf(from))
		from++
		time.Sleep(500 * time.Millisecond)
	}
	return from
}

func TestADeviceIsAliveWhileItsCounterMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := polledFake()
		field := start(t, f, Options{Poll: true}, polled)
		synctest.Wait()
		if l := field.Alive("D"); !l.Watched || l.Alive || l.Frozen || l.Counter != "A.beat" || l.Within != 2*time.Second {
			t.Errorf("at the first look: %+v", l)
		}
		time.Sleep(100 * time.Millisecond)
		next := beat(f, 1, 3*time.Second)
		if l := field.Alive("D"); !l.Alive || l.Frozen || time.Since(l.LastMove) > time.Second {
			t.Errorf("while it moves: %+v", l)
		}
		stood := time.Now()
		time.Sleep(3 * time.Second)
		l := field.Alive("D")
		if l.Alive || !l.Frozen || l.Since.After(stood) || time.Since(l.LastSeen) > 500*time.Millisecond {
			t.Errorf("3s after it stopped: %+v", l)
		}
		beat(f, next, time.Second)
		if l := field.Alive("D"); !l.Alive || l.Frozen {
			t.Errorf("when it moves again: %+v", l)
		}
		if l := field.Alive("E"); l != (Liveness{}) {
			t.Errorf("a device without a counter: %+v", l)
		}
	})
}

func TestReadingsOfAFrozenDeviceAreBad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := polledFake()
		field := start(t, f, Options{Poll: true}, polled)
		time.Sleep(100 * time.Millisecond)
		next := beat(f, 1, 2*time.Second)
		if r, _ := field.Last("A.quick"); !r.Good() {
			t.Errorf("while the counter moves: %+v", r)
		}
		time.Sleep(1500 * time.Millisecond)
		if r, _ := field.Last("A.quick"); !r.Good() {
			t.Errorf("within the window: %+v", r)
		}
		time.Sleep(1500 * time.Millisecond)
		want := "counter A.beat has stood at 4 for "
		r, _ := field.Last("A.quick")
		if r.Quality != physical.Bad || r.Cause != physical.CauseFrozen || !strings.HasPrefix(r.Detail, want) || r.Value.String() != "1" {
			t.Errorf("the last reading: %+v", r)
		}
		before := len(batchesOf(f, "D"))
		r = field.ReadCached(t.Context(), []string{"A.quick"}, time.Minute)["A.quick"]
		if r.Cause != physical.CauseFrozen || len(batchesOf(f, "D")) != before+1 || r.Age(time.Now()) != 0 {
			t.Errorf("a cached read: %+v", r)
		}
		if r := field.Read(t.Context(), []string{"A.quick"})["A.quick"]; !r.Good() {
			t.Errorf("a read is raw truth: %+v", r)
		}
		if r, _ := field.Last("A.other"); !r.Good() {
			t.Errorf("a device without a counter: %+v", r)
		}
		beat(f, next, time.Second)
		if r, _ := field.Last("A.quick"); !r.Good() {
			t.Errorf("when the counter moves again: %+v", r)
		}
	})
}

func TestASilentDeviceIsNeitherAliveNorFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := polledFake()
		field := start(t, f, Options{Poll: true}, polled)
		beat(f, 1, 2*time.Second)
		f.breakDown("D", &hal.Error{Kind: hal.Timeout, MaySent: true})
		time.Sleep(10 * time.Second)
		if l := field.Alive("D"); l.Alive || l.Frozen {
			t.Errorf("got %+v", l)
		}
		if r, _ := field.Last("A.quick"); r.Cause != physical.CauseOffline {
			t.Errorf("got %+v", r)
		}
	})
}

func TestWhatACounterProves(t *testing.T) {
	base := time.Date(2026, 7, 1, 8, 0, 0, 0, time.UTC)
	look := func(at time.Duration, value byte) physical.Reading {
		return physical.Reading{Value: physical.IntOf(int64(value)), Raw: []byte{value}, Quality: physical.Good, Started: base.Add(at), At: base.Add(at)}
	}
	bad := physical.BadReading(physical.CauseOffline, "", base.Add(4*time.Second), base.Add(4*time.Second))
	tests := map[string]struct {
		looks         []physical.Reading
		now           time.Duration
		alive, frozen bool
	}{
		"nothing":                      {},
		"one look":                     {looks: []physical.Reading{look(0, 1)}},
		"a move":                       {looks: []physical.Reading{look(0, 1), look(time.Second, 2)}, now: 3 * time.Second, alive: true},
		"a move long ago":              {looks: []physical.Reading{look(0, 1), look(time.Second, 2)}, now: 4 * time.Second},
		"standing, but not for long":   {looks: []physical.Reading{look(0, 1), look(2*time.Second, 1)}, now: 2 * time.Second},
		"standing":                     {looks: []physical.Reading{look(0, 1), look(2001*time.Millisecond, 1)}, now: 3 * time.Second, frozen: true},
		"looks too far apart":          {looks: []physical.Reading{look(0, 1), look(time.Minute, 2)}, now: time.Minute},
		"frozen, then too far apart":   {looks: []physical.Reading{look(0, 1), look(3*time.Second, 1), look(time.Minute, 2)}, now: time.Minute},
		"a counter that starts again":  {looks: []physical.Reading{look(0, 255), look(time.Second, 0)}, now: time.Second, alive: true},
		"a bad reading proves nothing": {looks: []physical.Reading{look(0, 1), look(time.Second, 1), bad}, now: 4 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tr := tracker{counter: "A.beat", within: 2 * time.Second}
			for _, r := range tt.looks {
				tr.observe(r)
			}
			if l := tr.state(base.Add(tt.now)); l.Alive != tt.alive || l.Frozen != tt.frozen {
				t.Errorf("got %+v", l)
			}
		})
	}
}
