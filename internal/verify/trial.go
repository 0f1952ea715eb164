package verify

import (
	"slices"
	"time"

	"capd/internal/physical"
)

// Act is what was done, as far as the verification must know it.
type Act struct {
	End      time.Time                   // when the last write was complete, or given up
	Acked    bool                        // every write was acknowledged
	Written  map[string][]byte           // raw value asked for, by ASSET.point
	Asked    map[string]physical.Value   // the same in physical units, for messages
	Baseline map[string]physical.Reading // readings before the act, by ASSET.point
	Params   map[string]any
}

// Round is one reading of every point of a plan.
type Round struct {
	Asked    time.Time // when the round was asked for; the wire may have been busy before its first request left
	Readings map[string]physical.Reading
}

// look is a round and what is known of it.
type look struct {
	readings   map[string]physical.Reading
	start, end time.Time     // when its earliest request left, and when its latest answer was complete
	took       time.Duration // the whole round, with its wait for the wire
	states     []answerState // what it says of each claim, once no later round can change that
}

// Trial is one running verification: the plan, the act and the rounds that its verdict can still depend on. It is used by one
// goroutine.
type Trial struct {
	plan    *Plan
	act     Act
	claims  []claim
	looks   []look
	final   int               // how many of the looks can change no more
	pulses  map[string]*pulse // by device that declares liveness
	rises   []rise            // of each refute condition, over the looks that are final or forgotten
	held    []bool            // whether each claim held in one of these
	history history
}

// NewTrial begins a verification of an act.
func NewTrial(p *Plan, a Act) *Trial {
	t := &Trial{plan: p, act: a, claims: claimsOf(p, a), pulses: map[string]*pulse{}}
	for device, l := range p.liveness {
		t.pulses[device] = &pulse{Liveness: l}
	}
	for _, r := range p.Refute {
		value, known := condition(r.When, t.before(r.needs))
		t.rises = append(t.rises, rise{hold: r.Hold, wasFalse: known && !value})
	}
	t.held = make([]bool, len(t.claims))
	return t
}

// Add takes a round, judges which rounds it shows to be news, and forgets those that are too old to count.
func (t *Trial) Add(r Round) {
	t.looks = append(t.looks, lookOf(r))
	for _, p := range t.pulses {
		p.judge(t)
	}
	t.history.add(t.plan.witnesses, r)
	for t.final < len(t.looks) && t.isFinal(t.final) {
		t.conclude(t.final)
	}
	t.forget()
}

func lookOf(r Round) look {
	l := look{readings: r.Readings}
	for _, x := range r.Readings {
		if l.start.IsZero() || x.Started.Before(l.start) {
			l.start = x.Started
		}
		if x.At.After(l.end) {
			l.end = x.At
		}
	}
	began := l.start
	if !r.Asked.IsZero() && r.Asked.Before(began) {
		began = r.Asked
	}
	l.took = l.end.Sub(began)
	return l
}

// isFinal reports whether every device's counter has shown what it can of a round.
func (t *Trial) isFinal(i int) bool {
	for _, p := range t.pulses {
		if p.lives[i] == unproven {
			return false
		}
	}
	return true
}

// conclude keeps what a round says for good, and takes it into what is remembered of all rounds. Rounds come in their order.
func (t *Trial) conclude(i int) {
	states := make([]answerState, len(t.claims))
	for j, c := range t.claims {
		states[j] = t.ask(c, i).state
		t.held[j] = t.held[j] || states[j] == holds
	}
	for j := range t.rises {
		t.rises[j] = t.observe(t.rises[j], t.plan.Refute[j], i)
	}
	t.looks[i].states = states
	t.final = i + 1
}

// leastMemory is how many rounds are kept, however long they took, and how many more may gather before they are forgotten.
const leastMemory = 64

// forget drops the rounds that no verdict can depend on any more, so that a verification of hours stays small. The end of a trial is
// judged by its latest rounds that answer, the settle time before them, and the counters that prove them.
func (t *Trial) forget() {
	oldest := t.latest().Add(-t.memory())
	if len(t.looks) < 2*leastMemory || !t.looks[leastMemory].end.Before(oldest) {
		return
	}
	over := 0
	for over < len(t.looks)-leastMemory && t.looks[over].end.Before(oldest) {
		over++
	}
	for t.final < over { // their counter has not moved in all this time: they are no proof
		t.conclude(t.final)
	}
	t.looks = slices.Delete(t.looks, 0, over)
	t.final -= over
	for _, p := range t.pulses {
		p.forget(over)
	}
}

// memory is how far back a verdict reaches: staleAfter, the settle time and a hole before it, and the liveness window, in full.
func (t *Trial) memory() time.Duration {
	within := time.Duration(0)
	for _, p := range t.pulses {
		within = max(within, p.Within)
	}
	return 3*t.plan.Settle + 2*within + 8*(t.plan.Poll+t.slowest(len(t.looks)-1))
}

// slowest is the longest that one of the rounds up to one took, with its wait for the wire.
func (t *Trial) slowest(upTo int) time.Duration {
	const looked = 4
	longest := time.Duration(0)
	for i := max(0, upTo-looked+1); i <= upTo; i++ {
		longest = max(longest, t.looks[i].took)
	}
	return longest
}

// standing is why a reading may or may not count.
type standing uint8

const (
	accepted standing = iota
	pending           // from a device whose counter has not moved since; may still be accepted
	frozen            // the device's counter stood still for its whole window
	unusable          // bad, stale or absent; the reading's own cause says why
)

// reading is a point's reading in round i, and whether it counts.
func (t *Trial) reading(i int, p Point) (physical.Reading, standing) {
	r, st := t.atItsWord(i, p)
	pulse := t.pulses[p.Device]
	if st != accepted || pulse == nil || pulse.lives[i] == alive {
		return r, st
	}
	last := len(t.looks) - 1
	if pulse.lives[i] == dead || t.looks[last].start.Sub(r.At) > pulse.Within+t.slowest(last) {
		return r, frozen
	}
	return r, pending
}

// atItsWord is the same for somebody who believes every device to be alive.
func (t *Trial) atItsWord(i int, p Point) (physical.Reading, standing) {
	r, ok := t.looks[i].readings[p.Ref]
	if !ok || !r.Good() || !r.Started.After(t.act.End) {
		return r, unusable
	}
	return r, accepted
}

// latest is the time of the newest answer.
func (t *Trial) latest() time.Time {
	if len(t.looks) == 0 {
		return time.Time{}
	}
	return t.looks[len(t.looks)-1].end
}
