package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Int gives a whole number, decimal or hexadecimal, that fits 64 bits with sign; 5.0 and 1e3 are not whole numbers here.
func (n *Node) Int() (int64, bool) {
	if n.Kind() != Number {
		return 0, false
	}
	text := n.text
	if isHex(text) {
		u, err := strconv.ParseInt(text[2:], 16, 64)
		return u, err == nil
	}
	i, err := strconv.ParseInt(text, 10, 64)
	return i, err == nil
}

// maxExponent bounds what Decimal writes out.
const maxExponent = 64

// Decimal gives a number in plain exact decimal notation, without exponent and hexadecimal: "0x8000" is "32768" and
// "1.5e-3" is "0.0015". It is false for other kinds and for exponents beyond 64.
func (n *Node) Decimal() (string, bool) {
	if n.Kind() != Number {
		return "", false
	}
	if isHex(n.text) {
		return hexDecimal(n.text), true
	}
	mantissa, power, ok := strings.Cut(strings.ToLower(n.text), "e")
	if !ok {
		return n.text, true
	}
	exponent, err := strconv.Atoi(power)
	if err != nil || exponent > maxExponent || exponent < -maxExponent {
		return "", false
	}
	return shift(mantissa, exponent), true
}

// shift moves the decimal point of a JSON number without exponent.
func shift(mantissa string, places int) string {
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	point := len(whole) + places
	if point <= 0 {
		digits, point = strings.Repeat("0", 1-point)+digits, 1
	}
	if point > len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	whole = strings.TrimLeft(digits[:point], "0")
	if whole == "" {
		whole = "0"
	}
	if point == len(digits) {
		return sign + whole
	}
	return sign + whole + "." + digits[point:]
}

func isHex(text string) bool { return strings.HasPrefix(text, "0x") }

// hexDecimal rewrites a hexadecimal of at most 64 bits, as the scanner accepts it, as decimal digits.
func hexDecimal(text string) string {
	u, err := strconv.ParseUint(text[2:], 16, 64)
	if err != nil {
		return "0"
	}
	return strconv.FormatUint(u, 10)
}

// jsonNumber is the number as JSON: as written, hexadecimal as decimal.
func (n *Node) jsonNumber() json.Number {
	if isHex(n.text) {
		return json.Number(hexDecimal(n.text))
	}
	return json.Number(n.text)
}

// JSON writes the subtree as compact JSON: keys in file order, numbers as written, hexadecimal as decimal, and no HTML
// escapes. The same file always gives the same bytes.
func (n *Node) JSON() ([]byte, error) {
	var b bytes.Buffer
	if err := n.writeJSON(&b); err != nil {
		return nil, fmt.Errorf("document: %s as JSON: %w", n.Pos(), err)
	}
	return b.Bytes(), nil
}

func (n *Node) writeJSON(b *bytes.Buffer) error {
	switch n.Kind() {
	case List:
		b.WriteByte('[')
		for i, item := range n.items() {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := item.writeJSON(b); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case Mapping:
		return n.writeObject(b)
	default:
		return writeScalar(b, n.scalar())
	}
	return nil
}

func (n *Node) writeObject(b *bytes.Buffer) error {
	b.WriteByte('{')
	for i, item := range n.items() {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := writeScalar(b, n.below.keys[i]); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := item.writeJSON(b); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func writeScalar(b *bytes.Buffer, v any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the newline that Encode adds
	return nil
}

func (n *Node) scalar() any {
	switch n.Kind() {
	case Bool:
		return n.text == "true"
	case Number:
		return n.jsonNumber()
	case String:
		return n.text
	}
	return nil
}

// Any gives the subtree as map[string]any, []any, string, bool, json.Number or nil. The caller owns the result.
func (n *Node) Any() any {
	switch n.Kind() {
	case List:
		list := make([]any, len(n.items()))
		for i, item := range n.items() {
			list[i] = item.Any()
		}
		return list
	case Mapping:
		m := make(map[string]any, len(n.items()))
		for i, item := range n.items() {
			m[n.below.keys[i]] = item.Any()
		}
		return m
	}
	return n.scalar()
}
