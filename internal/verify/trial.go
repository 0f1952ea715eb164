package verify

import (
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
	Readings map[string]physical.Reading
}

// Trial is one running verification: the plan, the act and the rounds so far. It is used by one goroutine.
type Trial struct {
	plan   *Plan
	act    Act
	rounds []Round
	alive  map[string][]bool // by device: whether a round lies in a time in which the device is shown to run
}

// NewTrial begins a verification of an act.
func NewTrial(p *Plan, a Act) *Trial {
	return &Trial{plan: p, act: a, alive: map[string][]bool{}}
}

// Rounds is what was read so far.
func (t *Trial) Rounds() []Round { return t.rounds }

// Add takes a round and judges which earlier rounds it shows to be news: when a device's counter has moved, the rounds before
// the move were read from a running device, unless more than the device's liveness window lay between them and the question
// that saw the move. The time that one round takes is added to the window: a slow device, or a busy wire, is not a dead one.
func (t *Trial) Add(r Round) {
	t.rounds = append(t.rounds, r)
	last := len(t.rounds) - 1
	for device, l := range t.plan.liveness {
		flags := append(t.alive[device], false)
		t.alive[device] = flags
		now, ok := t.counter(last, l.Ref)
		if !ok {
			continue
		}
		before, ok := t.previousCounter(last, l.Ref)
		if !ok || now.Value.Equal(before.Value) {
			continue
		}
		for i := last - 1; i >= 0 && now.Started.Sub(t.roundEnd(i)) <= l.Within+t.slowest(); i-- {
			flags[i] = true
		}
	}
}

// counter is the device's counter in round i, if it was read after the act and is good.
func (t *Trial) counter(i int, ref string) (physical.Reading, bool) {
	r, ok := t.rounds[i].Readings[ref]
	return r, ok && r.Good() && r.Started.After(t.act.End)
}

func (t *Trial) previousCounter(before int, ref string) (physical.Reading, bool) {
	for i := before - 1; i >= 0; i-- {
		if r, ok := t.counter(i, ref); ok {
			return r, true
		}
	}
	return physical.Reading{}, false
}

// roundStart is when the earliest request of a round left.
func (t *Trial) roundStart(i int) time.Time {
	var first time.Time
	for _, r := range t.rounds[i].Readings {
		if first.IsZero() || r.Started.Before(first) {
			first = r.Started
		}
	}
	return first
}

// roundEnd is when the latest answer of a round was complete.
func (t *Trial) roundEnd(i int) time.Time {
	var last time.Time
	for _, r := range t.rounds[i].Readings {
		if r.At.After(last) {
			last = r.At
		}
	}
	return last
}

// slowest is the longest that one of the latest rounds took.
func (t *Trial) slowest() time.Duration {
	const looked = 4
	longest := time.Duration(0)
	for i := max(0, len(t.rounds)-looked); i < len(t.rounds); i++ {
		longest = max(longest, t.roundEnd(i).Sub(t.roundStart(i)))
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
	r, ok := t.rounds[i].Readings[p.Ref]
	if !ok || !r.Good() || !r.Started.After(t.act.End) {
		return r, unusable
	}
	l, watched := t.plan.liveness[p.Device]
	if !watched || t.alive[p.Device][i] {
		return r, accepted
	}
	if t.roundStart(len(t.rounds)-1).Sub(r.At) > l.Within+t.slowest() {
		return r, frozen
	}
	return r, pending
}

// latest is the time of the newest answer.
func (t *Trial) latest() time.Time { return t.roundEnd(len(t.rounds) - 1) }
