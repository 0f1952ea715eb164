package guard_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"capd/internal/guard"
	"capd/internal/outcome"
	"capd/internal/physical"
)

func TestARefusalSaysWhatToAskFor(t *testing.T) {
	const steps = "min: 0, max: 100, max_step: 20, min_step: 2"
	for name, c := range map[string]struct {
		moveCase
		next string
	}{
		"too large a step":                    {moveCase{envelope: steps, setpoint: "45", position: "45", to: "5"}, "ask for 25 to 65 %"},
		"out of range":                        {moveCase{envelope: steps, setpoint: "45", position: "45", to: "160"}, "ask for 25 to 65 %"},
		"out of range with one end":           {moveCase{envelope: "max: 90", setpoint: "45", position: "45", to: "91"}, "ask for a value inside the limits given"},
		"too small a step":                    {moveCase{envelope: steps, setpoint: "45", position: "45", to: "46"}, "ask for 25 to 43 %, or 47 to 65 %"},
		"too small a step down":               {moveCase{envelope: steps, setpoint: "45", position: "45", to: "44"}, "ask for 25 to 43 %, or 47 to 65 %"},
		"too small a step, and no room above": {moveCase{envelope: steps, setpoint: "99", position: "99", to: "100"}, "ask for 79 to 97 %"},
		"too small a step, and one value":     {moveCase{envelope: "min: 43, max: 46, min_step: 2", setpoint: "45", position: "45", to: "46"}, "ask for 43 %"},
		"too small a step, and no value":      {moveCase{envelope: "min: 44, max: 46, min_step: 2", setpoint: "45", position: "45", to: "46"}, "ask for 45 % to leave it there"},
		"too small a step of an open range":   {moveCase{envelope: "min: 0, min_step: 2", setpoint: "45", position: "45", to: "46"}, "ask for 43 % or less, or 47 % or more"},
		"too far apart":                       {moveCase{envelope: steps, setpoint: "20", position: "80", to: "50"}, "bring the machine to its setpoint first"},
		"a setpoint that nobody may set":      {moveCase{envelope: steps, setpoint: "6553.5", position: "45", to: "50"}, "have it set at the machine, or use an action to the safe side"},
		"a setpoint just outside":             {moveCase{envelope: steps, setpoint: "110", position: "110", to: "50"}, "ask for 90 to 100 %"},
	} {
		r := guard.Permit(c.fresh(t))
		if r == nil || !strings.HasPrefix(r.Next, c.next) && !strings.HasSuffix(r.Next, c.next) {
			t.Errorf("%s: got %+v, want %q", name, r, c.next)
		}
	}
}

func TestASetpointOutsideItsOwnEnvelopeIsNamed(t *testing.T) {
	r := guard.Permit(moveCase{envelope: "min: 0, max: 100, max_step: 20", setpoint: "6553.5", position: "45", to: "50"}.fresh(t))
	if code(r) != outcome.StepTooLarge {
		t.Fatalf("got %v", r)
	}
	for _, part := range []string{"VALVE.setpoint stands at 6553.5 %", "outside its own envelope (at least 0 %, at most 100 %)", "somebody else wrote it", "never set"} {
		if !strings.Contains(r.Message, part) {
			t.Errorf("%q lacks %q", r.Message, part)
		}
	}
}

func TestTheNextCallOfALimitedToolIsNamed(t *testing.T) {
	f := guard.Static{Now: now(), Action: action(t, "VALVE", setValve, "min: 0, max: 100", ""), Visible: true, Mode: "active"}
	for range 3 {
		f.Calls = append(f.Calls, now())
	}
	if r := guard.Admit(f); code(r) != outcome.RateLimited || r.Next != "call again after 2026-07-01T12:01:00Z" {
		t.Errorf("got %+v", r)
	}
}

func TestAValueThatNoRawValueStandsForNamesItsNeighbours(t *testing.T) {
	p := action(t, "VALVE", setValve, "min: 0, max: 100", "").Steps[0].Point
	for value, want := range map[string]string{"60.05": "ask for 60 %, or 60.1 %", "-0.05": "ask for 0 %", "100.05": "ask for 100 %"} {
		_, _, err := p.Raw(physical.NumberOf(dec(value)))
		if r := guard.NoRawValue(p.Point, fmt.Errorf("wrapped: %w", err)); r.Code != outcome.OutOfRange || r.Next != want || !strings.Contains(r.Message, value) {
			t.Errorf("%s: got %+v, want %q", value, r, want)
		}
	}
	if r := guard.NoRawValue(p.Point, errors.New("there is no label")); r.Code != outcome.OutOfRange || r.Next == "" {
		t.Errorf("got %+v", r)
	}
}
