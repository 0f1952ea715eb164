package verify_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"capd/internal/contract"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/verify"
)

// what one round may say about one claim.
type said int

const (
	yes said = iota
	no
	void   // its condition of validity does not hold
	silent // no reading
)

// story is what the rounds say about the setpoint (E2), the position (E4) and, while state is 1, the flow (E5).
type story [][3]said

const step = 250 * time.Millisecond

// tell makes a random story in which each witness tends to go on as it was.
func tell(r *rand.Rand, rounds int) story {
	s := make(story, rounds)
	now := [3]said{no, no, no}
	sticky := 1 + r.IntN(20)
	for i := range s {
		for j := range now {
			if r.IntN(sticky) == 0 {
				now[j] = []said{yes, yes, yes, no, silent, void}[r.IntN(5+min(j/2, 1))]
			}
		}
		s[i] = now
	}
	return s
}

// reading is a good value or none, of a round that takes no time.
func reading(ok bool, v float64, at time.Time) physical.Reading {
	if !ok {
		return physical.BadReading(physical.CauseInvalid, "as told", at, at)
	}
	value, raw := number(v)
	return physical.Reading{Value: value, Raw: raw, Started: at, At: at, Quality: physical.Good}
}

func (s story) round(i int, start time.Time) verify.Round {
	at := start.Add(time.Duration(i+1) * step)
	value := func(j int, yesValue, noValue float64) physical.Reading {
		if s[i][j] == no {
			return reading(true, noValue, at)
		}
		return reading(s[i][j] != silent, yesValue, at)
	}
	return verify.Round{Readings: map[string]physical.Reading{"FCV.setpoint": value(0, 60, 45), "FCV.position": value(1, 60, 50), "FIT.flow": value(2, 30, 0),
		"FCV.state": reading(true, map[bool]float64{true: 0, false: 1}[s[i][2] == void], at)}}
}

func togetherPlan(t *testing.T, level outcome.Level) *verify.Plan {
	t.Helper()
	scope := valveScope()
	scope.Liveness = nil
	plan, err := verify.Compile(&contract.Verify{MinLevel: level, Within: time.Hour, Poll: step, Settle: 2 * time.Second, Expect: []contract.Expect{
		{Point: "position", Kind: contract.Near, Target: contract.Operand{Expr: "opening"}, Tolerance: dec("1.5")},
		{Point: "flow", Kind: contract.Between, Low: literal("20"), High: literal("40"), When: "state == 1"}}}, []string{"setpoint"}, scope)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestRandomWitnessesAreJudgedTogether(t *testing.T) {
	verdicts := map[outcome.Verdict]int{}
	for seed := range seeds(1500) {
		verdicts[tellAndJudge(t, seed)]++
	}
	t.Log(verdicts)
}

func FuzzRandomWitnesses(f *testing.F) {
	f.Add(uint64(7))
	f.Fuzz(func(t *testing.T, seed uint64) { tellAndJudge(t, seed) })
}

func tellAndJudge(t *testing.T, seed uint64) outcome.Verdict {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	level := []outcome.Level{outcome.E2, outcome.E4, outcome.E5}[r.IntN(3)]
	s := tell(r, 12+r.IntN(40))
	start := time.Unix(1_700_000_000, 0)
	_, raw := number(60)
	trial := verify.NewTrial(togetherPlan(t, level), verify.Act{End: start, Acked: true, Written: map[string][]byte{"FCV.setpoint": raw}, Params: map[string]any{"opening": 60.0}})
	for i := range s {
		trial.Add(s.round(i, start))
		deadline := i == len(s)-1
		d, decided := trial.Decide(deadline)
		if !decided {
			continue
		}
		if why := s[:i+1].objects(d, level, deadline); why != "" {
			t.Errorf("seed %d, min_level %s: %s %s %s (%s), but %s\n%v", seed, level, d.Verdict, d.Level, d.Code, d.Message, why, s[:i+1])
		}
		return d.Verdict
	}
	t.Fatalf("seed %d: no decision at the deadline", seed)
	return ""
}

// levels are those of the three claims of a story.
func levels() [3]outcome.Level { return [3]outcome.Level{outcome.E2, outcome.E4, outcome.E5} }

// trailing is how many of the last rounds say one of the given things about a claim, after skipping silent ones at the very end.
func (s story) trailing(j int, skip int, want ...said) int {
	n := 0
	for i := len(s) - 1 - skip; i >= 0; i-- {
		found := false
		for _, w := range want {
			found = found || s[i][j] == w
		}
		if !found {
			break
		}
		n++
	}
	return n
}

const settleRounds = int(2*time.Second/step) + 1

// objects is why a decision cannot be right, "" when it can.
func (s story) objects(d verify.Decision, least outcome.Level, deadline bool) string {
	last := s[len(s)-1]
	switch d.Verdict {
	case outcome.Confirmed:
		if d.Level < least {
			return "the level is below the least"
		}
		return s.objectsToConfirmed(d.Level, least, deadline)
	case outcome.Refuted:
		for j, l := range levels() {
			if l == *d.RefutedAt && last[j] != yes && deadline {
				return ""
			}
		}
		return "no witness of that level speaks against it at the deadline"
	default:
		for j := range levels() {
			if s.trailing(j, 0, no) >= settleRounds {
				return fmt.Sprintf("claim %d has been contradicted for the whole settle time", j)
			}
		}
		return ""
	}
}

// objectsToConfirmed wants a settle time, up to now or to the last round in which all answered, in which no claim that must agree
// failed or was silent, and one of the level given that held all the time.
func (s story) objectsToConfirmed(level, least outcome.Level, deadline bool) string {
	skips := 0
	if deadline {
		skips = settleRounds + 4
	}
	for skip := 0; skip <= min(skips, len(s)-1); skip++ {
		together, agreed := true, false
		for j, l := range levels() {
			if l > least && deadline {
				together = together && s.trailing(j, 0, no) < settleRounds
				agreed = agreed || l == level && s.trailing(j, 0, yes, silent) >= settleRounds
				continue
			}
			together = together && s.trailing(j, skip, yes, void) >= settleRounds
			agreed = agreed || l == level && s.trailing(j, skip, yes) >= settleRounds
			for i := len(s) - skip; i < len(s); i++ {
				together = together && s[i][j] != no
			}
		}
		if together && agreed {
			return ""
		}
	}
	return "not all that must agree did so together for the settle time"
}
