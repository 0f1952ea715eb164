package verify_test

import (
	"testing"
	"time"

	"capd/internal/contract"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/verify"
)

// longTape is rounds at 100 ms of the valve, without a counter.
func longTape(rounds int, at func(n int) (setpoint, position float64)) *tape {
	x := newTape()
	for n := range rounds {
		began := time.Duration(n) * 100 * time.Millisecond
		setpoint, position := at(n)
		x.round(began, began+5*time.Millisecond, map[string]float64{"FCV.setpoint": setpoint, "FCV.position": position})
	}
	return x
}

func longSettle(t *testing.T, settle time.Duration) *verify.Plan {
	t.Helper()
	scope := valveScope()
	scope.Liveness = nil
	return compileIn(t, scope, &contract.Verify{MinLevel: outcome.E4, Within: time.Hour, Poll: 100 * time.Millisecond, Settle: settle, Expect: []contract.Expect{near60()}})
}

// TestALongTrialRemembersWhatItNeeds holds what was long ago and still counts.
func TestALongTrialRemembersWhatItNeeds(t *testing.T) {
	t.Run("a settle time of many rounds is seen as a whole", func(t *testing.T) {
		plan := longSettle(t, time.Minute)
		for rounds, want := range map[int]outcome.Verdict{1600: outcome.Unknown, 1602: outcome.Confirmed} { // the valve arrives in round 1000
			d := longTape(rounds, func(n int) (float64, float64) { return 60, map[bool]float64{false: 45, true: 60}[n >= 1000] }).play(plan)
			if d.Verdict != want {
				t.Errorf("%d rounds: %s %s (%s)", rounds, d.Verdict, d.Code, d.Message)
			}
		}
	})
	t.Run("a setpoint that was taken once was changed by somebody", func(t *testing.T) {
		d := longTape(3000, func(n int) (float64, float64) { return map[bool]float64{true: 60, false: 30}[n < 10], 30 }).play(longSettle(t, time.Second))
		if d.Verdict != outcome.Refuted || *d.RefutedAt != outcome.E2 || d.Layer != outcome.LayerDevice {
			t.Errorf("%s %s %s (%s)", d.Verdict, d.Code, d.Layer, d.Message)
		}
	})
}

// TestALongTrialStaysSmall wants memory that does not grow with the time that a verification takes.
func TestALongTrialStaysSmall(t *testing.T) {
	plan := longPlan(t, func(*contract.Verify) {})
	trial := playLong(plan, func(n int) float64 { return 45 + float64(n)/1000 })
	if kept := trial.Kept(); kept > 300 {
		t.Errorf("%d of %d rounds are kept", kept, longRounds)
	}
	samples := trial.Samples(200)
	if len(samples) != 200 {
		t.Fatalf("%d samples", len(samples))
	}
	seen := map[string]bool{}
	for _, e := range samples {
		if e.Point == "FCV.position" {
			seen[e.Value.String()] = true
		}
	}
	if !seen["45"] || !seen["50.999"] || seen["48"] {
		t.Error("the samples are not those of the beginning and of the end")
	}
}

func TestReadingsFromBeforeTheActCountOnNoDevice(t *testing.T) {
	plan, x := longSettle(t, time.Second), longTape(100, func(int) (float64, float64) { return 60, 60 })
	_, raw := number(60)
	trial := verify.NewTrial(plan, verify.Act{End: x.start.Add(time.Hour), Written: map[string][]byte{"FCV.setpoint": raw}, Params: map[string]any{"opening": 60.0}})
	for i, r := range x.rounds {
		trial.Add(r)
		if d, ok := trial.Decide(i == len(x.rounds)-1); ok && (d.Verdict != outcome.Unknown || d.Code != outcome.FeedbackStale) {
			t.Fatalf("round %d: %s %s", i, d.Verdict, d.Code)
		}
	}
}

// TestTheEndsOfEveryKindOfExpectation holds the last values that agree, and the first that do not.
func TestTheEndsOfEveryKindOfExpectation(t *testing.T) {
	base := map[string]physical.Reading{"FCV.position": {Quality: physical.Good, Value: physical.NumberOf(dec("45"))}}
	increases := contract.Expect{Point: "position", Kind: contract.Increases, Tolerance: dec("2")}
	between := contract.Expect{Point: "position", Kind: contract.Between, Low: literal("20"), High: contract.Operand{Expr: "opening"}}
	changes := contract.Expect{Point: "position", Kind: contract.ChangesBy, Target: literal("-5"), Tolerance: dec("0.1")}
	for _, c := range []struct {
		expect contract.Expect
		at     string
		want   outcome.Verdict
	}{
		{near60(), "58.5", outcome.Confirmed}, {near60(), "58.4999", outcome.Refuted}, {near60(), "61.5", outcome.Confirmed}, {near60(), "61.5001", outcome.Refuted},
		{near60(), "1000", outcome.Refuted}, {between, "20", outcome.Confirmed}, {between, "60", outcome.Confirmed}, {between, "60.001", outcome.Refuted},
		{between, "19.999", outcome.Refuted}, {increases, "47", outcome.Refuted}, {increases, "47.001", outcome.Confirmed}, {increases, "44", outcome.Refuted},
		{changes, "39.9", outcome.Confirmed}, {changes, "40.1", outcome.Confirmed}, {changes, "40.11", outcome.Refuted}, {changes, "45", outcome.Refuted},
	} {
		scope := valveScope()
		scope.Liveness = nil
		plan := compileIn(t, scope, &contract.Verify{MinLevel: outcome.E4, Within: time.Hour, Poll: 100 * time.Millisecond, Settle: time.Second, Expect: []contract.Expect{c.expect}})
		at := physical.NumberOf(dec(c.at))
		x := longTape(40, func(int) (float64, float64) { return 60, 0 })
		_, raw := number(60)
		trial := verify.NewTrial(plan, verify.Act{End: x.start.Add(-1), Written: map[string][]byte{"FCV.setpoint": raw}, Baseline: base, Params: map[string]any{"opening": 60.0}})
		var d verify.Decision
		for i, r := range x.rounds {
			p := r.Readings["FCV.position"]
			p.Value = at
			r.Readings["FCV.position"] = p
			trial.Add(r)
			if got, ok := trial.Decide(i == len(x.rounds)-1); ok {
				d = got
				break
			}
		}
		if d.Verdict != c.want {
			t.Errorf("%s at %s: %s %s (%s), want %s", c.expect.Kind, c.at, d.Verdict, d.Code, d.Message, c.want)
		}
	}
}
