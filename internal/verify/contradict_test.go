package verify_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"capd/internal/contract"
	"capd/internal/expression"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/verify"
)

// flag is a switch that changes once.
func flag(first bool, at time.Duration) func(time.Duration) (physical.Value, []byte) {
	return func(t time.Duration) (physical.Value, []byte) {
		on := first != (t >= at)
		raw := []byte{0}
		if on {
			raw[0] = 1
		}
		return physical.FlagOf(on), raw
	}
}

func flagReading(on bool, at time.Time) physical.Reading {
	v, raw := flag(on, forEver)(0)
	return physical.Reading{Value: v, Raw: raw, Started: at, At: at, Quality: physical.Good}
}

// switches is an inlet valve with two limit switches, a torque switch of the drive and a leak detector beside it.
func switches() verify.Scope {
	s := verify.Scope{Points: map[string]verify.Point{}, Params: map[string]expression.Type{"on": expression.Bool},
		Liveness: map[string]verify.Liveness{"PLC": {Ref: "PLC.heartbeat", Within: 2 * time.Second}}}
	for _, p := range []verify.Point{
		{Alias: "command", Ref: "XV.command", Role: physical.Setpoint}, {Alias: "open", Ref: "XV.open", Role: physical.Feedback},
		{Alias: "closed", Ref: "XV.closed", Role: physical.Feedback}, {Alias: "torque", Ref: "XV.torque", Role: physical.Status},
		{Alias: "relief", Ref: "RV.open", Role: physical.Feedback},
	} {
		p.Device, p.Type, p.Readable, p.Update = "PLC", expression.Bool, true, 100*time.Millisecond
		s.Points[p.Alias] = p
	}
	return s
}

func is(alias string, want bool) contract.Expect {
	return contract.Expect{Point: alias, Kind: contract.Is, Target: contract.Operand{Literal: physical.FlagOf(want)}}
}

// switchCase is an order to open the inlet valve, and what its switches show from then on.
type switchCase struct {
	expect       []contract.Expect
	level        outcome.Level
	signals      map[string]func(time.Duration) (physical.Value, []byte)
	bad          map[string][]span
	before       map[string]bool // baseline; nil for none
	verdict      outcome.Verdict
	reached      outcome.Level
	code         outcome.Code
	says, unsaid string
}

func (c switchCase) run(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if c.level == outcome.E0 {
			c.level = outcome.E4
		}
		plan, err := verify.Compile(&contract.Verify{MinLevel: c.level, Within: 12 * time.Second, Poll: 250 * time.Millisecond, Settle: 500 * time.Millisecond,
			Expect: c.expect}, []string{"command"}, switches())
		if err != nil {
			t.Fatal(err)
		}
		m := &machine{start: time.Now(), delay: 5 * time.Millisecond, badFor: c.bad, signals: map[string]func(time.Duration) (physical.Value, []byte){
			"XV.command": flag(true, forEver), "XV.open": flag(false, 8*time.Second), "XV.closed": flag(true, time.Second), "XV.torque": flag(false, forEver),
			"RV.open": flag(false, forEver), "PLC.heartbeat": beat(forEver)}}
		for ref, signal := range c.signals {
			m.signals[ref] = signal
		}
		base := map[string]physical.Reading{}
		for ref, on := range c.before {
			base[ref] = flagReading(on, m.start)
		}
		_, raw := flag(true, forEver)(0)
		d, _ := verify.Run(t.Context(), m, plan, verify.Act{End: m.start, Acked: true, Written: map[string][]byte{"XV.command": raw}, Baseline: base})
		if d.Verdict != c.verdict || d.Level != c.reached || d.Code != c.code || !strings.Contains(d.Message, c.says) {
			t.Errorf("got  %s %s %s (%s)\nwant %s %s %s (%s)", d.Verdict, d.Level, d.Code, d.Message, c.verdict, c.reached, c.code, c.says)
		}
		if d.Verdict == outcome.Unknown && (d.Layer != outcome.LayerVerification || d.Counts || d.RefutedAt != nil) {
			t.Errorf("a broken sensor is put down to the machine: %+v", d)
		}
	})
}

func TestABrokenSensorIsNotTheMachinesFault(t *testing.T) {
	opening := []contract.Expect{is("open", true), is("closed", false)}
	welded := map[string]func(time.Duration) (physical.Value, []byte){"XV.closed": flag(true, forEver)}
	closed := map[string]bool{"XV.open": false, "XV.closed": true}
	for name, c := range map[string]switchCase{
		"the valve opens": {expect: opening, before: closed, verdict: outcome.Confirmed, reached: outcome.E4},
		"it stays shut": {expect: opening, before: closed, signals: map[string]func(time.Duration) (physical.Value, []byte){
			"XV.open": flag(false, forEver), "XV.closed": flag(true, forEver)}, verdict: outcome.Refuted, reached: outcome.E2, code: outcome.VerifyMismatch},
		"it stops half way": {expect: opening, before: closed, signals: map[string]func(time.Duration) (physical.Value, []byte){
			"XV.open": flag(false, forEver)}, verdict: outcome.Refuted, reached: outcome.E4, code: outcome.VerifyMismatch},
		"both limit switches are on": {expect: opening, before: closed, signals: welded,
			verdict: outcome.Unknown, reached: outcome.E2, code: outcome.FeedbackBad, says: "XV.open and XV.closed contradict each other: both read true"},
		"both are on, in the other order": {expect: []contract.Expect{is("closed", false), is("open", true)}, before: closed, signals: welded,
			verdict: outcome.Unknown, reached: outcome.E2, code: outcome.FeedbackBad, says: "contradict each other"},
		"both are on and nobody knows what was before": {expect: opening, signals: welded,
			verdict: outcome.Unknown, reached: outcome.E2, code: outcome.FeedbackBad, says: "contradict each other"},
		"both were on before": {expect: opening, before: map[string]bool{"XV.open": true, "XV.closed": true}, signals: welded,
			verdict: outcome.Unknown, reached: outcome.E2, code: outcome.FeedbackBad, says: "contradict each other"},
		"both are on, above the least level": {expect: opening, level: outcome.E2, before: closed, signals: welded,
			verdict: outcome.Unknown, reached: outcome.E2, code: outcome.FeedbackBad, says: "contradict each other"},
		"what came on since the act is news of the machine": {expect: opening, before: map[string]bool{"XV.open": false, "XV.closed": false},
			signals: map[string]func(time.Duration) (physical.Value, []byte){"XV.closed": flag(false, time.Second)},
			verdict: outcome.Refuted, reached: outcome.E4, code: outcome.VerifyMismatch},
		"the drive's own word is no second sensor": {expect: []contract.Expect{is("open", true), is("torque", false)},
			signals: map[string]func(time.Duration) (physical.Value, []byte){"XV.torque": flag(true, forEver)},
			verdict: outcome.Refuted, reached: outcome.E4, code: outcome.VerifyMismatch},
		"a switch of another asset is no second sensor": {expect: []contract.Expect{is("open", true), is("relief", false)},
			signals: map[string]func(time.Duration) (physical.Value, []byte){"RV.open": flag(true, forEver)},
			verdict: outcome.Refuted, reached: outcome.E4, code: outcome.VerifyMismatch},
		"the setpoint itself does not stand": {expect: opening, before: closed, signals: map[string]func(time.Duration) (physical.Value, []byte){
			"XV.command": flag(false, forEver), "XV.closed": flag(true, forEver)}, verdict: outcome.Refuted, reached: outcome.E1, code: outcome.VerifyMismatch},
	} {
		t.Run(name, func(t *testing.T) { c.run(t) })
	}
}

// TestASensorThatFailsWhileItSpeaksAgainstTheMachine holds witnesses that leave their range, or give no value, in the time that
// would refute.
func TestASensorThatFailsWhileItSpeaksAgainstTheMachine(t *testing.T) {
	away := func(from, to time.Duration) func(*machine) {
		return func(m *machine) {
			m.signals["FCV.position"] = steady(45)
			m.badFor["FCV.position"] = []span{{from, to}}
		}
	}
	for _, c := range []verdictCase{
		{name: "its wire breaks shortly before the deadline", machine: away(14*time.Second, forEver),
			verdict: outcome.Unknown, level: outcome.E2, code: outcome.FeedbackBad, layer: outcome.LayerVerification},
		{name: "it comes and goes", machine: away(14*time.Second, 14200*time.Millisecond),
			verdict: outcome.Unknown, level: outcome.E2, code: outcome.FeedbackBad, layer: outcome.LayerVerification},
		{name: "it failed long before the deadline and is well again", machine: away(3*time.Second, 4*time.Second),
			verdict: outcome.Refuted, level: outcome.E2, refuted: "E4", code: outcome.VerifyMismatch, layer: outcome.LayerDevice},
		{name: "it is above the least level: nothing is confirmed past it", plan: func(v *contract.Verify) { v.MinLevel = outcome.E2 }, machine: away(14*time.Second, forEver),
			verdict: outcome.Unknown, level: outcome.E2, code: outcome.FeedbackBad, layer: outcome.LayerVerification},
		{name: "it does not answer for a moment: silence is not its fault", machine: func(m *machine) {
			away(14*time.Second, 14200*time.Millisecond)(m)
			m.badCause = physical.CauseOffline
		}, verdict: outcome.Refuted, level: outcome.E2, refuted: "E4", code: outcome.VerifyMismatch, layer: outcome.LayerDevice},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t) })
	}
}
