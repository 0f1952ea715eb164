package invoke_test

import (
	"context"
	"fmt"
	"strings"
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

// alarms lists the active alarms as "key code", oldest first.
func (b *bubble) alarmKeys() string {
	var keys []string
	list := b.alarms.List(false)
	for i := range list {
		keys = append(keys, list[len(list)-1-i].Key+" "+string(list[len(list)-1-i].Code))
	}
	return strings.Join(keys, ", ")
}

func (b *bubble) amendments(id string) []invoke.Amendment {
	b.t.Helper()
	record, ok := b.corridor.Explain(context.Background(), agent("a"), id, 0)
	if !ok {
		b.t.Fatalf("no record of %s", id)
	}
	return record.Answer.Amendments
}

func TestOnlyPhysicalFailuresCountForTheBreaker(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		fails := func() int { return b.breakers.State("set_valve").Failures }
		next := func(want string, count int) {
			t.Helper()
			time.Sleep(time.Minute)
			if b.wants("call", b.call("set_valve", to(60)), want); fails() != count {
				t.Errorf("%d failures count, want %d", fails(), count)
			}
		}
		b.machine.set(func(m *machine) { m.values["PLC.remote"] = off() })
		next("not_executed E0 - LOCAL_MODE policy", 0)
		b.machine.set(func(m *machine) { m.values["PLC.remote"] = on() })
		b.machine.set(func(m *machine) { m.stuck, m.bad["VALVE.position"] = true, "" })
		next("refuted E2 E4 VERIFY_MISMATCH device", 1)
		b.machine.set(func(m *machine) {
			m.onWrite = func(string) error { return &hal.Error{Kind: hal.Exception, MaySent: true} }
			m.refuses = true
			m.values["VALVE.setpoint"] = physical.IntOf(45)
		})
		next("refuted E0 E2 DEVICE_EXCEPTION execution", 1)
		b.machine.set(func(m *machine) { m.onWrite, m.refuses = nil, false })
		next("refuted E2 E4 VERIFY_MISMATCH device", 2)
		b.machine.set(func(m *machine) { m.from, m.since, m.stuck = m.position(time.Now()), time.Now(), false })
		time.Sleep(10 * time.Second)
		next("confirmed E4 - - -", 2) // already there: nothing was tried
		b.machine.set(func(m *machine) { m.stuck, m.from = true, 60 })
		time.Sleep(time.Minute)
		b.wants("another value", b.call("set_valve", to(50)), "refuted E2 E4 VERIFY_MISMATCH device")
		if fails() != 3 || !strings.Contains(b.alarmKeys(), "set_valve/degraded DEGRADED") {
			t.Errorf("%d failures, %s", fails(), b.alarmKeys())
		}
		next("not_executed E0 - DEGRADED policy", 3)
		b.machine.set(func(m *machine) { m.stuck, m.since = false, time.Now() })
		b.wants("to the safe side", b.call("close_valve", nil), "confirmed E4 - - -")
		must(t, b.breakers.Restore("set_valve", "mei"))
		next("confirmed E4 - - -", 0)
		if b.alarmKeys() != "" {
			t.Errorf("alarms that stand though the action is confirmed: %s", b.alarmKeys())
		}
	})
}

func TestAnUnknownOutcomeBlocksRelativeActionsUntilTheStateIsKnown(t *testing.T) {
	blind := func(b *bubble) {
		b.machine.onWrite = func(string) error {
			b.machine.set(func(m *machine) { m.bad["VALVE.position"] = physical.CauseInvalid })
			return nil
		}
		b.wants("blind", b.call("set_valve", to(60)), "unknown E2 - FEEDBACK_BAD verification")
		b.machine.set(func(m *machine) { delete(m.bad, "VALVE.position"); m.onWrite = nil })
		time.Sleep(10 * time.Second)
	}
	for name, c := range map[string]func(*bubble){
		"an absolute action is confirmed": func(b *bubble) { b.wants("set", b.call("set_valve", to(50)), "confirmed E4 - - -") },
		"it is seen to stand":             func(b *bubble) { b.wants("set", b.call("set_valve", to(60)), "confirmed E4 - - -") },
		"a technician settles it":         func(b *bubble) { must(b.t, b.standing.Settle("VALVE", "mei")) },
		"the way to the safe side":        func(b *bubble) { b.wants("close", b.call("close_valve", nil), "confirmed E4 - - -") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				blind(b)
				if got := b.alarmKeys(); got != "set_valve/standing FEEDBACK_BAD" {
					t.Errorf("alarms: %s", got)
				}
				b.wants("relative", b.call("nudge_valve", to(10)), "not_executed E0 - UNSETTLED policy")
				b.restart()
				b.wants("relative, after a restart", b.call("nudge_valve", to(10)), "not_executed E0 - UNSETTLED policy")
				b.wants("another asset", b.call("start_pump", nil), "confirmed E4 - - -")
				c(b)
				if a := b.call("nudge_valve", to(10)); a.Verdict == outcome.NotExecuted {
					t.Error(a.Text())
				}
				if got := b.alarmKeys(); strings.Contains(got, "set_valve/standing") && strings.HasPrefix(name, "it is") {
					t.Errorf("alarms: %s", got)
				}
			})
		})
	}
}

func TestAnUnknownOutcomeMarksEveryAssetThatWasWritten(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.set(func(m *machine) { m.bad["PUMP.runs"] = physical.CauseInvalid })
		b.wants("fill", b.call("fill", to(60)), "unknown E4 - FEEDBACK_BAD verification")
		if !isUnsettled(b, "VALVE") || !isUnsettled(b, "PUMP") {
			t.Errorf("valve %v, pump %v", isUnsettled(b, "VALVE"), isUnsettled(b, "PUMP"))
		}
	})
}

func TestALateArrivalIsRecordedAndSettlesUntilTheNextCommand(t *testing.T) {
	slow := func(b *bubble) invoke.Answer {
		b.machine.set(func(m *machine) { m.values["VALVE.setpoint"], m.from, m.since = physical.IntOf(0), 0, time.Now() })
		a := b.call("set_valve", to(60))
		b.machine.set(func(m *machine) {})
		return a
	}
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.set(func(m *machine) { m.speed = 3 })
		a := slow(b)
		b.wants("in time", a, "unknown E2 - VERIFY_TIMEOUT device")
		if !isUnsettled(b, "VALVE") || b.alarmKeys() != "set_valve/standing VERIFY_TIMEOUT" {
			t.Errorf("unsettled %v, %s", isUnsettled(b, "VALVE"), b.alarmKeys())
		}
		time.Sleep(16 * time.Second)
		if am := b.amendments(a.Invocation); len(am) != 1 || am[0].Kind != "late_confirmed" || isUnsettled(b, "VALVE") || b.alarmKeys() != "" {
			t.Errorf("%+v, unsettled %v, %s", am, isUnsettled(b, "VALVE"), b.alarmKeys())
		}
		b.restart()
		if am := b.amendments(a.Invocation); len(am) != 1 {
			t.Errorf("after a restart: %+v", am)
		}
	})
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.set(func(m *machine) { m.speed = 3 })
		a := slow(b)
		b.call("set_valve", to(20))
		time.Sleep(time.Minute)
		if am := b.amendments(a.Invocation); len(am) != 0 {
			t.Errorf("the next command did not end the watch: %+v", am)
		}
	})
}

func TestAWatchEndsWithTheNextCommandAndWithNothingLess(t *testing.T) {
	leave := func(b *bubble) { // somebody turns the valve by hand
		b.machine.set(func(m *machine) { m.from, m.since, m.stuck = 30, time.Now(), true })
	}
	for name, c := range map[string]struct {
		between func(*bubble)
		amended int
	}{
		"nothing happens": {func(*bubble) {}, 1},
		"a refused call": {func(b *bubble) {
			b.machine.set(func(m *machine) { m.values["PLC.remote"] = off() })
			b.wants("refused", b.call("set_valve", to(50)), "not_executed E0 - LOCAL_MODE policy")
		}, 1},
		"a call in shadow": {func(b *bubble) {
			must(b.t, b.standing.SetMode(standing.Shadow, "engineer"))
			b.wants("shadow", b.call("set_valve", to(50)), "not_executed E0 - NOT_SENT execution")
		}, 1},
		"a dry run":                              {func(b *bubble) { b.ask(invoke.Request{Action: "set_valve", Args: to(50), DryRun: true}) }, 1},
		"the same call":                          {func(b *bubble) { b.wants("same", b.call("set_valve", to(60)), "confirmed E4 - - -") }, 1},
		"a command":                              {func(b *bubble) { b.wants("command", b.call("set_valve", to(50)), "confirmed E4 - - -") }, 0},
		"a command of another tool on the asset": {func(b *bubble) { b.wants("command", b.call("fill", to(50)), "confirmed E4 - - -") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				a := b.call("set_valve", to(60))
				b.wants("set", a, "confirmed E4 - - -")
				time.Sleep(5 * time.Second)
				c.between(b)
				leave(b)
				time.Sleep(10 * time.Second)
				am := b.amendments(a.Invocation)
				if len(am) != c.amended || len(am) > 0 && am[0].Kind != "reverted" {
					t.Errorf("%+v, want %d", am, c.amended)
				}
			})
		})
	}
}

// TestManyCallsLeaveNothingBehind makes every kind of call for a simulated day and looks at what memory keeps.
func TestManyCallsLeaveNothingBehind(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		for i := range 300 {
			for _, out := range []<-chan invoke.Answer{b.start(set(float64(40+i%20), fmt.Sprint(i))), b.start(invoke.Request{Action: "start_pump"}),
				b.start(invoke.Request{Subject: agent("b"), Action: "stop_pump"}), b.start(invoke.Request{Action: "nonsense"}), b.start(invoke.Request{Action: "fill", Args: to(50)})} {
				<-out
			}
			time.Sleep(5 * time.Minute)
		}
		synctest.Wait()
		if n := len(b.corridor.Running()); n > 0 {
			t.Errorf("%d calls still run", n)
		}
		if n := len(b.corridor.Recent(10_000)); n > 1200 {
			t.Errorf("%d records in memory", n)
		}
		samples := 0
		for _, r := range b.corridor.Recent(10_000) {
			if len(r.Samples) > 0 {
				samples++
			}
		}
		if samples > 50 {
			t.Errorf("%d records keep their samples in memory", samples)
		}
		if kinds := b.journal.kinds(); kinds[journal.Intent] > kinds[journal.Outcome] || b.journal.need() != 0 {
			t.Errorf("%v, needed %d", kinds, b.journal.need())
		}
	})
}
