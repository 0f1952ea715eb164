package invoke_test

import (
	"strings"
	"testing"
	"time"

	"capd/internal/invoke"
	"capd/internal/standing"
)

func TestAWithdrawalKeepsTheRulesOfEveryWrite(t *testing.T) {
	for name, c := range map[string]struct {
		during  func(*bubble) // after the command, before its verdict
		done    bool
		written string
		says    string
	}{
		"nothing speaks against it": {func(*bubble) {}, true, "VALVE.setpoint=60 VALVE.setpoint=10", "withdrawn"},
		"a lockout": {func(b *bubble) {
			must(b.t, b.standing.Lock(standing.Lockout{Target: "VALVE", By: "mei", Reason: "packing"}))
		},
			false, "VALVE.setpoint=60", "locked by mei: packing"},
		"the box only observes": {func(b *bubble) { must(b.t, b.standing.SetMode(standing.Observe, "engineer")) }, false, "VALVE.setpoint=60", "mode observe"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				b.machine.stuck = true
				out := b.start(invoke.Request{Action: "try_valve", Args: to(60)})
				time.Sleep(2 * time.Second)
				c.during(b)
				a := <-out
				b.wants(name, a, "refuted E2 E4 VERIFY_MISMATCH device")
				if w := a.Withdrawal; w == nil || w.Done != c.done || a.CommandStanding == c.done || !strings.Contains(w.Text, c.says) {
					t.Errorf("%+v, standing %v", w, a.CommandStanding)
				}
				if got := strings.Join(b.machine.written(), " "); got != c.written {
					t.Errorf("written: %s, want %s", got, c.written)
				}
				if got, want := b.standing.Usage("VALVE.setpoint").Writes, int64(strings.Count(c.written, "=")); got != want {
					t.Errorf("%d writes counted, want %d", got, want)
				}
			})
		})
	}
}

func TestTheSafeSideComesAfterAWithdrawalUnderWayAndBeforeAnyOther(t *testing.T) {
	for name, at := range map[string]time.Duration{"while the withdrawal is written": 5600 * time.Millisecond, "a moment before": 5400 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				b.machine.stuck = true
				out := b.start(invoke.Request{Action: "try_valve", Args: to(60)})
				time.Sleep(time.Second)
				b.machine.set(func(m *machine) { m.writeFor = time.Second })
				time.Sleep(at - time.Second)
				closing := b.start(invoke.Request{Action: "close_valve"})
				<-out
				b.machine.set(func(m *machine) { m.stuck, m.since = false, time.Now() })
				b.wants("close", <-closing, "confirmed E4 - - -")
				if got := b.machine.written(); got[len(got)-1] != "VALVE.setpoint=0" {
					t.Errorf("the last write is not the safe one: %v", got)
				}
			})
		})
	}
}
