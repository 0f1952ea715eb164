package expression

import "math"

// value is one value; only the field of its type counts, and the others are zero.
type value struct {
	number float64
	text   string
	truth  bool
}

// evaluate computes a part of an expression.
type evaluate func(*frame) value

// frame is one evaluation: the values of the names, and the first operation that failed.
type frame struct {
	values []value
	failed *failure
	few    [8]value // holds the values of most expressions without an allocation of their own
}

type failure struct {
	column    int
	operation string
}

func (f *frame) fail(column int, operation string) {
	if f.failed == nil {
		f.failed = &failure{column, operation}
	}
}

func (f *frame) divide(column int, a, b float64) float64 {
	if b == 0 {
		f.fail(column, "division by zero")
		return 0
	}
	return a / b
}

// finite passes a number on, or fails when there is none.
func (f *frame) finite(column int, x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		f.fail(column, "the result is too large for a number")
		return 0
	}
	return x
}

// Eval computes the expression. Every name that it uses needs a value of its type (bool, float64 or string), also a name
// that would not decide the answer; further values are ignored. The result has the type of the program. Errors are of type
// *ValueError or *ArithmeticError.
func (p *Program) Eval(values map[string]any) (any, error) {
	f := &frame{}
	f.values = f.few[:0]
	for _, s := range p.slots {
		v, ok := convert(values[s.name], s.typ)
		if !ok {
			found := values[s.name]
			return nil, &ValueError{Source: p.source, Name: s.name, Absent: found == nil, Want: s.typ, Found: found}
		}
		f.values = append(f.values, v)
	}
	result := p.run(f)
	if f.failed != nil {
		return nil, &ArithmeticError{Source: p.source, Column: f.failed.column, Operation: f.failed.operation}
	}
	switch p.typ {
	case Bool:
		return result.truth, nil
	case Number:
		return result.number + 0, nil // -0 becomes 0
	}
	return result.text, nil
}

// convert takes a value of the wanted type.
func convert(from any, want Type) (value, bool) {
	switch from := from.(type) {
	case bool:
		return value{truth: from}, want == Bool
	case float64:
		return value{number: from}, want == Number && !math.IsNaN(from) && !math.IsInf(from, 0)
	case string:
		return value{text: from}, want == Text
	}
	return value{}, false
}
