package verify

import (
	"capd/internal/outcome"
	"capd/internal/physical"
)

// historyEnd is how many samples are kept of the beginning of a trial, and how many of its end.
const historyEnd = 256

// history is the readings of the witnesses, as far as they say something new: the first ones and the latest ones.
type history struct {
	first, latest []outcome.Evidence
	before        map[string]physical.Reading // by point, the one sampled last
	repeats       []outcome.Evidence          // those of the newest round that say nothing new
}

func (h *history) add(witnesses []Point, r Round) {
	if h.before == nil {
		h.before = map[string]physical.Reading{}
	}
	h.repeats = h.repeats[:0]
	for _, p := range witnesses {
		reading, ok := r.Readings[p.Ref]
		if !ok {
			continue
		}
		e := EvidenceOf(p, reading, "sample", reading.At)
		prev, seen := h.before[p.Ref]
		if seen && prev.Value.Equal(reading.Value) && prev.Quality == reading.Quality {
			h.repeats = append(h.repeats, e)
			continue
		}
		h.before[p.Ref] = reading
		h.keep(e)
	}
}

func (h *history) keep(e outcome.Evidence) {
	if len(h.first) < historyEnd {
		h.first = append(h.first, e)
		return
	}
	if h.latest = append(h.latest, e); len(h.latest) >= 2*historyEnd {
		h.latest = append(h.latest[:0], h.latest[historyEnd:]...)
	}
}

// Samples lists every reading of the trial as evidence, leaving out those that repeat the value before them unless they are of the
// last round. When there are more than limit, it is the first and the latest of them; of a long trial 256 of each are kept.
func (t *Trial) Samples(limit int) []outcome.Evidence {
	h := &t.history
	latest := append(h.latest[:len(h.latest):len(h.latest)], h.repeats...)
	if over := len(latest) - historyEnd; over > 0 {
		latest = latest[over:]
	}
	out := append(h.first[:len(h.first):len(h.first)], latest...)
	if len(out) > limit {
		out = append(out[:limit/2:limit/2], out[len(out)-(limit-limit/2):]...)
	}
	return out
}
