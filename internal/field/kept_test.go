package field

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"capd/internal/hal"
	"capd/internal/physical"
)

func TestAKeptReadingGoesStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := twoLinksFake()
		field := start(t, f, Options{}, strings.Replace(twoLinks, "y: {at: {place: 2}", "y: {update: 4s, at: {place: 2}", 1))
		if _, ok := field.Last("A.y"); ok {
			t.Error("there is a last reading before the first")
		}
		field.Read(t.Context(), []string{"A.x", "A.y"})
		time.Sleep(5 * time.Second)
		for _, ref := range []string{"A.x", "A.y"} {
			if r, ok := field.Last(ref); !ok || !r.Good() {
				t.Errorf("after 5s %s is %+v", ref, r)
			}
		}
		time.Sleep(time.Millisecond)
		if r, _ := field.Last("A.x"); r.Quality != physical.Bad || r.Cause != physical.CauseStale || r.Value.String() != "1.5" || r.Detail != "measured 5.001s ago, older than 5s" {
			t.Errorf("without update: %+v", r)
		}
		time.Sleep(7 * time.Second)
		if r, _ := field.Last("A.y"); r.Cause != physical.CauseStale {
			t.Errorf("after three updates: %+v", r)
		}
		bad := 0
		for _, link := range field.Stats() {
			for _, d := range link.Devices {
				bad += d.Bad
			}
		}
		if bad != 1 { // A.x is only read when somebody asks
			t.Errorf("%d points need a look", bad)
		}
	})
}

func TestACachedReadAsksOnlyForWhatIsTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := twoLinksFake()
		field := start(t, f, Options{}, twoLinks)
		read := func(maxAge time.Duration, refs ...string) (asked int) {
			before := len(f.seen())
			for ref, r := range field.ReadCached(t.Context(), refs, maxAge) {
				if !r.Good() || r.Value.IsZero() {
					t.Errorf("%s is %+v", ref, r)
				}
			}
			for _, b := range f.seen()[before:] {
				asked += b.points
			}
			return asked
		}
		if n := read(time.Second, "A.x"); n != 1 {
			t.Errorf("never read: asked for %d points", n)
		}
		time.Sleep(time.Second)
		if n := read(time.Second, "A.x", "A.y", "A.f"); n != 2 {
			t.Errorf("one of three is young: asked for %d points", n)
		}
		time.Sleep(time.Second)
		if n := read(time.Second, "A.x", "A.y"); n != 1 {
			t.Errorf("one of two is too old: asked for %d points", n)
		}
		time.Sleep(time.Millisecond)
		if n := read(0, "A.y"); n != 1 {
			t.Errorf("no age allowed: asked for %d points", n)
		}
		time.Sleep(6 * time.Second)
		if n := read(time.Hour, "A.y"); n != 1 {
			t.Errorf("stale, whatever the caller allows: asked for %d points", n)
		}
	})
}

func TestAWriteEndsTheYouthOfItsDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := twoLinksFake()
		field := start(t, f, Options{}, twoLinks)
		field.Read(t.Context(), []string{"A.x", "A.f"})
		time.Sleep(time.Millisecond)
		if _, err := field.Write(t.Context(), "A.x", number("9.9")); err != nil {
			t.Fatal(err)
		}
		got := field.ReadCached(t.Context(), []string{"A.x", "A.f"}, time.Minute)
		if r := got["A.x"]; r.Value.String() != "9.9" {
			t.Errorf("read %s from before the write", r.Value)
		}
		if n := len(f.seen()); n != 3 {
			t.Errorf("%d batches: the other device was read again", n)
		}
	})
}

func TestManyCallersCostOneRead(t *testing.T) {
	tests := map[string]struct {
		maxAge time.Duration
		reads  int
	}{"what the first one reads is young enough": {time.Minute, 1}, "what the first one asked is too old, so the second serves all others": {-1, 2}}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := twoLinksFake()
				f.latency = time.Second
				field := start(t, f, Options{}, twoLinks)
				var wg sync.WaitGroup
				call := func() {
					if r := field.ReadCached(t.Context(), []string{"A.y"}, tt.maxAge)["A.y"]; !r.Good() {
						t.Errorf("got %+v", r)
					}
				}
				wg.Go(call)
				time.Sleep(time.Millisecond)
				for range 50 {
					wg.Go(call)
				}
				wg.Wait()
				if n := len(f.seen()); n != tt.reads {
					t.Errorf("%d reads, want %d", n, tt.reads)
				}
			})
		})
	}
}

func TestACallerMayGiveUpWithoutHarmToTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := twoLinksFake()
		f.latency = time.Second
		field := start(t, f, Options{}, twoLinks)
		leader, cancelLeader := context.WithCancel(t.Context())
		waiter, cancelWaiter := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, ctx := range []context.Context{leader, waiter} {
			wg.Go(func() {
				if r := field.ReadCached(ctx, []string{"A.y"}, 0)["A.y"]; r.Cause != physical.CauseOffline || !strings.Contains(r.Detail, "gave up") {
					t.Errorf("the caller that gave up got %+v", r)
				}
			})
			synctest.Wait()
		}
		wg.Go(func() {
			if r := field.ReadCached(t.Context(), []string{"A.y"}, 0)["A.y"]; !r.Good() {
				t.Errorf("the patient caller got %+v", r)
			}
		})
		synctest.Wait()
		cancelWaiter()
		synctest.Wait()
		cancelLeader()
		wg.Wait()
	})
}

func TestASilentDeviceIsNotAskedByEveryCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := twoLinksFake()
		field := start(t, f, Options{}, twoLinks)
		f.breakDown("D", &hal.Error{Kind: hal.Timeout, MaySent: true})
		for range 10 {
			if r := field.ReadCached(t.Context(), []string{"A.y"}, time.Second)["A.y"]; r.Cause != physical.CauseOffline {
				t.Errorf("got %+v", r)
			}
		}
		if n := len(f.seen()); n != 1 {
			t.Errorf("%d reads", n)
		}
	})
}

func TestALateAnswerDoesNotReplaceALaterOne(t *testing.T) {
	b := bound(t, newFake(), twoLinks)
	d := newDevice(b.devices["D"], nil)
	now := time.Now()
	d.keep("A.y", physical.Reading{Value: physical.IntOf(2), Quality: physical.Good, Started: now, At: now})
	d.keep("A.y", physical.Reading{Value: physical.IntOf(1), Quality: physical.Good, Started: now.Add(-time.Second), At: now.Add(time.Second)})
	if r, _ := d.lastOf(b.Point("A.y"), now); r.Value.String() != "2" {
		t.Errorf("got %s", r.Value)
	}
}
