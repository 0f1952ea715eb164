package verify_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"capd/internal/contract"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/verify"
)

// tape is rounds written by hand; times are counted from the end of the act.
type tape struct {
	start  time.Time
	rounds []verify.Round
}

func newTape() *tape { return &tape{start: time.Unix(1_700_000_000, 0)} }

// round adds a round whose readings all left and came at the same times.
func (x *tape) round(began, ended time.Duration, values map[string]float64) map[string]physical.Reading {
	readings := map[string]physical.Reading{}
	for ref, f := range values {
		v, raw := number(f)
		readings[ref] = physical.Reading{Value: v, Raw: raw, Started: x.start.Add(began), At: x.start.Add(ended), Quality: physical.Good}
	}
	x.rounds = append(x.rounds, verify.Round{Asked: x.start.Add(began), Readings: readings})
	return readings
}

func (x *tape) bad(cause physical.Cause, began, ended time.Duration) physical.Reading {
	return physical.BadReading(cause, "as told", x.start.Add(began), x.start.Add(ended))
}

// play judges the tape; the last round is the deadline's.
func (x *tape) play(plan *verify.Plan) verify.Decision {
	_, raw := number(60)
	trial := verify.NewTrial(plan, verify.Act{End: x.start.Add(-time.Nanosecond), Acked: true, Written: map[string][]byte{"FCV.setpoint": raw},
		Params: map[string]any{"opening": 60.0}})
	for i, r := range x.rounds {
		trial.Add(r)
		if d, ok := trial.Decide(i == len(x.rounds)-1); ok {
			return d
		}
	}
	return verify.Decision{}
}

func compileIn(t *testing.T, scope verify.Scope, v *contract.Verify) *verify.Plan {
	t.Helper()
	plan, err := verify.Compile(v, []string{"setpoint"}, scope)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func near60() contract.Expect {
	return contract.Expect{Point: "position", Kind: contract.Near, Target: contract.Operand{Expr: "opening"}, Tolerance: dec("1.5")}
}

func flowBetween() contract.Expect {
	return contract.Expect{Point: "flow", Kind: contract.Between, Low: literal("20"), High: literal("40")}
}

// Something else that makes each round slow must not hide that the valve did not move.
func TestASlowRoundHidesNoContradiction(t *testing.T) {
	for name, c := range map[string]struct {
		watched bool
		slow    func(x *tape, readings map[string]physical.Reading, began, ended time.Duration)
	}{
		"a dead meter":                    {true, deadMeter},
		"a dead meter, and no counter":    {false, deadMeter},
		"a setpoint on a slow serial bus": {false, slowSetpoint},
	} {
		t.Run(name, func(t *testing.T) {
			scope := valveScope()
			flow := scope.Points["flow"]
			flow.Device = "METER"
			scope.Points["flow"] = flow
			if !c.watched {
				scope.Liveness = nil
			}
			plan := compileIn(t, scope, &contract.Verify{MinLevel: outcome.E2, Within: 20 * time.Second, Settle: 2 * time.Second, Expect: []contract.Expect{near60(), flowBetween()}})
			x := newTape()
			for n := range 4 {
				at := time.Duration(n) * 5250 * time.Millisecond
				readings := x.round(at, at+5*time.Millisecond, map[string]float64{"FCV.setpoint": 60, "FCV.position": 45, "FIT.flow": 30, "PLC.heartbeat": float64(n)})
				c.slow(x, readings, at+5*time.Millisecond, at+5*time.Second)
			}
			if d := x.play(plan); d.Verdict != outcome.Refuted || *d.RefutedAt != outcome.E4 {
				t.Errorf("%s %s %s (%s)", d.Verdict, d.Level, d.Code, d.Message)
			}
		})
	}
}

func deadMeter(x *tape, readings map[string]physical.Reading, began, ended time.Duration) {
	readings["FIT.flow"] = x.bad(physical.CauseOffline, began, ended)
}

func slowSetpoint(x *tape, readings map[string]physical.Reading, began, ended time.Duration) {
	r := readings["FCV.setpoint"]
	r.Started, r.At = x.start.Add(began), x.start.Add(ended)
	readings["FCV.setpoint"] = r
}

// The setpoint held, fell silent, and then the position began to count: the two never held together.
func TestWhatReachesTheLevelHoldsTogetherWithTheRest(t *testing.T) {
	scope := valveScope()
	scope.Liveness = nil
	position := near60()
	position.When = "state == 1"
	plan := compileIn(t, scope, &contract.Verify{MinLevel: outcome.E4, Within: time.Hour, Poll: step, Settle: 2 * time.Second, Expect: []contract.Expect{position}})
	x := newTape()
	for n := range 21 {
		at, applies := time.Duration(n)*step, 0.0
		if n >= 12 {
			applies = 1
		}
		readings := x.round(at, at, map[string]float64{"FCV.setpoint": 60, "FCV.position": 60, "FCV.state": applies})
		if n >= 12 {
			readings["FCV.setpoint"] = x.bad(physical.CauseOffline, at, at)
		}
	}
	if d := x.play(plan); d.Verdict != outcome.Unknown || d.Code != outcome.VerifyTimeout {
		t.Errorf("%s %s %s (%s)", d.Verdict, d.Level, d.Code, d.Message)
	}
}

// Two slow looks at a short event are no proof that it lasted.
func TestARefuteConditionIsSurelySeenForItsWholeHold(t *testing.T) {
	scope := valveScope()
	scope.Liveness = nil
	plan := compileIn(t, scope, &contract.Verify{MinLevel: outcome.E4, Within: time.Hour, Settle: time.Second, Expect: []contract.Expect{near60()},
		Refute: []contract.Refute{{When: "state == 4", Hold: 500 * time.Millisecond, Reason: "stalled"}}})
	for name, c := range map[string]struct {
		states []float64
		want   outcome.Verdict
	}{
		"seen twice, perhaps at one moment": {[]float64{1, 4, 4, 1, 1, 1, 1, 1}, outcome.Confirmed},
		"seen three times":                  {[]float64{1, 4, 4, 4, 1, 1, 1, 1}, outcome.Refuted},
		"comes and goes":                    {[]float64{1, 4, 1, 4, 1, 4, 1, 4}, outcome.Confirmed},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTape()
			for n, state := range c.states {
				at, position := time.Duration(n)*900*time.Millisecond, 50.0
				if n > 3 {
					position = 60
				}
				x.round(at, at+900*time.Millisecond, map[string]float64{"FCV.setpoint": 60, "FCV.position": position, "FCV.state": state})
			}
			if d := x.play(plan); d.Verdict != c.want {
				t.Errorf("%s %s %s (%s)", d.Verdict, d.Level, d.Code, d.Message)
			}
		})
	}
}

// A condition of validity on a watched device must not keep the proof until the deadline.
func TestAConditionOnAnotherDeviceDelaysNoProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scope := valveScope()
		for alias, p := range scope.Points {
			if p.Device = "FREE"; alias == "state" {
				p.Device = "PLC"
			}
			scope.Points[alias] = p
		}
		position := near60()
		position.When = "state == 0"
		plan := compileIn(t, scope, &contract.Verify{MinLevel: outcome.E4, Within: 60 * time.Second, Settle: 2 * time.Second, Expect: []contract.Expect{position}})
		d, took := prove(t, plan, moved(), nil)
		if d.Verdict != outcome.Confirmed || took > 6*time.Second {
			t.Errorf("%s %s (%s) after %s", d.Verdict, d.Code, d.Message, took)
		}
	})
}

func TestWatchGivesEveryKindOfExpectationItsTolerance(t *testing.T) {
	base := map[string]physical.Reading{"FCV.position": {Quality: physical.Good, Value: physical.NumberOf(dec("45"))}}
	for name, c := range map[string]struct {
		expect contract.Expect
		flow   float64
		place  float64
		left   bool
	}{
		"near, inside":          {near60(), 30, 62.9, false},
		"near, outside":         {near60(), 30, 63.1, true},
		"between, inside":       {flowBetween(), 42.9, 60, false},
		"between, outside":      {flowBetween(), 43.1, 60, true},
		"increases, as it was":  {contract.Expect{Point: "position", Kind: contract.Increases}, 30, 47, false},
		"increases, a bit less": {contract.Expect{Point: "position", Kind: contract.Increases}, 30, 42.1, false},
		"increases, much less":  {contract.Expect{Point: "position", Kind: contract.Increases}, 30, 41.9, true},
		"changes_by, inside":    {contract.Expect{Point: "position", Kind: contract.ChangesBy, Target: literal("10"), Tolerance: dec("4")}, 30, 58.9, false},
		"changes_by, outside":   {contract.Expect{Point: "position", Kind: contract.ChangesBy, Target: literal("10"), Tolerance: dec("4")}, 30, 59.1, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan := valvePlan(t, func(v *contract.Verify) {
					v.Watch = &contract.Watch{For: 20 * time.Second, Tolerance: dec("3")}
					v.MinLevel, v.Expect = outcome.E2, []contract.Expect{c.expect}
				})
				m := moved()
				m.start = time.Now()
				m.signals["FIT.flow"], m.signals["FCV.position"] = steady(c.flow), steady(c.place)
				text, left := verify.Watch(t.Context(), m, plan, verify.Act{End: time.Now(), Baseline: base, Params: map[string]any{"opening": 60.0}})
				if left != c.left {
					t.Errorf("left = %v (%s), want %v", left, text, c.left)
				}
			})
		})
	}
}

// One wrong update, read several times, is one observation.
func TestWatchNeedsTwoUpdatesOfTheWitness(t *testing.T) {
	for updates, want := range map[int]bool{1: false, 2: true} {
		synctest.Test(t, func(t *testing.T) {
			scope := valveScope()
			position := scope.Points["position"]
			position.Update = 5 * time.Second
			scope.Points["position"] = position
			plan := compileIn(t, scope, &contract.Verify{MinLevel: outcome.E4, Within: time.Minute, Expect: []contract.Expect{near60()},
				Watch: &contract.Watch{For: time.Minute, Tolerance: dec("3")}})
			m := moved()
			m.start = time.Now()
			from := 20 * time.Second
			m.signals["FCV.position"] = during(from, from+time.Duration(updates)*5*time.Second, 45, 60)
			_, raw := number(60)
			text, left := verify.Watch(t.Context(), m, plan, verify.Act{End: time.Now(), Written: map[string][]byte{"FCV.setpoint": raw}, Params: map[string]any{"opening": 60.0}})
			if left != want {
				t.Errorf("%d wrong updates: left = %v (%s)", updates, left, text)
			}
		})
	}
}

func TestSettleSpansTwoUpdatesOfAReadBackToo(t *testing.T) {
	scope := valveScope()
	setpoint := scope.Points["setpoint"]
	setpoint.Update = 2 * time.Second
	scope.Points["setpoint"] = setpoint
	plan := compileIn(t, scope, &contract.Verify{MinLevel: outcome.E2, Within: 15 * time.Second, Settle: time.Second, Expect: []contract.Expect{near60()}})
	if plan.Settle != 4*time.Second {
		t.Errorf("settle is %s, want 4 s", plan.Settle)
	}
}

// What keeps a witness from being judged is named, not the witness.
func TestSilenceNamesWhatIsSilent(t *testing.T) {
	expectOther := contract.Expect{Point: "position", Kind: contract.Near, Target: contract.Operand{Expr: "other"}, Tolerance: dec("1")}
	conditional := near60()
	conditional.When = "state == 1"
	for name, c := range map[string]struct {
		expect contract.Expect
		change func(x *tape, at time.Duration, readings map[string]physical.Reading)
		code   outcome.Code
		says   string
	}{
		"the point of the target": {expectOther, func(x *tape, at time.Duration, r map[string]physical.Reading) {
			r["X.other"] = x.bad(physical.CauseOutOfRange, at, at)
		}, outcome.FeedbackBad, "X.other"},
		"the point of the condition": {conditional, func(x *tape, at time.Duration, r map[string]physical.Reading) {
			r["FCV.state"] = x.bad(physical.CauseOffline, at, at)
		}, outcome.DeviceOffline, "FCV.state"},
		"a baseline that was not read": {contract.Expect{Point: "position", Kind: contract.ChangesBy, Target: literal("3"), Tolerance: dec("1")},
			func(*tape, time.Duration, map[string]physical.Reading) {}, outcome.FeedbackStale, "baseline"},
		"an uncertain value": {near60(), func(x *tape, at time.Duration, r map[string]physical.Reading) {
			uncertain := r["FCV.position"]
			uncertain.Quality = physical.Uncertain
			r["FCV.position"] = uncertain
		}, outcome.FeedbackBad, "FCV.position"},
		"a counter that cannot be read": {near60(), func(x *tape, at time.Duration, r map[string]physical.Reading) {
			r["PLC.heartbeat"] = x.bad(physical.CauseWire, at, at)
		}, outcome.FeedbackFrozen, "the liveness counter of PLC cannot be read (wire_error)"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := compileIn(t, valveScope(), &contract.Verify{MinLevel: outcome.E4, Within: time.Hour, Settle: time.Second, Expect: []contract.Expect{c.expect}})
			x := newTape()
			for n := range 40 {
				at := time.Duration(n) * step
				readings := x.round(at, at, map[string]float64{"FCV.setpoint": 60, "FCV.position": 60, "FCV.state": 1, "X.other": 60, "PLC.heartbeat": float64(n / 2)})
				c.change(x, at, readings)
			}
			if d := x.play(plan); d.Verdict != outcome.Unknown || d.Code != c.code || !strings.Contains(d.Message, c.says) {
				t.Errorf("%s %s %s (%s)", d.Verdict, d.Level, d.Code, d.Message)
			}
		})
	}
}
