package physical

import (
	"fmt"

	"github.com/shopspring/decimal"
)

// Scale converts between a device's raw number and the physical one: value = raw x Factor + Offset, in exact decimals.
// The zero Scale is not valid; use Identity.
type Scale struct {
	Factor Decimal
	Offset Decimal
}

// Identity is the scale that changes nothing.
func Identity() Scale { return Scale{Factor: decimal.NewFromInt(1)} }

// Value is the physical number of a raw one.
func (s Scale) Value(raw Decimal) Decimal { return raw.Mul(s.Factor).Add(s.Offset) }

// NotRepresentableError says that no raw integer stands for a value, and names the two values beside it that have one.
type NotRepresentableError struct {
	Value, Below, Above Decimal
}

func (e *NotRepresentableError) Error() string {
	return fmt.Sprintf("%s cannot be represented exactly; the nearest values are %s and %s", e.Value, e.Below, e.Above)
}

// RawInteger is the raw integer whose physical number is exactly v, else a *NotRepresentableError.
func (s Scale) RawInteger(v Decimal) (Decimal, error) {
	if s.Factor.IsZero() {
		return Decimal{}, fmt.Errorf("scale 0 has no inverse; declare a scale other than 0")
	}
	diff := v.Sub(s.Offset)
	q, r := diff.QuoRem(s.Factor, 0)
	if r.IsZero() {
		return q, nil
	}
	one := decimal.NewFromInt(1)
	if diff.Sign()*s.Factor.Sign() < 0 {
		one = one.Neg()
	}
	a, b := s.Value(q), s.Value(q.Add(one))
	if a.GreaterThan(b) {
		a, b = b, a
	}
	return Decimal{}, &NotRepresentableError{Value: v, Below: a, Above: b}
}

// RawFloat is the raw number of v for a point whose raw type is a float. The division is carried to 40 digits, far beyond any
// float's precision.
func (s Scale) RawFloat(v Decimal) (Decimal, error) {
	if s.Factor.IsZero() {
		return Decimal{}, fmt.Errorf("scale 0 has no inverse; declare a scale other than 0")
	}
	return v.Sub(s.Offset).DivRound(s.Factor, 40), nil
}

// Within reports whether a and b differ by at most tolerance (a magnitude, in the same unit).
func Within(a, b, tolerance Decimal) bool {
	return a.Sub(b).Abs().LessThanOrEqual(tolerance.Abs())
}

// Least is the smaller of two numbers.
func Least(a, b Decimal) Decimal { return decimal.Min(a, b) }

// Greatest is the larger of two numbers.
func Greatest(a, b Decimal) Decimal { return decimal.Max(a, b) }

// Whole is an integer as a Decimal.
func Whole(n int64) Decimal { return decimal.NewFromInt(n) }
