package invoke_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"capd/internal/invoke"
	"capd/internal/journal"
	"capd/internal/outcome"
)

func set(percent float64, id string) invoke.Request {
	return invoke.Request{Action: "set_valve", Args: to(percent), RequestID: id}
}

func TestTheRulesOfARequestID(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		first := b.start(set(60, "one"))
		time.Sleep(time.Second)
		inFlight := b.ask(set(60, "one"))
		a := <-first
		if inFlight.Invocation != a.Invocation || !inFlight.Attached {
			t.Errorf("in flight: %s", inFlight.Text())
		}
		for name, c := range map[string]struct {
			req  invoke.Request
			want string
		}{
			"again":           {set(60, "one"), "confirmed E4 - - -"},
			"other arguments": {set(61, "one"), "not_executed E0 - INVALID_PARAMETER capability"},
			"another action":  {invoke.Request{Action: "close_valve", RequestID: "one"}, "not_executed E0 - INVALID_PARAMETER capability"},
		} {
			got := b.ask(c.req)
			b.wants(name, got, c.want)
			if name == "again" && (!got.Repeated || got.Invocation != a.Invocation || got.Attached) {
				t.Errorf("%+v", got)
			}
		}
		other := set(60, "one")
		other.Subject = agent("b")
		if got := b.ask(other); got.Repeated || got.Invocation == a.Invocation {
			t.Errorf("another subject got this one's outcome: %s", got.Text())
		}
		b.restart()
		if got := b.ask(set(60, "one")); !got.Repeated || got.Invocation != a.Invocation {
			t.Errorf("after a restart: %s", got.Text())
		}
		time.Sleep(24*time.Hour - time.Minute)
		if got := b.ask(set(60, "one")); !got.Repeated {
			t.Errorf("within 24 h: %s", got.Text())
		}
		time.Sleep(2 * time.Minute)
		if got := b.ask(set(60, "one")); got.Repeated || !got.AlreadyThere {
			t.Errorf("after 24 h: %s", got.Text())
		}
		if n := len(b.machine.written()); n != 1 {
			t.Errorf("%d writes", n)
		}
	})
}

func TestARequestIDIsFreeAgainAfterARefusal(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.set(func(m *machine) { m.values["PLC.remote"] = off() })
		b.wants("refused", b.ask(set(60, "one")), "not_executed E0 - LOCAL_MODE policy")
		b.machine.set(func(m *machine) { m.values["PLC.remote"] = on() })
		b.wants("then with other arguments", b.ask(set(55, "one")), "confirmed E4 - - -")
	})
}

func TestAnOutcomeIsNotLostAmongRefusals(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		a := b.ask(set(60, "one"))
		for range 1500 {
			b.ask(invoke.Request{Action: "no_such_tool"})
		}
		if got := b.ask(set(60, "one")); !got.Repeated || got.Invocation != a.Invocation {
			t.Errorf("the request_id: %s", got.Text())
		}
		if record, ok := b.corridor.Explain(context.Background(), agent("a"), a.Invocation, 0); !ok || len(record.Samples) == 0 {
			t.Errorf("explain: %v, %d samples", ok, len(record.Samples))
		}
	})
}

func TestAnOldOutcomeComesFromTheJournal(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		a := b.ask(set(60, "one"))
		for i := range 1200 { // more outcomes than memory keeps
			time.Sleep(20 * time.Second)
			b.ask(set(60, fmt.Sprint("later ", i)))
		}
		if got := b.ask(set(60, "one")); !got.Repeated || got.Invocation != a.Invocation {
			t.Errorf("the request_id: %s", got.Text())
		}
		if record, ok := b.corridor.Explain(context.Background(), agent("a"), a.Invocation, 0); !ok || len(record.Samples) == 0 {
			t.Errorf("explain: %v, %d samples", ok, len(record.Samples))
		}
		if _, ok := b.corridor.Explain(context.Background(), agent("b"), a.Invocation, 0); ok {
			t.Error("another subject sees it")
		}
	})
}

func TestAHugeCallIsRefusedAndKeptShort(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		long := strings.Repeat("<", 200_000)
		for _, req := range []invoke.Request{{Action: long}, {Action: "set_valve", Args: map[string]any{"to": long}}, {Action: "set_valve", Args: map[string]any{long: 1}}} {
			if a := b.ask(req); a.Verdict != outcome.NotExecuted || len(a.Summary) > 4000 || len(a.Action) > 400 {
				t.Errorf("%d bytes of summary, %d of action: %.200s", len(a.Summary), len(a.Action), a.Text())
			}
		}
		for _, r := range b.journal.records {
			if len(r.Payload) > 16_000 {
				t.Errorf("a record of %d bytes", len(r.Payload))
			}
		}
	})
}

func TestADryRunLeavesNoTrace(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		for range 8 { // more than the rate allows
			a := b.ask(invoke.Request{Action: "set_valve", Args: to(60), DryRun: true, RequestID: "one"})
			if a.DryRun == nil || len(a.DryRun.Frames) != 1 {
				t.Fatal(a.Text())
			}
		}
		b.machine.set(func(m *machine) { m.values["PLC.remote"] = off() })
		b.wants("refused", b.ask(invoke.Request{Action: "set_valve", Args: to(60), DryRun: true, RequestID: "one"}), "not_executed E0 - LOCAL_MODE policy")
		b.machine.set(func(m *machine) { m.values["PLC.remote"] = on() })
		if n := len(b.journal.records); n > 0 || len(b.machine.written()) > 0 || len(b.corridor.Recent(10)) > 0 || len(b.alarms.List(true)) > 0 {
			t.Errorf("%d records, %v written, %d recent", n, b.machine.written(), len(b.corridor.Recent(10)))
		}
		b.wants("the call itself", b.ask(set(60, "one")), "confirmed E4 - - -")
	})
}

func TestADryRunTellsThatAnAssetIsTaken(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		first := b.start(set(60, ""))
		time.Sleep(time.Second)
		b.wants("taken", b.ask(invoke.Request{Action: "fill", Args: to(60), DryRun: true}), "not_executed E0 - BUSY policy")
		if a := b.ask(invoke.Request{Action: "close_valve", DryRun: true}); a.DryRun == nil {
			t.Errorf("to the safe side: %s", a.Text())
		}
		b.wants("the first", <-first, "confirmed E4 - - -")
	})
}

func TestTheRateWindow(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		began := time.Now()
		for i := range 5 {
			b.wants("in the window", b.call("set_valve", to(float64(50+2*i))), "confirmed E4 - - -")
		}
		a := b.call("set_valve", to(44))
		if a.Reason == nil || a.Reason.Code != outcome.RateLimited || !a.Reason.After.Equal(began.Add(time.Minute)) {
			t.Fatalf("%s %v", a.Text(), a.Reason.After)
		}
		time.Sleep(time.Until(*a.Reason.After))
		b.wants("after the window", b.call("set_valve", to(44)), "confirmed E4 - - -")
	})
}

func TestExplainShowsACallToItsCallerAndToATechnician(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		first := b.start(set(60, ""))
		time.Sleep(time.Second)
		id := b.corridor.Running()[0].Invocation
		technician := agent("t")
		technician.Technician = true
		look := func(name string, wait time.Duration) (invoke.Record, bool) {
			s := agent(name)
			if name == "t" {
				s = technician
			}
			return b.corridor.Explain(context.Background(), s, id, wait)
		}
		if r, ok := look("a", 0); !ok || r.Answer.Verdict != outcome.Pending || !r.Answer.Sent || !r.Answer.CommandStanding {
			t.Errorf("while it runs: %v %+v", ok, r.Answer)
		}
		if _, ok := look("b", 0); ok {
			t.Error("another subject sees it run")
		}
		if r, ok := look("t", time.Minute); !ok || r.Answer.Verdict != outcome.Confirmed {
			t.Errorf("a technician who waits: %v %+v", ok, r.Answer)
		}
		<-first
		if _, ok := look("b", 0); ok {
			t.Error("another subject sees the outcome")
		}
		if r, ok := look("a", 0); !ok || len(r.Samples) == 0 {
			t.Errorf("%v, %d samples", ok, len(r.Samples))
		}
		if kinds := b.journal.kinds(); kinds[journal.Intent] != 1 || kinds[journal.Outcome] != 1 {
			t.Error(kinds)
		}
	})
}

// TestARefusedCallCannotKeepCapdFromStarting: what an agent sends is journalled with its refusal, and read again at each start.
func TestARefusedCallCannotKeepCapdFromStarting(t *testing.T) {
	for _, number := range []json.Number{"1e400", "1e999", "-1e309", "1e-999"} {
		inBubble(t, func(t *testing.T, b *bubble) {
			for _, args := range []map[string]any{{"to": number}, {"to": []any{number}}, {"to": 50, "x": map[string]any{"y": number}}} {
				if a := b.call("set_valve", args); a.Verdict != outcome.NotExecuted {
					t.Error(a.Text())
				}
			}
			b.restart()
			b.wants("after the restart", b.call("set_valve", to(60)), "confirmed E4 - - -")
		})
	}
}
