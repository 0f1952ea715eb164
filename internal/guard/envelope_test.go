package guard_test

import (
	"testing"
	"time"

	"capd/internal/guard"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/standing"
)

// moveCase is one value asked for from a setpoint and a position, and what the envelope says.
type moveCase struct {
	envelope, setpoint, position, to string
	code                             outcome.Code
	allowed                          string // "low high", "" for none
}

func (c moveCase) fresh(t *testing.T) guard.Fresh {
	t.Helper()
	f := fresh(t, action(t, "VALVE", setValve, c.envelope, ""), map[string]any{"to": dec(c.to).InexactFloat64()})
	f.Readings["VALVE.setpoint"], f.Readings["VALVE.position"] = num(c.setpoint), num(c.position)
	return f
}

func TestTheEnvelopeOfAValue(t *testing.T) {
	const steps = "min: 0, max: 100, max_step: 20, min_step: 2"
	for name, c := range map[string]moveCase{
		"inside":                     {steps, "45", "45.3", "60", outcome.OK, ""},
		"at the lower end":           {"min: 0, max: 100", "45", "45", "0", outcome.OK, ""},
		"at the upper end":           {"min: 0, max: 100", "45", "45", "100", outcome.OK, ""},
		"below":                      {"min: 10, max: 100", "45", "45", "9.9", outcome.OutOfRange, "10 100"},
		"above":                      {"min: 10, max: 90", "45", "45", "90.1", outcome.OutOfRange, "10 90"},
		"above, and far":             {steps, "45", "45", "160", outcome.OutOfRange, "25 65"},
		"above, with one end":        {"max: 90", "45", "45", "90.1", outcome.OutOfRange, ""},
		"the largest step":           {steps, "45", "45", "65", outcome.OK, ""},
		"more than the largest step": {steps, "45", "45", "65.1", outcome.StepTooLarge, "25 65"},
		"the example of the plant":   {steps, "45", "45", "5", outcome.StepTooLarge, "25 65"},
		"a step cut by the range":    {steps, "95", "95", "60", outcome.StepTooLarge, "75 100"},
		"noise of the position does not move the limits":    {steps, "45", "46.4", "65", outcome.OK, ""},
		"from the position as well, when it lies elsewhere": {steps, "45", "37", "65", outcome.StepTooLarge, "25 57"},
		"from the setpoint as well, when it lies elsewhere": {steps, "45", "60", "70", outcome.StepTooLarge, "40 65"},
		"setpoint and position too far apart for any step":  {steps, "20", "80", "50", outcome.StepTooLarge, ""},
		"the smallest step":                                   {steps, "45", "45", "47", outcome.OK, ""},
		"less than the smallest step up":                      {steps, "45", "45", "46.9", outcome.OutOfRange, "47 65"},
		"less than the smallest step down":                    {steps, "45", "45", "43.1", outcome.OutOfRange, "25 43"},
		"no step at all":                                      {steps, "45", "45", "45", outcome.OK, ""},
		"the end of the range is nearer than a smallest step": {steps, "99", "99", "20", outcome.StepTooLarge, "79 99"},
		"less than the smallest step, and no room for it":     {steps, "99", "99", "100", outcome.OutOfRange, "79 97"},
		"ends that no raw value stands for are drawn inwards": {"min: 0, max: 100, max_step: 20", "45", "37.33", "70", outcome.StepTooLarge, "25 57.3"},
	} {
		t.Run(name, func(t *testing.T) {
			r := guard.Permit(c.fresh(t))
			allowed := ""
			if r != nil && r.Allowed != nil {
				allowed = r.Allowed.Low.String() + " " + r.Allowed.High.String()
			}
			if code(r) != c.code || allowed != c.allowed {
				t.Errorf("got %v, allowed [%s], want %s, allowed [%s]", r, allowed, c.code, c.allowed)
			}
		})
	}
}

func TestAStepFromAnUnknownPlaceIsRefused(t *testing.T) {
	const steps = "min: 0, max: 100, max_step: 20"
	bad := physical.BadReading(physical.CauseInvalid, "wire break", now(), now())
	for name, c := range map[string]struct {
		envelope string
		change   func(*guard.Fresh)
		code     outcome.Code
	}{
		"the setpoint is not known":              {steps, func(f *guard.Fresh) { f.Readings["VALVE.setpoint"] = bad }, outcome.PermitUnknown},
		"the position is not known":              {steps, func(f *guard.Fresh) { f.Readings["VALVE.position"] = bad }, outcome.PermitUnknown},
		"the PLC stands still":                   {steps, func(f *guard.Fresh) { f.Alive["PLC"] = false }, outcome.PermitUnknown},
		"without a step nothing is needed":       {"min: 0, max: 100", func(f *guard.Fresh) { f.Readings["VALVE.position"] = bad }, outcome.OK},
		"out of range is out of range anyway":    {"min: 0, max: 50, max_step: 20", func(f *guard.Fresh) { f.Readings["VALVE.setpoint"] = bad }, outcome.OutOfRange},
		"to the safe side no step is measured":   {steps, func(f *guard.Fresh) { f.Action.ToSafe, f.Readings = true, nil }, outcome.OK},
		"to the safe side the range still holds": {"min: 0, max: 50", func(f *guard.Fresh) { f.Action.ToSafe = true }, outcome.OutOfRange},
	} {
		f := fresh(t, action(t, "VALVE", setValve, c.envelope, ""), map[string]any{"to": 60.0})
		c.change(&f)
		if r := guard.Permit(f); code(r) != c.code {
			t.Errorf("%s: got %v, want %s", name, r, c.code)
		}
	}
}

func TestTwoWritesOfOneAction(t *testing.T) {
	const two = `    execute: [{write: setpoint, value: to}, {write: second, value: other}]
    verify: {min_level: E4, within: 15s, expect: [{point: position, near: to, tolerance: 1.5}, {point: place, near: other, tolerance: 1.5}]}`
	const same = `    execute: [{write: setpoint, value: to}, {write: setpoint, value: other}]
    verify: {min_level: E4, within: 15s, expect: [{point: position, near: other, tolerance: 1.5}]}`
	for name, c := range map[string]struct {
		rest, envelope string
		to, other      float64
		code           outcome.Code
	}{
		"each from its own position":                    {two, "min: 0, max: 100, max_step: 20", 60, 15, outcome.OK},
		"the second one steps too far":                  {two, "min: 0, max: 100, max_step: 20", 60, 25, outcome.StepTooLarge},
		"the second write steps from the first":         {same, "min: 0, max: 100, max_step: 20", 60, 65, outcome.OK},
		"two steps one way and one back":                {same, "min: 0, max: 100, max_step: 20", 65, 40, outcome.StepTooLarge},
		"two writes in less than the smallest interval": {same, "min: 0, max: 100, min_interval: 1s", 60, 65, outcome.TooSoon},
		"two writes of a budget of one":                 {same, "min: 0, max: 100, lifetime_writes: 1", 60, 65, outcome.WriteBudgetExhausted},
	} {
		f := fresh(t, action(t, "VALVE", c.rest, c.envelope, ""), map[string]any{"to": c.to, "other": c.other})
		if r := guard.Permit(f); code(r) != c.code {
			t.Errorf("%s: got %v, want %s", name, r, c.code)
		}
	}
}

func TestTheEnvelopeOfTime(t *testing.T) {
	const pump = "min_interval: 10s, min_off: 60s, starts_per_hour: 3"
	starts := func(minutes ...int) (all []time.Time) {
		for _, m := range minutes {
			all = append(all, ago(time.Duration(m)*time.Minute))
		}
		return all
	}
	for name, c := range map[string]struct {
		on, was bool
		usage   standing.Usage
		code    outcome.Code
		after   time.Duration
		safe    outcome.Code // for the way to the safe side
	}{
		"never written":            {true, false, standing.Usage{}, outcome.OK, 0, outcome.OK},
		"written a moment ago":     {true, false, standing.Usage{LastWrite: ago(9 * time.Second)}, outcome.TooSoon, time.Second, outcome.OK},
		"written long enough ago":  {true, false, standing.Usage{LastWrite: ago(10 * time.Second)}, outcome.OK, 0, outcome.OK},
		"stopped a moment ago":     {true, false, standing.Usage{LastWrite: ago(20 * time.Second), LastStop: ago(20 * time.Second)}, outcome.TooSoon, 40 * time.Second, outcome.TooSoon},
		"a stop needs no pause":    {false, true, standing.Usage{LastWrite: ago(20 * time.Second), LastStop: ago(20 * time.Second)}, outcome.OK, 0, outcome.OK},
		"on already: no start":     {true, true, standing.Usage{LastWrite: ago(20 * time.Second), LastStop: ago(20 * time.Second)}, outcome.OK, 0, outcome.OK},
		"stopped long enough ago":  {true, false, standing.Usage{LastStop: ago(time.Minute)}, outcome.OK, 0, outcome.OK},
		"two starts in this hour":  {true, false, standing.Usage{Starts: starts(70, 30, 20)}, outcome.OK, 0, outcome.OK},
		"three starts in the hour": {true, false, standing.Usage{Starts: starts(50, 30, 20)}, outcome.TooSoon, 10 * time.Minute, outcome.TooSoon},
		"four starts in the hour":  {true, false, standing.Usage{Starts: starts(50, 40, 30, 20)}, outcome.TooSoon, 20 * time.Minute, outcome.TooSoon},
		"a stop is no start":       {false, true, standing.Usage{Starts: starts(50, 30, 20)}, outcome.OK, 0, outcome.OK},
	} {
		f := fresh(t, action(t, "PUMP", switchPump, "min: 0, max: 100", pump), map[string]any{"on": c.on})
		f.Readings["PUMP.run"] = good(physical.FlagOf(c.was))
		f.Usage["PUMP.run"] = c.usage
		r := guard.Permit(f)
		if code(r) != c.code || r != nil && (r.After == nil || !r.After.Equal(now().Add(c.after))) {
			t.Errorf("%s: got %+v, want %s after %s", name, r, c.code, c.after)
		}
		f.Action.ToSafe = true
		if r := guard.Permit(f); code(r) != c.safe {
			t.Errorf("%s, to the safe side: got %v, want %s", name, r, c.safe)
		}
	}
}

func TestAStartIsCountedWhenNobodyKnowsWhetherItRuns(t *testing.T) {
	f := fresh(t, action(t, "PUMP", switchPump, "min: 0, max: 100", "min_off: 60s"), map[string]any{"on": true})
	f.Readings["PUMP.run"] = physical.BadReading(physical.CauseOffline, "", now(), now())
	f.Usage["PUMP.run"] = standing.Usage{LastStop: ago(time.Second)}
	if r := guard.Permit(f); code(r) != outcome.TooSoon {
		t.Errorf("got %v", r)
	}
}

func TestAChangeOverTimeAndABudget(t *testing.T) {
	for name, c := range map[string]struct {
		envelope string
		usage    standing.Usage
		code     outcome.Code
		after    time.Duration
		safe     outcome.Code
	}{
		"a first write has no rate":    {"min: 0, max: 100, max_rate: 10", standing.Usage{}, outcome.OK, 0, outcome.OK},
		"15 % at 10 % a minute":        {"min: 0, max: 100, max_rate: 10", standing.Usage{LastWrite: ago(time.Minute)}, outcome.TooSoon, 30 * time.Second, outcome.OK},
		"15 % after a minute and half": {"min: 0, max: 100, max_rate: 10", standing.Usage{LastWrite: ago(90 * time.Second)}, outcome.OK, 0, outcome.OK},
		"a rate beyond any clock":      {"min: 0, max: 100, max_rate: 0.0000000001", standing.Usage{LastWrite: ago(time.Minute)}, outcome.TooSoon, -1, outcome.OK},
		"one write is left":            {"min: 0, max: 100, lifetime_writes: 10", standing.Usage{Writes: 9}, outcome.OK, 0, outcome.OK},
		"no write is left":             {"min: 0, max: 100, lifetime_writes: 10", standing.Usage{Writes: 10}, outcome.WriteBudgetExhausted, -1, outcome.WriteBudgetExhausted},
	} {
		f := fresh(t, action(t, "VALVE", setValve, c.envelope, ""), map[string]any{"to": 60.0})
		f.Usage["VALVE.setpoint"] = c.usage
		r := guard.Permit(f)
		if code(r) != c.code || r != nil && c.after >= 0 && (r.After == nil || !r.After.Equal(now().Add(c.after))) {
			t.Errorf("%s: got %+v, want %s", name, r, c.code)
		}
		f.Action.ToSafe = true
		if r := guard.Permit(f); code(r) != c.safe {
			t.Errorf("%s, to the safe side: got %v, want %s", name, r, c.safe)
		}
	}
}
