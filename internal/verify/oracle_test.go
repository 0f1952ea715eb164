package verify_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"capd/internal/contract"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/verify"
)

// span is a stretch of time since the act.
type span struct{ from, to time.Duration }

func (s span) covers(t time.Duration) bool { return t >= s.from && t < s.to }

// chaos is a random machine: a valve on a way of its own, a PLC that may stand still and show an old image, readings that fail and
// readings that are slow. It remembers every position that it showed and what was true then.
type chaos struct {
	start   time.Time
	x       func(time.Duration) float64 // the true position
	base    func(time.Duration) float64 // the same without swing and noise
	swings  bool
	noisy   bool
	stops   []span        // the PLC stands still
	bads    []span        // the transmitter gives nothing
	rewrite time.Duration // when somebody else changes the setpoint; 0 is never
	delay   func(time.Duration) time.Duration
	seen    []shown
}

// shown is one reading of the position, as handed out.
type shown struct {
	started, at time.Duration
	value, true float64
	ok          bool
	setpoint    bool // whether the setpoint stood at 60
}

// image is the time that the PLC's image shows: the present, or when it stopped.
func (m *chaos) image(t time.Duration) time.Duration {
	for _, s := range m.stops {
		if s.covers(t) {
			return s.from
		}
	}
	return t
}

// beats counts the PLC's scans: a stop adds nothing.
func (m *chaos) beats(t time.Duration) float64 {
	run := t
	for _, s := range m.stops {
		run -= max(0, min(t, s.to)-s.from)
	}
	return float64(run / (500 * time.Millisecond))
}

func (m *chaos) setpoint(t time.Duration) float64 {
	if m.rewrite > 0 && t >= m.rewrite {
		return 45
	}
	return 60
}

func (m *chaos) Read(ctx context.Context, refs []string) map[string]physical.Reading {
	started := time.Now()
	select {
	case <-time.After(m.delay(time.Since(m.start))):
	case <-ctx.Done():
	}
	now := time.Since(m.start)
	image := m.image(now)
	s := shown{started: started.Sub(m.start), at: now, value: m.x(image), true: m.x(now), ok: true, setpoint: m.setpoint(image) == 60}
	out := map[string]physical.Reading{}
	for _, ref := range refs {
		var v physical.Value
		var raw []byte
		switch ref {
		case "FCV.position":
			v, raw = number(s.value)
			for _, b := range m.bads {
				s.ok = s.ok && !b.covers(now)
			}
		case "FCV.setpoint":
			v, raw = number(m.setpoint(image))
		case "PLC.heartbeat":
			v, raw = number(m.beats(now))
		}
		out[ref] = physical.Reading{Value: v, Raw: raw, Unit: "%", Started: started, At: time.Now(), Quality: physical.Good}
		if ref == "FCV.position" && !s.ok {
			out[ref] = physical.BadReading(physical.CauseInvalid, "as told", started, time.Now())
		}
	}
	m.seen = append(m.seen, s)
	return out
}

const (
	chaosWithin = 15 * time.Second
	chaosSettle = 2 * time.Second
	chaosAlive  = 2 * time.Second
	chaosPoll   = 250 * time.Millisecond
	longRead    = 700 * time.Millisecond
	chaosBand   = 1.5
)

// way makes a movement of the valve, from 45.
func (m *chaos) way(r *rand.Rand) {
	speed := math.Exp(r.Float64()*6 - 3) // 0.05 to 20 % per second
	end := []float64{60, 60, 60, 58.6, 61.4, 58.4, 61.6, 52, 45}[r.IntN(9)]
	noise := []float64{0, 0, 0.02, 0.2}[r.IntN(4)]
	swing, period := []float64{0, 0, 0, 1, 4}[r.IntN(5)], 1+4*r.Float64()
	left := time.Duration(r.IntN(40)) * time.Second / 2 // when it leaves again, if it does
	leaves := r.IntN(4) == 0
	phase := r.Float64() * 10
	m.swings, m.noisy = swing > 0, noise > 0
	m.base = func(t time.Duration) float64 {
		at := 45 + math.Copysign(math.Min(math.Abs(end-45), speed*t.Seconds()), end-45)
		if leaves && t > left {
			at -= math.Min(15, 5*(t-left).Seconds())
		}
		return at
	}
	m.x = func(t time.Duration) float64 {
		s := t.Seconds() + phase
		return m.base(t) + swing*math.Sin(2*math.Pi*s/period) + noise*math.Sin(97.3*s)*math.Cos(31.7*s)
	}
}

func spans(r *rand.Rand, most int, longest time.Duration) []span {
	var out []span
	from := time.Duration(0)
	for range r.IntN(most + 1) {
		from += time.Duration(r.Int64N(int64(8 * time.Second)))
		to := from + time.Duration(r.Int64N(int64(longest)))
		out = append(out, span{from, to})
		from = to + 10*time.Millisecond
	}
	return out
}

func newChaos(r *rand.Rand) *chaos {
	m := &chaos{delay: func(time.Duration) time.Duration { return 5 * time.Millisecond }}
	m.way(r)
	if r.IntN(2) == 0 {
		m.stops = spans(r, 3, 6*time.Second)
	}
	if r.IntN(3) == 0 {
		m.bads = spans(r, 4, 2*time.Second)
	}
	if r.IntN(6) == 0 {
		m.rewrite = time.Duration(r.Int64N(int64(chaosWithin)))
	}
	if r.IntN(3) == 0 {
		m.delay = func(time.Duration) time.Duration { return time.Duration(r.Int64N(int64(longRead))) }
	}
	return m
}

// seeds is how many random cases to try: an emulated machine tries few.
func seeds(n uint64) uint64 {
	if testing.Short() {
		return n / 10
	}
	return n
}

func TestRandomMachinesAgainstASimpleOracle(t *testing.T) {
	verdicts := map[outcome.Verdict]int{}
	for seed := range seeds(600) {
		verdicts[judge(t, seed)]++
	}
	t.Log(verdicts)
	for _, v := range []outcome.Verdict{outcome.Confirmed, outcome.Refuted, outcome.Unknown} {
		if verdicts[v] < int(seeds(300)/10) {
			t.Errorf("the machines are too tame: %v", verdicts)
		}
	}
}

func TestAStandingTargetIsProvedToo(t *testing.T) {
	stand, complaints := 0, []string{}
	for seed := range seeds(600) {
		synctest.Test(t, func(t *testing.T) {
			m := newChaos(rand.New(rand.NewPCG(seed, 3)))
			m.start = time.Now().Add(-5 * time.Second)
			plan := valvePlan(t, func(v *contract.Verify) { v.Settle, v.Within = chaosSettle, chaosWithin })
			_, raw := number(60)
			d, _, ok := verify.Standing(t.Context(), m, plan, verify.Act{End: time.Now(), Written: map[string][]byte{"FCV.setpoint": raw}, Params: map[string]any{"opening": 60.0}})
			if !ok {
				return
			}
			stand++
			if why := m.objectsToConfirmed(); why != "" {
				complaints = append(complaints, fmt.Sprintf("seed %d: %s, but %s", seed, d.Verdict, why))
			}
		})
	}
	for _, c := range complaints {
		t.Error(c)
	}
	if stand < int(seeds(300)/20) {
		t.Errorf("only %d machines stood at their target", stand)
	}
}

func FuzzRandomMachines(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { judge(t, seed) })
}

// judge runs one machine and holds the verdict against the oracle.
func judge(t *testing.T, seed uint64) (v outcome.Verdict) {
	t.Helper()
	complaint := ""
	synctest.Test(t, func(t *testing.T) {
		m := newChaos(rand.New(rand.NewPCG(seed, 1)))
		plan := valvePlan(t, func(v *contract.Verify) { v.Settle, v.Within = chaosSettle, chaosWithin })
		m.start = time.Now()
		_, raw := number(60)
		d, _ := verify.Run(t.Context(), m, plan, verify.Act{End: m.start, Acked: true, Written: map[string][]byte{"FCV.setpoint": raw},
			Params: map[string]any{"opening": 60.0}})
		v = d.Verdict
		if why := m.objects(d); why != "" {
			complaint = fmt.Sprintf("seed %d: %s %s %s (%s) after %s, but %s", seed, d.Verdict, d.Level, d.Code, d.Message, time.Since(m.start), why)
		}
	})
	if complaint != "" {
		t.Error(complaint)
	}
	return v
}

// objects is the oracle: why a decision cannot be right, "" when it can.
func (m *chaos) objects(d verify.Decision) string {
	switch d.Verdict {
	case outcome.Confirmed:
		return m.objectsToConfirmed()
	case outcome.Refuted:
		return m.objectsToRefuted(*d.RefutedAt)
	case outcome.Unknown:
		return m.objectsToUnknown(d.Code)
	default:
		return fmt.Sprintf("%q is no verdict of a verification", d.Verdict)
	}
}

// deadAt reports a stop that is longer than any that the liveness window forgives.
func (m *chaos) deadAt(t time.Duration) bool {
	for _, s := range m.stops {
		if s.covers(t) && s.to-s.from > chaosAlive+2*(chaosPoll+longRead)+500*time.Millisecond {
			return true
		}
	}
	return false
}

// objectsToConfirmed wants the settle time full of readings that hold, from a PLC that ran, and nothing newer that says otherwise.
func (m *chaos) objectsToConfirmed() string {
	last := m.seen[len(m.seen)-1]
	if last.ok && math.Abs(last.value-60) > chaosBand {
		return fmt.Sprintf("the newest reading is %.2f", last.value)
	}
	for to := len(m.seen) - 1; to >= 0 && last.at-m.seen[to].at <= chaosAlive+2*(chaosPoll+longRead); to-- {
		for from := to; from >= 0; from-- {
			s := m.seen[from]
			if !s.ok || !s.setpoint || m.deadAt(s.at) || math.Abs(s.value-60) > chaosBand {
				break
			}
			if m.seen[to].started-s.at >= chaosSettle {
				return ""
			}
		}
	}
	return "there is no settle time in which every reading held"
}

// objectsToRefuted wants a machine at rest elsewhere, or a setpoint that does not stand.
func (m *chaos) objectsToRefuted(at outcome.Level) string {
	last := m.seen[len(m.seen)-1]
	if at == outcome.E2 {
		if last.setpoint && !m.deadAt(last.at) {
			return "the setpoint stands"
		}
		return ""
	}
	end, begin := last.at, last.at-chaosSettle
	if m.deadAt(end) || m.deadAt(begin) {
		return ""
	}
	if near := math.Abs(m.x(end) - 60); near < chaosBand && math.Abs(m.x(begin)-60) < chaosBand {
		return "the valve is where it should be"
	}
	least := chaosBand / 6 // the smallest approach within the settle time that must be told from rest
	switch {
	case m.swings:
		least = 2*chaosBand + 0.1
	case m.noisy:
		least = chaosBand
	}
	was, is := m.base(m.image(begin)), m.base(m.image(end))
	if closing := math.Abs(was-60) - math.Abs(is-60); closing > least {
		return fmt.Sprintf("the valve is on its way: %.2f, then %.2f", was, is)
	}
	return ""
}

// objectsToUnknown wants a confirmation where everything was seen for long enough.
func (m *chaos) objectsToUnknown(code outcome.Code) string {
	if code == outcome.OK {
		return "it gives no code"
	}
	if len(m.stops) > 0 {
		return ""
	}
	held := time.Duration(0)
	for i, s := range m.seen {
		if !s.ok || !s.setpoint || math.Abs(s.value-60) > chaosBand-1e-9 {
			held = 0
			continue
		}
		if i > 0 {
			held += s.at - m.seen[i-1].at
		}
		if held > chaosSettle+2*time.Second+4*(longRead+chaosPoll) {
			return "it held for long and on a PLC that ran"
		}
	}
	return ""
}
