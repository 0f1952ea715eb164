package verify_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
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

// machine is a valve as its witnesses show it: each signal is a function of the time since the act.
type machine struct {
	start    time.Time
	signals  map[string]func(time.Duration) (physical.Value, []byte)
	bad      map[string]physical.Cause
	badFor   map[string][]span // the same for a while
	badCause physical.Cause    // of badFor; invalid when none is given
	delay    time.Duration     // how long one read takes
	updates  map[string]time.Duration
}

func (m *machine) Read(ctx context.Context, refs []string) map[string]physical.Reading {
	started := time.Now()
	select {
	case <-time.After(m.delay):
	case <-ctx.Done():
	}
	out := map[string]physical.Reading{}
	for _, ref := range refs {
		cause := m.bad[ref]
		for _, s := range m.badFor[ref] {
			if s.covers(time.Since(m.start)) {
				cause = cmp.Or(m.badCause, physical.CauseInvalid)
			}
		}
		if cause != physical.CauseNone {
			out[ref] = physical.BadReading(cause, "as told", started, time.Now())
			continue
		}
		v, raw := m.signals[ref](time.Since(m.start))
		out[ref] = physical.Reading{Value: v, Raw: raw, Unit: "%", Started: started, At: time.Now(), Quality: physical.Good}
	}
	return out
}

func number(f float64) (physical.Value, []byte) {
	raw := binary.BigEndian.AppendUint64(nil, math.Float64bits(f))
	return physical.FloatOf(f), raw
}

func steady(f float64) func(time.Duration) (physical.Value, []byte) {
	return func(time.Duration) (physical.Value, []byte) { return number(f) }
}

// ramp goes from a to b at a speed in units per second, and stays.
func ramp(a, b, speed float64) func(time.Duration) (physical.Value, []byte) {
	return func(t time.Duration) (physical.Value, []byte) {
		way := math.Min(math.Abs(b-a), speed*t.Seconds())
		return number(a + math.Copysign(way, b-a))
	}
}

// beat is a liveness counter that stands still after a time.
func beat(until time.Duration) func(time.Duration) (physical.Value, []byte) {
	return func(t time.Duration) (physical.Value, []byte) {
		return number(float64(min(t, until) / (500 * time.Millisecond)))
	}
}

const forEver = 365 * 24 * time.Hour

// valvePlan is the demo's discharge valve: position within 1.5 of 60 for 2 s, within 15 s, at E4.
func valvePlan(t *testing.T, change func(*contract.Verify)) *verify.Plan {
	t.Helper()
	v := &contract.Verify{MinLevel: outcome.E4, Within: 15 * time.Second, Poll: 250 * time.Millisecond, Settle: 2 * time.Second,
		Expect: []contract.Expect{{Point: "position", Kind: contract.Near, Target: contract.Operand{Expr: "opening"}, Tolerance: dec("1.5")}}}
	if change != nil {
		change(v)
	}
	plan, err := verify.Compile(v, []string{"setpoint"}, valveScope())
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func valveScope() verify.Scope {
	return verify.Scope{
		Points: map[string]verify.Point{
			"setpoint": {Alias: "setpoint", Ref: "FCV.setpoint", Role: physical.Setpoint, Unit: "%", Device: "PLC", Type: expression.Number, Readable: true},
			"position": {Alias: "position", Ref: "FCV.position", Role: physical.Feedback, Unit: "%", Device: "PLC", Update: 250 * time.Millisecond,
				Type: expression.Number, Readable: true},
			"flow":  {Alias: "flow", Ref: "FIT.flow", Role: physical.Process, Unit: "m3/h", Device: "PLC", Type: expression.Number, Readable: true},
			"state": {Alias: "state", Ref: "FCV.state", Role: physical.Status, Device: "PLC", Type: expression.Number, Readable: true},
			"other": {Alias: "other", Ref: "X.other", Unit: "%", Device: "PLC", Type: expression.Number, Readable: true},
		},
		Params:   map[string]expression.Type{"opening": expression.Number},
		Liveness: map[string]verify.Liveness{"PLC": {Ref: "PLC.heartbeat", Within: 2 * time.Second}},
	}
}

func dec(s string) physical.Decimal {
	d, err := physical.ParseDecimal(s)
	if err != nil {
		panic(err)
	}
	return d
}

// moved is a machine whose setpoint took 60 and whose valve goes there.
func moved() *machine {
	return &machine{delay: 5 * time.Millisecond, bad: map[string]physical.Cause{}, badFor: map[string][]span{}, signals: map[string]func(time.Duration) (physical.Value, []byte){
		"FCV.setpoint": steady(60), "FCV.position": ramp(45, 60, 5), "FIT.flow": steady(30), "FCV.state": steady(0), "PLC.heartbeat": beat(forEver)}}
}

// prove runs a plan over a machine from an act that asked for 60 now.
func prove(t *testing.T, plan *verify.Plan, m *machine, base map[string]physical.Reading) (verify.Decision, time.Duration) {
	t.Helper()
	m.start = time.Now()
	_, raw := number(60)
	d, _ := verify.Run(t.Context(), m, plan, verify.Act{End: m.start, Acked: true, Written: map[string][]byte{"FCV.setpoint": raw},
		Baseline: base, Params: map[string]any{"opening": 60.0}})
	return d, time.Since(m.start)
}

type verdictCase struct {
	name    string
	plan    func(*contract.Verify)
	machine func(*machine)
	verdict outcome.Verdict
	level   outcome.Level
	refuted string
	code    outcome.Code
	layer   outcome.Layer
}

func TestVerdicts(t *testing.T) {
	for _, c := range verdictCases() {
		t.Run(c.name, func(t *testing.T) { c.run(t) })
	}
}

// run plays a case and holds verdict, level, code and layer against what is wanted.
func (c verdictCase) run(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := moved()
		if c.machine != nil {
			c.machine(m)
		}
		d, _ := prove(t, valvePlan(t, c.plan), m, nil)
		refuted := ""
		if d.RefutedAt != nil {
			refuted = d.RefutedAt.String()
		}
		got := fmt.Sprint(d.Verdict, " ", d.Level, " rf=", refuted, " ", d.Code, " ", d.Layer)
		want := fmt.Sprint(c.verdict, " ", c.level, " rf=", c.refuted, " ", c.code, " ", c.layer)
		if got != want {
			t.Errorf("got  %s (%s)\nwant %s", got, d.Message, want)
		}
	})
}

func verdictCases() []verdictCase {
	flow := func(v *contract.Verify) {
		v.Expect = append(v.Expect, contract.Expect{Point: "flow", Kind: contract.Between, Low: literal("20"), High: literal("40")})
	}
	return []verdictCase{
		{name: "the valve arrives and stays", verdict: outcome.Confirmed, level: outcome.E4},
		{name: "the valve sticks on its way", machine: func(m *machine) { m.signals["FCV.position"] = ramp(45, 52, 5) },
			verdict: outcome.Refuted, level: outcome.E2, refuted: "E4", code: outcome.VerifyMismatch, layer: outcome.LayerDevice},
		{name: "the write never arrived", machine: func(m *machine) {
			m.signals["FCV.setpoint"], m.signals["FCV.position"] = steady(45), steady(45)
		}, verdict: outcome.Refuted, level: outcome.E1, refuted: "E2", code: outcome.VerifyMismatch, layer: outcome.LayerExecution},
		{name: "the valve is still on its way at the deadline", machine: func(m *machine) { m.signals["FCV.position"] = ramp(45, 60, 0.5) },
			verdict: outcome.Unknown, level: outcome.E2, code: outcome.VerifyTimeout, layer: outcome.LayerDevice},
		{name: "the valve hunts around its target", machine: func(m *machine) {
			m.signals["FCV.position"] = func(t time.Duration) (physical.Value, []byte) {
				return number(60 + 4*math.Sin(2*math.Pi*t.Seconds()/3))
			}
		}, verdict: outcome.Unknown, level: outcome.E2, code: outcome.VerifyTimeout, layer: outcome.LayerDevice},
		{name: "the PLC stops right after the write", machine: func(m *machine) {
			m.signals["PLC.heartbeat"], m.signals["FCV.position"] = beat(0), steady(45)
		}, verdict: outcome.Unknown, level: outcome.E1, code: outcome.FeedbackFrozen, layer: outcome.LayerVerification},
		{name: "the PLC stops with the right picture in its image", machine: func(m *machine) {
			m.signals["PLC.heartbeat"], m.signals["FCV.position"] = beat(0), steady(60)
		}, verdict: outcome.Unknown, level: outcome.E1, code: outcome.FeedbackFrozen, layer: outcome.LayerVerification},
		{name: "the PLC stops while the valve is inside the tolerance", machine: func(m *machine) {
			m.signals["PLC.heartbeat"] = beat(3 * time.Second) // the valve is at 60 from 2.7 s on
		}, verdict: outcome.Unknown, level: outcome.E1, code: outcome.FeedbackFrozen, layer: outcome.LayerVerification},
		{name: "the PLC rests for five seconds and wakes up with an old image", machine: func(m *machine) {
			m.signals["PLC.heartbeat"] = func(t time.Duration) (physical.Value, []byte) {
				if t > 2800*time.Millisecond && t < 14*time.Second {
					t = 2800 * time.Millisecond
				}
				return number(float64(t / (500 * time.Millisecond)))
			}
			m.signals["FCV.position"] = func(t time.Duration) (physical.Value, []byte) {
				if t > 2700*time.Millisecond && t < 14*time.Second {
					return number(59)
				}
				v, raw := ramp(45, 52, 5)(t)
				return v, raw
			}
		}, verdict: outcome.Unknown, level: outcome.E1, code: outcome.VerifyTimeout, layer: outcome.LayerDevice},
		{name: "the transmitter's wire is broken", machine: func(m *machine) { m.bad["FCV.position"] = physical.CauseInvalid },
			verdict: outcome.Unknown, level: outcome.E2, code: outcome.FeedbackBad, layer: outcome.LayerVerification},
		{name: "nothing answers any more", machine: func(m *machine) {
			for ref := range m.signals {
				m.bad[ref] = physical.CauseOffline
			}
		}, verdict: outcome.Unknown, level: outcome.E1, code: outcome.DeviceOffline, layer: outcome.LayerExecution},
		{name: "the effect in the process is seen too", plan: flow, verdict: outcome.Confirmed, level: outcome.E5},
		{name: "the machine obeys but the process does not follow", plan: flow, machine: func(m *machine) { m.signals["FIT.flow"] = steady(0) },
			verdict: outcome.Refuted, level: outcome.E4, refuted: "E5", code: outcome.VerifyMismatch, layer: outcome.LayerDevice},
		{name: "a witness above the minimum level stays silent", plan: flow, machine: func(m *machine) { m.bad["FIT.flow"] = physical.CauseNotANumber },
			verdict: outcome.Confirmed, level: outcome.E4},
		{name: "a witness whose condition does not hold proves and refutes nothing", plan: func(v *contract.Verify) {
			v.Expect = append(v.Expect, contract.Expect{Point: "flow", Kind: contract.Between, Low: literal("20"), High: literal("40"), When: "state == 1"})
		}, machine: func(m *machine) { m.signals["FIT.flow"] = steady(0) }, verdict: outcome.Confirmed, level: outcome.E4},
		{name: "every reading takes 900 ms", machine: func(m *machine) { m.delay = 900 * time.Millisecond }, verdict: outcome.Confirmed, level: outcome.E4},
		{name: "somebody else changes the setpoint meanwhile", machine: func(m *machine) {
			m.signals["FCV.setpoint"] = func(t time.Duration) (physical.Value, []byte) {
				if t > 2*time.Second {
					return number(45)
				}
				return number(60)
			}
			m.signals["FCV.position"] = steady(45)
		}, verdict: outcome.Refuted, level: outcome.E1, refuted: "E2", code: outcome.VerifyMismatch, layer: outcome.LayerDevice},
	}
}

func literal(s string) contract.Operand { return contract.Operand{Literal: physical.NumberOf(dec(s))} }

func TestAConfirmationNeedsTheWholeSettleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, took := prove(t, valvePlan(t, nil), moved(), nil)
		// 13.5 % at 5 %/s bring the valve into the tolerance at 2.7 s; then 2 s of rest, and a move of the counter.
		if took < 4700*time.Millisecond || took > 6*time.Second {
			t.Errorf("confirmed after %s, want 4.7 s to 6 s", took)
		}
	})
}

func TestReadingsFromBeforeTheActDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, m := valvePlan(t, nil), moved()
		m.start = time.Now()
		m.signals["FCV.position"] = steady(60)
		_, raw := number(60)
		act := verify.Act{End: time.Now().Add(time.Hour), Acked: true, Written: map[string][]byte{"FCV.setpoint": raw}, Params: map[string]any{"opening": 60.0}}
		trial := verify.NewTrial(plan, act)
		for range 40 {
			trial.Add(verify.Round{Readings: m.Read(t.Context(), plan.Points)})
			time.Sleep(plan.Poll)
			if d, decided := trial.Decide(false); decided {
				t.Fatalf("decided %v from readings that left before the end of the act", d)
			}
		}
	})
}

func TestARefuteConditionDecidesEarly(t *testing.T) {
	stalled := func(v *contract.Verify) {
		v.Refute = []contract.Refute{{When: "state == 4", Hold: 500 * time.Millisecond, Reason: "the drive is stalled", Counts: false}}
	}
	rise := func(t time.Duration) (physical.Value, []byte) {
		if t > time.Second {
			return number(4)
		}
		return number(1)
	}
	synctest.Test(t, func(t *testing.T) {
		m := moved()
		m.signals["FCV.state"], m.signals["FCV.position"] = rise, steady(47)
		d, took := prove(t, valvePlan(t, stalled), m, nil)
		if d.Verdict != outcome.Refuted || *d.RefutedAt != outcome.E3 || d.Counts || took > 4*time.Second {
			t.Errorf("got %+v after %s", d, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := moved()
		m.signals["FCV.state"] = steady(4) // it stood there before the act: it does not rise
		d, _ := prove(t, valvePlan(t, stalled), m, nil)
		if d.Verdict != outcome.Confirmed {
			t.Errorf("a condition that held before the act decided: %+v", d)
		}
	})
}

func TestStandingNeedsMoreThanOneLuckyLook(t *testing.T) {
	hunting := func(t time.Duration) (physical.Value, []byte) {
		return number(60 + 4*math.Sin(2*math.Pi*t.Seconds()/3))
	}
	for name, c := range map[string]struct {
		position func(time.Duration) (physical.Value, []byte)
		beat     func(time.Duration) (physical.Value, []byte)
		want     bool
	}{
		"at rest":              {steady(60), beat(forEver), true},
		"passing by":           {hunting, beat(forEver), false},
		"on a frozen image":    {steady(60), beat(0), false},
		"outside the expected": {steady(50), beat(forEver), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := moved()
				m.start = time.Now()
				m.signals["FCV.position"], m.signals["PLC.heartbeat"] = c.position, c.beat
				_, raw := number(60)
				d, _, stands := verify.Standing(t.Context(), m, valvePlan(t, nil), verify.Act{End: time.Now(), Written: map[string][]byte{"FCV.setpoint": raw},
					Params: map[string]any{"opening": 60.0}})
				if stands != c.want {
					t.Errorf("stands = %v, want %v (%+v)", stands, c.want, d)
				}
			})
		})
	}
}

func TestWatchReportsAStateThatIsLeft(t *testing.T) {
	plan := func(t *testing.T) *verify.Plan {
		return valvePlan(t, func(v *contract.Verify) { v.Watch = &contract.Watch{For: time.Minute, Tolerance: dec("3")} })
	}
	synctest.Test(t, func(t *testing.T) {
		m := moved()
		m.start = time.Now()
		m.signals["FCV.position"] = func(t time.Duration) (physical.Value, []byte) {
			if t > 30*time.Second {
				return number(45)
			}
			return number(60)
		}
		_, raw := number(60)
		text, left := verify.Watch(t.Context(), m, plan(t), verify.Act{End: time.Now(), Written: map[string][]byte{"FCV.setpoint": raw}, Params: map[string]any{"opening": 60.0}})
		if took := time.Since(m.start); !left || took < 30*time.Second || took > 35*time.Second {
			t.Errorf("left = %v (%s) after %s", left, text, took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := moved()
		m.start = time.Now()
		m.signals["FCV.position"] = steady(62.5)
		_, raw := number(60)
		if text, left := verify.Watch(t.Context(), m, plan(t), verify.Act{End: time.Now(), Written: map[string][]byte{"FCV.setpoint": raw}, Params: map[string]any{"opening": 60.0}}); left {
			t.Errorf("inside the watch's tolerance, but reported: %s", text)
		}
	})
}

func TestPlansThatCannotProveAreRefused(t *testing.T) {
	for name, change := range map[string]func(*contract.Verify){
		"a level above every witness": func(v *contract.Verify) { v.MinLevel = outcome.E5 },
		"a witness that is not named": func(v *contract.Verify) { v.Expect[0].Point = "nothing" },
		"a point of another asset":    func(v *contract.Verify) { v.Expect[0].Point = "other" },
		"a target of another type":    func(v *contract.Verify) { v.Expect[0].Target = contract.Operand{Expr: "opening > 3"} },
		"an unknown name":             func(v *contract.Verify) { v.Expect[0].Target = contract.Operand{Expr: "opning"} },
		"settle longer than within":   func(v *contract.Verify) { v.Settle = 20 * time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			v := &contract.Verify{MinLevel: outcome.E4, Within: 15 * time.Second, Settle: time.Second,
				Expect: []contract.Expect{{Point: "position", Kind: contract.Near, Target: contract.Operand{Expr: "opening"}, Tolerance: dec("1.5")}}}
			change(v)
			if _, err := verify.Compile(v, []string{"setpoint"}, valveScope()); err == nil {
				t.Error("accepted")
			}
		})
	}
}
