package verify_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"capd/internal/contract"
	"capd/internal/expression"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/verify"
)

// What follows judges random tapes of the inlet valve once more, by the plainest reading of the design: from all rounds, anew after
// each of them, with nothing remembered.

// cell is one reading of a tape: a number (1 is true), when it was asked and when it came.
type cell struct {
	v           float64
	started, at time.Duration
	cause       physical.Cause
	good        bool
}

// slow is a tape and its judge.
type slow struct {
	rows   []map[string]cell
	spans  [][2]time.Duration // when each round began and ended
	level  outcome.Level
	settle time.Duration
	hold   time.Duration
	base   map[string]bool
}

const slowWithin = 2 * time.Second

func slowScope() verify.Scope {
	s := switches()
	running := s.Points["torque"]
	running.Alias, running.Ref = "running", "XV.running"
	s.Points["running"] = running
	state := running
	state.Alias, state.Ref, state.Type = "state", "XV.state", expression.Number
	s.Points["state"] = state
	for alias, p := range s.Points {
		p.Update = 0
		s.Points[alias] = p
	}
	return s
}

func (s *slow) plan(t *testing.T) *verify.Plan {
	t.Helper()
	running := is("running", true)
	running.When = "state != 2"
	plan, err := verify.Compile(&contract.Verify{MinLevel: s.level, Within: time.Hour, Poll: 100 * time.Millisecond, Settle: s.settle,
		Expect: []contract.Expect{running, is("open", true), is("closed", false)},
		Refute: []contract.Refute{{When: "state == 4", Hold: s.hold, Reason: "stalled"}}}, []string{"command"}, slowScope())
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// write makes a random tape in which things tend to stay as they are.
func write(r *rand.Rand) *slow {
	s := &slow{level: []outcome.Level{outcome.E2, outcome.E3, outcome.E4}[r.IntN(3)], settle: []time.Duration{0, 500 * time.Millisecond, time.Second, 3 * time.Second}[r.IntN(4)],
		hold: []time.Duration{0, 300 * time.Millisecond, 2 * time.Second}[r.IntN(3)], base: map[string]bool{"XV.closed": r.IntN(3) > 0}}
	values := map[string]float64{"XV.command": 1, "XV.running": 1, "XV.open": 0, "XV.closed": float64(r.IntN(2)), "XV.state": float64(r.IntN(2) * 4), "PLC.heartbeat": 0}
	wanted := map[string]float64{"XV.command": 1, "XV.running": 1, "XV.open": 1}
	order := []string{"PLC.heartbeat", "XV.closed", "XV.command", "XV.open", "XV.running", "XV.state"}
	sick := map[string]physical.Cause{}
	calm, health, beats := 2+r.IntN(80), 5+r.IntN(400), 2+r.IntN(8)
	now := time.Duration(1 + r.IntN(10))
	for range 10 + r.IntN([]int{30, 100, 300}[r.IntN(3)]) {
		row := map[string]cell{}
		pace := time.Duration(1 + r.IntN(10))
		if r.IntN(100) == 0 {
			pace *= 50
		}
		for _, ref := range order {
			if r.IntN(calm) == 0 {
				values[ref] = wanted[ref]
				if r.IntN(3) == 0 {
					values[ref] = 1 - wanted[ref]
				}
				if ref == "XV.state" {
					values[ref] = []float64{0, 0, 0, 2, 2, 4}[r.IntN(6)]
				}
			}
			if r.IntN(health) == 0 {
				sick[ref] = []physical.Cause{physical.CauseNone, physical.CauseNone, physical.CauseNone, physical.CauseOffline, physical.CauseOutOfRange}[r.IntN(5)]
			}
			c := cell{v: values[ref], started: now, cause: sick[ref], good: sick[ref] == physical.CauseNone}
			now += pace * time.Millisecond
			c.at = now
			row[ref] = c
		}
		if r.IntN(20) == 0 {
			beats = []int{1, 3, 5, 40}[r.IntN(4)]
		}
		if r.IntN(beats) == 0 {
			values["PLC.heartbeat"]++
		}
		s.rows, s.spans = append(s.rows, row), append(s.spans, [2]time.Duration{row[order[0]].started, now})
		now += time.Duration(r.IntN(150)) * time.Millisecond
	}
	return s
}

func (s *slow) span(n int) (start, end time.Duration) { return s.spans[n][0], s.spans[n][1] }

// slack is the longest that one of the four rounds up to n took.
func (s *slow) slack(n int) (longest time.Duration) {
	for i := max(0, n-3); i <= n; i++ {
		start, end := s.span(i)
		longest = max(longest, end-start)
	}
	return longest
}

// proof says of each of the rounds up to n whether the counter showed it alive (1), dead (-1) or not yet (0).
func (s *slow) proof(n int) []int {
	out := make([]int, n+1)
	beat := func(i int) (cell, bool) { c := s.rows[i]["PLC.heartbeat"]; return c, c.good }
	for first := 0; first <= n; {
		head, ok := beat(first)
		if !ok {
			first++
			continue
		}
		next, lastSame := first+1, first
		for ; next <= n; next++ {
			c, ok := beat(next)
			if ok && c.v != head.v {
				break
			}
			if ok {
				lastSame = next
			}
		}
		if c, _ := beat(lastSame); c.started-head.at > slowWithin {
			for i := first; i <= lastSame; i++ {
				out[i] = -1
			}
		}
		if next <= n {
			moved, _ := beat(next)
			for i := next - 1; i >= first; i-- {
				c, ok := beat(i)
				_, seen := s.span(i)
				if ok {
					seen = c.at
				}
				if moved.started-seen > slowWithin+s.slack(next) {
					break
				}
				if out[i] == 0 {
					out[i] = 1
				}
			}
		}
		first = next
	}
	return out
}

var slowClaims = []struct {
	ref   string
	want  float64
	level outcome.Level
}{{"XV.command", 1, outcome.E2}, {"XV.running", 1, outcome.E3}, {"XV.open", 1, outcome.E4}, {"XV.closed", 0, outcome.E4}}

// says is what round i says of claim k to somebody who takes the readings so: 'y', 'n', '-' for does not apply, '?' for nothing.
func (s *slow) says(k, i int, believed bool) byte {
	c := s.rows[i][slowClaims[k].ref]
	if slowClaims[k].ref == "XV.running" {
		state := s.rows[i]["XV.state"]
		if !state.good || !believed {
			return '?'
		}
		if state.v == 2 {
			return '-'
		}
	}
	switch {
	case !c.good || !believed:
		return '?'
	case c.v == slowClaims[k].want:
		return 'y'
	default:
		return 'n'
	}
}

// rose reports whether the refute condition, false before, is surely true for its hold somewhere in the rounds up to n.
func (s *slow) rose(n int, proof []int) bool {
	wasFalse := false
	state := func(i int) (float64, bool) { c := s.rows[i]["XV.state"]; return c.v, c.good && proof[i] == 1 }
	for from := 0; from <= n; from++ {
		v, ok := state(from)
		if ok && v != 4 {
			wasFalse = true
		}
		if !ok || v != 4 || !wasFalse {
			continue
		}
		if s.hold == 0 {
			return true
		}
		_, since := s.span(from)
		for to := from + 1; to <= n; to++ {
			if v, ok := state(to); !ok || v != 4 {
				break
			}
			if start, _ := s.span(to); start-since >= s.hold {
				return true
			}
		}
	}
	return false
}

// waits reports whether a good reading of round i may still be proven after round n.
func (s *slow) waits(i, n, proof int) bool {
	start, _ := s.span(n)
	for _, ref := range []string{"XV.command", "XV.running", "XV.state", "XV.open", "XV.closed"} {
		if c := s.rows[i][ref]; c.good && proof == 0 && start-c.at <= slowWithin+s.slack(n) {
			return true
		}
	}
	return false
}

// proved is the level at which the last rounds up to n confirm.
func (s *slow) proved(n int, proof []int) (outcome.Level, bool) {
	end := n
	for ; end >= 0 && s.waits(end, n, proof[end]); end-- {
		for k := range slowClaims {
			if s.says(k, end, true) == 'n' {
				return 0, false
			}
		}
	}
	level := outcome.E0
	for k, claim := range slowClaims {
		from, cut := end+1, false // where it began to hold, and whether that was because it did not apply before
		for i := end; i >= 0; i-- {
			all := true
			for other := range slowClaims {
				word := s.says(other, i, proof[i] == 1)
				all = all && (word == 'y' || word == '-')
			}
			if !all {
				break
			}
			if s.says(k, i, true) == '-' {
				cut = true
				break
			}
			from = i
		}
		switch {
		case from > end && !cut:
			return 0, false
		case from > end:
		case s.rows[end][claim.ref].started-s.rows[from][claim.ref].at >= s.settle:
			level = max(level, claim.level)
		case !cut:
			return 0, false
		}
	}
	return level, level >= s.level
}

// objects is why the deadline's decision cannot be right, "" when it can.
func (s *slow) objects(d verify.Decision) string {
	n := len(s.rows) - 1
	proof := s.proof(n)
	// lately is what claim k said in the proven rounds of the settle time, and of a second and a half before, as a set.
	lately := func(k int) (words string) {
		_, now := s.span(n)
		for i := n; i >= 0; i-- {
			if _, end := s.span(i); now-end > s.settle+slowWithin+1500*time.Millisecond+4*s.slack(n) {
				break
			}
			words += string(s.says(k, i, proof[i] == 1))
		}
		return words
	}
	has := func(words string, w byte) bool {
		for i := range len(words) {
			if words[i] == w {
				return true
			}
		}
		return false
	}
	switch d.Verdict {
	case outcome.Confirmed:
		for k, c := range slowClaims {
			if words := lately(k); c.level <= s.level && !has(words, 'y') && !has(words, '-') {
				return fmt.Sprintf("%s never agreed: %s", c.ref, words)
			}
		}
		if d.Level < s.level {
			return "the level is below the least"
		}
	case outcome.Refuted:
		for k, c := range slowClaims {
			word := s.rows[n][c.ref]
			if c.level == *d.RefutedAt && has(lately(k), 'n') && !(word.good && word.v == c.want && s.says(k, n, true) == 'y') {
				open, closed := s.rows[n]["XV.open"], s.rows[n]["XV.closed"]
				if c.ref == "XV.closed" && s.base["XV.closed"] && open.good && open.v == 1 && closed.v == 1 && closed.good && !has(lately(2), 'n') && !has(lately(2), '?') && !has(lately(3), '?') {
					return "both limit switches are on, and the closed one was before"
				}
				return ""
			}
		}
		return "no witness of that level speaks against it"
	case outcome.Unknown:
		if d.Code == outcome.OK {
			return "it gives no code"
		}
		for k, c := range slowClaims[:2] { // a plain contradiction of one that has no rival
			if words := lately(k); has(words, 'n') && !has(words, 'y') && !has(words, '?') && !has(words, '-') {
				return fmt.Sprintf("%s said no all the time: %s", c.ref, words)
			}
		}
	}
	return ""
}

func TestRandomTapesAgainstASlowJudge(t *testing.T) {
	verdicts := map[string]int{}
	for seed := range seeds(300) {
		verdicts[judgeTape(t, seed)]++
	}
	t.Log(verdicts)
	if testing.Short() {
		return
	}
	for _, v := range []string{"early confirmed", "early refuted", "late confirmed", "late refuted", "late unknown FEEDBACK_BAD", "late unknown VERIFY_TIMEOUT"} {
		if verdicts[v] == 0 {
			t.Errorf("no tape ends %s: they are too tame", v)
		}
	}
}

func FuzzRandomTapes(f *testing.F) {
	f.Add(uint64(11))
	f.Fuzz(func(t *testing.T, seed uint64) { judgeTape(t, seed) })
}

func judgeTape(t *testing.T, seed uint64) string {
	t.Helper()
	s := write(rand.New(rand.NewPCG(seed, 5)))
	start := time.Unix(1_700_000_000, 0)
	base := map[string]physical.Reading{}
	for ref, on := range s.base {
		base[ref] = flagReading(on, start)
	}
	trial := verify.NewTrial(s.plan(t), verify.Act{End: start, Acked: true, Written: map[string][]byte{"XV.command": {1}}, Baseline: base})
	for n, row := range s.rows {
		trial.Add(roundOf(row, start))
		proof, last := s.proof(n), n == len(s.rows)-1
		level, proved := s.proved(n, proof)
		rose := s.rose(n, proof)
		d, decided := trial.Decide(last)
		switch {
		case rose:
			if !decided || d.Verdict != outcome.Refuted || d.Message != "stalled" {
				t.Errorf("seed %d, round %d: the condition rose and held, but %v %s %s", seed, n, decided, d.Verdict, d.Message)
			}
			return "early refuted"
		case decided && d.Message == "stalled":
			t.Errorf("seed %d, round %d: the condition did not rise", seed, n)
			return ""
		case proved:
			if !decided || d.Verdict != outcome.Confirmed || d.Level != level {
				t.Errorf("seed %d, round %d: all held, at %s, but %v %s %s %s", seed, n, level, decided, d.Verdict, d.Level, d.Message)
			}
			return "early confirmed"
		case decided && !last:
			t.Errorf("seed %d, round %d: decided too early: %s %s %s", seed, n, d.Verdict, d.Level, d.Message)
			return ""
		case last:
			if why := s.objects(d); why != "" {
				t.Errorf("seed %d: %s %s %s (%s), but %s", seed, d.Verdict, d.Level, d.Code, d.Message, why)
			}
			if d.Verdict == outcome.Unknown {
				return "late unknown " + string(d.Code)
			}
			return "late " + string(d.Verdict)
		}
	}
	return ""
}

func roundOf(row map[string]cell, start time.Time) verify.Round {
	readings := map[string]physical.Reading{}
	for ref, c := range row {
		r := physical.Reading{Started: start.Add(c.started), At: start.Add(c.at), Quality: physical.Good, Raw: []byte{byte(c.v)}, Value: physical.FlagOf(c.v == 1)}
		if ref == "PLC.heartbeat" || ref == "XV.state" {
			r.Value = physical.FloatOf(c.v)
		}
		if !c.good {
			r = physical.BadReading(c.cause, "as told", r.Started, r.At)
		}
		readings[ref] = r
	}
	return verify.Round{Readings: readings}
}
