package invoke_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"capd/internal/hal"
	"capd/internal/invoke"
	"capd/internal/journal"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/standing"
)

const (
	pressed = "LATCH.press=true"
	freed   = "LATCH.press=false"
	lit     = "LATCH.lamp=true"
)

// wantWritten holds what was written against what is wanted.
func (b *bubble) wantWritten(want ...string) {
	b.t.Helper()
	if got := b.machine.written(); !slices.Equal(got, want) {
		b.t.Errorf("written %v, want %v", got, want)
	}
}

// obligationsEnded counts the releases that the journal calls ended.
func (b *bubble) obligationsEnded() int {
	n := 0
	must(b.t, b.journal.Replay(context.Background(), func(r journal.Record) error {
		if r.Kind == journal.Obligation && strings.Contains(string(r.Payload), `"release ended"`) {
			n++
		}
		return nil
	}))
	return n
}

// onNth makes the write number n, from 1, of a point fail.
func onNth(ref string, n int, err error) func(string) error {
	seen := 0
	return func(to string) error {
		if to == ref {
			if seen++; seen == n {
				return err
			}
		}
		return nil
	}
}

var (
	lost    = &hal.Error{Kind: hal.Timeout, MaySent: true}
	notSent = &hal.Error{Kind: hal.Unreachable}
)

func TestAPulseStandsForItsTimeAndIsReleased(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.wants("latch", b.call("close_latch", nil), "confirmed E4 - - -")
		b.wantWritten(pressed, freed)
		time.Sleep(time.Minute)
		if b.obligationsEnded() != 1 || b.alarmKeys() != "" || b.journal.need() != 0 {
			t.Errorf("%d releases ended, alarms %s, record %d is needed", b.obligationsEnded(), b.alarmKeys(), b.journal.need())
		}
		b.wants("again: a pulse is never taken as done already", b.call("close_latch", nil), "confirmed E4 - - -")
		b.wantWritten(pressed, freed, pressed, freed)
		b.wants("soon after: the pause of the point holds for the press", b.call("close_latch", nil), "confirmed E4 - - -")
	})
}

func TestAPulseWhoseReplyIsLostIsReleasedAllTheSame(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.hook(onNth("LATCH.press", 1, lost))
		b.wants("latch", b.call("close_latch", nil), "confirmed E4 - - -")
		b.wantWritten(pressed, freed)
	})
}

func TestAPulseThatWasSurelyNotSentOwesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.hook(onNth("LATCH.press", 1, notSent))
		b.wants("latch", b.call("close_latch", nil), "not_executed E0 - NETWORK_UNREACHABLE execution")
		b.wantWritten()
		b.crash()
		time.Sleep(time.Minute)
		b.wantWritten()
	})
}

func TestAReleaseIsOwedUntilItReadsBack(t *testing.T) {
	for name, err := range map[string]error{"not sent": notSent, "reply lost": lost} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				gone := true
				n := 0
				b.machine.onWrite = func(ref string) error {
					if n++; n > 1 && gone {
						return err
					}
					return nil
				}
				if name == "reply lost" { // and the value too
					b.machine.onWrite = func(ref string) error {
						n++
						b.machine.set(func(m *machine) { m.refuses = n > 1 && gone })
						if n > 1 && gone {
							return err
						}
						return nil
					}
				}
				a := b.call("close_latch", nil)
				if a.Verdict == outcome.Confirmed || !a.CommandStanding {
					t.Errorf("the pulse stands, but: %s", a.Text())
				}
				time.Sleep(time.Minute)
				if !strings.Contains(b.alarmKeys(), "release/LATCH.press OUTCOME_UNKNOWN") || b.journal.need() == 0 {
					t.Errorf("alarms %s, record %d is needed", b.alarmKeys(), b.journal.need())
				}
				b.machine.set(func(*machine) { gone = false })
				time.Sleep(time.Minute)
				b.wantWritten(pressed, freed)
				if b.obligationsEnded() != 1 || strings.Contains(b.alarmKeys(), "release/") || b.journal.need() != 0 {
					t.Errorf("%d releases ended, alarms %s", b.obligationsEnded(), b.alarmKeys())
				}
			})
		})
	}
}

func TestAReleaseThatIsAcknowledgedAndNotTakenIsWrittenAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		n := 0
		b.machine.onWrite = func(string) error {
			n++
			b.machine.set(func(m *machine) { m.refuses = n == 2 })
			return nil
		}
		a := b.call("close_latch", nil)
		if a.Verdict == outcome.Confirmed && len(b.machine.written()) < 2 {
			t.Errorf("confirmed while the pulse stands: %s", a.Text())
		}
		time.Sleep(time.Minute)
		b.wantWritten(pressed, freed)
	})
}

func TestTheWayToTheSafeSideCutsAPulseShort(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		out := b.start(invoke.Request{Action: "close_latch"})
		time.Sleep(1200 * time.Millisecond)
		began := time.Now()
		b.wants("free", b.call("free_latch", nil), "confirmed E4 - - -")
		if took := time.Since(began); took > 2500*time.Millisecond {
			t.Errorf("the way to the safe side took %s", took)
		}
		b.wants("latch", <-out, "unknown E0 - SUPERSEDED policy")
		b.wantWritten(pressed, freed)
		time.Sleep(time.Minute)
		b.wantWritten(pressed, freed)
	})
}

func TestTheNextCommandOfThePointTakesAnOwedReleaseOver(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.hook(onNth("LATCH.press", 2, notSent))
		b.machine.bad["LATCH.press"] = physical.CauseInvalid // so that nobody knows whether it is released
		b.call("close_latch", nil)
		b.machine.hook(nil)
		b.machine.set(func(m *machine) { m.log = nil })
		b.call("free_latch", nil)
		n := len(b.machine.written())
		time.Sleep(5 * time.Minute)
		if got := b.machine.written(); len(got) != n || got[n-1] != freed {
			t.Errorf("written %v after the command that took over", got)
		}
		if b.obligationsEnded() != 1 {
			t.Errorf("%d releases ended", b.obligationsEnded())
		}
	})
}

// TestAPulseAndACrashAtAnyMoment cuts the power at many moments of a pulse. The next start never presses, always releases what stands,
// and decides the call.
func TestAPulseAndACrashAtAnyMoment(t *testing.T) {
	for at := time.Duration(0); at < 5*time.Second; at += 170 * time.Millisecond {
		inBubble(t, func(t *testing.T, b *bubble) {
			b.machine.set(func(m *machine) { m.writeFor = 150 * time.Millisecond })
			out := b.start(invoke.Request{Action: "close_latch", RequestID: "one"})
			time.Sleep(at)
			// A power cut reaches no more wires: what is written from here on to the restart does not arrive.
			alive := b.machine.written()
			b.machine.hook(func(string) error { return notSent })
			b.crash()
			b.machine.hook(nil)
			<-out
			time.Sleep(time.Minute)
			got := b.machine.written()[len(alive):]
			if slices.Contains(got, pressed) && len(alive) > 0 {
				t.Errorf("%s: pressed again after the crash: %v, %v", at, alive, got)
			}
			if b.machine.presses() {
				t.Errorf("%s: the pulse stands after the restart: %v, %v; %s", at, alive, got, b.alarmKeys())
			}
			kinds := b.journal.kinds()
			if kinds[journal.Intent] != kinds[journal.Outcome] {
				t.Errorf("%s: %v", at, kinds)
			}
			if strings.Contains(b.alarmKeys(), "release/") {
				t.Errorf("%s: %s", at, b.alarmKeys())
			}
		})
	}
}

func TestAnOwedReleaseWaitsForTheModeAndTheLockout(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.start(invoke.Request{Action: "close_latch"})
		time.Sleep(1500 * time.Millisecond)
		b.machine.hook(func(string) error { return notSent })
		b.crash()
		b.machine.hook(nil)
		must(t, b.standing.SetMode(standing.Observe, "mei"))
		b.machine.set(func(m *machine) { m.log = nil })
		time.Sleep(time.Minute)
		if b.wantWritten(); !strings.Contains(b.alarmKeys(), "release/LATCH.press") {
			t.Errorf("alarms %s", b.alarmKeys())
		}
		must(t, b.standing.SetMode(standing.Active, "mei"))
		must(t, b.standing.Lock(standing.Lockout{Target: "LATCH", By: "li", Reason: "hands in it"}))
		time.Sleep(time.Minute)
		b.wantWritten()
		_, err := b.standing.Unlock("LATCH", "li")
		must(t, err)
		time.Sleep(time.Minute)
		if b.wantWritten(freed); strings.Contains(b.alarmKeys(), "release/") {
			t.Errorf("alarms %s", b.alarmKeys())
		}
	})
}

func TestAnOwedReleaseOfAToolThatIsGoneIsReleasedAllTheSame(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.start(invoke.Request{Action: "close_latch"})
		time.Sleep(1500 * time.Millisecond)
		must(t, os.Remove(filepath.Join(b.dir, "contracts.d", "l.yaml")))
		b.machine.hook(func(string) error { return notSent })
		b.crash()
		b.machine.hook(nil)
		time.Sleep(time.Minute)
		b.wantWritten(pressed, freed)
	})
}

func TestAStopOfCapdReleasesAPulse(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		out := b.start(invoke.Request{Action: "close_latch"})
		time.Sleep(1500 * time.Millisecond)
		b.restart()
		<-out
		time.Sleep(time.Minute)
		b.wantWritten(pressed, freed)
	})
}

func TestAWaitLetsTheExecutionGoOn(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.wants("signal", b.call("signal_latch", nil), "confirmed E4 - - -")
		b.wantWritten(pressed, freed, lit)
	})
}

func TestAWaitThatIsInVainEndsTheExecutionAndIsNeverConfirmed(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.broken = true
		a := b.call("signal_latch", nil)
		b.wantWritten(pressed, freed)
		if a.Verdict == outcome.Confirmed || !strings.Contains(a.Text(), "waited 3s for closed, which did not come (closed = false)") || a.Reason.RetrySafe {
			t.Errorf("%s", a.Text())
		}
	})
}

func TestAWaitTakesNoWordOfADeadMachine(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.values["LATCH.closed"] = on() // an old picture
		b.machine.onWrite = func(ref string) error {
			b.machine.set(func(m *machine) { m.frozen = time.Now() })
			return nil
		}
		a := b.call("signal_latch", nil)
		b.wantWritten(pressed, freed)
		if a.Verdict != outcome.Unknown || !strings.Contains(a.Text(), "PLC stands still") {
			t.Errorf("%s", a.Text())
		}
	})
}

func TestTheWayToTheSafeSideEndsAWait(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.broken = true
		out := b.start(invoke.Request{Action: "signal_latch"})
		time.Sleep(4 * time.Second)
		b.wants("free", b.call("free_latch", nil), "confirmed E4 - - -")
		if a := <-out; a.Reason == nil || a.Reason.Code != outcome.Superseded {
			t.Errorf("%s", a.Text())
		}
		b.wantWritten(pressed, freed)
	})
}

// A pulse leaves nothing behind that reads back: what was so before the call does not show that it came.
func TestWhatWasSoBeforeDoesNotShowThatAPulseCame(t *testing.T) {
	for _, closed := range []bool{false, true} {
		want := map[bool]string{false: "confirmed E4 - - -", true: "unknown E4 - OUTCOME_UNKNOWN execution"}[closed]
		inBubble(t, func(t *testing.T, b *bubble) {
			b.machine.values["LATCH.closed"] = physical.FlagOf(closed)
			b.machine.onWrite = onNth("LATCH.press", 1, lost)
			a := b.call("close_latch", nil)
			if b.wants("lost reply", a, want); closed && (a.Reason.RetrySafe || !isUnsettled(b, "LATCH")) {
				t.Errorf("%+v", a.Reason)
			}
		})
		inBubble(t, func(t *testing.T, b *bubble) {
			b.machine.values["LATCH.closed"] = physical.FlagOf(closed)
			out := b.start(invoke.Request{Action: "close_latch"})
			time.Sleep(3500 * time.Millisecond) // pressed and released, not yet proved
			b.crash()
			b.wants("crash", b.explained((<-out).Invocation, time.Minute), want)
		})
		inBubble(t, func(t *testing.T, b *bubble) {
			b.machine.values["LATCH.closed"] = physical.FlagOf(closed)
			b.wants("acknowledged", b.call("close_latch", nil), "confirmed E4 - - -")
		})
	}
}
