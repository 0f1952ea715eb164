package invoke_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"capd/internal/invoke"
	"capd/internal/journal"
	"capd/internal/outcome"
)

func TestASupersededCallThatHasNotActedSendsNothing(t *testing.T) {
	for name, prepare := range map[string]func(*bubble){
		"while it gathers": func(b *bubble) { b.machine.readFor = 600 * time.Millisecond },
		"while it looks whether the target stands already": func(b *bubble) {
			b.wants("first", b.call("start_pump", nil), "confirmed E4 - - -")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				prepare(b)
				before := len(b.machine.written())
				start := b.start(invoke.Request{Action: "start_pump"})
				b.machine.set(func(m *machine) { m.values["PUMP.run"] = on() })
				time.Sleep(700 * time.Millisecond)
				b.machine.set(func(m *machine) { m.readFor = 5 * time.Millisecond })
				stop := b.start(invoke.Request{Subject: agent("b"), Action: "stop_pump"})
				b.wants("stop", <-stop, "confirmed E4 - - -")
				if a := <-start; a.Verdict != outcome.NotExecuted || a.Reason.Code != outcome.Superseded || a.Sent {
					t.Errorf("start: %s", a.Text())
				}
				if got := b.machine.written()[before:]; slices.Contains(got, "PUMP.run=true") || slices.Contains(got, "PUMP.speed=40") {
					t.Errorf("written: %v", got)
				}
			})
		})
	}
}

func TestTheSafeSideWaitsForAWriteUnderWayAndForNothingElse(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.writeFor, b.machine.values["PUMP.run"] = 2*time.Second, on()
		start := b.start(invoke.Request{Action: "start_pump"})
		time.Sleep(time.Second) // in the middle of the first of two writes
		stop := b.start(invoke.Request{Action: "stop_pump"})
		b.wants("stop", <-stop, "confirmed E4 - - -")
		b.wants("start", <-start, "unknown E0 - SUPERSEDED policy")
		if got := strings.Join(b.machine.written(), " "); got != "PUMP.speed=40 PUMP.run=false" {
			t.Errorf("written: %s", got)
		}
	})
	inBubble(t, func(t *testing.T, b *bubble) { // the intent of the call before hangs on its way to the disk
		b.journal.hold[journal.Intent] = make(chan struct{})
		b.machine.values["PUMP.run"] = on()
		start := b.start(invoke.Request{Action: "start_pump"})
		time.Sleep(2 * time.Second)
		began := time.Now()
		b.wants("stop", b.call("stop_pump", nil), "confirmed E4 - - -")
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("the stop took %s", took)
		}
		close(b.journal.hold[journal.Intent])
		if a := <-start; a.Verdict != outcome.NotExecuted || a.Reason.Code != outcome.Superseded {
			t.Error(a.Text())
		}
		if got := strings.Join(b.machine.written(), " "); got != "PUMP.run=false" {
			t.Errorf("written: %s", got)
		}
	})
}

func TestTheSafeSideIsNeverBusy(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.wants("start", b.call("start_pump", nil), "confirmed E4 - - -")
		first := b.start(invoke.Request{Action: "stop_pump"})
		time.Sleep(700 * time.Millisecond)
		second := b.ask(invoke.Request{Subject: agent("b"), Action: "stop_pump"})
		b.wants("the second stop", second, "confirmed E4 - - -")
		if a := <-first; a.Verdict != outcome.Confirmed && a.Reason.Code != outcome.Superseded {
			t.Error(a.Text())
		}
	})
}

func TestALeaseIsAllOrNone(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		valve := b.start(invoke.Request{Action: "set_valve", Args: to(60)})
		time.Sleep(time.Second)
		b.wants("both", b.call("fill", to(60)), "not_executed E0 - BUSY policy")
		b.wants("the pump is free", b.call("start_pump", nil), "confirmed E4 - - -")
		b.wants("valve", <-valve, "confirmed E4 - - -")
		both := b.start(invoke.Request{Action: "fill", Args: to(40)})
		time.Sleep(time.Second)
		b.wants("the valve is taken", b.call("set_valve", to(30)), "not_executed E0 - BUSY policy")
		b.wants("and stopping the pump pre-empts", b.call("stop_pump", nil), "confirmed E4 - - -")
		if a := <-both; a.Reason == nil || a.Reason.Code != outcome.Superseded {
			t.Error(a.Text())
		}
		b.wants("all is free again", b.call("set_valve", to(30)), "confirmed E4 - - -")
	})
}

// TestCloseInEachPhase stops capd at many moments of a call: what was begun is in the journal, what was not is not sent, and the
// next start decides without sending anything.
func TestCloseInEachPhase(t *testing.T) {
	for _, at := range []time.Duration{0, 10, 300, 520, 560, 800, 1500, 3000, 6000} {
		t.Run((at * time.Millisecond).String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				b.machine.writeFor = 200 * time.Millisecond
				b.journal.hold[journal.Intent] = nil
				out := b.start(invoke.Request{Action: "fill", Args: to(60), RequestID: "r"})
				time.Sleep(at * time.Millisecond)
				synctest.Wait()
				b.close()
				first, written, kinds := <-out, b.machine.written(), b.journal.kinds()
				if len(written) == 1 {
					t.Errorf("an act under way was cut: %v", written)
				}
				if len(written) == 0 && (first.Verdict != outcome.NotExecuted || first.Reason.Code != outcome.NotSent && first.Reason.Code != outcome.Busy) {
					t.Errorf("nothing was sent: %s", first.Text())
				}
				if len(written) > 0 && (kinds[journal.Intent] != 1 || first.Verdict != outcome.Pending && first.Verdict != outcome.Confirmed) {
					t.Errorf("%s, %v", first.Text(), kinds)
				}
				b.open()
				time.Sleep(20 * time.Second)
				if got := b.machine.written(); len(got) != len(written) {
					t.Errorf("the next start sent something: %v", got)
				}
				if kinds := b.journal.kinds(); kinds[journal.Intent] != kinds[journal.Outcome] {
					t.Errorf("an intent is open for good: %v", kinds)
				}
				if len(written) > 0 {
					record, ok := b.corridor.Explain(context.Background(), agent("a"), first.Invocation, 0)
					if b.wants("after the restart", record.Answer, "confirmed E4 - - -"); !ok {
						t.Error("the outcome is lost")
					}
				}
			})
		})
	}
}

func TestACallThatWasSupersededOnItsWayToTheDiskIsNotWatched(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.journal.hold[journal.Outcome] = make(chan struct{})
		first := b.start(invoke.Request{Action: "set_valve", Args: to(60)})
		time.Sleep(8 * time.Second) // confirmed, and waiting for the disk
		closing := b.start(invoke.Request{Action: "close_valve"})
		time.Sleep(5 * time.Second)
		close(b.journal.hold[journal.Outcome])
		a := <-first
		b.wants("set", a, "confirmed E4 - - -")
		b.wants("close", <-closing, "confirmed E4 - - -")
		time.Sleep(time.Minute)
		if am := b.amendments(a.Invocation); len(am) > 0 || b.alarmKeys() != "" {
			t.Errorf("%+v, %s", am, b.alarmKeys())
		}
	})
}
