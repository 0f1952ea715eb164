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

// changed applies twoLinks with one text replaced.
func changed(t testing.TB, f *fakeDriver, field *Field, from, to string) {
	t.Helper()
	if !strings.Contains(twoLinks, from) {
		t.Fatalf("no %q to replace", from)
	}
	if err := field.Apply(t.Context(), bound(t, f, strings.Replace(twoLinks, from, to, 1))); err != nil {
		t.Fatal(err)
	}
}

func TestABindingKeepsWhatItDoesNotChange(t *testing.T) {
	tests := map[string]struct {
		from, to     string
		opened       int
		keptX, keptF bool
	}{
		"nothing changed":          {"role: status", "role: status", 2, true, true},
		"an envelope changed":      {"role: setpoint, access: read_write", "role: setpoint, access: read_write, envelope: {max: 9}", 2, true, true},
		"a scale changed":          {"scale: 0.1", "scale: 0.2", 2, false, true},
		"an address changed":       {"y: {at: {place: 2}", "y: {at: {place: 3}", 2, false, true},
		"a liveness was added":     {"D: {link: L}", "D: {link: L, liveness: {point: A.y, within: 1s}}", 2, false, true},
		"a link's option changed":  {"port: 1", "port: 3", 3, false, true},
		"a device's option":        {"E: {link: L}", "E: {link: L, unit: 2}", 3, false, true},
		"a device joined the link": {"E: {link: L}", "E: {link: L}, G: {link: L}", 3, false, true},
		"a link was renamed":       {"M: {transport: fake, port: 2}\ndevices: {D: {link: L}, E: {link: L}, F: {link: M}}", "N: {transport: fake, port: 2}\ndevices: {D: {link: L}, E: {link: L}, F: {link: N}}", 3, true, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := twoLinksFake()
			field := start(t, f, Options{}, twoLinks)
			refs := []string{"A.x", "A.f"}
			field.Read(t.Context(), refs)
			changed(t, f, field, tt.from, tt.to)
			_, keptX := field.Last("A.x")
			_, keptF := field.Last("A.f")
			if keptX != tt.keptX || keptF != tt.keptF {
				t.Errorf("kept readings: of D %t, of F %t", keptX, keptF)
			}
			for ref, r := range field.Read(t.Context(), refs) {
				if !r.Good() {
					t.Errorf("%s is %+v", ref, r)
				}
			}
			if opened, open, _ := f.counts(); opened != tt.opened || open != 2 {
				t.Errorf("%d opened, %d open", opened, open)
			}
		})
	}
}

func TestAPointThatIsGoneIsUnknown(t *testing.T) {
	f := twoLinksFake()
	field := start(t, f, Options{}, twoLinks)
	field.Read(t.Context(), []string{"A.y"})
	changed(t, f, field, "      y: {at: {place: 2}, role: status}\n", "")
	if r := field.Read(t.Context(), []string{"A.y"})["A.y"]; !strings.Contains(r.Detail, "there is no point") {
		t.Errorf("got %+v", r)
	}
	if _, ok := field.Last("A.y"); ok {
		t.Error("its last reading is still there")
	}
}

func TestAChangedLinkFinishesWhatRunsThenReopens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := twoLinksFake()
		f.latency = time.Second
		field := start(t, f, Options{}, twoLinks)
		var wg sync.WaitGroup
		wg.Go(func() {
			if ack, err := field.Write(t.Context(), "A.x", number("2.5")); err != nil || len(ack.Raw) == 0 {
				t.Errorf("the running write: %+v, %v", ack, err)
			}
		})
		wg.Go(func() {
			if r := field.Read(t.Context(), []string{"A.y"})["A.y"]; !r.Good() {
				t.Errorf("the waiting read: %+v", r)
			}
		})
		synctest.Wait()
		time.Sleep(500 * time.Millisecond)
		wg.Go(func() { changed(t, f, field, "port: 1", "port: 3") })
		synctest.Wait()
		began := time.Now()
		r := field.Read(t.Context(), []string{"A.y"})["A.y"]
		if took := time.Since(began); !r.Good() || took != 2500*time.Millisecond {
			t.Errorf("the read under the new binding: %+v after %s", r, took)
		}
		wg.Wait()
		if f.most != 1 {
			t.Errorf("%d connections of one link were open at a time", f.most)
		}
	})
}

func TestARenamedLinkWaitsForItsWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := twoLinksFake()
		f.latency = time.Second
		field := start(t, f, Options{}, twoLinks)
		var wg sync.WaitGroup
		wg.Go(func() { field.Read(t.Context(), []string{"A.f"}) })
		synctest.Wait()
		wg.Go(func() {
			changed(t, f, field, "M: {transport: fake, port: 2}\ndevices: {D: {link: L}, E: {link: L}, F: {link: M}}",
				"N: {transport: fake, port: 2}\ndevices: {D: {link: L}, E: {link: L}, F: {link: N}}")
		})
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if r := field.Read(short, []string{"A.f"})["A.f"]; !strings.Contains(r.Detail, "link N: gave up while the wire's former link was draining") {
			t.Errorf("an impatient read: %+v", r)
		}
		if r := field.Read(t.Context(), []string{"A.f"})["A.f"]; !r.Good() || f.most != 1 {
			t.Errorf("a patient read: %+v with %d connections", r, f.most)
		}
		wg.Wait()
	})
}

func TestAnApplyThatRunsOutOfTimeCutsTheOldLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := twoLinksFake()
		f.latency = time.Hour
		field := start(t, f, Options{}, twoLinks)
		var wg sync.WaitGroup
		wg.Go(func() {
			if r := field.Read(t.Context(), []string{"A.y"})["A.y"]; r.Quality != physical.Bad {
				t.Errorf("the cut read: %+v", r)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := field.Apply(ctx, bound(t, f, strings.Replace(twoLinks, "port: 1", "port: 3", 1)))
		if err == nil || !strings.Contains(err.Error(), "link L was cut short") {
			t.Errorf("got %v", err)
		}
		wg.Wait()
		f.latency = 0
		if r := field.Read(t.Context(), []string{"A.y"})["A.y"]; !r.Good() {
			t.Errorf("under the new binding: %+v", r)
		}
	})
}

func TestApplyGivesUpWhileAnotherOneDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := twoLinksFake()
		f.latency = 10 * time.Second
		field := start(t, f, Options{}, twoLinks)
		var wg sync.WaitGroup
		wg.Go(func() { field.Read(t.Context(), []string{"A.y"}) })
		synctest.Wait()
		wg.Go(func() { changed(t, f, field, "port: 1", "port: 3") })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := field.Apply(ctx, bound(t, f, twoLinks)); err == nil {
			t.Error("it did not give up")
		}
		wg.Wait()
	})
}

// TestNoTransactionIsLostToNewBindings reads and writes while bindings change as fast as they can.
func TestNoTransactionIsLostToNewBindings(t *testing.T) {
	f := twoLinksFake()
	field := start(t, f, Options{Poll: true}, twoLinks)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				for ref, r := range field.Read(t.Context(), []string{"A.x", "A.e", "A.f"}) {
					if !r.Good() {
						t.Errorf("%s: %+v", ref, r)
					}
				}
				if _, err := field.Write(t.Context(), "A.w", physical.IntOf(1)); err != nil {
					t.Error(err)
				}
				field.ReadCached(t.Context(), []string{"A.y", "A.f"}, time.Millisecond)
				field.Stats()
			}
		})
	}
	for i := range 60 {
		changed(t, f, field, "port: 1", []string{"port: 1", "port: 3"}[i%2])
	}
	close(done)
	wg.Wait()
}

func TestALinkCutBeforeItOpensStaysClosed(t *testing.T) {
	f := twoLinksFake()
	b := bound(t, f, twoLinks)
	l := newLine(b.lines["L"], nil)
	l.acquire()
	l.retire()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.drain(ctx); err != nil {
		t.Fatal(err)
	}
	if _, e := l.open(t.Context()); e == nil || e.Kind != hal.Closed || e.MaySent {
		t.Errorf("got %v", e)
	}
	if _, open, _ := f.counts(); open != 0 {
		t.Errorf("%d connections are open", open)
	}
	l.release()
}
