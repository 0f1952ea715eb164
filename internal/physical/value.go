package physical

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/shopspring/decimal"
)

// Decimal is an exact decimal number. It is the one number type between a wire and an agent: binary floats appear only where a
// device's own type is one, and are then taken by their shortest decimal form.
type Decimal = decimal.Decimal

// Kind tells which of a Value's three forms is set.
type Kind uint8

// The forms of a Value. None is the zero Value: nothing was measured.
const (
	None Kind = iota
	Number
	Bool
	Text
)

// String names the kind as messages use it.
func (k Kind) String() string {
	return [...]string{"nothing", "number", "boolean", "text"}[k]
}

// Value is one number, boolean or text. The zero Value holds nothing; a Value never changes.
type Value struct {
	kind Kind
	flag bool
	num  Decimal
	text string
}

// NumberOf makes a number.
func NumberOf(d Decimal) Value { return Value{kind: Number, num: d} }

// IntOf makes a number from an integer.
func IntOf(i int64) Value { return NumberOf(decimal.NewFromInt(i)) }

// FloatOf makes a number from a float64 by its shortest decimal form. NaN and infinities give the zero Value.
func FloatOf(f float64) Value {
	if f != f || f > 1e308 || f < -1e308 {
		return Value{}
	}
	return NumberOf(decimal.NewFromFloat(f))
}

// FlagOf makes a boolean.
func FlagOf(b bool) Value { return Value{kind: Bool, flag: b} }

// TextOf makes a text, such as a label.
func TextOf(s string) Value { return Value{kind: Text, text: s} }

// maxDigits bounds the text of a number; it leaves room for every number that the exponent's limit allows, written out.
const maxDigits = 1000

// maxExponent bounds the power of ten of a parsed number, so that no input makes exact arithmetic costly.
const maxExponent = 400

// ParseDecimal reads a decimal number such as "0.1", "-3" or "1e3".
func ParseDecimal(s string) (Decimal, error) {
	d, err := decimal.NewFromString(s)
	if err != nil || len(s) > maxDigits {
		return Decimal{}, fmt.Errorf("%q is not a decimal number", clip(s))
	}
	if e := d.Exponent(); e > maxExponent || e < -maxExponent {
		return Decimal{}, fmt.Errorf("%q is beyond what can be computed exactly (exponent limit %d)", clip(s), maxExponent)
	}
	return d, nil
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}

// Kind tells what the value holds.
func (v Value) Kind() Kind { return v.kind }

// IsZero reports whether the value holds nothing.
func (v Value) IsZero() bool { return v.kind == None }

// Number returns the number and whether the value is one.
func (v Value) Number() (Decimal, bool) { return v.num, v.kind == Number }

// Bool returns the boolean and whether the value is one.
func (v Value) Bool() (bool, bool) { return v.flag, v.kind == Bool }

// Text returns the text and whether the value is one.
func (v Value) Text() (string, bool) { return v.text, v.kind == Text }

// Equal reports whether both hold the same; numbers compare by value (1.0 equals 1).
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case Number:
		return v.num.Equal(w.num)
	case Bool:
		return v.flag == w.flag
	default:
		return v.text == w.text
	}
}

// String is the value as a person reads it, without quotes; "-" for nothing.
func (v Value) String() string {
	switch v.kind {
	case Number:
		return v.num.String()
	case Bool:
		return fmt.Sprint(v.flag)
	case Text:
		return v.text
	default:
		return "-"
	}
}

// Any is the value for an expression or for JSON: float64, bool, string or nil.
func (v Value) Any() any {
	switch v.kind {
	case Number:
		return v.num.InexactFloat64()
	case Bool:
		return v.flag
	case Text:
		return v.text
	default:
		return nil
	}
}

// OfAny makes a value from what JSON or an expression gives; false for anything else than number, boolean or text.
func OfAny(a any) (Value, bool) {
	switch x := a.(type) {
	case bool:
		return FlagOf(x), true
	case string:
		return TextOf(x), true
	case json.Number:
		d, err := ParseDecimal(x.String())
		return NumberOf(d), err == nil
	case float64:
		v := FloatOf(x)
		return v, !v.IsZero()
	case int:
		return IntOf(int64(x)), true
	case int64:
		return IntOf(x), true
	case Decimal:
		return NumberOf(x), true
	default:
		return Value{}, false
	}
}

// MarshalJSON writes a JSON number, boolean, string or null.
func (v Value) MarshalJSON() ([]byte, error) {
	switch v.kind {
	case Number:
		return []byte(v.num.String()), nil
	case Bool:
		return json.Marshal(v.flag)
	case Text:
		return json.Marshal(v.text)
	default:
		return []byte("null"), nil
	}
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (v *Value) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var a any
	if err := d.Decode(&a); err != nil {
		return err
	}
	if a == nil {
		*v = Value{}
		return nil
	}
	w, ok := OfAny(a)
	if !ok {
		return fmt.Errorf("%s is neither number, boolean nor text", clip(string(b)))
	}
	*v = w
	return nil
}
