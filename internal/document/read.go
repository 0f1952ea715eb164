package document

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// The Read methods take one scalar and report, at its place, what was found instead. They are the reader for list items
// and for entries of Each; Map has the same for the keys of a map.

// ReadString gives a text. Numbers and bools are not texts: version: 1.0 has lost what was written once it is a number.
func (n *Node) ReadString(ps *Problems) (string, bool) {
	if n.Kind() == String {
		return n.text, true
	}
	hint := ""
	if n.Kind() == Number || n.Kind() == Bool {
		hint = fmt.Sprintf("quote it: %q", n.text)
	}
	n.wrongType(ps, "a text", hint)
	return "", false
}

// ReadBool gives true or false.
func (n *Node) ReadBool(ps *Problems) (value, ok bool) {
	if n.Kind() == Bool {
		return n.text == "true", true
	}
	hint := "write true or false"
	if n.Kind() == String && !n.quoted {
		switch strings.ToLower(n.text) {
		case "on", "yes", "y":
			hint = "write true"
		case "off", "no", "n":
			hint = "write false"
		}
	}
	n.wrongType(ps, "true or false", hint)
	return false, false
}

// ReadInt gives a whole number of 64 bits with sign, written as 10 or 0x0A.
func (n *Node) ReadInt(ps *Problems) (int64, bool) {
	i, ok := n.Int()
	if ok {
		return i, true
	}
	switch {
	case n.Kind() != Number:
		n.wrongType(ps, "a whole number, such as 10 or 0x0A", n.unquote())
	case strings.ContainsAny(n.text, ".eE") && !isHex(n.text):
		n.wrongType(ps, "a whole number, such as 10 or 0x0A", "write it without a point or exponent")
	default:
		ps.Add(n.Problem(RuleValue, "", "number %s does not fit 64 bits", n.text))
	}
	return 0, false
}

// ReadDecimal gives a number as plain exact decimal text, as Node.Decimal does.
func (n *Node) ReadDecimal(ps *Problems) (string, bool) {
	text, ok := n.Decimal()
	switch {
	case ok:
	case n.Kind() == Number:
		ps.Add(n.Problem(RuleValue, "", "the exponent of %s is beyond %d", n.text, maxExponent))
	default:
		n.wrongType(ps, "a number, such as 0.1", n.unquote())
	}
	return text, ok
}

// ReadDuration gives a duration that is not negative, written with its unit: 250ms, 2s, 1m30s, 24h.
func (n *Node) ReadDuration(ps *Problems) (time.Duration, bool) {
	const expected = "a duration, such as 250ms, 2s or 1m"
	if n.Kind() != String {
		hint := ""
		if n.Kind() == Number {
			hint = fmt.Sprintf("add the unit: %sms or %ss", n.text, n.text)
		}
		n.wrongType(ps, expected, hint)
		return 0, false
	}
	d, err := time.ParseDuration(n.text)
	switch {
	case err != nil || !unicode.IsLetter(rune(n.text[len(n.text)-1])):
		n.wrongType(ps, expected, "units are ms, s, m and h; a day is 24h")
	case d < 0:
		ps.Add(n.Problem(RuleValue, "", "duration %s is negative", n.text))
	default:
		return d, true
	}
	return 0, false
}

// ReadEnum gives one of the allowed words, compared exactly.
func (n *Node) ReadEnum(ps *Problems, allowed ...string) (string, bool) {
	text, ok := n.ReadString(ps)
	if !ok {
		return "", false
	}
	for _, word := range allowed {
		if word == text {
			return text, true
		}
	}
	hint := "allowed: " + strings.Join(allowed, ", ")
	if near := Suggest(text, allowed); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	ps.Add(n.Problem(RuleValue, hint, "%q is not allowed here", clip(text)))
	return "", false
}

func (n *Node) wrongType(ps *Problems, expected, hint string) {
	ps.Add(n.Problem(RuleType, hint, "found %s, expected %s", n.describe(), expected))
}

// unquote hints at a number or bool that was quoted.
func (n *Node) unquote() string {
	if n.Kind() != String || !n.quoted {
		return ""
	}
	if kind, bad := classify(n.text); bad == nil && (kind == Number || kind == Bool) {
		return "write it without quotes"
	}
	return ""
}

// describe names what a node is, for "found ...".
func (n *Node) describe() string {
	switch n.Kind() {
	case Bool:
		return n.text
	case Number:
		return "number " + n.text
	case String:
		return fmt.Sprintf("text %q", clip(n.text))
	case List:
		return "a list"
	case Mapping:
		return "a map"
	}
	return "nothing"
}
