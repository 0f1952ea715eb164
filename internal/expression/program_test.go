package expression_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/expr-lang/expr"

	"capd/internal/expression"
)

func compile(t *testing.T, source string, want expression.Type) *expression.Program {
	t.Helper()
	p, err := expression.Compile(source, env(), want)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestErrorsNameTheColumnAndTheWayOut(t *testing.T) {
	for _, c := range []struct {
		source string
		want   expression.Type
		says   string
	}{
		{`mode == remote`, expression.Bool, `column 9: unknown name "remote"; quote it if text is meant: "remote"`},
		{`remote == mode`, expression.Bool, `column 1: unknown name "remote"; quote it if text is meant`},
		{`1 + openin`, expression.Number, `column 5: unknown name "openin"; did you mean opening?`},
		{`zzz`, expression.Bool, `known names: e_stop_ok, level, mode, opening`},
		{`é + level`, expression.Number, `column 1: unknown name "é"`},
		{`"é" == mode and x`, expression.Bool, `column 17: unknown name "x"`},
		{`mode = "remote"`, expression.Bool, `column 6: "=" is not part of the language; compare with ==`},
		{`e_stop_ok & e_stop_ok`, expression.Bool, `write and`},
		{`e_stop_ok | e_stop_ok`, expression.Bool, `write or`},
		{`level | abs()`, expression.Number, `"|" is not part of the language`},
		{`level;`, expression.Number, `";" is not part of the language`},
		{`::abs(1)`, expression.Number, `"::" is not part of the language`},
		{`not level > 1`, expression.Bool, `column 5: not needs a boolean, but this is a number; put a comparison in parentheses`},
		{`-mode`, expression.Number, `- needs a number, but this is a text`},
		{`mode < "z"`, expression.Bool, `column 6: < needs a number on both sides, not a text and a text`},
		{`mode + "z"`, expression.Text, `+ needs a number on both sides`},
		{`e_stop_ok == 1`, expression.Bool, `column 11: a boolean is never equal to a number`},
		{`level ? 1 : 2`, expression.Number, `the condition of ? : needs a boolean`},
		{`e_stop_ok ? 1 : "a"`, expression.Number, `a choice between a number and a text`},
		{`if e_stop_ok { 1 } else { 2 }`, expression.Number, `not part of the language`},
		{`nil`, expression.Number, `nil is not part of the language`},
		{`level ?? 1`, expression.Number, `the operator ?? is not part of the language`},
		{`1..3`, expression.Number, `the operator .. is not part`},
		{`{"a": 1}`, expression.Number, `not part of the language`},
		{`b"abc"`, expression.Text, `not part of the language`},
		{`level[0]`, expression.Number, `not part of the language`},
		{`mode?.x`, expression.Number, `not part of the language`},
		{`level.abs()`, expression.Number, `not part of the language`},
		{`min(level)`, expression.Number, `two or more numbers`},
		{`min(level, 1,)`, expression.Number, `column 13: a value is missing after ","`},
		{`filter([1], true)`, expression.Number, `there is no function "filter"; there are abs, ceil, floor, max, min, round`},
		{`1 / 0`, expression.Number, `column 3: division by zero`},
		{`level > 1e300 * 1e300`, expression.Bool, `too large for a number`},
		{`0123`, expression.Number, `0123 is not accepted as a number`},
		{`1_000`, expression.Number, `1_000 is not accepted`},
		{`.5`, expression.Number, `.5 is not accepted`},
		{`0b1`, expression.Number, `0b1 is not accepted`},
		{`1e999`, expression.Number, `too large`},
		{`9007199254740993`, expression.Number, `exact up to`},
		{`"unclosed`, expression.Text, `literal not terminated`},
		{`(level`, expression.Number, `unexpected token`},
		{"\xff", expression.Number, `not UTF-8`},
		{`mode`, expression.Bool, `the result is a text, but a boolean is needed; compare it`},
	} {
		_, err := expression.Compile(c.source, env(), c.want)
		var typed *expression.Error
		if !errors.As(err, &typed) {
			t.Errorf("%q: %v", c.source, err)
		} else if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q\ngot  %v\nwant %s", c.source, err, c.says)
		}
	}
}

func TestANameOfUnknownTypeCannotBeUsed(t *testing.T) {
	_, err := expression.Compile("x", expression.Env{"x": expression.Unknown}, expression.Unknown)
	if err == nil || !strings.Contains(err.Error(), `the type of "x" is not known`) {
		t.Error(err)
	}
}

func TestAnyTypeMayBeWanted(t *testing.T) {
	for source, want := range map[string]expression.Type{"level": expression.Number, "mode": expression.Text, "level > 1": expression.Bool} {
		if got := compile(t, source, expression.Unknown).Type(); got != want {
			t.Errorf("%s is a %s", source, got)
		}
	}
}

func TestArithmeticIsThatOfFloats(t *testing.T) {
	for source, want := range map[string]float64{
		"3 / 2": 1.5, "7 / 2 * 2": 7, "1 - 2 - 3": -4, "2 + 3 * 4": 14, "(2 + 3) * 4": 20, "-2 * -3": 6, "+level": 2.5, "0x10 + 0xFF": 271, "1.5e3": 1500,
		"3000000000 + 3000000000": 6e9, "9007199254740992": 9007199254740992, "4294967296 * 2": 8589934592, "round(2.5)": 3, "round(-2.5)": -3, "floor(-1.5)": -2,
		"ceil(1.2)": 2, "max(1, level, 2)": 2.5, "min(3, 1, 2)": 1, "abs(-3)": 3, "0.1 + 0.2": 0.30000000000000004, "round(-0.4)": 0,
	} {
		got, err := compile(t, source, expression.Number).Eval(values())
		if err != nil || got != want || math.Signbit(got.(float64)) != math.Signbit(want) {
			t.Errorf("%s = %v (%v), want %v", source, got, err, want)
		}
	}
}

func TestLogicDecidesFromLeftToRight(t *testing.T) {
	for source, want := range map[string]bool{
		"level != 0 and 1 / level > 0": true, "opening == 60 or 1 / (opening - 60) > 0": true, "0 < level < 10": true, "0 < level < 1": false,
		"not (level > 1)": false, "!e_stop_ok || e_stop_ok": true, "e_stop_ok == true": true, "e_stop_ok != (level > 9)": true, "mode != 'local'": true,
		"level > 1 or level > 2 and false": true,
	} {
		if got, err := compile(t, source, expression.Bool).Eval(values()); err != nil || got != want {
			t.Errorf("%s = %v (%v), want %v", source, got, err, want)
		}
	}
}

func TestUnknownStaysUnknownInComparisons(t *testing.T) {
	for _, source := range []string{"level / (opening - 60) > 5", "level / (opening - 60) < 5", "opening * 1e307 * 1e307 > 5", "0 / (opening - 60) == 1", "1 / (opening - 60) > 0 or true"} {
		got, err := compile(t, source, expression.Bool).Eval(values())
		var arithmetic *expression.ArithmeticError
		if !errors.As(err, &arithmetic) || got != nil || arithmetic.Column == 0 {
			t.Errorf("%s = %v (%v)", source, got, err)
		}
	}
}

func TestValuesAreNeverDefaults(t *testing.T) {
	p := compile(t, "e_stop_ok or level > 1", expression.Bool)
	for name, c := range map[string]struct {
		values map[string]any
		absent bool
	}{
		"missing, though it would not decide": {map[string]any{"e_stop_ok": true}, true},
		"nil":                                 {map[string]any{"e_stop_ok": true, "level": nil}, true},
		"an int":                              {map[string]any{"e_stop_ok": true, "level": 1}, false},
		"not a number":                        {map[string]any{"e_stop_ok": true, "level": math.NaN()}, false},
		"infinite":                            {map[string]any{"e_stop_ok": true, "level": math.Inf(-1)}, false},
	} {
		_, err := p.Eval(c.values)
		var value *expression.ValueError
		if !errors.As(err, &value) || value.Name != "level" || value.Absent != c.absent {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTextsAreWhatANameIsComparedWith(t *testing.T) {
	p := compile(t, `mode == "remote" or "auto" == mode or mode != "remote" or level > 1`, expression.Bool)
	if got := p.Texts("mode"); !reflect.DeepEqual(got, []string{"remote", "auto"}) || p.Texts("level") != nil {
		t.Errorf("%q %q", got, p.Texts("level"))
	}
}

func TestNamesThatAnExpressionCanUse(t *testing.T) {
	for name, want := range map[string]bool{
		"opening": true, "_x1": true, "min": true, "阀": true, "": false, "a-b": false, "a.b": false, "1a": false, "and": false, "not": false, "in": false, "let": false,
		"if": false, "matches": false, "true": false, "nil": false, "$env": false, "a b": false, " a": false,
	} {
		if got := expression.ValidName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
		if want {
			if p, err := expression.Compile(name+" + 1", expression.Env{name: expression.Number}, expression.Number); err != nil || !slices.Contains(p.Names(), name) {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
}

// TestNestedChainsStayBounded: a chain of comparisons holds its middle twice, which would double at each level.
func TestNestedChainsStayBounded(t *testing.T) {
	source := "level"
	for range 25 {
		source = "(0 < " + source + " < 3 ? 1 : 2)"
	}
	if _, err := expression.Compile(source, env(), expression.Number); err == nil || !strings.Contains(err.Error(), "limit") {
		t.Error(err)
	}
	if _, err := expression.Compile(strings.Repeat("(", 900), env(), expression.Number); err == nil {
		t.Error("accepted")
	}
}

// FuzzProgram: whatever compiles keeps its promises, and agrees with expr-lang's own evaluation.
func FuzzProgram(f *testing.F) {
	for _, s := range []string{`mode == "remote"`, `level > 1 and not e_stop_ok`, `min(1, level) / 3`, `e_stop_ok ? 1 : 2`, `((((`, `0 < level <= 3`, `3000000000 * 2`,
		`round(level) == 2 or -level < 0x10`, `"a" != mode`, `level / (opening - 60) > 5`, `abs(floor(-1.5e3)) - ceil(2)`, `level | abs()`, "`raw` == mode"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		p, err := expression.Compile(source, env(), expression.Unknown)
		if err != nil {
			return
		}
		for _, name := range p.Names() {
			if _, ok := env()[name]; !ok {
				t.Errorf("%q uses %q", source, name)
			}
		}
		got, err := p.Eval(values())
		if again, errAgain := p.Eval(values()); again != got || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Errorf("%q is %v, then %v", source, got, again)
		}
		if err != nil {
			return
		}
		if ofType(got) != p.Type() {
			t.Errorf("%q gives %T, not a %s", source, got, p.Type())
		}
		if want, ok := peer(source); ok && !same(got, want) {
			t.Errorf("%q = %v, expr-lang says %v", source, got, want)
		}
	})
}

func ofType(v any) expression.Type {
	switch v := v.(type) {
	case bool:
		return expression.Bool
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return expression.Number
		}
	case string:
		return expression.Text
	}
	return expression.Unknown
}

// peer is the value by expr-lang itself; it is left out where whole numbers may wrap around there.
func peer(source string) (any, bool) {
	if strings.ContainsAny(source, "*") {
		return nil, false
	}
	program, err := expr.Compile(source, expr.Env(values()))
	if err != nil {
		return nil, false
	}
	v, err := expr.Run(program, values())
	return v, err == nil
}

func same(a, b any) bool {
	if i, ok := b.(int); ok {
		b = float64(i)
	}
	x, isNumber := a.(float64)
	y, bothNumbers := b.(float64)
	if isNumber && bothNumbers {
		return math.Abs(x-y) <= 1e-9*math.Max(math.Abs(x), math.Abs(y))
	}
	return a == b
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := expression.Compile(`mode == "remote" and level > 0.8`, env(), expression.Bool); err != nil {
			b.Fatal(err)
		}
	}
}
