package guard_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"capd/internal/guard"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/registry"
	"capd/internal/standing"
)

// wild is a random envelope with a random place of the valve, in tenths of a percent; -1 is no limit.
type wild struct {
	min, max, step, least, rate int64
	setpoint                    int64
	position                    int64 // in hundredths
	last                        time.Duration
	safe                        bool
}

func tenths(n int64) physical.Decimal { return physical.Whole(n).Div(physical.Whole(10)) }

func newWild(r *rand.Rand) wild {
	pick := func(n int64) int64 {
		if r.IntN(3) == 0 {
			return -1
		}
		return 1 + r.Int64N(n)
	}
	w := wild{min: pick(500), max: -1, step: pick(400), least: pick(60), rate: pick(500), setpoint: r.Int64N(1100), last: time.Duration(r.Int64N(int64(5 * time.Minute))), safe: r.IntN(8) == 0}
	w.position = w.setpoint*10 + []int64{0, 3, -140, 151, 1500, -2500}[r.IntN(6)]
	if r.IntN(4) > 0 {
		w.max = max(w.min, 0) + 1 + r.Int64N(700)
	}
	if w.step > 0 && w.least > w.step {
		w.least = w.step
	}
	return w
}

func (w wild) envelope() string {
	var parts []string
	for _, p := range []struct {
		key string
		n   int64
	}{{"min", w.min}, {"max", w.max}, {"max_step", w.step}, {"min_step", w.least}, {"max_rate", w.rate}} {
		if p.n >= 0 {
			parts = append(parts, fmt.Sprintf("%s: %s", p.key, tenths(p.n)))
		}
	}
	return strings.Join(parts, ", ")
}

func (w wild) permit(t *testing.T, a *registry.Action, to physical.Decimal) *outcome.Refusal {
	f := fresh(t, a, map[string]any{"to": to.InexactFloat64()})
	f.Action.ToSafe = w.safe
	f.Readings["VALVE.setpoint"] = good(physical.NumberOf(tenths(w.setpoint)))
	f.Readings["VALVE.position"] = good(physical.NumberOf(physical.Whole(w.position).Div(physical.Whole(100))))
	f.Usage["VALVE.setpoint"] = standing.Usage{LastWrite: ago(w.last)}
	return guard.Permit(f)
}

// forbids is the oracle, in tenths: the code of the limit that a value breaks, OK for none.
func (w wild) forbids(to int64) outcome.Code {
	abs := func(n int64) int64 { return max(n, -n) }
	change := abs(to - w.setpoint)
	far := abs(to*10-w.position) > w.step*10 && abs(w.position-w.setpoint*10) > 150 // the tolerance of the verification
	switch {
	case w.min >= 0 && to < w.min || w.max >= 0 && to > w.max:
		return outcome.OutOfRange
	case w.safe:
		return outcome.OK
	case w.step >= 0 && (change > w.step || far):
		return outcome.StepTooLarge
	case w.least >= 0 && change > 0 && change < w.least:
		return outcome.OutOfRange
	case w.rate >= 0 && float64(change)/float64(w.rate)*float64(time.Minute) > float64(w.last)+1:
		return outcome.TooSoon
	}
	return outcome.OK
}

func TestNoValueOutsideTheEnvelopePasses(t *testing.T) {
	passed, spans := 0, 0
	for seed := range uint64(400) {
		p, s := tryWild(t, seed)
		passed, spans = passed+p, spans+s
	}
	if passed < 400 || spans < 400 {
		t.Errorf("%d values passed, %d spans were named: too few to mean anything", passed, spans)
	}
}

func FuzzPermit(f *testing.F) {
	f.Add(uint64(5))
	f.Fuzz(func(t *testing.T, seed uint64) { tryWild(t, seed) })
}

// tryWild asks for values all over one envelope, and then for what the refusals name.
func tryWild(t *testing.T, seed uint64) (passed, spans int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 4))
	w := newWild(r)
	a := action(t, "VALVE", setValve, w.envelope(), "")
	for range 20 {
		to := r.Int64N(1300) - 50
		got := w.permit(t, a, tenths(to))
		if want := w.forbids(to); code(got) != want {
			t.Errorf("seed %d: %+v: %s: got %v, want %q", seed, w, tenths(to), got, want)
		}
		if got == nil {
			passed++
			continue
		}
		if got.Allowed != nil {
			spans++
			w.keeps(t, a, got)
		}
	}
	return passed, spans
}

// keeps asks for both ends of a span that a refusal named; only the time may speak against them.
func (w wild) keeps(t *testing.T, a *registry.Action, refusal *outcome.Refusal) {
	t.Helper()
	s := refusal.Allowed
	if s.Low.GreaterThan(s.High) {
		t.Errorf("%+v: %v allows [%s, %s]", w, refusal, s.Low, s.High)
	}
	for _, end := range []physical.Decimal{s.Low, s.High} {
		if _, _, err := a.Steps[0].Point.Raw(physical.NumberOf(end)); err != nil {
			t.Errorf("%+v: %v allows %s, for which there is no raw value", w, refusal, end)
		}
		if r := w.permit(t, a, end); r != nil && r.Code != outcome.TooSoon {
			t.Errorf("%+v: %v allows %s, but then: %v", w, refusal, end, r)
		}
	}
}
