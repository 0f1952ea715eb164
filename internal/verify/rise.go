package verify

import (
	"time"

	"capd/internal/expression"
	"capd/internal/outcome"
)

// rise is what is remembered of a refute condition over the rounds so far.
type rise struct {
	hold     time.Duration
	wasFalse bool      // it was false, before the act or since: what is true from the beginning does not rise
	since    time.Time // since when it is surely true; zero while it is not
	risen    bool      // it rose and held
}

// take adds a round that left at start and was complete at end. The condition surely held from the end of the first round that shows
// it to the start of the last one.
func (r rise) take(value, known bool, start, end time.Time) rise {
	switch {
	case !known:
		r.since = time.Time{}
	case !value:
		r.wasFalse, r.since = true, time.Time{}
	case !r.wasFalse:
	case r.since.IsZero():
		r.since, r.risen = end, r.risen || r.hold == 0
	default:
		r.risen = r.risen || start.Sub(r.since) >= r.hold
	}
	return r
}

func (t *Trial) observe(r rise, c Refute, i int) rise {
	value, known := condition(c.When, t.env(c.needs, i, t.reading))
	return r.take(value, known, t.looks[i].start, t.looks[i].end)
}

// refuted looks for a refute condition that was false, rose after the act and held. Only the rounds that may still change are
// looked at again.
func (t *Trial) refuted() (Decision, bool) {
	for j, c := range t.plan.Refute {
		r := t.rises[j]
		for i := t.final; i < len(t.looks) && !r.risen; i++ {
			r = t.observe(r, c, i)
		}
		if r.risen {
			level := c.Level
			return t.finish(Decision{Verdict: outcome.Refuted, RefutedAt: &level, Level: t.acked(), Code: outcome.VerifyMismatch,
				Layer: outcome.LayerDevice, Message: c.Reason, Counts: c.Counts}, nil), true
		}
	}
	return Decision{}, false
}

// before is the names of the baseline for expressions.
func (t *Trial) before(needs []Point) map[string]any {
	env := t.params(len(needs))
	for _, p := range needs {
		if b := t.act.Baseline[p.Ref]; b.Good() {
			env[p.Alias] = b.Value.Any()
		}
	}
	return env
}

// condition evaluates a boolean program; unknown when a name has no accepted reading.
func condition(p *expression.Program, env map[string]any) (value, known bool) {
	got, err := p.Eval(env)
	if err != nil {
		return false, false
	}
	b, ok := got.(bool)
	return b, ok
}
