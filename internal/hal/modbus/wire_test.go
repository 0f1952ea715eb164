package modbus

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"capd/internal/hal"
	"capd/internal/hal/modbus/faultserver"
	"capd/internal/physical"
)

const reg1 = "{table: holding_register, address: 1, type: uint16}"

func bank() *faultserver.Bank {
	return (&faultserver.Bank{}).
		Set(1, faultserver.HoldingRegisters, 0, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109).
		Set(2, faultserver.HoldingRegisters, 0, 200, 201, 202).
		Set(1, faultserver.Coils, 0, 0, 1, 0, 1)
}

// TestReadsSurviveOrFailButNeverLie plays every fault against a read: the value is the right one or there is none, and the next read
// is right again.
func TestReadsSurviveOrFailButNeverLie(t *testing.T) {
	for _, f := range faultserver.All() {
		for _, devices := range [][]string{{quick1}, {quick1, "{unit_id: 2}"}} {
			t.Run(string(f)+[]string{"", "_alone", "_shared"}[len(devices)], func(t *testing.T) {
				t.Parallel()
				var fault trap
				s := serve(t, faultserver.Options{Memory: bank(), Next: fault.next, Late: 110 * time.Millisecond})
				c := open(t, s.Addr(), devices...)
				wantValue(t, patiently(t, c, at(t, reg1)), "101")
				fault.set(f)
				if got := read(t, c, at(t, reg1))[0]; got.Err == nil {
					wantValue(t, got, "101")
				}
				fault.set(faultserver.None)
				wantValue(t, patiently(t, c, at(t, "{table: holding_register, address: 5, type: uint16}")), "105")
				wantValue(t, patiently(t, c, at(t, reg1)), "101")
			})
		}
	}
}

// quick1 is unit 1 with a time-out short enough to wait for.
const quick1 = "{unit_id: 1, timeout: 100ms}"

// TestWritesAreNeverRepeated plays every fault against a write: executed at most once, and not at all where the error says so.
func TestWritesAreNeverRepeated(t *testing.T) {
	for _, f := range faultserver.All() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			var fault trap
			b := bank()
			s := serve(t, faultserver.Options{Memory: b, Next: fault.next})
			c := open(t, s.Addr(), quick1)
			wantValue(t, patiently(t, c, at(t, reg1)), "101")
			fault.set(f)
			ack, err := c.Write(t.Context(), "A", at(t, reg1), physical.IntOf(7))
			fault.set(faultserver.None)
			wantValue(t, patiently(t, c, at(t, "{table: holding_register, address: 2, type: uint16}")), "102")
			n := len(b.Writes())
			switch e := hal.AsError(err); {
			case n > 1:
				t.Errorf("executed %d times", n)
			case err == nil && (n != 1 || string(ack.Raw) != "\x00\x07"):
				t.Errorf("acknowledged % X, executed %d times", ack.Raw, n)
			case e != nil && !e.MaySent:
				t.Errorf("%v: the server got it, but the error says that nothing was sent", err)
			}
		})
	}
}

// goburrow 64, grid-x 26, evcc 23395: after a late reply its successors must not be one behind.
func TestALateReplyIsSkippedOnASharedConnection(t *testing.T) {
	t.Parallel()
	s := serve(t, faultserver.Options{Memory: bank(), Next: script(faultserver.LateReply)})
	c := open(t, s.Addr(), "{unit_id: 1, timeout: 600ms}", "{unit_id: 2}")
	wantKind(t, read(t, c, at(t, reg1))[0].Err, hal.Timeout)
	for range 3 {
		wantValue(t, readOf(t, c, "B", at(t, reg1))[0], "201")
		wantValue(t, read(t, c, at(t, reg1))[0], "101")
	}
	if n := s.Accepted(); n != 1 {
		t.Errorf("%d connections: the silence of one unit cost the others theirs", n)
	}
}

// Half an answer, filled up by a late answer to an earlier request, must not pass for a whole one.
func TestAHalfAnswerIsNotFilledUpByALateOne(t *testing.T) {
	late := faultserver.Frame(6, 2, []byte{3, 2, 0x11, 0x22})
	right := faultserver.Frame(7, 1, append([]byte{3, 12}, make([]byte, 12)...))
	request := encodeMBAP(7, 1, []byte{3, 0, 0, 0, 6})
	for half := 1; half < len(right); half++ {
		stream := slices.Concat(right[:half], late, late, late)
		in := newInbox(&recorded{left: stream, piece: len(stream)})
		in.owe(6)
		if frame, err := (&mbap{}).receive(in, request, tolerance{}); err == nil {
			t.Errorf("%d bytes of the right answer and then a late one are taken for % X", half, frame)
		}
	}
	for _, stream := range [][]byte{slices.Concat(late, right), slices.Concat(right, late), right} {
		in := newInbox(&recorded{left: stream, piece: len(stream)})
		in.owe(6)
		if frame, err := (&mbap{}).receive(in, request, tolerance{}); err != nil || string(frame) != string(right) {
			t.Errorf("% X: %v", frame, err)
		}
	}
}

// Growatt_ModbusTCP 317: answers hundreds of transactions away.
func TestAFloodOfForeignAnswersEndsTheConnection(t *testing.T) {
	s := serve(t, faultserver.Options{Memory: bank(), Next: script(faultserver.ForeignFlood, faultserver.ForeignFlood)})
	c := open(t, s.Addr(), "{unit_id: 1}", "{unit_id: 2}")
	started := time.Now()
	wantKind(t, read(t, c, at(t, reg1))[0].Err, hal.Protocol)
	if took := time.Since(started); took > 2*time.Second {
		t.Errorf("noticed only after %v", took)
	}
	wantValue(t, read(t, c, at(t, reg1))[0], "101")
}

// pymodbus 404: one wrong reply must not cost a read.
func TestAReadIsTriedAgainAfterNonsense(t *testing.T) {
	s := serve(t, faultserver.Options{Memory: bank(), Next: script(faultserver.WrongFunction)})
	c := open(t, s.Addr(), "{unit_id: 1}")
	wantValue(t, read(t, c, at(t, reg1))[0], "101")
	if s.Requests() != 2 || s.Accepted() != 2 {
		t.Errorf("%d requests on %d connections", s.Requests(), s.Accepted())
	}
}

// goburrow 84/35, edgex 606, libmodbus 735, Home Assistant 101982: a connection that ended is made again, without an error.
func TestAnEndedConnectionIsMadeAgain(t *testing.T) {
	for _, hard := range []bool{false, true} {
		b := bank()
		s := serve(t, faultserver.Options{Memory: b})
		c := open(t, s.Addr(), "{unit_id: 1}")
		for i := range 3 {
			wantValue(t, read(t, c, at(t, reg1))[0], "101")
			s.Hangup(hard)
			if _, err := c.Write(t.Context(), "A", at(t, "{table: holding_register, address: 3, type: uint16}"), physical.IntOf(int64(i))); err != nil {
				if e := wantKind(t, err, hal.Closed); !hard || !e.MaySent {
					t.Errorf("write after the end (hard %v): %v", hard, err)
				}
			}
			s.Hangup(hard)
		}
		if n := len(b.Writes()); n > 3 {
			t.Errorf("%d writes were executed", n)
		}
	}
}

// The device is away for a while and comes back under the same address.
func TestADeviceThatReturnsIsReadAgain(t *testing.T) {
	s := serve(t, faultserver.Options{Memory: bank()})
	c := open(t, s.Addr(), "{unit_id: 1}")
	wantValue(t, read(t, c, at(t, reg1))[0], "101")
	s.Close()
	got := read(t, c, at(t, reg1))[0]
	if e := wantKind(t, got.Err, hal.Unreachable); e.MaySent || e.Device != "A" || e.Op != "read holding_register 1 uint16" {
		t.Errorf("got %+v", e)
	}
	if got.Cause != physical.CauseOffline {
		t.Errorf("cause %s", got.Cause)
	}
	_, err := c.Write(t.Context(), "A", at(t, reg1), physical.IntOf(1))
	if e := wantKind(t, err, hal.Unreachable); e.MaySent {
		t.Error("a write without a connection may have been sent?")
	}
	again, err := faultserver.Start(s.Addr(), faultserver.Options{Memory: bank()})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	wantValue(t, read(t, c, at(t, reg1))[0], "101")
}

// A write must not be lost to a connection that the device has half closed, nor to bytes left on it.
func TestAWriteLooksAtTheConnectionFirst(t *testing.T) {
	for _, f := range []faultserver.Fault{faultserver.ExtraBytes, faultserver.Duplicate} {
		b := bank()
		s := serve(t, faultserver.Options{Memory: b, Next: script(f)})
		c := open(t, s.Addr(), "{unit_id: 1}")
		wantValue(t, read(t, c, at(t, reg1))[0], "101")
		if _, err := c.Write(t.Context(), "A", at(t, reg1), physical.IntOf(9)); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		if len(b.Writes()) != 1 {
			t.Errorf("%s: executed %d times", f, len(b.Writes()))
		}
	}
}

// emqx/neuron 1602: one silent unit costs the others nothing but its time.
func TestASilentUnitLeavesTheOthersTheirConnection(t *testing.T) {
	s := serve(t, faultserver.Options{Memory: bank(), Next: func(r faultserver.Request) faultserver.Fault {
		if r.Unit == 2 {
			return faultserver.Swallow
		}
		return faultserver.None
	}})
	c := open(t, s.Addr(), "{unit_id: 1}", "{unit_id: 2, timeout: 20ms}")
	for range 2 {
		wantKind(t, readOf(t, c, "B", at(t, reg1))[0].Err, hal.Timeout)
		wantValue(t, read(t, c, at(t, reg1))[0], "101")
	}
	if s.Accepted() != 1 {
		t.Errorf("%d connections", s.Accepted())
	}
	for range maxSilent {
		wantKind(t, readOf(t, c, "B", at(t, reg1))[0].Err, hal.Timeout)
	}
	wantValue(t, read(t, c, at(t, reg1))[0], "101")
	if s.Accepted() != 2 {
		t.Errorf("%d connections: a wire that is silent for all has to be made anew", s.Accepted())
	}
}

// Home Assistant 149494, openHAB1 3818: devices that serve one client want the connection back.
func TestCloseAfter(t *testing.T) {
	s := serve(t, faultserver.Options{Memory: bank()})
	c := open(t, s.Addr(), "{unit_id: 1, quirks: {close_after: true}}")
	for range 3 {
		wantValue(t, read(t, c, at(t, reg1))[0], "101")
		if c.ch.s != nil {
			t.Fatal("the connection is still open")
		}
	}
	if _, err := c.Write(t.Context(), "A", at(t, reg1), physical.IntOf(1)); err != nil || c.ch.s != nil {
		t.Errorf("write: %v", err)
	}
	if s.Accepted() != 4 {
		t.Errorf("%d connections", s.Accepted())
	}
}

// arrivals is a server that notes when connections and requests come.
type arrivals struct {
	addr string
	mu   sync.Mutex
	at   []time.Time
	open time.Time
}

func watch(t *testing.T) *arrivals {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &arrivals{addr: l.Addr().String()}
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			a.mu.Lock()
			a.open = time.Now()
			a.mu.Unlock()
			all.Go(func() { a.serve(c) })
		}
	})
	return a
}

func (a *arrivals) serve(c net.Conn) {
	defer c.Close()
	buf := make([]byte, 12)
	for {
		if _, err := c.Read(buf); err != nil {
			return
		}
		a.mu.Lock()
		a.at = append(a.at, time.Now())
		a.mu.Unlock()
		reply := append(slices.Clone(buf[:4]), 0, 5, buf[6], 3, 2, 0, 42)
		if _, err := c.Write(reply); err != nil {
			return
		}
	}
}

// Telegraf 11919, evcc 31996, Home Assistant 148327: the pause counts from the connection being made.
func TestConnectDelay(t *testing.T) {
	a := watch(t)
	c := open(t, a.addr, "{unit_id: 1, quirks: {connect_delay: 250ms}}")
	wantValue(t, read(t, c, at(t, reg1))[0], "42")
	wantValue(t, read(t, c, at(t, reg1))[0], "42")
	a.mu.Lock()
	defer a.mu.Unlock()
	if first := a.at[0].Sub(a.open); first < 240*time.Millisecond {
		t.Errorf("the first request came %v after the connection", first)
	}
	if next := a.at[1].Sub(a.at[0]); next > 240*time.Millisecond {
		t.Errorf("the second request waited %v", next)
	}
}

// telegraf 9253: a device that needs silence between requests.
func TestMinGap(t *testing.T) {
	a := watch(t)
	c := open(t, a.addr, "{unit_id: 1, quirks: {min_gap: 30ms}}")
	for range 3 {
		wantValue(t, read(t, c, at(t, reg1))[0], "42")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := 1; i < 3; i++ {
		if gap := a.at[i].Sub(a.at[i-1]); gap < 30*time.Millisecond {
			t.Errorf("gap %v", gap)
		}
	}
}

// libmodbus 776: each device has its own patience.
func TestTimeoutOfTheDevice(t *testing.T) {
	s := serve(t, faultserver.Options{Memory: bank(), Late: 60 * time.Millisecond, Next: func(faultserver.Request) faultserver.Fault {
		return faultserver.DelayedReply
	}})
	c := open(t, s.Addr(), "{unit_id: 1, timeout: 20ms}", "{unit_id: 2, timeout: 2s}")
	if e := wantKind(t, read(t, c, at(t, reg1))[0].Err, hal.Timeout); !e.MaySent || !strings.Contains(e.Error(), "20ms") {
		t.Error(e)
	}
	wantValue(t, readOf(t, c, "B", at(t, reg1))[0], "201")
}

func TestTheCallersContextEndsTheWaiting(t *testing.T) {
	swallow, arrived := script(faultserver.Swallow, faultserver.Swallow), make(chan struct{}, 3)
	s := serve(t, faultserver.Options{Memory: bank(), Next: func(r faultserver.Request) faultserver.Fault {
		arrived <- struct{}{}
		return swallow(r)
	}})
	c := open(t, s.Addr(), "{unit_id: 1, timeout: 1m}", "{unit_id: 2}")
	list := []hal.Address{at(t, reg1)}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := c.Read(ctx, "A", list)[0].Err; !errors.Is(err, context.DeadlineExceeded) || wantKind(t, err, hal.Timeout) == nil {
		t.Errorf("deadline: %v", err)
	}
	<-arrived
	ctx, cancel = context.WithCancel(t.Context())
	var caller sync.WaitGroup
	caller.Go(func() {
		<-arrived
		cancel()
	})
	if err := c.Read(ctx, "A", list)[0].Err; !errors.Is(err, context.Canceled) || wantKind(t, err, hal.Timeout) == nil {
		t.Errorf("cancel: %v", err)
	}
	caller.Wait()
	wantValue(t, read(t, c, at(t, reg1))[0], "101")
}

// libplctag 190, Siemens PAC2200: one request in flight, however many ask.
func TestManyCallersShareALinkOneRequestAtATime(t *testing.T) {
	s := serve(t, faultserver.Options{Memory: bank()})
	link := hal.NewLink("L", open(t, s.Addr(), "{unit_id: 1}", "{unit_id: 2}"), hal.LinkOptions{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			device, want := []string{"A", "B"}[i%2], []string{"101", "201"}[i%2]
			for range 20 {
				wantValue(t, link.Read(t.Context(), device, []hal.Address{at(t, reg1)})[0], want)
			}
		})
	}
	all.Wait()
	if err := link.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAnIdleConnectionIsClosedAndMadeAgain(t *testing.T) {
	s := serve(t, faultserver.Options{Memory: bank()})
	c := open(t, s.Addr(), "{unit_id: 1}")
	c.idleClose = 5 * time.Millisecond
	wantValue(t, read(t, c, at(t, reg1))[0], "101")
	c.Idle()
	if c.ch.s != nil {
		t.Error("still open")
	}
	wantValue(t, read(t, c, at(t, reg1))[0], "101")
}

// Stale transaction numbers are recognised across the wrap of 16 bits, and 0 is never one of ours.
func TestTransactionNumbers(t *testing.T) {
	m := &mbap{tid: 0xFFFE}
	var got []uint16
	for range 3 {
		got = append(got, binary.BigEndian.Uint16(m.encode(1, []byte{3})))
	}
	if !slices.Equal(got, []uint16{0xFFFF, 1, 2}) {
		t.Errorf("numbers %X", got)
	}
	for _, c := range []struct {
		got, want uint16
		recent    bool
	}{{4, 5, true}, {5, 5, false}, {6, 5, false}, {0, 5, false}, {0xFFFF, 2, true}, {1, 200, false}} {
		if recent(c.got, c.want) != c.recent {
			t.Errorf("recent(%d, %d) is not %v", c.got, c.want, c.recent)
		}
	}
}
