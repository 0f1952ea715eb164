package hal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"capd/internal/hal"
	"capd/internal/physical"
)

// place is an address of the fake wire.
type place string

func (p place) String() string                        { return string(p) }
func (p place) Kind() physical.Kind                   { return physical.Number }
func (p place) Integer() bool                         { return true }
func (p place) Encode(physical.Value) ([]byte, error) { return []byte{1}, nil }
func (p place) Overlaps(hal.Address) bool             { return false }

// wire is a Conn whose transactions take time; devices listed in fails answer with that kind of error.
type wire struct {
	took  time.Duration
	deaf  bool // ignores its context
	mu    sync.Mutex
	log   []string
	fails map[string]hal.ErrorKind
	busy  int
	most  int
	ended bool
	idle  time.Duration
	idled int
}

func (w *wire) step(ctx context.Context, what string, device string, at hal.Address) *hal.Error {
	w.mu.Lock()
	w.log = append(w.log, what+" "+device+" "+at.String())
	w.busy++
	w.most = max(w.most, w.busy)
	kind := w.fails[device]
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.busy--
		w.mu.Unlock()
	}()
	if w.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	select {
	case <-time.After(w.took):
	case <-ctx.Done():
		kind = hal.Timeout
	}
	if kind != 0 {
		return &hal.Error{Kind: kind, MaySent: kind != hal.Unreachable, Device: device, Op: what + " " + at.String()}
	}
	return nil
}

func (w *wire) Read(ctx context.Context, device string, at []hal.Address) []hal.Sample {
	out := make([]hal.Sample, len(at))
	started := time.Now()
	e := w.step(ctx, "read", device, at[0])
	for i := range at {
		out[i] = hal.Sample{Value: physical.IntOf(int64(i)), Raw: []byte{byte(i)}, Started: started, At: time.Now(), Quality: physical.Good}
		if e != nil {
			out[i] = hal.FailedSample(e, started)
		}
	}
	return out
}

func (w *wire) Write(ctx context.Context, device string, at hal.Address, raw physical.Value) (hal.Ack, error) {
	started := time.Now()
	if e := w.step(ctx, "write", device, at); e != nil {
		return hal.Ack{}, e
	}
	return hal.Ack{Raw: []byte{1}, Started: started, At: time.Now()}, nil
}

func (w *wire) Close() error             { w.ended = true; return nil }
func (w *wire) IdleAfter() time.Duration { return w.idle }

func (w *wire) Idle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idled++
}

// told is how often the wire was told that it is idle.
func (w *wire) told() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.idled
}

// atOnce is how many transactions ran at one time.
func (w *wire) atOnce() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}

func (w *wire) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}

func (w *wire) setFail(device string, k hal.ErrorKind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fails[device] = k
}

func newWire(took time.Duration) *wire {
	return &wire{took: took, fails: map[string]hal.ErrorKind{}}
}

func closeLink(t *testing.T, l *hal.Link) {
	t.Helper()
	if err := l.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
}

func points(names ...string) []hal.Address {
	var out []hal.Address
	for _, n := range names {
		out = append(out, place(n))
	}
	return out
}

func kindOf(t *testing.T, err error) hal.ErrorKind {
	t.Helper()
	e := hal.AsError(err)
	if e == nil {
		t.Fatalf("%v is no *hal.Error", err)
	}
	return e.Kind
}

func TestTransactionsRunOneAtATimeWritesFirstThenCallsThenPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(10 * time.Millisecond)
		l := hal.NewLink("BUS", w, hal.LinkOptions{})
		defer closeLink(t, l)
		var all sync.WaitGroup
		all.Go(func() { l.Read(t.Context(), "A", points("first")) })
		synctest.Wait()
		for i := range 3 {
			all.Go(func() { l.Poll(t.Context(), "A", points(fmt.Sprint("poll", i))) })
			synctest.Wait()
			all.Go(func() { l.Read(t.Context(), "A", points(fmt.Sprint("call", i))) })
			synctest.Wait()
			all.Go(func() { l.Write(t.Context(), "A", place(fmt.Sprint("set", i)), physical.IntOf(1)) })
			synctest.Wait()
		}
		if got := l.Stats().Depth; got != 9 {
			t.Errorf("depth %d, want 9 waiting", got)
		}
		all.Wait()
		want := []string{"read A first", "write A set0", "write A set1", "write A set2", "read A call0", "read A call1", "read A call2",
			"read A poll0", "read A poll1", "read A poll2"}
		if got := w.seen(); !slices.Equal(got, want) {
			t.Errorf("order\n got %v\nwant %v", got, want)
		}
		if n := w.atOnce(); n != 1 {
			t.Errorf("%d transactions at once", n)
		}
		s := l.Stats()
		if s.Transactions != 10 || s.Failed != 0 || s.Busy != 100*time.Millisecond || s.MaxLatency != 10*time.Millisecond || s.LastOK.IsZero() {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestAFullQueueRefusesWithoutSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(time.Second)
		l := hal.NewLink("BUS", w, hal.LinkOptions{Queue: 2})
		defer closeLink(t, l)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { l.Poll(t.Context(), "A", points("p")) })
			synctest.Wait()
		}
		s := l.Poll(t.Context(), "A", points("x", "y"))
		for i, name := range []string{"x", "y"} {
			e := hal.AsError(s[i].Err)
			if e == nil || e.Kind != hal.QueueFull || e.MaySent || e.Device != "A" || e.Op != "read "+name {
				t.Errorf("sample %d: %+v", i, s[i])
			}
			if s[i].Quality != physical.Bad || s[i].Detail == "" {
				t.Errorf("sample %d is not marked bad: %+v", i, s[i])
			}
		}
		if _, err := l.Write(t.Context(), "A", place("stop"), physical.IntOf(0)); err != nil {
			t.Errorf("polls filled the queue of writes: %v", err)
		}
		all.Wait()
		if l.Stats().Errors[hal.QueueFull] != 1 {
			t.Errorf("stats %+v", l.Stats())
		}
	})
}

func TestACallerThatLeavesTheQueueSurelySentNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(time.Second)
		l := hal.NewLink("BUS", w, hal.LinkOptions{})
		defer closeLink(t, l)
		go l.Read(t.Context(), "A", points("long"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		started := time.Now()
		_, err := l.Write(ctx, "A", place("set"), physical.IntOf(1))
		e := hal.AsError(err)
		if e == nil || e.Kind != hal.Timeout || e.MaySent || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(started); took != 100*time.Millisecond {
			t.Errorf("returned after %v", took)
		}
		time.Sleep(3 * time.Second)
		if got := w.seen(); !slices.Equal(got, []string{"read A long"}) {
			t.Errorf("the wire saw %v", got)
		}
	})
}

func TestACancelledCallerDoesNotStopItsWriteOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(time.Second)
		l := hal.NewLink("BUS", w, hal.LinkOptions{})
		defer closeLink(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		var err error
		var all sync.WaitGroup
		all.Go(func() { _, err = l.Write(ctx, "A", place("set"), physical.IntOf(1)) })
		synctest.Wait()
		cancel()
		all.Wait()
		if e := hal.AsError(err); e == nil || e.Kind != hal.Timeout || !e.MaySent || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		time.Sleep(2 * time.Second)
		if s := l.Stats(); s.Transactions != 1 || s.Failed != 0 {
			t.Errorf("the write was not completed: %+v", s)
		}
	})
}

func TestADeadlineReachesTheWireAndItsAnswerReachesTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(time.Second)
		w.fails["A"] = hal.Unreachable // MaySent false: more than the caller could know by itself
		l := hal.NewLink("BUS", w, hal.LinkOptions{})
		defer closeLink(t, l)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := l.Write(ctx, "A", place("set"), physical.IntOf(1))
		if e := hal.AsError(err); e == nil || e.Op != "write set" {
			t.Errorf("got %v", err)
		}
	})
}

func TestACallerIsFreedFromADriverThatIgnoresItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(time.Minute)
		w.deaf = true
		l := hal.NewLink("BUS", w, hal.LinkOptions{})
		defer closeLink(t, l)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		started := time.Now()
		s := l.Read(ctx, "A", points("x"))
		if took := time.Since(started); took > 2*time.Second {
			t.Errorf("returned after %v", took)
		}
		if kindOf(t, s[0].Err) != hal.Timeout {
			t.Errorf("got %v", s[0].Err)
		}
	})
}

func TestASilentDeviceBacksOffAndOthersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(100 * time.Millisecond)
		w.fails["DEAD"] = hal.Timeout
		l := hal.NewLink("BUS", w, hal.LinkOptions{})
		defer closeLink(t, l)
		l.Poll(t.Context(), "DEAD", points("x"))
		started := time.Now()
		s := l.Poll(t.Context(), "DEAD", points("x"))
		e, ok := errors.AsType[*hal.BackedOffError](s[0].Err)
		if !ok || time.Since(started) != 0 {
			t.Fatalf("got %v after %v", s[0].Err, time.Since(started))
		}
		if full := hal.AsError(s[0].Err); full.Kind != hal.Timeout || full.MaySent {
			t.Errorf("got %+v", full)
		}
		if wait := e.Until.Sub(started); wait != 500*time.Millisecond {
			t.Errorf("first pause %v", wait)
		}
		if s := l.Poll(t.Context(), "WELL", points("y")); s[0].Err != nil {
			t.Errorf("the neighbour suffers: %v", s[0].Err)
		}
		if l.Read(t.Context(), "DEAD", points("x")); w.seen()[2] != "read DEAD x" {
			t.Errorf("a call was not tried: %v", w.seen())
		}
		if _, known := l.Stats().BackedOff["DEAD"]; !known {
			t.Error("the stats hide the back-off")
		}
		w.setFail("DEAD", 0)
		time.Sleep(5 * time.Second)
		for range 2 {
			if s := l.Poll(t.Context(), "DEAD", points("x")); s[0].Err != nil {
				t.Errorf("still backed off: %v", s[0].Err)
			}
		}
	})
}

func TestADeadDeviceTakesLittleOfTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(time.Second)
		w.fails["DEAD"] = hal.Timeout
		l := hal.NewLink("BUS", w, hal.LinkOptions{})
		defer closeLink(t, l)
		for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); {
			l.Poll(t.Context(), "DEAD", points("x"))
			time.Sleep(250 * time.Millisecond)
		}
		if busy := l.Stats().Busy; busy > 30*time.Second {
			t.Errorf("%v of 10 min went to a dead device", busy)
		}
	})
}

func TestPollsThatWaitedBehindTheSilenceAreNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(time.Second)
		w.fails["DEAD"] = hal.Timeout
		l := hal.NewLink("BUS", w, hal.LinkOptions{})
		defer closeLink(t, l)
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { l.Poll(t.Context(), "DEAD", points("x")) })
		}
		all.Wait()
		if n := len(w.seen()); n != 1 {
			t.Errorf("%d polls were sent", n)
		}
	})
}

func TestAnUnreachableLinkBacksOffAllItsDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(time.Second)
		w.fails["A"] = hal.Unreachable
		l := hal.NewLink("NET", w, hal.LinkOptions{})
		defer closeLink(t, l)
		l.Poll(t.Context(), "A", points("x"))
		s := l.Poll(t.Context(), "B", points("x"))
		if kindOf(t, s[0].Err) != hal.Unreachable {
			t.Errorf("got %v", s[0].Err)
		}
		if s := l.Read(t.Context(), "B", points("x")); s[0].Err != nil {
			t.Errorf("a call was refused: %v", s[0].Err)
		}
		if s := l.Poll(t.Context(), "B", points("x")); s[0].Err != nil {
			t.Errorf("an answer did not end the back-off: %v", s[0].Err)
		}
	})
}

func TestARefusalIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(time.Millisecond)
		w.fails["A"] = hal.Exception
		l := hal.NewLink("BUS", w, hal.LinkOptions{})
		defer closeLink(t, l)
		for range 3 {
			l.Poll(t.Context(), "A", points("x"))
		}
		if s := l.Stats(); len(w.seen()) != 3 || s.Errors[hal.Exception] != 3 || s.Failed != 3 {
			t.Errorf("sent %d, stats %+v", len(w.seen()), s)
		}
	})
}

func TestCloseDrainsWritesAndCallsAndDropsPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(time.Second)
		l := hal.NewLink("BUS", w, hal.LinkOptions{})
		var all sync.WaitGroup
		errs := make([]error, 4)
		all.Go(func() { errs[0] = l.Read(t.Context(), "A", points("r"))[0].Err })
		synctest.Wait()
		all.Go(func() { _, errs[1] = l.Write(t.Context(), "A", place("w"), physical.IntOf(1)) })
		all.Go(func() { errs[2] = l.Poll(t.Context(), "A", points("p"))[0].Err })
		synctest.Wait()
		closeLink(t, l)
		all.Wait()
		errs[3] = l.Read(t.Context(), "A", points("late"))[0].Err
		if errs[0] != nil || errs[1] != nil {
			t.Errorf("what was under way failed: %v, %v", errs[0], errs[1])
		}
		for _, err := range errs[2:] {
			if e := hal.AsError(err); e == nil || e.Kind != hal.Closed || e.MaySent {
				t.Errorf("got %v", err)
			}
		}
		if !w.ended {
			t.Error("the conn is still open")
		}
		closeLink(t, l) // closing twice is harmless
	})
}

func TestCloseThatMayNotWaitCutsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(time.Hour)
		l := hal.NewLink("BUS", w, hal.LinkOptions{})
		var all sync.WaitGroup
		var running, waiting error
		all.Go(func() { _, running = l.Write(t.Context(), "A", place("w1"), physical.IntOf(1)) })
		synctest.Wait()
		all.Go(func() { _, waiting = l.Write(t.Context(), "A", place("w2"), physical.IntOf(1)) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v", err)
		}
		all.Wait()
		if e := hal.AsError(running); e == nil || !e.MaySent {
			t.Errorf("the write on the wire: %v", running)
		}
		if e := hal.AsError(waiting); e == nil || e.MaySent || e.Kind != hal.Closed {
			t.Errorf("the waiting write: %v", waiting)
		}
	})
}

func TestAnIdleConnIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(time.Millisecond)
		w.idle = time.Minute
		l := hal.NewLink("BUS", w, hal.LinkOptions{})
		l.Read(t.Context(), "A", points("x"))
		time.Sleep(10 * time.Minute)
		l.Read(t.Context(), "A", points("x"))
		time.Sleep(30 * time.Second)
		closeLink(t, l)
		if n := w.told(); n != 1 {
			t.Errorf("told %d times", n)
		}
	})
}
