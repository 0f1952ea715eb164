package expression

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"capd/internal/document"
)

// compiler turns one syntax tree into functions, checking types on the way.
type compiler struct {
	source   string
	env      Env
	literals map[int]float64 // numbers by the character where they begin
	nodes    int
	slots    map[string]int
	order    []slot
	texts    map[string][]string
}

// operand is a compiled part of the expression.
type operand struct {
	typ      Type
	run      evaluate
	constant bool
	name     string // when it is a name and nothing else
}

func (c *compiler) node(n ast.Node) (operand, error) {
	if c.nodes++; c.nodes > MaxNodes {
		return operand{}, c.errorAt(-1, "split it into several", "more literals, names and operations than the limit of %d", MaxNodes)
	}
	switch n := n.(type) {
	case *ast.IntegerNode:
		return constant(Number, value{number: c.literals[from(n)]}), nil
	case *ast.BoolNode:
		return constant(Bool, value{truth: n.Value}), nil
	case *ast.StringNode:
		return constant(Text, value{text: n.Value}), nil
	case *ast.IdentifierNode:
		return c.name(n)
	case *ast.UnaryNode:
		return c.unary(n)
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ConditionalNode:
		if n.Ternary {
			return c.choice(n)
		}
	case *ast.NilNode:
		return operand{}, c.errorAt(from(n), "an absent value is never a default", "nil is not part of the language")
	case *ast.BuiltinNode:
		return c.call(n, n.Name, n.Arguments)
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			return c.call(n, callee.Value, n.Arguments)
		}
	}
	return operand{}, c.errorAt(from(n), "use names, numbers, quoted texts, comparisons, and, or, not, + - * / and ? :", "this is not part of the language")
}

// from is the character where a node stands, from 0.
func from(n ast.Node) int { return n.Location().From }

func constant(t Type, v value) operand {
	return operand{typ: t, constant: true, run: func(*frame) value { return v }}
}

func (c *compiler) name(n *ast.IdentifierNode) (operand, error) {
	t, ok := c.env[n.Value]
	switch {
	case !ok:
		return operand{}, &Error{Source: c.source, Column: from(n) + 1, Message: fmt.Sprintf("unknown name %q", n.Value), Hint: c.knownNames(n.Value), unknown: n.Value}
	case t == Unknown:
		return operand{}, c.errorAt(from(n), "", "the type of %q is not known here", n.Value)
	}
	at, ok := c.slots[n.Value]
	if !ok {
		at = len(c.order)
		c.slots[n.Value] = at
		c.order = append(c.order, slot{n.Value, t})
	}
	return operand{typ: t, name: n.Value, run: func(f *frame) value { return f.values[at] }}, nil
}

func (c *compiler) suggestion(name string) string {
	if near := document.Suggest(name, slices.Sorted(maps.Keys(c.env))); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return ""
}

func (c *compiler) knownNames(name string) string {
	if near := c.suggestion(name); near != "" {
		return near
	}
	const most = 16
	if len(c.env) == 0 || len(c.env) > most {
		return ""
	}
	return "known names: " + strings.Join(slices.Sorted(maps.Keys(c.env)), ", ")
}

func (c *compiler) choice(n *ast.ConditionalNode) (operand, error) {
	condition, err := c.typed(n.Cond, Bool, "the condition of ? :", "")
	if err != nil {
		return operand{}, err
	}
	yes, err := c.node(n.Exp1)
	if err != nil {
		return operand{}, err
	}
	no, err := c.node(n.Exp2)
	if err != nil {
		return operand{}, err
	}
	if yes.typ != no.typ {
		return operand{}, c.errorAt(from(n.Exp2), "", "a choice between a %s and a %s", yes.typ, no.typ)
	}
	run := func(f *frame) value {
		if condition.run(f).truth {
			return yes.run(f)
		}
		return no.run(f)
	}
	return c.fold(operand{typ: yes.typ, run: run, constant: condition.constant && yes.constant && no.constant})
}

// typed compiles a part that has to be of one type.
func (c *compiler) typed(n ast.Node, want Type, who, hint string) (operand, error) {
	o, err := c.node(n)
	if err == nil && o.typ != want {
		err = c.errorAt(from(n), hint, "%s needs a %s, but this is a %s", who, want, o.typ)
	}
	return o, err
}

// fold computes a part without names once, which finds 1 / 0 when the expression is compiled.
func (c *compiler) fold(o operand) (operand, error) {
	if !o.constant {
		return o, nil
	}
	f := &frame{}
	v := o.run(f)
	if f.failed != nil {
		return operand{}, c.errorAt(f.failed.column-1, "", "%s", f.failed.operation)
	}
	return constant(o.typ, v), nil
}

// quoted adds to the error of an unknown name that it may have been meant as a text.
func (c *compiler) quoted(err error, n ast.Node) error {
	var e *Error
	if name, ok := n.(*ast.IdentifierNode); ok && errors.As(err, &e) && e.unknown == name.Value {
		hint := fmt.Sprintf("quote it if text is meant: %q", name.Value)
		if near := c.suggestion(name.Value); near != "" {
			hint = near + " " + hint
		}
		e.Hint = hint
	}
	return err
}
