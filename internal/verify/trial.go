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
	Asked    time.Time // when the round was asked for; the wire may have been busy before its first request left
	Readings map[string]physical.Reading
}

// Trial is one running verification: the plan, the act and the rounds so far. It is used by one goroutine.
type Trial struct {
	plan   *Plan
	act    Act
	rounds []Round
	lives  map[string][]life // by device that declares liveness: what its counter shows of each round
}

// life is what a device's counter shows of one round.
type life uint8

const (
	unproven life = iota // the counter has not moved since; it still may
	alive                // the counter moved soon after
	dead                 // the counter stood still for longer than the device's window
)

// NewTrial begins a verification of an act.
func NewTrial(p *Plan, a Act) *Trial {
	return &Trial{plan: p, act: a, lives: map[string][]life{}}
}

// Rounds is what was read so far.
func (t *Trial) Rounds() []Round { return t.rounds }

// Add takes a round and judges which rounds it shows to be news.
func (t *Trial) Add(r Round) {
	t.rounds = append(t.rounds, r)
	for device, l := range t.plan.liveness {
		t.lives[device] = append(t.lives[device], unproven)
		t.judgeLife(t.lives[device], l)
	}
}

// judgeLife looks at the stretch of rounds in which the device's counter showed one value. While it stands for longer than the
// window, the whole stretch was read from a dead image, whatever happens later. A move in time shows that the stretch was read
// from a running device, except for rounds from which no more than the window, and the time that one round takes, led to the
// question that saw the move: a slow device, or a busy wire, is not a dead one.
func (t *Trial) judgeLife(lives []life, l Liveness) {
	last := len(t.rounds) - 1
	now, ok := t.counter(last, l.Ref)
	prev := t.counterBefore(last, l.Ref)
	if !ok || prev < 0 {
		return
	}
	before, _ := t.counter(prev, l.Ref)
	first, seen := t.stretch(prev, l.Ref)
	if now.Value.Equal(before.Value) {
		if now.Started.Sub(seen.At) > l.Within {
			mark(lives[first:], dead)
		}
		return
	}
	for i := last - 1; i >= first && now.Started.Sub(t.counterTime(i, l.Ref)) <= l.Within+t.slowest(); i-- {
		if lives[i] == unproven {
			lives[i] = alive
		}
	}
}

func mark(lives []life, as life) {
	for i := range lives {
		lives[i] = as
	}
}

// stretch is the first round, up to one with a good counter, since which the counter has shown the value of that round.
func (t *Trial) stretch(from int, ref string) (first int, seen physical.Reading) {
	value, _ := t.counter(from, ref)
	first, seen = from, value
	for i := t.counterBefore(from, ref); i >= 0; i = t.counterBefore(i, ref) {
		r, _ := t.counter(i, ref)
		if !r.Value.Equal(value.Value) {
			break
		}
		first, seen = i, r
	}
	return first, seen
}

// counterTime is when the counter of round i was read; the end of the round where it has none.
func (t *Trial) counterTime(i int, ref string) time.Time {
	if r, ok := t.counter(i, ref); ok {
		return r.At
	}
	return t.roundEnd(i)
}

// counter is the device's counter in round i, if it was read after the act and is good.
func (t *Trial) counter(i int, ref string) (physical.Reading, bool) {
	r, ok := t.rounds[i].Readings[ref]
	return r, ok && r.Good() && r.Started.After(t.act.End)
}

// counterBefore is the latest round before another in which the counter counts, -1 when there is none.
func (t *Trial) counterBefore(before int, ref string) int {
	for i := before - 1; i >= 0; i-- {
		if _, ok := t.counter(i, ref); ok {
			return i
		}
	}
	return -1
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

// slowest is the longest that one of the latest rounds took, with its wait for the wire.
func (t *Trial) slowest() time.Duration {
	const looked = 4
	longest := time.Duration(0)
	for i := max(0, len(t.rounds)-looked); i < len(t.rounds); i++ {
		began := t.roundStart(i)
		if asked := t.rounds[i].Asked; !asked.IsZero() && asked.Before(began) {
			began = asked
		}
		longest = max(longest, t.roundEnd(i).Sub(began))
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
	switch {
	case !watched || t.lives[p.Device][i] == alive:
		return r, accepted
	case t.lives[p.Device][i] == dead, t.roundStart(len(t.rounds)-1).Sub(r.At) > l.Within+t.slowest():
		return r, frozen
	default:
		return r, pending
	}
}

// latest is the time of the newest answer.
func (t *Trial) latest() time.Time { return t.roundEnd(len(t.rounds) - 1) }
