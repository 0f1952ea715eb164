package field

import (
	"fmt"
	"strings"

	"capd/internal/hal"
	"capd/internal/inventory"
	"capd/internal/physical"
)

// Reading is what a raw sample means: the number scaled exactly, or the label, with the sample's own times and raw bytes. A sample
// that is bad, or came with an error, gives no value. A value outside the point's range is kept and bad.
func (b *Bound) Reading(s hal.Sample) physical.Reading {
	r := physical.Reading{Unit: b.Point.Unit, Started: s.Started, At: s.At, Quality: s.Quality, Cause: s.Cause, Detail: s.Detail, Raw: s.Raw}
	switch {
	case s.Err != nil:
		r.Quality, r.Detail = physical.Bad, s.Err.Error()
		if r.Cause == physical.CauseNone {
			r.Cause = causeOf(s.Err)
		}
	case s.Quality == physical.Bad:
	case s.Quality != physical.Good && s.Quality != physical.Uncertain:
		spoil(&r, physical.CauseWire, fmt.Sprintf("driver %s gave no quality for %s", b.Driver, b.Address))
	case s.Value.Kind() != b.Address.Kind():
		spoil(&r, physical.CauseWire, fmt.Sprintf("driver %s gave a %s for %s", b.Driver, s.Value.Kind(), b.Address))
	default:
		b.interpret(&r, s.Value)
	}
	return r
}

// spoil makes a reading bad and leaves its value as it is.
func spoil(r *physical.Reading, cause physical.Cause, detail string) {
	r.Quality, r.Cause, r.Detail = physical.Bad, cause, detail
}

// causeOf tells a device that gave no answer from one that gave a wrong one.
func causeOf(err error) physical.Cause {
	e := hal.AsError(err)
	if e == nil {
		return physical.CauseWire
	}
	switch e.Kind {
	case hal.Timeout, hal.Unreachable, hal.Closed, hal.Gateway:
		return physical.CauseOffline
	default:
		return physical.CauseWire
	}
}

func (b *Bound) interpret(r *physical.Reading, raw physical.Value) {
	number, isNumber := raw.Number()
	switch {
	case !isNumber:
		r.Value = raw
	case b.codes != nil:
		b.label(r, number)
	case b.Point.Scaled:
		r.Value = physical.NumberOf(b.Point.Scale.Value(number))
	default:
		r.Value = raw
	}
	if v, ok := r.Value.Number(); ok && !b.Point.Range.Contains(v) {
		spoil(r, physical.CauseOutOfRange, b.amount(v)+" is outside the range "+b.span())
	}
}

func (b *Bound) label(r *physical.Reading, number physical.Decimal) {
	if number.IsInteger() && number.BigInt().IsInt64() {
		if label, ok := b.Point.Labels[number.IntPart()]; ok {
			r.Value = physical.TextOf(label)
			return
		}
	}
	spoil(r, physical.CauseNoLabel, fmt.Sprintf("code %s has no label; the labels are %s", number, b.labels()))
}

// amount is a number with the point's unit.
func (b *Bound) amount(v physical.Decimal) string {
	return strings.TrimSpace(v.String() + " " + string(b.Point.Unit))
}

// span is the point's range as a person reads it.
func (b *Bound) span() string {
	l := b.Point.Range
	switch {
	case l.Min == nil:
		return "up to " + b.amount(*l.Max)
	case l.Max == nil:
		return "from " + b.amount(*l.Min)
	default:
		return l.Min.String() + " to " + b.amount(*l.Max)
	}
}

func (b *Bound) labels() string {
	var list []string
	for _, code := range inventory.SortedKeys(b.Point.Labels) {
		list = append(list, fmt.Sprintf("%d %s", code, b.Point.Labels[code]))
	}
	return strings.Join(list, ", ")
}

// Raw is the raw value that stands for a physical one, and its canonical bytes as a read-back would show them. A number that no raw
// value stands for is an error with a *physical.NotRepresentableError inside. Range and envelope are not looked at.
func (b *Bound) Raw(v physical.Value) (physical.Value, []byte, error) {
	if v.Kind() != b.ValueKind {
		return physical.Value{}, nil, fmt.Errorf("%s takes %s, not the %s %q", b.Point.Ref, b.wanted(), v.Kind(), v)
	}
	raw, err := b.rawValue(v)
	if err != nil {
		return physical.Value{}, nil, fmt.Errorf("%s: %w", b.Point.Ref, err)
	}
	encoded, err := b.Address.Encode(raw)
	if err != nil {
		return physical.Value{}, nil, fmt.Errorf("%s: %s is raw %s in %s: %w", b.Point.Ref, v, raw, b.Address, err)
	}
	return raw, encoded, nil
}

// wanted names the values that a write takes.
func (b *Bound) wanted() string {
	if b.codes != nil {
		return "one of the labels " + b.labels()
	}
	return "a " + b.ValueKind.String()
}

func (b *Bound) rawValue(v physical.Value) (physical.Value, error) {
	if b.codes != nil {
		text, _ := v.Text()
		code, ok := b.codes[text]
		if !ok {
			return physical.Value{}, fmt.Errorf("there is no label %q; the labels are %s", text, b.labels())
		}
		return physical.IntOf(code), nil
	}
	number, ok := v.Number()
	if !ok {
		return v, nil
	}
	invert := b.Point.Scale.RawFloat
	if b.Address.Integer() {
		invert = b.Point.Scale.RawInteger
	}
	raw, err := invert(number)
	return physical.NumberOf(raw), err
}
