package expression

import (
	"math"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// Functions names what an expression can call, sorted.
func Functions() []string { return []string{"abs", "ceil", "floor", "max", "min", "round"} }

// call compiles one of the functions.
func (c *compiler) call(n ast.Node, name string, arguments []ast.Node) (operand, error) {
	one := map[string]func(float64) float64{"abs": math.Abs, "floor": math.Floor, "ceil": math.Ceil, "round": math.Round}[name]
	many := map[string]func(a, b float64) float64{"min": math.Min, "max": math.Max}[name]
	switch {
	case one == nil && many == nil:
		return operand{}, c.errorAt(from(n), "there are "+strings.Join(Functions(), ", "), "there is no function %q", name)
	case one != nil && len(arguments) != 1:
		return operand{}, c.errorAt(from(n), "", "%s takes one number, but got %d", name, len(arguments))
	case many != nil && len(arguments) < 2:
		return operand{}, c.errorAt(from(n), "", "%s takes two or more numbers, but got %d", name, len(arguments))
	}
	numbers, constant, err := c.numbers(name, arguments)
	if err != nil {
		return operand{}, err
	}
	run := func(f *frame) value { return value{number: one(numbers[0](f).number)} }
	if many != nil {
		run = func(f *frame) value {
			result := numbers[0](f).number
			for _, number := range numbers[1:] {
				result = many(result, number(f).number)
			}
			return value{number: result}
		}
	}
	return c.fold(operand{typ: Number, run: run, constant: constant})
}

func (c *compiler) numbers(name string, arguments []ast.Node) (run []evaluate, constant bool, err error) {
	constant = true
	for _, argument := range arguments {
		o, err := c.node(argument)
		if err != nil {
			return nil, false, err
		}
		if o.typ != Number {
			return nil, false, c.errorAt(from(argument), "", "%s needs numbers, but this is a %s", name, o.typ)
		}
		run, constant = append(run, o.run), constant && o.constant
	}
	return run, constant, nil
}
