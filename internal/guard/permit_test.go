package guard_test

import (
	"strings"
	"testing"
	"time"

	"capd/internal/contract"
	"capd/internal/guard"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/standing"
)

const withPermits = `    permits:
      - {id: remote, when: 'mode == "remote"', max_age: 1500ms, code: LOCAL_MODE, reason: The selector is not in remote}
      - {id: stop, when: 'not stop', max_age: 1500ms, reason: A stop is pressed}
` + setValve

type permitCase struct {
	change func(*guard.Fresh)
	code   outcome.Code
	says   string
}

func permitCases() map[string]permitCase {
	set := func(ref string, r physical.Reading) func(*guard.Fresh) {
		return func(f *guard.Fresh) { f.Readings[ref] = r }
	}
	aged := func(r physical.Reading, age time.Duration) physical.Reading {
		r.At = ago(age)
		return r
	}
	remote, local := good(physical.TextOf("remote")), good(physical.TextOf("local"))
	uncertain := remote
	uncertain.Quality = physical.Uncertain
	return map[string]permitCase{
		"everything holds":                      {func(*guard.Fresh) {}, outcome.OK, ""},
		"observe mode came meanwhile":           {func(f *guard.Fresh) { f.Mode = standing.Observe }, outcome.ObserveMode, "observe"},
		"a lockout came meanwhile":              {func(f *guard.Fresh) { f.Lockouts = []standing.Lockout{{Target: "VALVE", By: "mei", Reason: "packing"}} }, outcome.LockedOut, "mei"},
		"the arming ran out":                    {func(f *guard.Fresh) { f.Action.Risk = contract.Critical }, outcome.NotArmed, "arm"},
		"armed":                                 {func(f *guard.Fresh) { f.Action.Risk, f.Armed = contract.Critical, true }, outcome.OK, ""},
		"a permit does not hold":                {set("PLC.mode", local), outcome.LocalMode, "The selector is not in remote (permit remote: mode == \"remote\"; mode = local)"},
		"the second permit":                     {set("PLC.stop", good(physical.FlagOf(true))), outcome.Interlocked, "A stop is pressed"},
		"not read":                              {func(f *guard.Fresh) { delete(f.Readings, "PLC.mode") }, outcome.PermitUnknown, "was not read"},
		"bad":                                   {set("PLC.mode", physical.BadReading(physical.CauseOffline, "no answer", now(), now())), outcome.PermitUnknown, "no answer"},
		"uncertain":                             {set("PLC.mode", uncertain), outcome.PermitUnknown, "uncertain"},
		"too old":                               {set("PLC.mode", aged(remote, 1501*time.Millisecond)), outcome.PermitUnknown, "1.501s old and 1.5s is the limit"},
		"just young enough":                     {set("PLC.mode", aged(remote, 1500*time.Millisecond)), outcome.OK, ""},
		"on a device that stands still":         {func(f *guard.Fresh) { f.Alive["PLC"] = false }, outcome.PermitUnknown, "PLC stands still"},
		"on a device of which nothing is known": {func(f *guard.Fresh) { delete(f.Alive, "PLC") }, outcome.PermitUnknown, "PLC stands still"},
		"a value of another kind":               {set("PLC.mode", good(physical.FlagOf(true))), outcome.PermitUnknown, "permit remote cannot be judged"},
		"a good reading that does not hold is told before a stale one": {func(f *guard.Fresh) {
			f.Readings["PLC.mode"], f.Readings["PLC.stop"] = local, aged(good(physical.FlagOf(true)), time.Hour)
		}, outcome.LocalMode, "remote"},
	}
}

func TestPermits(t *testing.T) {
	for name, c := range permitCases() {
		t.Run(name, func(t *testing.T) {
			f := fresh(t, action(t, "VALVE", withPermits, "min: 0, max: 100", ""), map[string]any{"to": 60.0})
			c.change(&f)
			if r := guard.Permit(f); code(r) != c.code || r != nil && !strings.Contains(r.Message, c.says) {
				t.Errorf("got %v, want %s %q", r, c.code, c.says)
			}
		})
	}
}

// TestTheWayToTheSafeSideNeedsItsPermits holds the list of DESIGN section 1: lockout, observe mode and the contract's own permits
// are not on it.
func TestTheWayToTheSafeSideNeedsItsPermits(t *testing.T) {
	for name, want := range map[string]outcome.Code{"observe mode came meanwhile": outcome.ObserveMode, "a lockout came meanwhile": outcome.LockedOut,
		"a permit does not hold": outcome.LocalMode, "too old": outcome.PermitUnknown, "the arming ran out": outcome.OK} {
		f := fresh(t, action(t, "VALVE", withPermits, "min: 0, max: 100", ""), map[string]any{"to": 60.0})
		f.Action.ToSafe = true
		permitCases()[name].change(&f)
		if r := guard.Permit(f); code(r) != want {
			t.Errorf("%s: got %v, want %s", name, r, want)
		}
	}
}

func TestWhatMustProveTheActMustBeAliveBeforeIt(t *testing.T) {
	const witnessed = `    execute: [{write: setpoint, value: to}]
    verify: {min_level: %s, within: 15s, expect: [{point: position, near: to, tolerance: 1.5}, {point: flow, between: [20, 40]}]}`
	const relative = `    execute: [{write: setpoint, value: to}]
    verify: {min_level: E4, within: 15s, expect: [{point: position, changes_by: to, tolerance: 1.5}]}`
	dead := func(f *guard.Fresh) { f.Alive["METER"] = false }
	noBase := func(f *guard.Fresh) {
		f.Readings["VALVE.position"] = physical.BadReading(physical.CauseInvalid, "wire break", now(), now())
	}
	for name, c := range map[string]struct {
		rest   string
		change func(*guard.Fresh)
		code   outcome.Code
	}{
		"a needed witness on a dead device":  {strings.Replace(witnessed, "%s", "E5", 1), dead, outcome.PermitUnknown},
		"a further witness on a dead device": {strings.Replace(witnessed, "%s", "E4", 1), dead, outcome.OK},
		"the PLC itself is dead":             {strings.Replace(witnessed, "%s", "E4", 1), func(f *guard.Fresh) { f.Alive["PLC"] = false }, outcome.PermitUnknown},
		"a change from a baseline":           {relative, func(*guard.Fresh) {}, outcome.OK},
		"a change from no baseline":          {relative, noBase, outcome.PermitUnknown},
		"an absolute move needs no baseline": {setValve, noBase, outcome.OK},
		"to the safe side, whatever is dead": {setValve, func(f *guard.Fresh) { f.Action.ToSafe, f.Alive = true, nil }, outcome.OK},
	} {
		f := fresh(t, action(t, "VALVE", c.rest, "min: 0, max: 100", ""), map[string]any{"to": 60.0})
		c.change(&f)
		if r := guard.Permit(f); code(r) != c.code {
			t.Errorf("%s: got %v, want %s", name, r, c.code)
		}
	}
}
