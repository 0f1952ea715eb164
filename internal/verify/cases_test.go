package verify_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"capd/internal/contract"
	"capd/internal/expression"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/verify"
)

// pause is a liveness counter that stands still for a while.
func pause(from, to time.Duration) func(time.Duration) (physical.Value, []byte) {
	return func(t time.Duration) (physical.Value, []byte) {
		if t > from {
			t = max(from, t-(to-from))
		}
		return number(float64(t / (500 * time.Millisecond)))
	}
}

// during shows one value for a while and another before and after.
func during(from, to time.Duration, inside, outside float64) func(time.Duration) (physical.Value, []byte) {
	return func(t time.Duration) (physical.Value, []byte) {
		if t >= from && t < to {
			return number(inside)
		}
		return number(outside)
	}
}

func flowWhen(condition string) func(*contract.Verify) {
	return func(v *contract.Verify) {
		v.Expect = append(v.Expect, contract.Expect{Point: "flow", Kind: contract.Between, Low: literal("20"), High: literal("40"), When: condition})
	}
}

// TestWhatIsNoProof holds the cases in which something looked like a proof and was none.
func TestWhatIsNoProof(t *testing.T) {
	for _, c := range []verdictCase{
		{name: "the frozen image of a PLC that wakes up again fills the settle time", plan: func(v *contract.Verify) { v.Settle = time.Second }, machine: func(m *machine) {
			m.signals["PLC.heartbeat"] = pause(900*time.Millisecond, 5900*time.Millisecond) // its next move is at 6 s
			m.signals["FCV.position"] = during(900*time.Millisecond, 6*time.Second, 60, 45)
		}, verdict: outcome.Refuted, level: outcome.E2, refuted: "E4", code: outcome.VerifyMismatch, layer: outcome.LayerDevice},
		{name: "two short visits at the target, with silence between", plan: flowWhen(""), machine: func(m *machine) {
			m.signals["FIT.flow"] = func(t time.Duration) (physical.Value, []byte) { return number(50 * math.Sin(t.Seconds())) }
			m.signals["FCV.position"] = steady(60)
			m.badFor["FCV.position"] = []span{{0, 2 * time.Second}, {3 * time.Second, 13500 * time.Millisecond}}
		}, verdict: outcome.Unknown, level: outcome.E2, code: outcome.VerifyTimeout, layer: outcome.LayerDevice},
		{name: "each witness held for the settle time, but not together", plan: func(v *contract.Verify) {
			flowWhen("")(v)
			v.MinLevel, v.Settle = outcome.E5, 3*time.Second
		}, machine: func(m *machine) {
			m.signals["FCV.position"] = steady(60)
			m.signals["FIT.flow"] = during(11*time.Second, forEver, 30, 0)
			m.badFor["FCV.position"] = []span{{13500 * time.Millisecond, forEver}}
		}, verdict: outcome.Unknown, level: outcome.E5, code: outcome.VerifyTimeout, layer: outcome.LayerDevice},
		{name: "the newest reading speaks against what the last ones showed", plan: func(v *contract.Verify) { v.Within = 4900 * time.Millisecond }, machine: func(m *machine) {
			m.signals["FCV.position"] = during(1950*time.Millisecond, 4450*time.Millisecond, 60, 45)
		}, verdict: outcome.Unknown, level: outcome.E2, code: outcome.VerifyTimeout, layer: outcome.LayerDevice},
		{name: "a slow valve is on its way, and never at rest", machine: func(m *machine) { m.signals["FCV.position"] = ramp(45, 60, 0.15) },
			verdict: outcome.Unknown, level: outcome.E2, code: outcome.VerifyTimeout, layer: outcome.LayerDevice},
		{name: "somebody else's setpoint is no fault of the wire", machine: func(m *machine) { m.signals["FCV.setpoint"] = during(0, 3*time.Second, 60, 45) },
			verdict: outcome.Refuted, level: outcome.E4, refuted: "E2", code: outcome.VerifyMismatch, layer: outcome.LayerDevice},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t) })
	}
}

// TestWhatIsAProofAllTheSame holds the cases in which a proof was there and was not seen, or not told right.
func TestWhatIsAProofAllTheSame(t *testing.T) {
	for _, c := range []verdictCase{
		{name: "a witness that begins to count late counts", plan: func(v *contract.Verify) {
			flowWhen("position > 58")(v)
			v.MinLevel = outcome.E5
		}, verdict: outcome.Confirmed, level: outcome.E5},
		{name: "a witness that no longer counts is not missing", plan: func(v *contract.Verify) {
			flowWhen("position < 50")(v)
			v.MinLevel = outcome.E5
		}, machine: func(m *machine) { m.signals["FIT.flow"] = steady(0) },
			verdict: outcome.Unknown, level: outcome.E4, code: outcome.VerifyTimeout, layer: outcome.LayerVerification},
		{name: "rounds are never further apart than the liveness window can bear", plan: func(v *contract.Verify) { v.Poll = 5 * time.Second },
			verdict: outcome.Confirmed, level: outcome.E4},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t) })
	}
}

func TestOneCommandOfTwoThatArrivedStands(t *testing.T) {
	for name, c := range map[string]struct {
		setpoint, other float64
		absent          bool
	}{"both are missing": {45, 7, true}, "one is missing": {60, 7, false}, "none is missing": {60, 9, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				scope := valveScope()
				scope.Points["speed"] = verify.Point{Alias: "speed", Ref: "FCV.speed", Role: physical.Setpoint, Device: "PLC", Type: expression.Number, Readable: true}
				plan, err := verify.Compile(&contract.Verify{MinLevel: outcome.E4, Within: 5 * time.Second, Settle: time.Second, Expect: []contract.Expect{
					{Point: "position", Kind: contract.Near, Target: contract.Operand{Expr: "opening"}, Tolerance: dec("1.5")}}}, []string{"setpoint", "speed"}, scope)
				if err != nil {
					t.Fatal(err)
				}
				m := moved()
				m.start = time.Now()
				m.signals["FCV.setpoint"], m.signals["FCV.speed"], m.signals["FCV.position"] = steady(c.setpoint), steady(c.other), steady(45)
				_, sixty := number(60)
				_, nine := number(9)
				d, _ := verify.Run(t.Context(), m, plan, verify.Act{End: m.start, Written: map[string][]byte{"FCV.setpoint": sixty, "FCV.speed": nine}, Params: map[string]any{"opening": 60.0}})
				if d.Verdict != outcome.Refuted || d.Absent != c.absent {
					t.Errorf("%s, absent = %v, want %v", d.Verdict, d.Absent, c.absent)
				}
			})
		})
	}
}
