package invoke_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"capd/internal/invoke"
	"capd/internal/journal"
	"capd/internal/outcome"
)

// crash ends capd as a power cut does: what the journal held at this moment is all that the next start finds.
func (b *bubble) crash() {
	b.t.Helper()
	held := newMemory()
	must(b.t, b.journal.Replay(context.Background(), func(r journal.Record) error {
		held.records = append(held.records, r)
		return nil
	}))
	b.close()
	b.journal = held
	b.open()
}

func (b *bubble) explained(id string, wait time.Duration) invoke.Answer {
	b.t.Helper()
	record, ok := b.corridor.Explain(context.Background(), agent("a"), id, wait)
	if !ok {
		b.t.Errorf("the call %s is lost", id)
	}
	return record.Answer
}

// TestACrashAtAnyMoment cuts the power at many moments of a call. The next start sends nothing, decides every intent once, and never
// refutes: nobody knows what was sent, or who moved the machine since.
func TestACrashAtAnyMoment(t *testing.T) {
	step := 331 * time.Millisecond
	if testing.Short() {
		step *= 5
	}
	for _, stuck := range []bool{false, true} {
		for at := time.Duration(0); at < 8*time.Second; at += step {
			inBubble(t, func(t *testing.T, b *bubble) {
				b.machine.set(func(m *machine) { m.stuck, m.writeFor = stuck, 150*time.Millisecond })
				out := b.start(set(60, "one"))
				time.Sleep(at)
				b.crash()
				first, written := <-out, b.machine.written()
				time.Sleep(30 * time.Second)
				if got := b.machine.written(); len(got) != len(written) {
					t.Errorf("%s: the next start sent %v", at, got[len(written):])
				}
				kinds := b.journal.kinds()
				if kinds[journal.Intent] != kinds[journal.Outcome] {
					t.Errorf("%s: %v", at, kinds)
				}
				if kinds[journal.Intent] == 0 {
					return
				}
				want := "confirmed E4 - - -"
				switch {
				case len(written) == 0:
					want = "unknown E0 - OUTCOME_UNKNOWN execution" // the intent was there, the write was not
				case stuck:
					want = "unknown E2 - OUTCOME_UNKNOWN execution"
				}
				a := b.explained(first.Invocation, 0)
				if shape(a) != want || isUnsettled(b, "VALVE") != (a.Verdict == outcome.Unknown) || (len(b.alarms.List(false)) > 0) != (a.Verdict == outcome.Unknown) {
					t.Errorf("%s: %s, want %s; unsettled %v, %s", at, a.Text(), want, isUnsettled(b, "VALVE"), b.alarmKeys())
				}
				if again := b.ask(set(60, "one")); again.Invocation != first.Invocation {
					t.Errorf("%s: the request_id led to another call: %s", at, again.Text())
				}
			})
		}
	}
}

func TestACommandThatNeverLeftMayBeAskedAgainAfterACrash(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.journal.hold[journal.Intent] = make(chan struct{})
		out := b.start(set(60, "one"))
		time.Sleep(time.Second)
		must(t, b.standing.SetMode("observe", "engineer")) // so that the write never leaves
		close(b.journal.hold[journal.Intent])
		first := <-out
		b.wants("observe", first, "not_executed E0 - OBSERVE_MODE policy")
		b.journal.keep(func(r journal.Record) bool { return r.Kind == journal.Intent }) // the power went off before the outcome was on disk
		b.crash()
		a := b.explained(first.Invocation, 20*time.Second)
		if b.wants("after the crash", a, "unknown E0 - OUTCOME_UNKNOWN execution"); !a.Reason.RetrySafe || a.CommandStanding || a.RefutedAt != nil || !a.AfterRestart {
			t.Errorf("%+v %+v", a, a.Reason)
		}
	})
}

func TestOfTwoOpenCommandsOnOneAssetTheLaterCounts(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.values["PUMP.run"] = on()
		start := b.start(invoke.Request{Action: "start_pump"})
		time.Sleep(700 * time.Millisecond)
		stop := b.start(invoke.Request{Action: "stop_pump"})
		time.Sleep(700 * time.Millisecond)
		b.journal.keep(func(r journal.Record) bool { return r.Kind == journal.Intent }) // neither has an outcome
		b.crash()
		b.wants("stop", b.explained((<-stop).Invocation, time.Minute), "confirmed E4 - - -")
		b.wants("start", b.explained((<-start).Invocation, 0), "unknown E0 - SUPERSEDED policy")
		if isUnsettled(b, "PUMP") || b.alarmKeys() != "" {
			t.Errorf("the stop is confirmed, but: unsettled %v, %s", isUnsettled(b, "PUMP"), b.alarmKeys())
		}
	})
}

func TestAnIntentWhoseToolIsGoneEndsUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		out := b.start(set(60, "one"))
		time.Sleep(time.Second)
		must(t, os.Remove(filepath.Join(b.dir, "contracts.d", "t.yaml")))
		b.crash()
		a := b.explained((<-out).Invocation, 0)
		b.wants("after the crash", a, "unknown E0 - OUTCOME_UNKNOWN execution")
		if !isUnsettled(b, "VALVE") || b.alarmKeys() != "set_valve/standing OUTCOME_UNKNOWN" || !strings.Contains(a.Text(), "no longer in force") || a.Reason.RetrySafe {
			t.Errorf("%s\nunsettled %v, %s", a.Text(), isUnsettled(b, "VALVE"), b.alarmKeys())
		}
	})
}

func TestRecordsOfOthersInTheJournalAreLeftAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		for _, payload := range []any{"text", 7, map[string]any{"event": "mode", "answer": "none"}, map[string]any{"args": []int{1}}} {
			_, err := b.journal.AppendAdvisory(context.Background(), journal.Event, payload)
			must(t, err)
		}
		a := b.ask(set(60, "one"))
		b.crash()
		b.wants("explain", b.explained(a.Invocation, 0), "confirmed E4 - - -")
	})
}

func TestAnIntentThatCannotBeReadIsTold(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		_, err := b.journal.Append(context.Background(), journal.Intent, []string{"of another version"})
		must(t, err)
		a := b.ask(set(60, "one"))
		b.crash()
		b.wants("explain", b.explained(a.Invocation, 0), "confirmed E4 - - -")
		if got := b.alarmKeys(); got != "journal/1 OUTCOME_UNKNOWN" {
			t.Errorf("alarms: %s", got)
		}
	})
}
