package field

import (
	"bytes"
	"fmt"
	"time"

	"capd/internal/physical"
)

// stillness is how long a signal has shown the same raw value. Real signals carry noise: one that must move and does not is frozen.
type stillness struct {
	raw   []byte
	since time.Time // of the first reading with this raw value
	seen  time.Time // of the latest
}

// observe takes a good reading. A long time without any reading starts anew: nobody knows what the signal did.
func (s *stillness) observe(r physical.Reading, most time.Duration) {
	if s.seen.IsZero() || !bytes.Equal(s.raw, r.Raw) || r.Started.Sub(s.seen) > most {
		s.raw, s.since = bytes.Clone(r.Raw), r.At
	}
	s.seen = r.At
}

// watchStill judges a reading of a point that declares max_unchanged, and makes it bad when it has stood still for too long. The
// caller holds mu.
func (d *device) watchStill(b *Bound, r *physical.Reading) {
	most := b.Point.MaxUnchanged
	if most <= 0 || !r.Good() {
		return
	}
	s := d.still[b.Point.Ref]
	if s == nil {
		s = &stillness{}
		d.still[b.Point.Ref] = s
	}
	s.observe(*r, most)
	if stood := r.At.Sub(s.since); stood > most {
		spoil(r, physical.CauseFrozen, fmt.Sprintf("%s has shown the same raw value for %s; a real signal moves within %s",
			b.Point.Ref, stood.Round(time.Millisecond), most))
	}
}
