package standing

import (
	"fmt"
	"slices"
	"time"
)

// MaxStarts is how many starts of the last hour are kept for a point: limits of starts per hour above it are never reached.
const MaxStarts = 1000

// startsWithin is the window of Usage.Starts.
const startsWithin = time.Hour

// EventKind is what a write did to a point.
type EventKind string

// The kinds. One write is one event: a start or a stop is a write as well, and counts as one.
const (
	Write EventKind = "write"
	Start EventKind = "start" // from off to on
	Stop  EventKind = "stop"  // to false or 0
)

// UsageEvent is one write that left the box.
type UsageEvent struct {
	At   time.Time // zero is now
	Kind EventKind
}

// Usage is what a point has been put through.
type Usage struct {
	LastWrite time.Time   `json:"last_write,omitzero"`
	LastStop  time.Time   `json:"last_stop,omitzero"`
	Starts    []time.Time `json:"starts,omitempty"` // in the last hour, oldest first
	Writes    int64       `json:"writes"`           // in all
}

// Usage gives what is recorded of a point ASSET.name.
func (s *Standing) Usage(ref string) Usage {
	u, _ := s.usage.get(ref)
	u.Starts = within(u.Starts, s.now())
	return u
}

// within copies the starts that are not older than an hour. One that lies in the future, because a clock was set back, still counts.
func within(starts []time.Time, now time.Time) []time.Time {
	var recent []time.Time
	for _, at := range starts {
		if now.Sub(at) < startsWithin {
			recent = append(recent, at)
		}
	}
	return recent
}

// Record counts a write to a point ASSET.name. It counts even if the error says that the disk refused it.
func (s *Standing) Record(ref string, e UsageEvent) error {
	if err := checkText("point", ref, MaxTarget); err != nil {
		return err
	}
	if e.Kind != Write && e.Kind != Start && e.Kind != Stop {
		return &InputError{"kind", fmt.Sprintf("%q is none; the kinds are write, start and stop", e.Kind)}
	}
	s.change.Lock()
	defer s.change.Unlock()
	u, now := s.Usage(ref), s.now()
	at := e.At.Round(0).UTC()
	if e.At.IsZero() {
		at = now
	}
	u.Writes++
	u.LastWrite = latest(u.LastWrite, at)
	switch e.Kind {
	case Start:
		u.Starts = append(u.Starts, at)
		slices.SortFunc(u.Starts, time.Time.Compare)
		u.Starts = u.Starts[max(0, len(u.Starts)-MaxStarts):]
	case Stop:
		u.LastStop = latest(u.LastStop, at)
	}
	return s.usage.note(ref, u)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
