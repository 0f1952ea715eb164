package document

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Map reads the keys of a map and collects problems instead of stopping at the first. An absent key gives the zero value;
// a value of the wrong kind is a problem and gives the zero value too. It remembers which keys were asked for, so that
// Done finds the ones nobody knows. All methods accept a nil Map, which has no keys and reports nothing. A Map belongs to
// one goroutine.
type Map struct {
	node     *Node // nil when there is no map to read
	problems *Problems
	asked    []string // keys that are known; some more than once
	all      bool     // every key is known
}

// NewMap reads n, adding what it finds to ps. When n is no map that is a problem, and the reader behaves as empty and
// stays silent; a nil n is an absent map and no problem.
func NewMap(n *Node, ps *Problems) *Map {
	m := &Map{problems: ps}
	switch {
	case n == nil:
	case n.Kind() == Mapping:
		m.node = n
	default:
		n.wrongType(ps, "a map, such as {key: value}", "")
	}
	return m
}

// value marks a key as known and gives its node, nil when absent.
func (m *Map) value(key string) *Node {
	if m == nil {
		return nil
	}
	if !m.all {
		m.asked = append(m.asked, key)
	}
	return m.node.Get(key)
}

// read takes a key by one of the Read methods; absent keys are no problem.
func read[T any](m *Map, key string, take func(*Node, *Problems) (T, bool)) (T, bool) {
	n := m.value(key)
	if n == nil {
		var zero T
		return zero, false
	}
	return take(n, m.problems)
}

// String reads a text.
func (m *Map) String(key string) string {
	s, _ := read(m, key, (*Node).ReadString)
	return s
}

// Strings reads a list of texts; items of another kind are problems and left out.
func (m *Map) Strings(key string) []string {
	var texts []string
	for _, item := range m.list(key, "a list of texts, such as [one, two]") {
		if s, ok := item.ReadString(m.problems); ok {
			texts = append(texts, s)
		}
	}
	return texts
}

// Bool reads true or false.
func (m *Map) Bool(key string) bool {
	b, _ := read(m, key, (*Node).ReadBool)
	return b
}

// Int reads a whole number of 64 bits with sign.
func (m *Map) Int(key string) int64 {
	i, _ := read(m, key, (*Node).ReadInt)
	return i
}

// Decimal reads a number as plain exact decimal text without exponent; ok is false when it is absent or wrong.
func (m *Map) Decimal(key string) (text string, ok bool) { return read(m, key, (*Node).ReadDecimal) }

// Duration reads a duration with its unit, such as 250ms, 2s or 1m, never negative.
func (m *Map) Duration(key string) time.Duration {
	d, _ := read(m, key, (*Node).ReadDuration)
	return d
}

// Enum reads one of the allowed words, "" when absent or wrong.
func (m *Map) Enum(key string, allowed ...string) string {
	s, _ := read(m, key, func(n *Node, ps *Problems) (string, bool) { return n.ReadEnum(ps, allowed...) })
	return s
}

// Node gives a value as it is, nil when absent.
func (m *Map) Node(key string) *Node { return m.value(key) }

// Map gives the reader of a map inside this one, nil when absent. Its own Done has to be called.
func (m *Map) Map(key string) *Map {
	n := m.value(key)
	if n == nil {
		return nil
	}
	return NewMap(n, m.problems)
}

// List gives the items of a list, nil when absent.
func (m *Map) List(key string) []*Node { return m.list(key, "a list, such as [one, two]") }

func (m *Map) list(key, expected string) []*Node {
	n := m.value(key)
	if n == nil {
		return nil
	}
	if n.Kind() != List {
		hint := ""
		if n.Kind() == String || n.Kind() == Number {
			hint = fmt.Sprintf("write [%s]", clip(n.text))
		}
		n.wrongType(m.problems, expected, hint)
		return nil
	}
	return n.Items()
}

// Has says whether a key is present, whatever its value.
func (m *Map) Has(key string) bool { return m.value(key) != nil }

// Required reports each of the keys that is absent, at the place of the map.
func (m *Map) Required(keys ...string) {
	for _, key := range keys {
		if m.value(key) == nil && m != nil && m.node != nil {
			m.problems.Add(Problem{Pos: m.node.Pos(), Path: m.node.Path(), Rule: RuleMissingKey, Message: fmt.Sprintf("key %q is missing", key)})
		}
	}
}

// Each calls f with every entry in file order and marks all keys as known.
func (m *Map) Each(f func(key string, n *Node)) {
	if m == nil {
		return
	}
	m.all = true
	for i, key := range m.node.names() {
		f(key, m.node.below.items[i])
	}
}

// Done reports every key that was never asked for, with the nearest of those that were.
func (m *Map) Done() {
	if m == nil || m.all {
		return
	}
	for _, key := range m.node.names() {
		if !slices.Contains(m.asked, key) {
			m.Report(key, RuleUnknownKey, m.knownKeys(key), "unknown key %q", clip(key))
		}
	}
}

// knownKeys is the hint for a key nobody knows.
func (m *Map) knownKeys(key string) string {
	known := slices.Compact(slices.Sorted(slices.Values(m.asked)))
	if near := Suggest(key, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	const most = 16
	if len(known) == 0 || len(known) > most {
		return ""
	}
	return "known keys: " + strings.Join(known, ", ")
}

// Problem reports something about the value of a key, at the key; at the map when the key is absent.
func (m *Map) Problem(key string, format string, args ...any) {
	m.Report(key, RuleValue, "", format, args...)
}

// Report is Problem with a rule and a hint.
func (m *Map) Report(key, rule, hint, format string, args ...any) {
	if m == nil || m.node == nil {
		return
	}
	m.problems.Add(Problem{Pos: m.node.KeyPos(key), Path: joinPath(m.node.Path(), key), Rule: rule, Hint: hint, Message: fmt.Sprintf(format, args...)})
}
