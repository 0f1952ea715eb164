package verify_test

import (
	"runtime"
	"testing"
	"time"

	"capd/internal/contract"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/verify"
)

// longPlan is a verification of ten minutes that looks every 100 ms.
func longPlan(tb testing.TB, change func(*contract.Verify)) *verify.Plan {
	tb.Helper()
	v := &contract.Verify{MinLevel: outcome.E4, Within: 10 * time.Minute, Poll: 100 * time.Millisecond, Settle: 2 * time.Second,
		Expect: []contract.Expect{{Point: "position", Kind: contract.Near, Target: contract.Operand{Expr: "opening"}, Tolerance: dec("1.5")}},
		Refute: []contract.Refute{{When: "state == 4", Hold: 500 * time.Millisecond, Reason: "the drive is stalled"}}}
	change(v)
	plan, err := verify.Compile(v, []string{"setpoint"}, valveScope())
	if err != nil {
		tb.Fatal(err)
	}
	return plan
}

// longRound is the n-th round, 100 ms after the one before, of a valve that is at a position.
func longRound(plan *verify.Plan, start time.Time, n int, position float64) verify.Round {
	began := start.Add(time.Duration(n)*100*time.Millisecond + time.Millisecond)
	values := map[string]float64{"FCV.setpoint": 60, "FCV.position": position, "FIT.flow": 30, "FCV.state": 1, "PLC.heartbeat": float64(n / 5)}
	readings := map[string]physical.Reading{}
	for _, ref := range plan.Points {
		v, raw := number(values[ref])
		readings[ref] = physical.Reading{Value: v, Raw: raw, Unit: "%", Started: began, At: began.Add(5 * time.Millisecond), Quality: physical.Good}
	}
	return verify.Round{Asked: began, Readings: readings}
}

const longRounds = 6000

// playLong adds every round of a long verification and asks for the verdict after each.
func playLong(plan *verify.Plan, position func(n int) float64) *verify.Trial {
	start := time.Unix(1_700_000_000, 0)
	_, raw := number(60)
	trial := verify.NewTrial(plan, verify.Act{End: start, Acked: true, Written: map[string][]byte{"FCV.setpoint": raw}, Params: map[string]any{"opening": 60.0}})
	for n := range longRounds {
		trial.Add(longRound(plan, start, n, position(n)))
		trial.Decide(n == longRounds-1)
	}
	return trial
}

func longPlays() map[string]struct {
	change   func(*contract.Verify)
	position func(n int) float64
} {
	away := func(n int) float64 { return 45 + float64(n)/1000 }
	return map[string]struct {
		change   func(*contract.Verify)
		position func(n int) float64
	}{
		"on its way": {func(*contract.Verify) {}, away},
		"there, and the effect never counts": {func(v *contract.Verify) { flowWhen("state == 2")(v); v.MinLevel = outcome.E5 },
			func(int) float64 { return 60 }},
		"a settle time of five minutes": {func(v *contract.Verify) { v.Settle = 5 * time.Minute }, func(n int) float64 {
			if n%2990 == 0 {
				return 45
			}
			return 60
		}},
	}
}

// BenchmarkLongVerification measures ten minutes of rounds at 100 ms with their decisions, and what is kept in memory at their end.
func BenchmarkLongVerification(b *testing.B) {
	for name, c := range longPlays() {
		b.Run(name, func(b *testing.B) {
			plan := longPlan(b, c.change)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var trial *verify.Trial
			for b.Loop() {
				trial = playLong(plan, c.position)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric((float64(after.HeapAlloc)-float64(before.HeapAlloc))/1024, "kept-KiB")
			b.ReportMetric(float64(trial.Kept()), "rounds-kept")
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/verification")
			runtime.KeepAlive(trial)
		})
	}
}
