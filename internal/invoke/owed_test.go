package invoke_test

import (
	"os"
	"path/filepath"
	"slices"
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

// after lets the first n writes pass; the others surely do not leave until the test says so.
func (b *bubble) after(n int) (mend func()) {
	b.machine.set(func(m *machine) {
		seen := 0
		m.onWrite = func(string) error {
			if seen++; seen > n {
				return notSent
			}
			return nil
		}
	})
	return func() { b.machine.set(func(m *machine) { m.onWrite = nil }) }
}

// betweenTries waits for another try in vain of what is owed: the next is seconds away.
func (b *bubble) betweenTries() {
	time.Sleep(30 * time.Second)
	before := b.tries()
	for b.tries() == before {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(10 * time.Millisecond)
}

func (b *bubble) tries() (n int64) {
	for _, a := range b.alarms.List(false) {
		if a.Key == "release/LATCH.press" {
			n = a.Count
		}
	}
	return n
}

// wantReleased looks whether the latch was pressed and let go of, and nothing is owed any more.
func (b *bubble) wantReleased(writes ...string) {
	b.t.Helper()
	b.wantWritten(writes...)
	if strings.Contains(b.alarmKeys(), "release/") || b.journal.need() != 0 {
		b.t.Errorf("alarms %s, record %d is needed", b.alarmKeys(), b.journal.need())
	}
}

func TestACommandThatWasSurelyNotSentTakesNoReleaseOver(t *testing.T) {
	for name, crash := range map[string]bool{"one life": false, "two lives": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				mend := b.after(1)
				b.call("close_latch", nil)
				b.wants("free", b.call("free_latch", nil), "not_executed E0 - NETWORK_UNREACHABLE execution")
				b.wants("grip", b.call("grip_latch", nil), "not_executed E0 - NETWORK_UNREACHABLE execution")
				if crash {
					b.crash()
				}
				if b.journal.need() == 0 {
					t.Error("the journal may forget what is owed")
				}
				mend()
				time.Sleep(time.Minute)
				b.wantReleased(pressed, freed)
			})
		})
	}
}

func TestACommandWhoseReplyIsLostLeavesThePulseReleased(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		mend := b.after(1)
		b.call("close_latch", nil)
		b.machine.set(func(m *machine) { m.refuses, m.onWrite = true, func(string) error { return lost } })
		b.call("free_latch", nil)
		mend()
		b.machine.set(func(m *machine) { m.refuses = false })
		time.Sleep(time.Minute)
		b.wantReleased(pressed, freed)
	})
}

func TestACrashBetweenAnIntentAndItsWriteLosesNoRelease(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		mend := b.after(1)
		b.call("close_latch", nil)
		b.call("free_latch", nil)
		intents := 0
		b.journal.keep(func(r journal.Record) bool { // the power went off right after the second intent
			if r.Kind == journal.Intent {
				intents++
			}
			return intents < 2 || r.Kind == journal.Intent
		})
		b.crash()
		mend()
		time.Sleep(time.Minute)
		b.wantReleased(pressed, freed)
	})
}

func TestACommandThatAsksForSomethingElseTakesAReleaseOverForGood(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		mend := b.after(1)
		b.call("close_latch", nil)
		b.betweenTries()
		mend()
		b.wants("grip", b.call("grip_latch", nil), "confirmed E4 - - -")
		time.Sleep(time.Minute)
		b.wantReleased(pressed, pressed)
		b.crash()
		time.Sleep(time.Minute)
		b.wantReleased(pressed, pressed)
	})
}

func TestACommandThatMayHaveTakenAReleaseOverBeforeACrashDidSoForGood(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		mend := b.after(1)
		b.call("close_latch", nil)
		b.betweenTries()
		mend()
		out := b.start(invoke.Request{Action: "grip_latch"})
		time.Sleep(700 * time.Millisecond)
		intents := 0
		b.journal.keep(func(r journal.Record) bool {
			if r.Kind == journal.Intent {
				intents++
			}
			return intents < 2 || r.Kind == journal.Intent
		})
		for range 2 { // neither the next life nor the one after it takes the command back
			b.crash()
			time.Sleep(time.Minute)
			b.wantReleased(pressed, pressed)
		}
		<-out
	})
}

func TestAnOwedReleaseKeepsItsIntentInTheNextLifeToo(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		mend := b.after(1)
		b.call("close_latch", nil)
		b.crash()
		if b.journal.need() == 0 {
			t.Error("the journal may forget the intent whose release is owed")
		}
		mend()
		time.Sleep(time.Minute)
		b.wantReleased(pressed, freed)
	})
}

func TestAPulseThatWasNeverBegunIsNeverReleased(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.hook(onNth("LATCH.press", 1, notSent))
		b.call("glow_latch", nil)
		b.wantWritten(lit)
		b.machine.set(func(m *machine) { m.values["LATCH.press"] = on() }) // by hand, at the machine
		b.crash()
		time.Sleep(time.Minute)
		b.wantReleased(lit)
	})
}

func TestAnActWhoseStepsWereLeftOutIsNeverConfirmed(t *testing.T) {
	for ref, err := range map[string]error{"LATCH.lamp": lost, "LATCH.press": notSent} {
		inBubble(t, func(t *testing.T, b *bubble) {
			b.machine.set(func(m *machine) { m.values["LATCH.closed"] = on() })
			b.machine.hook(onNth(ref, 1, err))
			a := b.call("glow_latch", nil)
			if a.Verdict != outcome.Unknown || a.Reason.RetrySafe || !strings.Contains(a.Text(), "write 2 and what follows was not sent") {
				t.Errorf("%s: %s", ref, a.Text())
			}
			if n := b.breakers.State("glow_latch").Failures; n != 0 {
				t.Errorf("%s: %d failures of the machine", ref, n)
			}
		})
	}
}

func TestWhatWasNeverSentIsNotHeld(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.set(func(m *machine) { m.values["PLC.remote"] = off() })
		b.call("run_waiting", nil)
		b.wantWritten("PUMP.speed=40")
		b.machine.set(func(m *machine) { m.log = nil })
		b.machine.set(func(m *machine) { m.values["PLC.remote"] = on(); m.onWrite = onNth("PUMP.speed", 1, lost) })
		b.call("run_waiting", nil)
		b.wantWritten("PUMP.speed=40")
		time.Sleep(time.Minute)
		b.wantWritten("PUMP.speed=40")
	})
}

func TestALockoutInTheMiddleOfAnActEndsIt(t *testing.T) {
	bar := map[string]func(*bubble) error{
		"lockout": func(b *bubble) error {
			return b.standing.Lock(standing.Lockout{Target: "LATCH", By: "li", Reason: "hands in it"})
		},
		"mode": func(b *bubble) error { return b.standing.SetMode(standing.Observe, "li") },
	}
	for name, close := range bar {
		t.Run(name+" while a pulse stands", func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				out := b.start(invoke.Request{Action: "close_latch"})
				time.Sleep(1500 * time.Millisecond)
				must(t, close(b))
				a := <-out
				if b.wantWritten(pressed); a.Verdict == outcome.Confirmed || !a.CommandStanding || !strings.Contains(b.alarmKeys(), "release/LATCH.press") {
					t.Errorf("%s\n%s", a.Text(), b.alarmKeys())
				}
				must(t, b.standing.SetMode(standing.Active, "li"))
				if name == "lockout" {
					_, err := b.standing.Unlock("LATCH", "li")
					must(t, err)
				}
				time.Sleep(time.Minute)
				b.wantReleased(pressed, freed)
			})
		})
		t.Run(name+" during a wait", func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				b.machine.broken = true
				out := b.start(invoke.Request{Action: "signal_latch"})
				time.Sleep(4 * time.Second)
				must(t, close(b))
				b.machine.set(func(m *machine) { m.values["LATCH.closed"] = on() })
				a := <-out
				if b.wantWritten(pressed, freed); a.Verdict != outcome.Unknown || b.breakers.State("signal_latch").Failures != 0 {
					t.Errorf("%s", a.Text())
				}
			})
		})
	}
}

func TestAnOwedReleaseOfAToolThatIsGoneHeedsTheLockoutOfItsPoint(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		must(t, os.Remove(filepath.Join(b.dir, "contracts.d", "l.yaml")))
		b.write("contracts.d/v.yaml", strings.NewReplacer("asset: LATCH", "asset: VALVE", "tool: l", "tool: v").Replace(paperLatch), "assets.d/plant.yaml",
			strings.NewReplacer("closed: {at: {n: 70, kind: bool}, role: feedback", "closed: {at: {n: 70, kind: bool}, witness_for: {VALVE: feedback}, role: feedback",
				"held: {at: {n: 90, kind: bool}, role: feedback", "held: {at: {n: 90, kind: bool}, witness_for: {VALVE: feedback}, role: feedback",
				"echo: {at: {n: 120}, role: status", "echo: {at: {n: 120}, witness_for: {VALVE: status}, role: status",
				"turned: {at: {n: 130}, unit: deg, role: feedback", "turned: {at: {n: 130}, witness_for: {VALVE: feedback}, unit: deg, role: feedback").Replace(paperPlant))
		b.publish()
		b.start(invoke.Request{Action: "close_latch"})
		time.Sleep(1500 * time.Millisecond)
		b.wantWritten(pressed)
		must(t, os.Remove(filepath.Join(b.dir, "contracts.d", "v.yaml")))
		b.after(0)
		must(t, b.standing.Lock(standing.Lockout{Target: "LATCH", By: "li", Reason: "hands in it"}))
		b.crash()
		b.machine.set(func(m *machine) { m.onWrite = nil })
		time.Sleep(time.Minute)
		b.wantWritten(pressed)
	})
}

// write replaces files of the configuration: name and text in turn.
func (b *bubble) write(files ...string) {
	b.t.Helper()
	for i := 0; i < len(files); i += 2 {
		must(b.t, os.WriteFile(filepath.Join(b.dir, files[i]), []byte(files[i+1]), 0o600))
	}
}

// TestAReleaseOfAPointThatChangedIsNotGuessed reloads the inventory while a pulse stands. The release is written when the point is
// again what was pressed, and nothing else is.
func TestAReleaseOfAPointThatChangedIsNotGuessed(t *testing.T) {
	changes := map[string]func(b *bubble){
		"place":   func(b *bubble) { b.write("assets.d/plant.yaml", strings.Replace(paperPlant, "n: 60", "n: 61", 1)) },
		"removed": func(b *bubble) { b.write("assets.d/plant.yaml", strings.Replace(paperPlant, "press:", "push:", 1)) },
		"scale":   func(b *bubble) { b.machine.set(func(m *machine) { m.scale = "x" }) },
	}
	for name, change := range changes {
		for _, crash := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				inBubble(t, func(t *testing.T, b *bubble) {
					out := b.start(invoke.Request{Action: "close_latch"})
					time.Sleep(1500 * time.Millisecond)
					change(b)
					if name == "removed" {
						must(t, os.Rename(filepath.Join(b.dir, "contracts.d", "l.yaml"), filepath.Join(b.dir, "l.yaml")))
					}
					if crash {
						b.after(0)
						b.crash()
						b.machine.set(func(m *machine) { m.onWrite = nil })
					} else {
						b.publish()
					}
					a := <-out
					time.Sleep(time.Minute)
					if b.wantWritten(pressed); a.Verdict == outcome.Confirmed || !strings.Contains(b.alarmKeys(), "release/LATCH.press") || b.journal.need() == 0 {
						t.Errorf("%s\n%s, needed %d", a.Text(), b.alarmKeys(), b.journal.need())
					}
					b.machine.set(func(m *machine) { m.scale = "" })
					b.write("assets.d/plant.yaml", paperPlant, "contracts.d/l.yaml", paperLatch)
					b.publish()
					time.Sleep(time.Minute)
					b.wantReleased(pressed, freed)
				})
			})
		}
	}
}

func TestADefectOfADriverLosesNoRelease(t *testing.T) {
	for nth := 1; nth <= 4; nth++ {
		inBubble(t, func(t *testing.T, b *bubble) {
			n := 0
			b.machine.onWrite = func(string) error {
				switch n++; {
				case n == nth:
					panic("a defect in a driver")
				case nth > 2 && n > 1 && n < nth: // so that the release is still owed
					return notSent
				}
				return nil
			}
			b.call("close_latch", nil)
			time.Sleep(2 * time.Minute)
			if b.machine.presses() || strings.Contains(b.alarmKeys(), "release/") {
				t.Errorf("write %d: the pulse stands: %v; %s", nth, b.machine.written(), b.alarmKeys())
			}
		})
	}
}

func TestADeadPictureDischargesNoRelease(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		mend := b.after(1)
		b.call("close_latch", nil)
		b.machine.set(func(m *machine) { // the gateway shows an old picture, and takes no writes
			m.frozen, m.values["LATCH.press"] = time.Now(), off()
		})
		time.Sleep(time.Minute)
		if !strings.Contains(b.alarmKeys(), "release/LATCH.press") || b.obligationsEnded() != 0 {
			t.Errorf("%d ended, alarms %s", b.obligationsEnded(), b.alarmKeys())
		}
		b.machine.set(func(m *machine) { m.frozen, m.values["LATCH.press"] = time.Time{}, on() })
		mend()
		time.Sleep(time.Minute)
		b.wantReleased(pressed, freed)
	})
}

func TestAStopDuringAWaitIsNeverConfirmedLater(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.broken, b.machine.values["LATCH.lamp"] = true, on()
		out := b.start(invoke.Request{Action: "signal_latch"})
		time.Sleep(4 * time.Second)
		b.restart()
		a := <-out
		b.machine.set(func(m *machine) { m.values["LATCH.closed"] = on() })
		a = b.explained(a.Invocation, time.Minute)
		if a.Verdict != outcome.Unknown {
			t.Errorf("%s", a.Text())
		}
	})
}

func TestAWithdrawalTakesAHoldOver(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.write("contracts.d/t.yaml", strings.NewReplacer("1.0.0", "1.0.1", "on_fail: withdraw, withdraw: [{write: setpoint, value: 10}]",
			"on_fail: withdraw, withdraw: [{write: setpoint, value: 10}, {write: run, value: false}]").Replace(paperTools))
		b.publish()
		b.wants("run", b.call("run_held", nil), "confirmed E4 - - -")
		b.machine.set(func(m *machine) { m.stuck = true })
		a := b.call("try_valve", to(60))
		time.Sleep(time.Minute)
		log := b.machine.written()
		if a.Withdrawal == nil || slices.Contains(log[slices.Index(log, "PUMP.run=false")+1:], "PUMP.run=true") {
			t.Errorf("%+v, %v", a.Withdrawal, log)
		}
	})
}

func TestAnIntentOfAnOlderBuildOwesNoRelease(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		out := b.start(invoke.Request{Action: "close_latch"})
		time.Sleep(1500 * time.Millisecond)
		b.after(0)
		b.crash()
		b.close()
		b.journal.mu.Lock()
		for i, r := range b.journal.records {
			if r.Kind == journal.Intent {
				b.journal.records[i].Payload = []byte(strings.ReplaceAll(string(r.Payload), `"release":true`, `"other":true`))
			}
		}
		b.journal.records = slices.DeleteFunc(b.journal.records, func(r journal.Record) bool { return r.Kind != journal.Intent })
		b.journal.mu.Unlock()
		b.machine.set(func(m *machine) { m.onWrite = nil })
		b.open()
		time.Sleep(time.Minute)
		b.wantReleased(pressed)
		if a := b.explained((<-out).Invocation, time.Minute); a.Verdict != outcome.Unknown {
			t.Errorf("%s", a.Text())
		}
	})
}

// TestManyAtOnce lets an owed release, the way to the safe side and other commands of the asset meet; it is for the race detector.
func TestManyAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		n := 0
		b.machine.onWrite = func(ref string) error {
			b.machine.set(func(*machine) { n++ })
			if n%3 == 2 {
				return &hal.Error{Kind: hal.Timeout, MaySent: n%2 == 0}
			}
			return nil
		}
		var outs []<-chan invoke.Answer
		for i := range 30 {
			name := []string{"close_latch", "free_latch", "signal_latch", "grip_latch", "glow_latch"}[i%5]
			outs = append(outs, b.start(invoke.Request{Action: name, Subject: agent(name)}))
			time.Sleep(time.Duration(i) * 37 * time.Millisecond)
		}
		for _, out := range outs {
			<-out
		}
		b.machine.set(func(m *machine) { m.onWrite = nil })
		time.Sleep(time.Minute)
		synctest.Wait()
		b.call("free_latch", nil)
		time.Sleep(time.Minute)
		if b.machine.presses() || strings.Contains(b.alarmKeys(), "release/") || b.journal.need() != 0 {
			t.Errorf("%v %s, %d is needed", b.machine.written(), b.alarmKeys(), b.journal.need())
		}
	})
}

var _ = physical.CauseInvalid
