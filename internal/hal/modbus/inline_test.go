package modbus

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"capd/internal/hal"
	"capd/internal/hal/modbus/faultserver"
)

// keeper is a memory that keeps an answer back when told to.
type keeper struct {
	faultserver.Memory
	next chan kept
}

type kept struct{ asked, release chan struct{} }

func newKeeper(m faultserver.Memory) *keeper { return &keeper{Memory: m, next: make(chan kept, 1)} }

// keep keeps the next answer back until release. asked is closed when its request has come.
func (h *keeper) keep() (asked <-chan struct{}, release func()) {
	k := kept{make(chan struct{}), make(chan struct{})}
	h.next <- k
	return k.asked, sync.OnceFunc(func() { close(k.release) })
}

func (h *keeper) Execute(unit byte, pdu []byte) []byte {
	select {
	case k := <-h.next:
		close(k.asked)
		<-k.release
	default:
	}
	return h.Memory.Execute(unit, pdu)
}

// The units with more time than a test ever needs.
const patientA, patientB = "{unit_id: 1, timeout: 1m}", "{unit_id: 2, timeout: 1m}"

// A caller that cancels has its goroutine back before the device answers. The answer, when it comes, is nobody's, and neither the
// connection nor the places asked for are blamed.
func TestACancelledReadReturnsAtOnceAndSpoilsNothing(t *testing.T) {
	t.Parallel()
	for name, devices := range map[string][]string{"alone": {patientA}, "shared": {patientA, patientB}} {
		t.Run(name, func(t *testing.T) {
			h := newKeeper(bank())
			s := serve(t, faultserver.Options{Memory: h})
			l := hal.NewLink("L", open(t, s.Addr(), devices...), hal.LinkOptions{})
			batch := []hal.Address{at(t, reg1), at(t, "{table: holding_register, address: 5, type: uint16}")}
			wantValue(t, l.Read(t.Context(), "A", batch)[1], "105")
			asked, release := h.keep()
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-asked; cancel() }()
			gone := l.Read(ctx, "A", batch)[0]
			if e := wantKind(t, gone.Err, hal.Timeout); !e.MaySent || !errors.Is(gone.Err, context.Canceled) {
				t.Errorf("got %v", gone.Err)
			}
			release()
			wantValue(t, l.Read(t.Context(), "A", batch[1:])[0], "105")
			if name == "shared" {
				wantValue(t, l.Read(t.Context(), "B", batch[:1])[0], "201")
			}
			before := s.Requests()
			wantValue(t, l.Poll(t.Context(), "A", batch)[0], "101")
			if n := s.Requests() - before; n != 1 || s.Accepted() != 1 {
				t.Errorf("%d requests, %d connections: a caller that left taught something about the device", n, s.Accepted())
			}
			if err := l.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCloseCutsAReadThatNobodyCancels(t *testing.T) {
	t.Parallel()
	h := newKeeper(bank())
	s := serve(t, faultserver.Options{Memory: h})
	l := hal.NewLink("L", open(t, s.Addr(), patientA), hal.LinkOptions{})
	wantValue(t, l.Read(context.Background(), "A", []hal.Address{at(t, reg1)})[0], "101")
	asked, release := h.keep()
	defer release()
	var all sync.WaitGroup
	var cut hal.Sample
	all.Go(func() { cut = l.Read(context.Background(), "A", []hal.Address{at(t, reg1)})[0] })
	<-asked
	now, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Close(now); !errors.Is(err, context.Canceled) {
		t.Errorf("close: %v", err)
	}
	all.Wait()
	wantKind(t, cut.Err, hal.Timeout)
}

// Callers that leave at any moment, by a deadline or by will, between others that stay: every value is of its place and its time.
func TestCallersThatLeaveAtAnyMomentSpoilNoValue(t *testing.T) {
	t.Parallel()
	for name, devices := range map[string][]string{"alone": {patientA}, "shared": {patientA, patientB}} {
		t.Run(name, func(t *testing.T) {
			o := &faultserver.Oracle{}
			s := serve(t, faultserver.Options{Memory: o})
			l := hal.NewLink("L", open(t, s.Addr(), devices...), hal.LinkOptions{})
			k := &soak{t: t, oracle: o, failed: map[hal.ErrorKind]int{}}
			var all sync.WaitGroup
			for i := range 2 * len(devices) {
				all.Go(func() { k.readRestlessly(l, i%len(devices), uint64(i)) })
			}
			all.Wait()
			if err := l.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if k.good == 0 {
				t.Error("nothing was read")
			}
			t.Logf("%d values right, errors %v, %d requests on %d connections", k.good, k.failed, s.Requests(), s.Accepted())
		})
	}
}

// readRestlessly reads single registers of a device and gives every other read only about the time it takes.
func (k *soak) readRestlessly(l *hal.Link, device int, seed uint64) {
	r := rand.New(rand.NewPCG(11, seed))
	u16, _ := typeByName("uint16")
	for n := range 300 {
		batch := []hal.Address{&address{table: holdingRegister, start: r.IntN(60), count: 1, size: 2, typ: u16}}
		ctx, cancel := context.WithCancel(k.t.Context())
		switch n % 4 {
		case 1:
			ctx, cancel = context.WithTimeout(k.t.Context(), time.Duration(r.IntN(100))*time.Microsecond)
		case 3:
			time.AfterFunc(time.Duration(r.IntN(100))*time.Microsecond, cancel)
		}
		before := k.oracle.Seq()
		samples := l.Read(ctx, string(rune('A'+device)), batch)
		k.hold(byte(device+1), batch, samples, before, k.oracle.Seq())
		cancel()
	}
}
