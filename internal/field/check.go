package field

import (
	"fmt"
	"time"

	"capd/internal/document"
	"capd/internal/inventory"
	"capd/internal/physical"
)

// minPeriod is the shortest period of a poll. What changes faster is read on demand.
const minPeriod = 50 * time.Millisecond

// pollPeriod is how often a point is polled.
func pollPeriod(update time.Duration) time.Duration { return max(update, minPeriod) }

// livenessPeriod is how often a liveness counter is polled: by its own update, else four times in its window.
func livenessPeriod(l *inventory.Liveness, counter *inventory.Point) time.Duration {
	if counter.Update > 0 {
		return pollPeriod(counter.Update)
	}
	return pollPeriod(l.Within / 4)
}

// The rules of this package's checks.
const (
	ruleTransport = "transport" // a transport that no driver serves
	ruleForm      = "form"      // a scale, unit, label or limit that does not fit the form of the value
	ruleOverlap   = "overlap"   // points that share a part of their places
	ruleWriters   = "writers"   // two written points in one place
	ruleStation   = "same_unit" // two devices that are one
	ruleUpdate    = "update"    // an update that cannot be kept
	ruleLiveness  = "liveness"  // a counter that cannot be seen to move
)

// report adds a problem at a key of a point.
func (b *binder) report(p *inventory.Point, rule, key, hint, format string, args ...any) {
	b.ps.Add(document.Problem{Pos: p.Pos, Path: "assets." + p.Asset + ".points." + p.Name + "." + key, Rule: rule, Hint: hint,
		Message: fmt.Sprintf(format, args...)})
}

// checkForm checks what a point declares about its value against the form of that value.
func (b *binder) checkForm(bound *Bound) {
	p, raw := bound.Point, bound.Address.Kind()
	labels := len(p.Labels) > 0
	if labels && (raw != physical.Number || !bound.Address.Integer()) {
		b.report(p, ruleForm, "labels", "remove the labels or read an integer", "labels stand for integer codes, but %s is %s", bound.Address, form(bound))
	}
	if p.Scaled && (labels || raw != physical.Number) {
		b.report(p, ruleForm, "scale", "remove scale and offset", "a scale is for numbers, but the value of %s is a %s", p.Ref, bound.ValueKind)
	}
	if p.Unit != "" && bound.ValueKind != physical.Number {
		b.report(p, ruleForm, "unit", "remove the unit", "a unit is for numbers, but the value of %s is a %s", p.Ref, bound.ValueKind)
	}
	if p.Range != nil && bound.ValueKind != physical.Number {
		b.report(p, ruleForm, "range", "remove the range", "a range is for numbers, but the value of %s is a %s", p.Ref, bound.ValueKind)
	}
	if key := numberLimit(p.Envelope); key != "" && bound.ValueKind != physical.Number {
		b.report(p, ruleForm, "envelope."+key, "remove "+key, "%s is for numbers, but the value of %s is a %s", key, p.Ref, bound.ValueKind)
	}
	if p.Update > 0 && p.Update < minPeriod {
		b.ps.Add(document.Problem{Pos: p.Pos, Path: "assets." + p.Asset + ".points." + p.Name + ".update", Rule: ruleUpdate, Warning: true,
			Message: fmt.Sprintf("update %s is shorter than the shortest poll, so it is polled every %s", p.Update, minPeriod)})
	}
}

func form(b *Bound) string {
	if b.Address.Kind() == physical.Number {
		return "a number with a fraction"
	}
	return "a " + b.Address.Kind().String()
}

// numberLimit names a limit of an envelope that only numbers can have; "" when there is none.
func numberLimit(e *inventory.Envelope) string {
	switch {
	case e == nil:
		return ""
	case e.Min != nil:
		return "min"
	case e.Max != nil:
		return "max"
	case e.MaxStep != nil:
		return "max_step"
	case e.MinStep != nil:
		return "min_step"
	case e.MaxRate != nil:
		return "max_rate"
	}
	return ""
}

// checkLiveness makes sure that a device's counter can be seen to move.
func (b *binder) checkLiveness(d *inventory.Device) {
	if d.Liveness == nil {
		return
	}
	counter := b.out.points[d.Liveness.Point]
	if counter == nil || counter.Device != d.ID {
		return
	}
	report := func(key, hint, format string, args ...any) {
		b.ps.Add(document.Problem{Pos: d.Pos, Path: "devices." + d.ID + ".liveness." + key, Rule: ruleLiveness, Hint: hint, Message: fmt.Sprintf(format, args...)})
	}
	if counter.ValueKind != physical.Number || counter.Point.Access == inventory.WriteOnly {
		report("point", "name a counter that the device moves while it runs", "%s is no readable number, so it cannot show that %s is alive", counter.Point.Ref, d.ID)
		return
	}
	if period := livenessPeriod(d.Liveness, counter.Point); 2*period > d.Liveness.Within {
		report("within", fmt.Sprintf("give at least %s, or let %s be updated more often", 2*period, counter.Point.Ref),
			"%s is read every %s, so it cannot be seen to move within %s", counter.Point.Ref, period, d.Liveness.Within)
	}
}
