package invoke_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"capd/internal/physical"
	"capd/internal/standing"
)

// asserted counts the assertions that came through since the last look.
func (b *bubble) asserted() int {
	n := 0
	b.machine.set(func(m *machine) {
		for _, w := range m.log {
			if w == "PUMP.run=true" {
				n++
			}
		}
		m.log = nil
	})
	return n
}

func TestAMachineThatHeardNothingForTooLongIsNotStartedAgain(t *testing.T) {
	for outage, goesOn := range map[time.Duration]bool{2 * time.Second: true, 8 * time.Second: false} {
		inBubble(t, func(t *testing.T, b *bubble) {
			b.wants("start", b.call("run_guarded", nil), "confirmed E4 - - -")
			time.Sleep(5 * time.Second)
			if b.asserted() < 5 {
				t.Error("not held")
			}
			b.machine.set(func(m *machine) { m.onWrite = func(string) error { return notSent } })
			time.Sleep(outage)
			b.machine.set(func(m *machine) { m.onWrite = nil })
			b.asserted()
			time.Sleep(time.Minute)
			if n := b.asserted(); (n > 0) != goesOn {
				t.Errorf("after %s without a wire: %d assertions", outage, n)
			}
			if !goesOn && !b.told("could not be re-asserted for") {
				t.Errorf("alarms: %s", b.alarmKeys())
			}
		})
	}
}

func TestAHoldEndsWhenItsConditionDoes(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.wants("start", b.call("run_guarded", nil), "confirmed E4 - - -")
		b.machine.set(func(m *machine) { m.bad["PLC.remote"] = physical.CauseInvalid })
		b.asserted()
		time.Sleep(10 * time.Second)
		if b.asserted() < 8 {
			t.Error("a condition that is not known ended the hold")
		}
		b.machine.set(func(m *machine) { m.bad["PLC.remote"], m.values["PLC.remote"] = "", off() })
		time.Sleep(1500 * time.Millisecond)
		b.asserted()
		b.machine.set(func(m *machine) { m.values["PLC.remote"] = on() })
		time.Sleep(time.Minute)
		if n := b.asserted(); n > 0 || !b.told("remote does not hold any more (remote = false)") {
			t.Errorf("%d assertions after the condition; alarms: %s", n, b.alarmKeys())
		}
	})
}

// told reports whether an active alarm says a text.
func (b *bubble) told(text string) bool {
	for _, a := range b.alarms.List(false) {
		if strings.Contains(a.Text, text) {
			return true
		}
	}
	return false
}

func TestAnAssertionUnderWayDoesNotUndoTheStop(t *testing.T) {
	for at := time.Duration(0); at < 4*time.Second; at += 50 * time.Millisecond {
		inBubble(t, func(t *testing.T, b *bubble) {
			b.wants("start", b.call("run_held", nil), "confirmed E4 - - -")
			b.machine.set(func(m *machine) { m.writeFor = 900 * time.Millisecond }) // a slow serial line
			time.Sleep(at)
			stop := b.call("stop_pump", nil)
			time.Sleep(10 * time.Second)
			if got := b.machine.written(); slices.Contains(got[slices.Index(got, "PUMP.run=false")+1:], "PUMP.run=true") {
				t.Errorf("%s: after the stop (%s): %v", at, shape(stop), got)
			}
		})
	}
}

func TestNothingIsAssertedAfterALockoutThatCameWhileTheConditionWasRead(t *testing.T) {
	for at := time.Duration(0); at < 2*time.Second; at += 90 * time.Millisecond {
		inBubble(t, func(t *testing.T, b *bubble) {
			b.wants("start", b.call("run_guarded", nil), "confirmed E4 - - -")
			b.machine.set(func(m *machine) { m.readFor = 400 * time.Millisecond })
			time.Sleep(at)
			must(t, b.standing.Lock(standing.Lockout{Target: "PUMP", By: "li", Reason: "hands in it"}))
			time.Sleep(10 * time.Millisecond) // what was on the wire
			b.asserted()
			time.Sleep(10 * time.Second)
			if n := b.asserted(); n > 0 {
				t.Errorf("%s: %d assertions after the lockout", at, n)
			}
		})
	}
}
