package guard

import (
	"fmt"
	"time"

	"capd/internal/outcome"
	"capd/internal/physical"
)

// longestWait bounds a time to wait, far beyond any plant and within any clock.
const longestWait = 10 * 365 * 24 * time.Hour

// rate holds a change against the largest change per minute, from the last write on.
func (f Fresh) rate(w Write, v physical.Decimal, bases []physical.Decimal) *outcome.Refusal {
	point := w.Step.Point.Point
	rate := point.Envelope.MaxRate
	last := f.Usage[point.Ref].LastWrite
	if rate == nil || last.IsZero() {
		return nil
	}
	wait := longestWait
	if minutes := v.Sub(bases[0]).Abs().Div(*rate).InexactFloat64(); minutes < longestWait.Minutes() {
		wait = time.Duration(minutes * float64(time.Minute))
	}
	return f.tooSoon(last.Add(wait), fmt.Sprintf("%s may change by at most %s %s per minute", point.Ref, rate, point.Unit))
}

// timing holds a write against lifetime writes, minimum interval, minimum off time and starts per hour. The interval is a rate.
func (f Fresh) timing(w Write) *outcome.Refusal {
	point := w.Step.Point.Point
	e, u := point.Envelope, f.Usage[point.Ref]
	if r := f.lifetime(w); r != nil {
		return r
	}
	if e.MinInterval > 0 && !u.LastWrite.IsZero() && !f.Action.ToSafe {
		if r := f.tooSoon(u.LastWrite.Add(e.MinInterval), fmt.Sprintf("%s may be written once in %s", point.Ref, e.MinInterval)); r != nil {
			return r
		}
	}
	if !f.starts(w) {
		return nil
	}
	if e.MinOff > 0 && !u.LastStop.IsZero() {
		if r := f.tooSoon(u.LastStop.Add(e.MinOff), fmt.Sprintf("%s must stay off for %s", point.Ref, e.MinOff)); r != nil {
			return r
		}
	}
	return f.startsPerHour(point.Ref, e.StartsPerHour, u.Starts)
}

// lifetime holds a write against the writes that its point takes in its life.
func (f Fresh) lifetime(w Write) *outcome.Refusal {
	point := w.Step.Point.Point
	most, used := point.Envelope.LifetimeWrite, f.Usage[point.Ref].Writes
	if most == 0 || used < most {
		return nil
	}
	return outcome.Refuse(outcome.WriteBudgetExhausted, fmt.Sprintf("%s has taken %d writes, and %d is its lifetime limit", point.Ref, used, most))
}

// starts reports whether a write switches something on that is not surely on already.
func (f Fresh) starts(w Write) bool {
	if !isOn(w.Value) {
		return false
	}
	own := f.Action.Scope.Points[w.Step.Alias]
	was := f.Readings[own.Ref]
	return !was.Good() || f.living("", own) != nil || !isOn(was.Value)
}

// isOn reads a value as on: true, or a number other than 0.
func isOn(v physical.Value) bool {
	if on, ok := v.Bool(); ok {
		return on
	}
	n, ok := v.Number()
	return ok && !n.IsZero()
}

func (f Fresh) startsPerHour(ref string, most int64, all []time.Time) *outcome.Refusal {
	var recent []time.Time
	for _, at := range all {
		if f.Now.Sub(at) < time.Hour {
			recent = append(recent, at)
		}
	}
	if most == 0 || int64(len(recent)) < most {
		return nil
	}
	after := recent[int64(len(recent))-most].Add(time.Hour)
	return f.tooSoon(after, fmt.Sprintf("%s may start %d times an hour", ref, most))
}

func (f Fresh) tooSoon(after time.Time, rule string) *outcome.Refusal {
	if !f.Now.Before(after) {
		return nil
	}
	r := outcome.Refuse(outcome.TooSoon, fmt.Sprintf("%s; the next time is %s", rule, after.Format(time.RFC3339)))
	r.After = &after
	r.Next = "call again after " + after.Format(time.RFC3339)
	return r
}
