package hal_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"capd/internal/hal"
	"capd/internal/physical"
)

// promptWire is a wire that ends a read with its context. Its transactions take a millisecond unless told otherwise.
type promptWire struct{ *wire }

func (promptWire) Prompt() bool { return true }

// quickLink is a link whose wire was seen to be quick, so that reads run in their callers' goroutines.
func quickLink(t *testing.T, o hal.LinkOptions) (*hal.Link, promptWire) {
	t.Helper()
	w := promptWire{newWire(time.Millisecond)}
	l := hal.NewLink("NET", w, o)
	if s := l.Read(t.Context(), "A", points("warm")); s[0].Err != nil {
		t.Fatal(s[0].Err)
	}
	w.log = nil
	return l, w
}

// The one thing a caller can tell by: the wire of a read in its own goroutine is free as soon as the caller has left.
func TestACallerThatLeavesItsReadOnAQuickWireFreesTheWireAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := quickLink(t, hal.LinkOptions{})
		defer closeLink(t, l)
		w.took = time.Hour
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		started := time.Now()
		s := l.Read(ctx, "A", points("left"))
		if took := time.Since(started); took != time.Second {
			t.Errorf("returned after %v", took)
		}
		if e := hal.AsError(s[0].Err); e == nil || e.Kind != hal.Timeout || !e.MaySent {
			t.Errorf("got %v", s[0].Err)
		}
		w.took = time.Millisecond
		if s := l.Poll(t.Context(), "A", points("next")); s[0].Err != nil {
			t.Errorf("the device is blamed for a caller that left: %v", s[0].Err)
		}
		if took := time.Since(started); took != time.Second+time.Millisecond {
			t.Errorf("the wire was free after %v", took)
		}
		if n := len(l.Stats().BackedOff); n != 0 {
			t.Errorf("%d devices are backed off", n)
		}
	})
}

func TestACallerThatLeavesItsReadOnAnotherWireDoesNotDisturbIt(t *testing.T) {
	slow := func(l *hal.Link, w *wire) { w.took = time.Second; l.Read(context.Background(), "A", points("slow")) }
	silent := func(l *hal.Link, w *wire) {
		w.setFail("DEAD", hal.Timeout)
		l.Read(context.Background(), "DEAD", points("x"))
	}
	usual := func(*hal.Link, *wire) {}
	for name, k := range map[string]struct {
		conn    func(*wire) hal.Conn
		prepare func(*hal.Link, *wire)
	}{
		"slow":           {func(w *wire) hal.Conn { return promptWire{w} }, slow},
		"was silent":     {func(w *wire) hal.Conn { return promptWire{w} }, silent},
		"is not prompt":  {func(w *wire) hal.Conn { return w }, usual},
		"cannot be so":   {func(w *wire) hal.Conn { return hesitant{w} }, usual},
		"never answered": {func(w *wire) hal.Conn { return promptWire{w} }, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWire(time.Millisecond)
			l := hal.NewLink("NET", k.conn(w), hal.LinkOptions{})
			defer closeLink(t, l)
			if k.prepare != nil {
				l.Read(t.Context(), "A", points("warm"))
				k.prepare(l, w)
			}
			before := l.Stats()
			w.took = time.Second
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			started := time.Now()
			l.Read(ctx, "A", points("left"))
			if took := time.Since(started); took != time.Millisecond {
				t.Errorf("%s: the caller got away after %v", name, took)
			}
			l.Read(t.Context(), "A", points("next"))
			if s := l.Stats(); s.Failed != before.Failed || s.Busy-before.Busy != 2*time.Second {
				t.Errorf("%s: the read was cut short: %+v", name, s)
			}
		})
	}
}

// hesitant is a wire that could be prompt and is not.
type hesitant struct{ *wire }

func (hesitant) Prompt() bool { return false }

func TestADeadlineEndsAReadOnAQuickWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := quickLink(t, hal.LinkOptions{})
		defer closeLink(t, l)
		w.took = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		started := time.Now()
		s := l.Read(ctx, "A", points("x"))
		if took := time.Since(started); took != time.Second || kindOf(t, s[0].Err) != hal.Timeout {
			t.Errorf("%v after %v", s[0].Err, took)
		}
		if _, known := l.Stats().BackedOff["A"]; !known {
			t.Error("a device that was silent until the deadline is not backed off")
		}
		if s := l.Poll(t.Context(), "A", points("x")); !isBackedOff(s[0].Err) {
			t.Errorf("its poll: %v", s[0].Err)
		}
	})
}

func isBackedOff(err error) bool {
	_, ok := errors.AsType[*hal.BackedOffError](err)
	return ok
}

func TestWhatComesDuringAReadOnAQuickWireQueuesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := quickLink(t, hal.LinkOptions{})
		defer closeLink(t, l)
		w.took = time.Second
		var all sync.WaitGroup
		all.Go(func() { l.Read(t.Context(), "A", points("first")) })
		synctest.Wait()
		all.Go(func() { l.Poll(t.Context(), "A", points("poll")) })
		synctest.Wait()
		all.Go(func() { l.Read(t.Context(), "A", points("call")) })
		synctest.Wait()
		all.Go(func() { l.Write(t.Context(), "A", place("set"), physical.IntOf(1)) })
		synctest.Wait()
		if got := l.Stats().Depth; got != 3 {
			t.Errorf("depth %d, want 3 waiting", got)
		}
		all.Wait()
		want := []string{"read A first", "write A set", "read A call", "read A poll"}
		if got := w.seen(); !slices.Equal(got, want) || w.atOnce() != 1 {
			t.Errorf("order (%d at once)\n got %v\nwant %v", w.atOnce(), got, want)
		}
	})
}

// A caller that reads without a pause leaves a turn to whatever waits behind it.
func TestACallerThatKeepsReadingStarvesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := quickLink(t, hal.LinkOptions{})
		defer closeLink(t, l)
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			for ctx.Err() == nil {
				l.Read(ctx, "A", points("mine"))
			}
		})
		var longest time.Duration
		for i := range 100 {
			time.Sleep(time.Duration(i) * 100 * time.Microsecond)
			started := time.Now()
			var s []hal.Sample
			if i%2 == 0 {
				s = l.Poll(t.Context(), "B", points("theirs"))
			} else {
				s = l.Read(t.Context(), "C", points("theirs"))
			}
			if s[0].Err != nil {
				t.Fatal(s[0].Err)
			}
			longest = max(longest, time.Since(started))
		}
		stop()
		all.Wait()
		if longest > 3*time.Millisecond { // the read under way, one more, its own
			t.Errorf("one waited %v", longest)
		}
		if n := w.atOnce(); n != 1 {
			t.Errorf("%d transactions at once", n)
		}
	})
}

func TestADeadUnitOnAQuickWireDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := quickLink(t, hal.LinkOptions{})
		defer closeLink(t, l)
		w.setFail("DEAD", hal.Timeout)
		for range 100 {
			l.Poll(t.Context(), "DEAD", points("x"))
			started := time.Now()
			if s := l.Read(t.Context(), "A", points("y")); s[0].Err != nil || time.Since(started) > time.Millisecond {
				t.Fatalf("%v after %v", s[0].Err, time.Since(started))
			}
		}
		if n := l.Stats().Errors[hal.Timeout]; n > 2 {
			t.Errorf("%d polls went to the dead unit", n)
		}
	})
}

func TestReadsOnAQuickWireAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := time.Now()
		l, w := quickLink(t, hal.LinkOptions{})
		defer closeLink(t, l)
		for range 9 {
			l.Read(t.Context(), "A", points("x"))
		}
		ended := time.Now()
		w.setFail("A", hal.Exception)
		l.Read(t.Context(), "A", points("x"))
		s := l.Stats()
		if s.Transactions != 11 || s.Failed != 1 || s.Errors[hal.Exception] != 1 || s.Busy != 11*time.Millisecond || s.Latency != time.Millisecond ||
			s.MaxLatency != time.Millisecond || !s.LastOK.Equal(ended) || !s.Since.Equal(opened) {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestCloseWaitsForAReadInItsCallersGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := quickLink(t, hal.LinkOptions{})
		w.took = time.Second
		var reading, waiting error
		var all sync.WaitGroup
		all.Go(func() { reading = l.Read(t.Context(), "A", points("x"))[0].Err })
		synctest.Wait()
		all.Go(func() { _, waiting = l.Write(t.Context(), "A", place("set"), physical.IntOf(1)) })
		synctest.Wait()
		started := time.Now()
		closeLink(t, l)
		if took := time.Since(started); took != 2*time.Second || !w.ended {
			t.Errorf("closed after %v (conn ended %v)", took, w.ended)
		}
		all.Wait()
		if reading != nil || waiting != nil {
			t.Errorf("what was under way failed: %v, %v", reading, waiting)
		}
	})
}

func TestAClosedLinkUsesItsQuickWireNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := quickLink(t, hal.LinkOptions{})
		closeLink(t, l)
		if s := l.Read(t.Context(), "A", points("late")); kindOf(t, s[0].Err) != hal.Closed || len(w.seen()) != 0 {
			t.Errorf("%v, the wire saw %v", s[0].Err, w.seen())
		}
	})
}

func TestCloseThatMayNotWaitCutsAReadInItsCallersGoroutine(t *testing.T) {
	for _, name := range []string{"a caller that may leave", "a caller that never leaves"} {
		synctest.Test(t, func(t *testing.T) {
			l, w := quickLink(t, hal.LinkOptions{})
			w.took = time.Hour
			ctx := t.Context()
			if name == "a caller that never leaves" {
				ctx = context.WithoutCancel(ctx)
			}
			var all sync.WaitGroup
			var reading error
			all.Go(func() { reading = l.Read(ctx, "A", points("x"))[0].Err })
			synctest.Wait()
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			started := time.Now()
			if err := l.Close(short); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: close: %v", name, err)
			}
			all.Wait()
			if took := time.Since(started); took != time.Second || kindOf(t, reading) != hal.Timeout || !w.ended {
				t.Errorf("%s: %v after %v (conn ended %v)", name, reading, took, w.ended)
			}
		})
	}
}

func TestReadsOnAQuickWireKeepItFromBeingIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := promptWire{newWire(time.Millisecond)}
		w.idle = time.Minute
		l := hal.NewLink("NET", w, hal.LinkOptions{})
		defer closeLink(t, l)
		for _, want := range []int{1, 2} {
			for range 100 {
				l.Read(t.Context(), "A", points("x"))
				time.Sleep(50 * time.Second)
			}
			time.Sleep(9 * time.Second)
			if n := w.told(); n != want-1 {
				t.Errorf("told %d times too early", n-want+1)
			}
			time.Sleep(2 * time.Second)
			if n := w.told(); n != want {
				t.Errorf("told %d times, want %d", n, want)
			}
			time.Sleep(time.Hour)
		}
	})
}

// curious is a quick wire that does with its context what drivers do.
type curious struct {
	promptWire
	look func(ctx context.Context)
}

func (c curious) Read(ctx context.Context, device string, at []hal.Address) []hal.Sample {
	if c.look != nil {
		c.look(ctx)
	}
	return c.promptWire.Read(ctx, device, at)
}

type key struct{}

func TestTheContextOfAReadInItsCallersGoroutineIsTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &curious{promptWire: promptWire{newWire(time.Millisecond)}}
		l := hal.NewLink("NET", w, hal.LinkOptions{})
		defer closeLink(t, l)
		l.Read(t.Context(), "A", points("warm"))
		why := errors.New("the operator went home")
		base, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "mine"))
		ctx, stop := context.WithTimeout(base, time.Hour)
		defer stop()
		w.look = func(inner context.Context) {
			want, _ := ctx.Deadline()
			if d, ok := inner.Deadline(); !ok || !d.Equal(want) || inner.Value(key{}) != "mine" || inner.Err() != nil {
				t.Errorf("deadline %v %v, value %v, error %v", d, ok, inner.Value(key{}), inner.Err())
			}
			child, end := context.WithTimeout(inner, time.Minute)
			defer end()
			var called bool
			context.AfterFunc(child, func() { called = true })
			time.AfterFunc(time.Second, func() { cancel(why) })
			<-child.Done()
			<-inner.Done()
			synctest.Wait()
			if !called || child.Err() != context.Canceled || inner.Err() != context.Canceled || context.Cause(inner) != why || context.Cause(child) != why {
				t.Errorf("called %v, %v, %v, causes %v, %v", called, child.Err(), inner.Err(), context.Cause(inner), context.Cause(child))
			}
		}
		l.Read(ctx, "A", points("x"))
	})
}

func TestInterruptEndsWaitingWithAnyContext(t *testing.T) {
	for _, early := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			waitInterrupted(t, ctx, cancel, early)

			w := &curious{promptWire: promptWire{newWire(time.Millisecond)}}
			l := hal.NewLink("NET", w, hal.LinkOptions{})
			defer closeLink(t, l)
			l.Read(t.Context(), "A", points("warm"))
			ctx, cancel = context.WithCancel(t.Context())
			w.look = func(inner context.Context) { waitInterrupted(t, inner, cancel, early) }
			l.Read(ctx, "A", points("x"))
		})
	}
	a, b := net.Pipe()
	defer b.Close()
	hal.Interrupt(context.Background(), a)()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// waitInterrupted waits on a stream until cancel, which ends ctx, and uses the stream again after release.
func waitInterrupted(t *testing.T, ctx context.Context, cancel func(), early bool) {
	t.Helper()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if early {
		cancel()
		<-ctx.Done()
	} else {
		time.AfterFunc(time.Second, cancel)
	}
	release := hal.Interrupt(ctx, a)
	var timeout net.Error
	if _, err := a.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("ended early %v: %v", early, err)
	}
	release()
	if err := a.SetDeadline(time.Time{}); err != nil {
		t.Error(err)
	}
	go b.Write([]byte{7})
	if n, err := a.Read(make([]byte, 1)); n != 1 {
		t.Errorf("ended early %v, after release: %v", early, err)
	}
}

// Many callers with and without patience, over a wire that takes no time: one at a time, and everybody gets an answer of his own.
func TestManyCallersShareAQuickWire(t *testing.T) {
	w := promptWire{newWire(0)}
	l := hal.NewLink("NET", w, hal.LinkOptions{Queue: 1000})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				if (n+i)%3 == 0 {
					go cancel()
				}
				name := fmt.Sprint("p", i)
				switch (n + i) % 4 {
				case 0:
					_, _ = l.Write(ctx, name, place(name), physical.IntOf(1))
				case 1:
					l.Poll(ctx, name, points(name))
				default:
					s := l.Read(ctx, name, points(name, name))
					if e := hal.AsError(s[0].Err); len(s) != 2 || e != nil && (e.Device != name || e.Op != "read "+name) {
						t.Errorf("%d samples, %v", len(s), s[0].Err)
					}
				}
				l.Stats()
				cancel()
			}
		})
	}
	all.Wait()
	closeLink(t, l)
	if w.atOnce() > 1 || !w.ended || l.Stats().Depth != 0 {
		t.Errorf("%d transactions at once, ended %v, stats %+v", w.atOnce(), w.ended, l.Stats())
	}
}
