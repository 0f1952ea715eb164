package invoke_test

import (
	"fmt"
	"testing"

	"capd/internal/invoke"
	"capd/internal/outcome"
)

// faultCase is one row of the plant's fault table: what is asked while the fault is on, and the only right answer.
type faultCase struct {
	fault, action string
	args          map[string]any
	before        func(*testing.T, *station)
	want          string // verdict level refuted_at code layer
	writes        int    // -1: not looked at
	more          func(*testing.T, invoke.Answer)
}

func opening(percent float64) map[string]any { return map[string]any{"opening": percent} }

func faultCases() []faultCase {
	return []faultCase{
		{fault: "F1", action: "open_inlet_valve", want: "refuted E2 E4 VERIFY_MISMATCH device", writes: 1, more: commandStands},
		{fault: "F2", action: "set_discharge_valve", args: opening(30), want: "refuted E2 E4 VERIFY_MISMATCH device", writes: 1, more: commandStands},
		{fault: "F3", action: "set_discharge_valve", args: opening(60), want: "confirmed E4 - - -", writes: 1},
		{fault: "F4", action: "set_discharge_valve", args: opening(60), want: "refuted E0 E2 VERIFY_MISMATCH execution", writes: 0, more: retrySafe},
		{fault: "F5", action: "start_pump", want: "refuted E3 E4 VERIFY_MISMATCH device", writes: -1, more: commandStands},
		{fault: "F12", action: "sound_siren", args: map[string]any{"on": true}, want: "refuted E2 E4 VERIFY_MISMATCH device", writes: 1, more: commandStands},
		{fault: "F6a", action: "read_level", want: "unknown - - FEEDBACK_BAD verification", writes: 0},
		{fault: "F6a", action: "start_pump", want: "not_executed E0 - PERMIT_UNKNOWN policy", writes: 0},
		{fault: "F9", action: "alarm_outputs", want: "unknown - - DEVICE_OFFLINE execution", writes: 0},
		{fault: "F9", action: "set_discharge_valve", args: opening(60), want: "confirmed E4 - - -", writes: 1},
		{fault: "F8", action: "set_discharge_valve", args: opening(60), want: "not_executed E0 - LOCAL_MODE policy", writes: 0},
		{fault: "F17", action: "set_discharge_valve", args: opening(60), want: "confirmed E4 - - -", writes: 1},
		{fault: "F19a", action: "set_level_setpoint", args: map[string]any{"level": 45}, want: "not_executed E0 - OUT_OF_RANGE capability", writes: 0},
		{fault: "F19b", action: "set_discharge_valve", args: opening(5), want: "not_executed E0 - STEP_TOO_LARGE policy", writes: 0, more: allowed("25", "65")},
		{fault: "F21a", action: "set_discharge_valve", args: opening(60), want: "not_executed E0 - PERMIT_UNKNOWN policy", writes: 0},
		{fault: "F21b", action: "set_discharge_valve", args: opening(60), want: "unknown E1 - FEEDBACK_FROZEN verification", writes: 1, more: commandStands},
		{fault: "F23", action: "set_discharge_valve", args: opening(60), before: moveTo60, want: "confirmed E4 - - -", writes: 0, more: alreadyThere},
		{fault: "F24", action: "set_discharge_valve", args: opening(60), want: "unknown E2 - VERIFY_TIMEOUT device", writes: 1, more: commandStands},
	}
}

func TestEveryFaultHasItsOneRightAnswer(t *testing.T) {
	for _, c := range faultCases() {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			s := newStation(t)
			if c.before != nil {
				c.before(t, s)
			}
			must(t, s.plant.SetFault(c.fault))
			s.forget(t, c.action)
			before := s.plant.Counters().Writes
			a := s.call(t, c.action, c.args)
			if got := shape(a); got != c.want {
				t.Errorf("got  %s\nwant %s\n%s", got, c.want, a.Text())
			}
			if writes := int(s.plant.Counters().Writes - before); writes != c.writes && c.writes >= 0 {
				t.Errorf("the plant counted %d writes, want %d", writes, c.writes)
			}
			if c.more != nil {
				c.more(t, a)
			}
		})
	}
}

// forget reads what a reading action returns afresh: a read may be answered from what was polled a moment before the fault.
func (s *station) forget(t *testing.T, action string) {
	t.Helper()
	var refs []string
	for _, p := range s.registry.Snapshot().Action(action).Returned {
		refs = append(refs, p.Ref)
	}
	s.field.Read(t.Context(), refs)
}

// shape is an answer in one line: verdict level refuted_at code layer.
func shape(a invoke.Answer) string {
	level, refuted, code, layer := "-", "-", outcome.Code("-"), outcome.Layer("-")
	if a.Level != nil {
		level = a.Level.String()
	}
	if a.RefutedAt != nil {
		refuted = a.RefutedAt.String()
	}
	if a.Reason != nil {
		code, layer = a.Reason.Code, a.Reason.Layer
	}
	return fmt.Sprintf("%s %s %s %s %s", a.Verdict, level, refuted, code, layer)
}

func commandStands(t *testing.T, a invoke.Answer) {
	t.Helper()
	if !a.CommandStanding || a.Reason.RetrySafe {
		t.Errorf("command_standing = %v, retry_safe = %v", a.CommandStanding, a.Reason.RetrySafe)
	}
}

func retrySafe(t *testing.T, a invoke.Answer) {
	t.Helper()
	if !a.Reason.RetrySafe {
		t.Error("a write that surely did not arrive is not said to be safe to ask again")
	}
}

func allowed(low, high string) func(*testing.T, invoke.Answer) {
	return func(t *testing.T, a invoke.Answer) {
		t.Helper()
		if s := a.Reason.Allowed; s == nil || s.Low.String() != low || s.High.String() != high {
			t.Errorf("allowed is %v, want [%s, %s]", s, low, high)
		}
	}
}

func alreadyThere(t *testing.T, a invoke.Answer) {
	t.Helper()
	if a.Sent || !a.AlreadyThere {
		t.Errorf("sent = %v, already_there = %v", a.Sent, a.AlreadyThere)
	}
}

func moveTo60(t *testing.T, s *station) {
	t.Helper()
	if a := s.call(t, "set_discharge_valve", opening(60)); a.Verdict != outcome.Confirmed {
		t.Fatal(a.Text())
	}
}
