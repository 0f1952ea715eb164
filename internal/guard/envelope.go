package guard

import (
	"fmt"
	"maps"

	"capd/internal/inventory"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/standing"
)

// envelope holds a write against the hard limits of its point. The way to the safe side skips what limits steps and rates; the
// range, the pauses and starts that protect a motor, and the lifetime of a register hold for it too.
func (f Fresh) envelope(w Write) *outcome.Refusal {
	if w.Step.Point.Point.Envelope == nil {
		return nil
	}
	if w.Step.Release {
		return f.release(w)
	}
	if v, ok := w.Value.Number(); ok {
		if r := f.span(w, v); r != nil {
			return r
		}
	}
	return f.timing(w)
}

// release holds the end of a pulse against the range and the lifetime of its point: a pause or a step is no reason to leave a pulse
// standing.
func (f Fresh) release(w Write) *outcome.Refusal {
	if v, ok := w.Value.Number(); ok && !w.Step.Point.Point.Envelope.Contains(v) {
		return f.outOfRange(w, v, nil)
	}
	return f.lifetime(w)
}

// after is the plant as the next write of the same action will find it: the point holds what was written just now.
func (f Fresh) after(w Write) Fresh {
	ref := w.Step.Point.Point.Ref
	u := f.Usage[ref]
	u.Writes++
	u.LastWrite = f.Now
	switch on := isOn(w.Value); {
	case !on:
		u.LastStop = f.Now
	case f.starts(w):
		u.Starts = append(u.Starts[:len(u.Starts):len(u.Starts)], f.Now)
	}
	usage, readings := maps.Clone(f.Usage), maps.Clone(f.Readings)
	if usage == nil {
		usage = map[string]standing.Usage{}
	}
	usage[ref] = u
	if r, ok := readings[ref]; ok {
		r.Value = w.Value
		readings[ref] = r
	}
	f.Usage, f.Readings = usage, readings
	return f
}

func (f Fresh) span(w Write, v physical.Decimal) *outcome.Refusal {
	e := w.Step.Point.Point.Envelope
	var bases []physical.Decimal
	var refusal *outcome.Refusal
	if !f.Action.ToSafe && (e.MaxStep != nil || e.MinStep != nil || e.MaxRate != nil) {
		bases, refusal = f.bases(w)
	}
	switch {
	case !e.Contains(v):
		return f.outOfRange(w, v, bases)
	case refusal != nil:
		return refusal
	case bases == nil:
		return nil
	}
	for _, limit := range []func(Write, physical.Decimal, []physical.Decimal) *outcome.Refusal{f.step, f.minStep, f.rate} {
		if r := limit(w, v, bases); r != nil {
			return r
		}
	}
	return nil
}

func (f Fresh) outOfRange(w Write, v physical.Decimal, bases []physical.Decimal) *outcome.Refusal {
	point := w.Step.Point.Point
	r := outcome.Refuse(outcome.OutOfRange, fmt.Sprintf("%s %s is outside the envelope of %s: %s", v, point.Unit, point.Ref, limitsText(point.Envelope.Limits, point.Unit)))
	if r.Allowed = window(w, bases); r.Allowed != nil {
		r.Next = ask(point.Unit, *r.Allowed)
	}
	return r
}

func limitsText(l inventory.Limits, unit physical.Unit) string {
	text := ""
	if l.Min != nil {
		text = fmt.Sprintf("at least %s %s", l.Min, unit)
	}
	if l.Max != nil {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("at most %s %s", l.Max, unit)
	}
	return text
}
