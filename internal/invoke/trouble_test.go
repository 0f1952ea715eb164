package invoke_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"capd/internal/hal"
	"capd/internal/invoke"
	"capd/internal/journal"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/standing"
)

func TestAJournalThatFailsAtTheIntentLetsNothingOutButTheSafeSide(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.wants("start", b.call("start_pump", nil), "confirmed E4 - - -")
		b.journal.fails[journal.Intent] = errors.New("no space left on device")
		a := b.ask(set(60, "one"))
		if b.wants("set", a, "not_executed E0 - JOURNAL_FAILED execution"); !a.Reason.RetrySafe || a.Sent {
			t.Errorf("%+v", a.Reason)
		}
		b.wants("stop", b.call("stop_pump", nil), "confirmed E4 - - -")
		b.journal.fails[journal.Intent] = nil
		b.wants("the request_id is free", b.ask(set(55, "one")), "confirmed E4 - - -")
	})
}

func TestAnOutcomeThatIsNotOnDiskIsToldAndDecidedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.journal.fails[journal.Outcome] = errors.New("no space left on device")
		first := b.ask(set(60, "one"))
		b.wants("set", first, "confirmed E4 - - -")
		if alarms := b.alarms.List(false); len(alarms) != 1 || alarms[0].Code != outcome.JournalFailed || b.journal.need() != 1 {
			t.Errorf("%+v, needed %d", alarms, b.journal.need())
		}
		b.journal.fails[journal.Outcome] = nil
		b.restart()
		again := b.ask(set(60, "one"))
		if b.wants("after the restart", again, "confirmed E4 - - -"); again.Invocation != first.Invocation || !again.AfterRestart || len(b.machine.written()) != 1 {
			t.Errorf("%+v, %v", again, b.machine.written())
		}
	})
}

func TestWhatAWriteThatFailedLeadsTo(t *testing.T) {
	fail := func(kind hal.ErrorKind, may bool, from int) func(*bubble) {
		return func(b *bubble) {
			n := 0
			b.machine.onWrite = func(ref string) error {
				if n++; n <= from {
					return nil
				}
				return &hal.Error{Kind: kind, MaySent: may, Device: "PLC", Op: "write " + ref}
			}
		}
	}
	for name, c := range map[string]struct {
		prepare  func(*bubble)
		want     string
		written  string
		uses     int64 // of the setpoint
		standing bool
		retry    bool
		marked   bool
	}{
		"surely not sent":                     {fail(hal.Unreachable, false, 0), "not_executed E0 - NETWORK_UNREACHABLE execution", "", 0, false, true, false},
		"the queue is full":                   {fail(hal.QueueFull, false, 0), "not_executed E0 - BUSY execution", "", 0, false, true, false},
		"no value of the point":               {func(b *bubble) { b.machine.onWrite = func(string) error { return errors.New("no such value") } }, "not_executed E0 - NOT_SENT execution", "", 0, false, true, false},
		"the reply is lost":                   {fail(hal.Timeout, true, 0), "refuted E4 E2 VERIFY_MISMATCH execution", "VALVE.setpoint=60", 1, true, false, false}, // the second write never goes out
		"the second write is surely not sent": {fail(hal.Closed, false, 1), "refuted E4 E2 VERIFY_MISMATCH execution", "VALVE.setpoint=60", 1, true, false, false},
		"the second reply is lost":            {fail(hal.Timeout, true, 1), "confirmed E4 - - -", "VALVE.setpoint=60 PUMP.run=true", 1, true, false, false},
		"the device refuses the first": {func(b *bubble) {
			b.machine.onWrite = func(string) error { return &hal.Error{Kind: hal.Exception, MaySent: true, Code: 2} }
			b.machine.refuses = true
		}, "refuted E0 E2 DEVICE_EXCEPTION execution", "", 1, false, true, false},
		"nothing is heard any more": {func(b *bubble) {
			b.machine.onWrite = func(string) error {
				for _, ref := range []string{"PLC.beat", "VALVE.setpoint", "VALVE.position", "PUMP.run", "PUMP.runs"} {
					b.machine.set(func(m *machine) { m.bad[ref] = physical.CauseOffline })
				}
				return &hal.Error{Kind: hal.Timeout, MaySent: true}
			}
		}, "unknown E0 - OUTCOME_UNKNOWN execution", "VALVE.setpoint=60", 1, true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				c.prepare(b)
				a := b.call("fill", to(60))
				b.wants(name, a, c.want)
				if got := strings.Join(b.machine.written(), " "); got != c.written {
					t.Errorf("written: %s, want %s", got, c.written)
				}
				if got := b.standing.Usage("VALVE.setpoint").Writes; got != c.uses {
					t.Errorf("%d writes counted, want %d", got, c.uses)
				}
				if a.CommandStanding != c.standing || a.Reason != nil && a.Reason.RetrySafe != c.retry || isUnsettled(b, "VALVE") != c.marked || isUnsettled(b, "PUMP") != c.marked {
					t.Errorf("standing %v, reason %+v, unsettled %v %v", a.CommandStanding, a.Reason, isUnsettled(b, "VALVE"), isUnsettled(b, "PUMP"))
				}
				if alarmed := b.alarmKeys() != ""; alarmed != c.standing && a.Verdict != outcome.Confirmed {
					t.Errorf("a command stands: %v, alarms: %s", c.standing, b.alarmKeys())
				}
				if kinds := b.journal.kinds(); kinds[journal.Intent] != 1 || kinds[journal.Outcome] != 1 {
					t.Errorf("%v", kinds)
				}
			})
		})
	}
}

// TestAPanicDoesNotEndTheDaemon breaks the machine at each place: the caller learns INTERNAL, nothing stays locked, and what may
// have been sent stays open for the next start.
func TestAPanicDoesNotEndTheDaemon(t *testing.T) {
	at := func(n int64) func(*bubble) {
		return func(b *bubble) {
			var reads atomic.Int64
			b.machine.set(func(m *machine) {
				m.onRead = func() {
					if reads.Add(1) == n {
						panic("boom")
					}
				}
			})
		}
	}
	for name, c := range map[string]struct {
		prepare func(*bubble)
		want    string
		open    int // intents without an outcome
		after   string
	}{
		"while it gathers":  {at(1), "not_executed E0 - INTERNAL execution", 0, "confirmed E4 - - -"},
		"in a write":        {func(b *bubble) { b.machine.onWrite = func(string) error { panic("boom") } }, "unknown E0 - INTERNAL execution", 1, "unknown E0 - OUTCOME_UNKNOWN execution"},
		"while it verifies": {at(9), "unknown E0 - INTERNAL execution", 1, "confirmed E4 - - -"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				c.prepare(b)
				a := b.ask(set(60, "one"))
				b.wants(name, a, c.want)
				sent := a.Verdict == outcome.Unknown
				if kinds := b.journal.kinds(); kinds[journal.Intent]-kinds[journal.Outcome] != c.open || a.Sent != sent || a.Reason.RetrySafe == sent {
					t.Errorf("%v, %+v %+v", kinds, a, a.Reason)
				}
				if (len(b.alarms.List(false)) == 1) != sent || isUnsettled(b, "VALVE") != sent {
					t.Errorf("alarms %v, unsettled %v", b.alarms.List(false), isUnsettled(b, "VALVE"))
				}
				b.machine.set(func(m *machine) { m.onRead, m.onWrite = nil, nil })
				if sent {
					if got := b.ask(set(60, "one")); got.Invocation != a.Invocation || !got.Repeated {
						t.Errorf("the request_id: %s", got.Text())
					}
					if b.journal.need() != 1 {
						t.Errorf("the journal may forget the open intent: %d", b.journal.need())
					}
				}
				b.wants("the pump is not touched", b.call("start_pump", nil), "confirmed E4 - - -")
				b.restart()
				b.wants("after the restart", b.ask(set(60, "one")), c.after)
			})
		})
	}
	inBubble(t, func(t *testing.T, b *bubble) {
		at(1)(b)
		if a := b.call("read_position", nil); a.Verdict != outcome.Unknown || a.Reason.Code != outcome.Internal {
			t.Error(a.Text())
		}
		b.wants("the next read", b.call("read_position", nil), "observed - - - -")
	})
	inBubble(t, func(t *testing.T, b *bubble) {
		b.wants("set", b.call("set_valve", to(60)), "confirmed E4 - - -")
		at(1)(b)
		time.Sleep(5 * time.Second) // the watch reads
		b.wants("after a watch that broke", b.call("set_valve", to(50)), "confirmed E4 - - -")
	})
}

func TestWhatWasPermittedBeforeALongLookIsAskedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*bubble)
		want   string
	}{
		"the selector was turned": {func(b *bubble) { b.machine.set(func(m *machine) { m.values["PLC.remote"] = off() }) }, "not_executed E0 - LOCAL_MODE policy"},
		"a technician locked": {func(b *bubble) {
			must(b.t, b.standing.Lock(standing.Lockout{Target: "VALVE", By: "mei", Reason: "packing"}))
		}, "not_executed E0 - LOCKED_OUT policy"},
		"the box only observes":     {func(b *bubble) { must(b.t, b.standing.SetMode(standing.Observe, "engineer")) }, "not_executed E0 - OBSERVE_MODE policy"},
		"the box is in shadow":      {func(b *bubble) { must(b.t, b.standing.SetMode(standing.Shadow, "engineer")) }, "not_executed E0 - NOT_SENT execution"},
		"nothing speaks against it": {func(*bubble) {}, "confirmed E4 - - -"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				b.wants("set", b.call("set_valve", to(60)), "confirmed E4 - - -")
				before := len(b.machine.written())
				out := b.start(set(60, "")) // it stands already, so it is looked at for a settle time
				time.Sleep(1200 * time.Millisecond)
				b.machine.set(func(m *machine) { m.from, m.since, m.stuck = 50, time.Now(), false }) // somebody moves the valve by hand
				c.change(b)
				b.wants(name, <-out, c.want)
				if sent := len(b.machine.written()) > before; sent != strings.HasPrefix(c.want, "confirmed") {
					t.Errorf("sent = %v", sent)
				}
			})
		})
	}
}

func TestWhatWasPermittedBeforeASlowDiskIsAskedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.journal.hold[journal.Intent] = make(chan struct{})
		out := b.start(set(60, "one"))
		time.Sleep(time.Second)
		must(t, b.standing.Lock(standing.Lockout{Target: "plant/x", By: "mei", Reason: "packing"}))
		close(b.journal.hold[journal.Intent])
		b.wants("locked meanwhile", <-out, "not_executed E0 - LOCKED_OUT policy")
		if kinds := b.journal.kinds(); len(b.machine.written()) > 0 || kinds[journal.Outcome] != 1 {
			t.Errorf("%v %v", b.machine.written(), kinds)
		}
	})
	inBubble(t, func(t *testing.T, b *bubble) {
		b.journal.hold[journal.Intent] = make(chan struct{})
		out := b.start(set(60, "one"))
		time.Sleep(3 * time.Second)
		close(b.journal.hold[journal.Intent])
		b.wants("the permit is older than it may be", <-out, "not_executed E0 - PERMIT_UNKNOWN policy")
	})
}

func TestACallerThatLeavesOrWaitsNoLongerIsTold(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		ctx, leave := context.WithCancel(context.Background())
		out := make(chan invoke.Answer, 1)
		go func() {
			out <- b.corridor.Call(ctx, invoke.Request{Subject: agent("a"), Action: "set_valve", Args: to(60)})
		}()
		time.Sleep(100 * time.Millisecond)
		leave()
		a := <-out
		if a.Verdict != outcome.Pending || a.Sent || a.CommandStanding {
			t.Errorf("before it was sent: %+v", a)
		}
		synctest.Wait()
		record, ok := b.corridor.Explain(context.Background(), agent("a"), a.Invocation, time.Minute)
		if b.wants("it went on", record.Answer, "confirmed E4 - - -"); !ok {
			t.Error("no record")
		}
	})
}
