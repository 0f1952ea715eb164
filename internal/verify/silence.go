package verify

import "capd/internal/physical"

// silence is what kept a claim from being judged in a round.
type silence struct {
	point    Point
	reading  physical.Reading
	standing standing
	counter  physical.Reading // of its device, where that declares liveness
	target   string           // what is expected, where that is what cannot be told
}

// silenceOf looks for the point that gave no usable reading: the witness, or one that its condition or its target names.
func (t *Trial) silenceOf(c claim, i int) silence {
	s := silence{point: c.point}
	s.reading, s.standing = t.reading(i, c.point)
	for _, p := range c.needs() {
		if s.standing != accepted {
			break
		}
		if r, st := t.reading(i, p); st != accepted {
			s = silence{point: p, reading: r, standing: st}
		}
	}
	if s.standing == accepted {
		s.target = t.ask(c, i).expected
	}
	if p := t.pulses[s.point.Device]; p != nil {
		s.counter = t.looks[i].readings[p.Ref]
	}
	return s
}

// after is what to remember of two silences, one after the other: a reading that still waits for its device's counter explains
// nothing that another one has explained already.
func (s silence) after(earlier silence) silence {
	if s.standing == pending && earlier.point.Ref != "" {
		return earlier
	}
	return s
}

func (s silence) cause() physical.Cause {
	switch s.standing {
	case frozen, pending:
		return physical.CauseFrozen
	case unusable:
		switch {
		case s.reading.Cause != physical.CauseNone:
			return s.reading.Cause
		case s.reading.Quality == physical.Uncertain: // the driver itself doubts it
			return physical.CauseImplausible
		}
	}
	return physical.CauseStale
}
