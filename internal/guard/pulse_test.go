package guard_test

import (
	"testing"
	"time"

	"capd/internal/guard"
	"capd/internal/outcome"
	"capd/internal/standing"
)

const pulsePump = `    execute: [{pulse: {point: run, value: true, for: 500ms, release: false}}]
    verify: {min_level: E4, within: 15s, expect: [{point: runs, is: true}]}`

const pulseValve = `    execute: [{pulse: {point: setpoint, value: to, for: 500ms, release: other}}]
    verify: {min_level: E4, within: 15s, expect: [{point: position, near: to, tolerance: 1.5}]}`

// The press of a pulse is a write like any other; its release only has to be possible.
func TestAPauseIsNoReasonToLeaveAPulseStanding(t *testing.T) {
	params := map[string]any{"to": 50.0, "other": 45.0, "on": true}
	for name, c := range map[string]struct {
		rest, setpoint, run string
		usage               standing.Usage
		other               float64
		want                outcome.Code
	}{
		"first press":                {rest: pulsePump, run: "min_interval: 10s, min_off: 1m", want: outcome.OK},
		"too soon after the last":    {rest: pulsePump, run: "min_interval: 10s", usage: standing.Usage{LastWrite: ago(5 * time.Second)}, want: outcome.TooSoon},
		"off for too short a time":   {rest: pulsePump, run: "min_off: 1m", usage: standing.Usage{LastStop: ago(5 * time.Second)}, want: outcome.TooSoon},
		"room for two writes":        {rest: pulsePump, run: "lifetime_writes: 10", usage: standing.Usage{Writes: 8}, want: outcome.OK},
		"room for the press alone":   {rest: pulsePump, run: "lifetime_writes: 10", usage: standing.Usage{Writes: 9}, want: outcome.WriteBudgetExhausted},
		"release a step away":        {rest: pulseValve, setpoint: "min: 0, max: 100, max_step: 10", other: 0, want: outcome.OK},
		"release outside the limits": {rest: pulseValve, setpoint: "min: 0, max: 100", other: 101, want: outcome.OutOfRange},
	} {
		t.Run(name, func(t *testing.T) {
			setpoint := c.setpoint
			if setpoint == "" {
				setpoint = "min: 0, max: 100"
			}
			asset := map[string]string{pulsePump: "PUMP", pulseValve: "VALVE"}[c.rest]
			params["other"] = c.other
			a := action(t, asset, c.rest, setpoint, c.run)
			if a.Absolute || len(a.Steps) != 2 || !a.Steps[1].Release || a.Steps[0].Dwell != 500*time.Millisecond {
				t.Fatalf("steps %+v", a.Steps)
			}
			f := fresh(t, a, params)
			f.Usage["PUMP.run"] = c.usage
			if got := code(guard.Permit(f)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
