// Package expression compiles and evaluates the small formulas of contracts: conditions such as mode == "remote" and
// values such as opening * 0.5.
//
// The promise: an expression that compiles has one type, uses only the names it was given, always ends, and gives the
// same answer for the same values. Whatever is unknown stays unknown: an absent value, a division by zero or a result
// that is no finite number is an error, also in the middle of a comparison, and never a default.
//
// The language is a part of expr-lang's grammar, parsed by its parser:
//
//	literals      1.5, 0x10, true, false, "text", 'text'
//	names         those of the Env: parameters and points
//	arithmetic    + - * /  over numbers; every number is a float64, so 3 / 2 is 1.5
//	comparison    < <= > >=  over numbers, also as a chain 0 < x < 10;  == !=  over two values of one type
//	logic         and && or || not !  over bools, deciding from left to right and only as far as needed
//	choice        condition ? a : b
//	functions     abs(x), floor(x), ceil(x), round(x) half away from zero, min(a, b, ...), max(a, b, ...)
//
// Nothing else of expr-lang is accepted: no other functions, variables, closures, pipes, lists, member access, nil.
// Evaluation is ours, because expr-lang's own takes 1/0 > 5 for true and wraps integers around.
//
// The package never reads a clock, keeps no state between evaluations, and knows nothing of points or units.
package expression

import (
	"fmt"
	"slices"
)

// Limits of one expression.
const (
	MaxLength = 1_000 // characters of the source
	MaxNodes  = 200   // literals, names and operations
)

// Type is the type of a value or expression. Unknown as the wanted type accepts any; a name of type Unknown cannot be used.
type Type uint8

// The types, with the Go type of their values.
const (
	Unknown Type = iota
	Bool         // bool
	Number       // float64, always finite
	Text         // string
)

// String names the type as messages do.
func (t Type) String() string {
	switch t {
	case Unknown:
		return "unknown"
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case Text:
		return "text"
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// Env holds the names an expression may use and their types.
type Env map[string]Type

// Error says why a source does not compile.
type Error struct {
	Source  string
	Column  int // character of the source, from 1; 0 for the whole
	Message string
	Hint    string // what to write instead; may be empty

	unknown string // the name that is not in the Env, if that is what is wrong
}

func (e *Error) Error() string {
	place := ""
	if e.Column > 0 {
		place = fmt.Sprintf("column %d: ", e.Column)
	}
	hint := ""
	if e.Hint != "" {
		hint = "; " + e.Hint
	}
	return fmt.Sprintf("expression %q: %s%s%s", clip(e.Source), place, e.Message, hint)
}

// ValueError says that a name of the expression has no usable value at evaluation.
type ValueError struct {
	Source string
	Name   string
	Absent bool // no value at all; otherwise Found is of the wrong type or no finite number
	Want   Type
	Found  any
}

func (e *ValueError) Error() string {
	if e.Absent {
		return fmt.Sprintf("expression %q: no value for %q", clip(e.Source), e.Name)
	}
	return fmt.Sprintf("expression %q: value %v (%T) for %q is no %s", clip(e.Source), e.Found, e.Found, e.Name, finite(e.Want))
}

func finite(t Type) string {
	if t == Number {
		return "finite float64 number"
	}
	return t.String()
}

// ArithmeticError says that an operation has no finite result for the values of an evaluation.
type ArithmeticError struct {
	Source    string
	Column    int
	Operation string // like "division by zero"
}

func (e *ArithmeticError) Error() string {
	return fmt.Sprintf("expression %q: column %d: %s", clip(e.Source), e.Column, e.Operation)
}

// Program is a compiled expression. It never changes and may be evaluated by many goroutines at once.
type Program struct {
	source string
	typ    Type
	run    evaluate
	slots  []slot
	names  []string // sorted
	texts  map[string][]string
}

// slot is a name of the expression in the order in which evaluation holds their values.
type slot struct {
	name string
	typ  Type
}

// Source is the text that was compiled.
func (p *Program) Source() string { return p.source }

// Type is the type of every result.
func (p *Program) Type() Type { return p.typ }

// Names gives the names that the expression uses, sorted.
func (p *Program) Names() []string { return slices.Clone(p.names) }

// Texts gives the text literals that a name is compared with, in the order of the source: what a caller can hold against
// the labels of a point.
func (p *Program) Texts(name string) []string { return slices.Clone(p.texts[name]) }

// Compile checks a source against the names in env; its result is of the wanted type. Errors are of type *Error.
func Compile(source string, env Env, want Type) (*Program, error) {
	c := &compiler{source: source, env: env, slots: map[string]int{}, texts: map[string][]string{}}
	tree, err := c.parse()
	if err != nil {
		return nil, err
	}
	result, err := c.node(tree)
	if err != nil {
		return nil, err
	}
	if want != Unknown && result.typ != want {
		return nil, &Error{Source: source, Message: fmt.Sprintf("the result is a %s, but a %s is needed", result.typ, want), Hint: wantHint(result.typ, want)}
	}
	p := &Program{source: source, typ: result.typ, run: result.run, slots: c.order, texts: c.texts}
	for _, s := range c.order {
		p.names = append(p.names, s.name)
	}
	slices.Sort(p.names)
	return p, nil
}

func wantHint(got, want Type) string {
	switch {
	case want == Bool && got == Number:
		return "compare it, such as x > 0"
	case want == Bool && got == Text:
		return `compare it, such as mode == "remote"`
	case want == Number && got == Bool:
		return "choose numbers by it: condition ? 1 : 0"
	}
	return ""
}

// clip shortens a source for a message.
func clip(source string) string {
	const most = 80
	if runes := []rune(source); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return source
}
