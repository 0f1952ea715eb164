package expression

import (
	"slices"

	"github.com/expr-lang/expr/ast"
)

func (c *compiler) unary(n *ast.UnaryNode) (operand, error) {
	if n.Operator == "not" || n.Operator == "!" {
		o, err := c.typed(n.Node, Bool, "not", "put a comparison in parentheses: not (a > b)")
		if err != nil {
			return operand{}, err
		}
		return c.fold(operand{typ: Bool, constant: o.constant, run: func(f *frame) value { return value{truth: !o.run(f).truth} }})
	}
	o, err := c.typed(n.Node, Number, n.Operator, "")
	if err != nil || n.Operator == "+" {
		return operand{typ: o.typ, run: o.run, constant: o.constant}, err
	}
	return c.fold(operand{typ: Number, constant: o.constant, run: func(f *frame) value { return value{number: -o.run(f).number} }})
}

func (c *compiler) binary(n *ast.BinaryNode) (operand, error) {
	switch n.Operator {
	case "and", "&&":
		return c.logic(n, false)
	case "or", "||":
		return c.logic(n, true)
	case "==", "!=":
		return c.equality(n)
	case "<", "<=", ">", ">=":
		return c.comparison(n)
	case "+", "-", "*", "/":
		return c.arithmetic(n)
	}
	hint := "available are + - * / == != < <= > >= and or not ? :"
	if n.Operator == "%" {
		hint = "it is for whole numbers only, and every number here may have a fraction"
	}
	return operand{}, c.errorAt(from(n), hint, "the operator %s is not part of the language", n.Operator)
}

func (c *compiler) both(n *ast.BinaryNode, want Type) (left, right operand, err error) {
	if left, err = c.node(n.Left); err != nil {
		return left, right, err
	}
	if right, err = c.node(n.Right); err != nil {
		return left, right, err
	}
	if left.typ != want || right.typ != want {
		err = c.errorAt(from(n), "", "%s needs a %s on both sides, not a %s and a %s", n.Operator, want, left.typ, right.typ)
	}
	return left, right, err
}

// logic is "and" and "or": the right side is computed only when the left side leaves the answer open.
func (c *compiler) logic(n *ast.BinaryNode, decides bool) (operand, error) {
	left, right, err := c.both(n, Bool)
	if err != nil {
		return operand{}, err
	}
	run := func(f *frame) value {
		if v := left.run(f); v.truth == decides {
			return v
		}
		return right.run(f)
	}
	return c.fold(operand{typ: Bool, run: run, constant: left.constant && right.constant})
}

func (c *compiler) equality(n *ast.BinaryNode) (operand, error) {
	left, errLeft := c.node(n.Left)
	right, errRight := c.node(n.Right)
	switch {
	case errLeft != nil && errRight == nil && right.typ == Text:
		return operand{}, c.quoted(errLeft, n.Left)
	case errLeft != nil:
		return operand{}, errLeft
	case errRight != nil && left.typ == Text:
		return operand{}, c.quoted(errRight, n.Right)
	case errRight != nil:
		return operand{}, errRight
	case left.typ != right.typ:
		hint := ""
		if left.typ == Text || right.typ == Text {
			hint = `compare a text with a quoted text, such as mode == "remote"`
		}
		return operand{}, c.errorAt(from(n), hint, "a %s is never equal to a %s", left.typ, right.typ)
	}
	c.noteText(left, n.Right)
	c.noteText(right, n.Left)
	equal := n.Operator == "=="
	return c.fold(operand{typ: Bool, constant: left.constant && right.constant,
		run: func(f *frame) value { return value{truth: (left.run(f) == right.run(f)) == equal} }})
}

// noteText remembers that a name is compared with a text literal.
func (c *compiler) noteText(o operand, with ast.Node) {
	if literal, ok := with.(*ast.StringNode); ok && o.name != "" && !slices.Contains(c.texts[o.name], literal.Value) {
		c.texts[o.name] = append(c.texts[o.name], literal.Value)
	}
}

func (c *compiler) comparison(n *ast.BinaryNode) (operand, error) {
	left, right, err := c.both(n, Number)
	if err != nil {
		return operand{}, err
	}
	compare := map[string]func(a, b float64) bool{
		"<":  func(a, b float64) bool { return a < b },
		"<=": func(a, b float64) bool { return a <= b },
		">":  func(a, b float64) bool { return a > b },
		">=": func(a, b float64) bool { return a >= b },
	}[n.Operator]
	return c.fold(operand{typ: Bool, constant: left.constant && right.constant,
		run: func(f *frame) value { return value{truth: compare(left.run(f).number, right.run(f).number)} }})
}

func (c *compiler) arithmetic(n *ast.BinaryNode) (operand, error) {
	left, right, err := c.both(n, Number)
	if err != nil {
		return operand{}, err
	}
	column := from(n) + 1
	compute := map[string]func(f *frame, a, b float64) float64{
		"+": func(_ *frame, a, b float64) float64 { return a + b },
		"-": func(_ *frame, a, b float64) float64 { return a - b },
		"*": func(_ *frame, a, b float64) float64 { return a * b },
		"/": func(f *frame, a, b float64) float64 { return f.divide(column, a, b) },
	}[n.Operator]
	run := func(f *frame) value {
		a, b := left.run(f).number, right.run(f).number
		return value{number: f.finite(column, compute(f, a, b))}
	}
	return c.fold(operand{typ: Number, run: run, constant: left.constant && right.constant})
}
