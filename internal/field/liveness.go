package field

import (
	"bytes"
	"fmt"
	"time"

	"capd/internal/physical"
)

// Liveness is what is known of a device's liveness counter. Every time is when a value was measured, and zero when never.
type Liveness struct {
	Watched  bool          // the device declares a counter; without one nothing else is set and nothing can be said
	Alive    bool          // the counter was seen to change within Within
	Frozen   bool          // the counter was seen standing still for longer than Within, and not moving since
	Counter  string        // ASSET.point
	Within   time.Duration // the window that the inventory declares
	LastMove time.Time     // when it was last seen changed
	Since    time.Time     // when its present value was first seen
	LastSeen time.Time     // when it was last read with good quality
}

// tracker follows a liveness counter over its good readings.
type tracker struct {
	counter string
	within  time.Duration

	value   physical.Reading // the first reading of the present value
	latest  physical.Reading
	move    time.Time
	known   bool
	wasDead bool // as last reported
}

// observe takes the counter's next good reading. A change between two readings further apart than the window proves no life within
// it, so it only starts a new value.
func (t *tracker) observe(r physical.Reading) {
	switch {
	case !r.Good():
		return
	case !t.known:
		t.value, t.known = r, true
	case !bytes.Equal(r.Raw, t.latest.Raw) || !r.Value.Equal(t.latest.Value):
		if r.Started.Sub(t.latest.At) <= t.within {
			t.move = r.At
		}
		t.value = r
	}
	t.latest = r
}

func (t *tracker) isAlive(now time.Time) bool {
	return !t.move.IsZero() && now.Sub(t.move) <= t.within
}

// stood is for how long the present value was surely seen unchanged.
func (t *tracker) stood() time.Duration { return t.latest.Started.Sub(t.value.At) }

func (t *tracker) isFrozen() bool { return t.known && t.stood() > t.within }

// why is the sentence about a frozen counter.
func (t *tracker) why() string {
	return fmt.Sprintf("counter %s has stood at %s for %s; within %s it should have moved", t.counter, t.latest.Value, t.stood().Round(time.Millisecond), t.within)
}

func (t *tracker) state(now time.Time) Liveness {
	return Liveness{Watched: true, Alive: t.isAlive(now), Frozen: t.isFrozen(), Counter: t.counter, Within: t.within,
		LastMove: t.move, Since: t.value.At, LastSeen: t.latest.At}
}

// turned reports once whenever the counter freezes or moves again.
func (t *tracker) turned() (frozen, changed bool) {
	frozen = t.isFrozen()
	changed = frozen != t.wasDead
	t.wasDead = frozen
	return frozen, changed
}
