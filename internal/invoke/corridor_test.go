package invoke_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"capd/internal/access"
	"capd/internal/invoke"
	"capd/internal/outcome"
	"capd/internal/sim"
	"capd/internal/standing"
)

func TestAValveMovesAndIsConfirmedByItsPosition(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	a := s.call(t, "set_discharge_valve", opening(60))
	if got := shape(a); got != "confirmed E4 - - -" || !a.Sent || len(a.Evidence) == 0 || !strings.HasPrefix(a.Text(), "CONFIRMED at E4") {
		t.Errorf("%s\n%s", got, a.Text())
	}
}

func TestAPumpIsProvedByItsPowerAndItsFlow(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	if got := shape(s.call(t, "start_pump", nil)); got != "confirmed E5 - - -" {
		t.Errorf("start: %s", got)
	}
	if got := shape(s.call(t, "stop_pump", nil)); got != "confirmed E4 - - -" {
		t.Errorf("stop: %s", got)
	}
}

func TestABrokenCouplingIsToldFromARunningPump(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	must(t, s.plant.SetFault("F5"))
	if got := shape(s.call(t, "start_pump", nil)); got != "refuted E3 E4 VERIFY_MISMATCH device" {
		t.Error(got)
	}
}

func TestAReadHasUnitQualityAndAge(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	a := s.call(t, "read_level", nil)
	level := a.Values["level"]
	if a.Verdict != outcome.Observed || level.Unit != "m" || level.Quality != "good" || level.At.IsZero() {
		t.Errorf("%s\n%+v", a.Text(), level)
	}
}

func TestAFailedSensorIsUnknownAndNeverANumber(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	must(t, s.plant.SetFault("F6a"))
	s.forget(t, "read_level")
	got := s.call(t, "read_level", nil)
	if shape(got) != "unknown - - FEEDBACK_BAD verification" {
		t.Error(shape(got), got.Text())
	}
	if got := shape(s.call(t, "start_pump", nil)); got != "not_executed E0 - PERMIT_UNKNOWN policy" {
		t.Error(got)
	}
}

func TestWhatIsNotAllowedOrNotThereIsRefusedBeforeAnythingIsRead(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	viewer := access.Subject{ID: "token:v", Name: "viewer", Scopes: []string{"site:ps07"}}
	elsewhere := operator()
	elsewhere.Scopes = []string{"site:ps08"}
	for name, c := range map[string]struct {
		subject access.Subject
		action  string
		args    map[string]any
		code    outcome.Code
		says    string
	}{
		"without the permission": {viewer, "set_discharge_valve", opening(60), outcome.NoAccess, "valve:write"},
		"at another site":        {elsewhere, "set_discharge_valve", opening(60), outcome.NoAccess, "scope"},
		"a misspelt tool":        {operator(), "set_discharge_valv", opening(60), outcome.InvalidParameter, `did you mean "set_discharge_valve"`},
		"a misspelt argument":    {operator(), "set_discharge_valve", map[string]any{"opning": 60}, outcome.InvalidParameter, "opening"},
		"a missing argument":     {operator(), "set_discharge_valve", nil, outcome.InvalidParameter, `missing argument "opening"`},
		"an argument too many":   {operator(), "set_discharge_valve", map[string]any{"opening": 60, "speed": 3}, outcome.InvalidParameter, `unknown argument "speed"`},
		"a text for a number":    {operator(), "set_discharge_valve", map[string]any{"opening": "60"}, outcome.InvalidParameter, "number"},
		"beyond the range":       {operator(), "set_discharge_valve", opening(160), outcome.OutOfRange, "above the maximum 100"},
		"between two raw values": {operator(), "set_discharge_valve", opening(60.05), outcome.OutOfRange, "60.1"},
		"too small a move":       {operator(), "set_discharge_valve", opening(46), outcome.OutOfRange, "smallest move"},
	} {
		before := s.plant.Counters().Writes
		a := s.corridor.Call(t.Context(), invoke.Request{Subject: c.subject, Action: c.action, Args: c.args})
		if a.Verdict != outcome.NotExecuted || a.Reason.Code != c.code || !strings.Contains(a.Text(), c.says) {
			t.Errorf("%s: %s\n%s", name, shape(a), a.Text())
		}
		if s.plant.Counters().Writes != before {
			t.Errorf("%s: something was written", name)
		}
	}
}

func TestObserveAndShadowSendNothing(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	for mode, code := range map[standing.Mode]outcome.Code{standing.Observe: outcome.ObserveMode, standing.Shadow: outcome.NotSent} {
		must(t, s.standing.SetMode(mode, "engineer"))
		a := s.call(t, "set_discharge_valve", opening(60))
		if a.Verdict != outcome.NotExecuted || a.Reason.Code != code || a.Sent {
			t.Errorf("%s: %s", mode, a.Text())
		}
	}
	if n := s.plant.Counters().Writes; n != 0 {
		t.Errorf("%d writes left the box", n)
	}
}

func TestALockoutNamesWhoAndWhyAndSurvivesARestart(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	must(t, s.standing.Lock(standing.Lockout{Target: "PS07-FCV-04", By: "mei", Reason: "packing is being replaced"}))
	s.close(t)
	s.open(t)
	a := s.call(t, "set_discharge_valve", opening(60))
	if shape(a) != "not_executed E0 - LOCKED_OUT policy" || !strings.Contains(a.Text(), "mei") || !strings.Contains(a.Text(), "packing") {
		t.Error(a.Text())
	}
}

func TestADryRunShowsGatesAndFramesAndSendsNothing(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	a := s.corridor.Call(t.Context(), invoke.Request{Subject: operator(), Action: "set_discharge_valve", Args: opening(60), DryRun: true})
	if a.DryRun == nil || len(a.DryRun.Frames) != 1 || !strings.Contains(a.DryRun.Frames[0], "0258") || s.plant.Counters().Writes != 0 {
		t.Errorf("%s\n%+v", a.Text(), a.DryRun)
	}
}

func TestARequestIDAnswersARepeatWithoutSendingAgain(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	ask := func(args map[string]any) invoke.Answer {
		return s.corridor.Call(t.Context(), invoke.Request{Subject: operator(), Action: "set_discharge_valve", Args: args, RequestID: "r-1"})
	}
	first := ask(opening(60))
	s.close(t)
	s.open(t) // the journal remembers
	second := ask(opening(60))
	if second.Invocation != first.Invocation || !second.Repeated || s.plant.Counters().Writes != 1 {
		t.Errorf("first %s, second %s, %d writes", first.Text(), second.Text(), s.plant.Counters().Writes)
	}
	if other := ask(opening(55)); other.Verdict != outcome.NotExecuted || other.Reason.Code != outcome.InvalidParameter {
		t.Errorf("the same id with other arguments: %s", other.Text())
	}
}

// begin starts a call and returns when the plant has taken its write.
func begin(t *testing.T, s *station, req invoke.Request) <-chan invoke.Answer {
	t.Helper()
	written, out := make(chan struct{}, 64), make(chan invoke.Answer, 1)
	s.plant.OnWrite(func(sim.WriteEvent) { written <- struct{}{} })
	go func() { out <- s.corridor.Call(context.Background(), req) }()
	select {
	case <-written:
	case <-time.After(10 * time.Second):
		t.Fatal("nothing was written")
	}
	return out
}

func TestAnEqualCallAttachesAndAnotherIsBusy(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	req := invoke.Request{Subject: operator(), Action: "set_discharge_valve", Args: opening(60)}
	first := begin(t, s, req)
	if other := s.call(t, "set_discharge_valve", opening(55)); other.Reason == nil || other.Reason.Code != outcome.Busy {
		t.Errorf("another call on the same valve: %s", other.Text())
	}
	second := s.corridor.Call(t.Context(), req)
	a := <-first
	if second.Invocation != a.Invocation || !second.Attached || s.plant.Counters().Writes != 1 {
		t.Errorf("first %s\nsecond %s", a.Text(), second.Text())
	}
}

func TestACallerThatGoesAwayEndsOnlyItsWaiting(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.plant.OnWrite(func(sim.WriteEvent) { cancel() })
	a := s.corridor.Call(ctx, invoke.Request{Subject: operator(), Action: "set_discharge_valve", Args: opening(60)})
	if a.Verdict != outcome.Pending {
		t.Fatalf("the answer of a caller that left: %s", a.Text())
	}
	if _, visible := s.corridor.Explain(t.Context(), access.Subject{ID: "token:other"}, a.Invocation, 0); visible {
		t.Error("another subject sees the call")
	}
	record, ok := s.corridor.Explain(t.Context(), operator(), a.Invocation, 30*time.Second)
	if !ok || shape(record.Answer) != "confirmed E4 - - -" || len(record.Samples) == 0 {
		t.Errorf("explain: %v %s", ok, record.Answer.Text())
	}
}

func TestTheWayToTheSafeSideTakesOver(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	start := begin(t, s, invoke.Request{Subject: operator(), Action: "start_pump", Args: nil})
	stop := s.call(t, "stop_pump", nil)
	if got := shape(stop); got != "confirmed E4 - - -" {
		t.Errorf("stop: %s %s", got, stop.Text())
	}
	if got := shape(<-start); !strings.HasPrefix(got, "unknown") || !strings.Contains(got, "SUPERSEDED") {
		t.Errorf("start: %s", got)
	}
}

func TestACallOnAnotherAssetIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	if got := shape(s.call(t, "start_pump", nil)); got != "confirmed E5 - - -" {
		t.Fatal(got)
	}
	must(t, s.plant.SetFault("F22"))
	valve := begin(t, s, invoke.Request{Subject: operator(), Action: "set_discharge_valve", Args: opening(60)})
	if got := shape(s.call(t, "stop_pump", nil)); got != "confirmed E4 - - -" {
		t.Errorf("stop: %s", got)
	}
	if got := shape(<-valve); got != "confirmed E4 - - -" {
		t.Errorf("valve: %s", got)
	}
}

func TestAfterACrashTheIntentIsVerifiedAndNothingIsSentAgain(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	out := begin(t, s, invoke.Request{Subject: operator(), Action: "set_discharge_valve", Args: opening(60), RequestID: "r-9"})
	s.close(t) // ends before the verdict: the journal holds an intent without an outcome
	if a := <-out; a.Verdict != outcome.Pending {
		t.Fatalf("the caller of the life that ended: %s", a.Text())
	}
	s.open(t)
	a := s.corridor.Call(t.Context(), invoke.Request{Subject: operator(), Action: "set_discharge_valve", Args: opening(60), RequestID: "r-9"})
	if shape(a) != "confirmed E4 - - -" || !a.AfterRestart || s.plant.Counters().Writes != 1 {
		t.Errorf("%s, after_restart = %v, %d writes", a.Text(), a.AfterRestart, s.plant.Counters().Writes)
	}
}

func TestThreeFailedVerificationsTakeAToolOutOfService(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	must(t, s.plant.SetFault("F1"))
	for range 3 {
		if a := s.call(t, "open_inlet_valve", nil); a.Verdict != outcome.Refuted {
			t.Fatal(a.Text())
		}
	}
	if got := shape(s.call(t, "open_inlet_valve", nil)); got != "not_executed E0 - DEGRADED policy" {
		t.Error(got)
	}
	alarms := s.alarms.List(false)
	if len(alarms) != 2 || alarms[0].Code != outcome.Degraded && alarms[1].Code != outcome.Degraded {
		t.Errorf("alarms: %+v", alarms)
	}
}

func TestAConfirmedStateThatIsLeftRaisesReverted(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	must(t, s.plant.SetFault("F11"))
	a := s.call(t, "set_discharge_valve", opening(60))
	if shape(a) != "confirmed E4 - - -" {
		t.Fatal(a.Text())
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		record, _ := s.corridor.Explain(t.Context(), operator(), a.Invocation, 0)
		if am := record.Answer.Amendments; len(am) == 1 && am[0].Kind == "reverted" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no amendment: %+v", record.Answer.Amendments)
		}
		s.field.Read(t.Context(), []string{"PS07-PLC-01.heartbeat"}) // paces the loop
	}
	if alarms := s.alarms.List(false); len(alarms) != 1 || alarms[0].Code != outcome.Reverted {
		t.Errorf("alarms: %+v", alarms)
	}
}

func TestAHeldCommandIsReassertedUntilAnotherOneTakesOver(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	written := make(chan string, 1024)
	s.plant.OnWrite(func(e sim.WriteEvent) {
		select {
		case written <- e.Tag:
		default:
		}
	})
	start := s.call(t, "start_pump", nil)
	if got := shape(start); got != "confirmed E5 - - -" || start.TrueUntil == nil {
		t.Fatalf("%s, true_until %v", got, start.TrueUntil)
	}
	for range 3 { // the first two writes are the act's own: speed and control
		nextWrite(t, written, "vfd_control")
	}
	if got := shape(s.call(t, "stop_pump", nil)); got != "confirmed E4 - - -" {
		t.Fatal(got)
	}
	after := s.plant.Counters().WritesTo["vfd_control"]
	s.call(t, "set_discharge_valve", opening(60)) // longer than several periods of the hold
	if now := s.plant.Counters().WritesTo["vfd_control"]; now != after {
		t.Errorf("the hold went on after the stop: %d more writes", now-after)
	}
}

func nextWrite(t *testing.T, written <-chan string, tag string) {
	t.Helper()
	for {
		select {
		case got := <-written:
			if got == tag {
				return
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no write to %s", tag)
		}
	}
}

func TestALockoutEndsAHold(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	if got := shape(s.call(t, "start_pump", nil)); got != "confirmed E5 - - -" {
		t.Fatal(got)
	}
	must(t, s.standing.Lock(standing.Lockout{Target: "PS07-P-01", By: "mei", Reason: "bearing noise"}))
	deadline := time.Now().Add(10 * time.Second)
	for len(s.alarms.List(false)) == 0 {
		if time.Now().After(deadline) {
			t.Fatal("no alarm tells that the hold has ended")
		}
		s.field.Read(t.Context(), []string{"PS07-PLC-01.heartbeat"}) // paces the loop
	}
	if a := s.alarms.List(false)[0]; !strings.Contains(a.Text, "bearing noise") || !strings.Contains(a.Text, "stops after 5 s") {
		t.Errorf("%+v", a)
	}
}

func TestTheSameSetpointIsWrittenOnceAndItsBudgetIsShown(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	for i := range 5 {
		a := s.call(t, "set_level_setpoint", map[string]any{"level": 2.5})
		if shape(a) != "confirmed E2 - - -" || a.Sent != (i == 0) || len(a.Budgets) != 1 || a.Budgets[0].Used != 1 || a.Budgets[0].Limit != 100000 {
			t.Fatalf("call %d: %s\n%+v", i, a.Text(), a.Budgets)
		}
	}
	if n := s.plant.Counters().Writes; n != 1 {
		t.Errorf("%d writes", n)
	}
}

func TestASignalWithoutNoiseIsFrozen(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	must(t, s.plant.SetFault("F6b"))
	deadline := time.Now().Add(20 * time.Second)
	for {
		a := s.call(t, "read_level", nil)
		if shape(a) == "unknown - - FEEDBACK_FROZEN verification" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(a.Text())
		}
		s.field.Read(t.Context(), []string{"PS07-PLC-01.heartbeat"}) // paces the loop
	}
	if got := shape(s.call(t, "start_pump", nil)); got != "not_executed E0 - PERMIT_UNKNOWN policy" {
		t.Error(got)
	}
}

func TestARefutedCommandIsWithdrawnWhereTheContractSaysSo(t *testing.T) {
	t.Parallel()
	s := newStationWith(t, func(dir string) {
		path := filepath.Join(dir, "contracts.d", "xv-03.yaml")
		text, err := os.ReadFile(path)
		must(t, err)
		changed := strings.Replace(string(text), "    execute: [{write: command, value: true}]\n",
			"    execute: [{write: command, value: true}]\n    on_fail: withdraw\n    withdraw: [{write: command, value: false}]\n", 1)
		must(t, os.WriteFile(path, []byte(changed), 0o600))
	})
	must(t, s.plant.SetFault("F1"))
	a := s.call(t, "open_inlet_valve", nil)
	if shape(a) != "refuted E2 E4 VERIFY_MISMATCH device" || a.Withdrawal == nil || !a.Withdrawal.Done || a.CommandStanding {
		t.Fatalf("%s\n%+v", a.Text(), a.Withdrawal)
	}
	if n := s.plant.Counters().WritesTo["xv_cmd"]; n != 2 {
		t.Errorf("%d writes, want the command and its withdrawal", n)
	}
}
