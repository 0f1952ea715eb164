package expression_test

import (
	"strings"
	"sync"
	"testing"

	"capd/internal/expression"
)

func env() expression.Env {
	return expression.Env{"mode": expression.Text, "level": expression.Number, "opening": expression.Number, "e_stop_ok": expression.Bool}
}

func values() map[string]any {
	return map[string]any{"mode": "remote", "level": 2.5, "opening": 60.0, "e_stop_ok": true}
}

func TestExpressionsOfContracts(t *testing.T) {
	for source, want := range map[string]any{
		`mode == "remote"`:              true,
		`mode != 'remote'`:              false,
		`e_stop_ok`:                     true,
		`not e_stop_ok`:                 false,
		`level > 0.8 and opening >= 10`: true,
		`level < 0.8 || e_stop_ok`:      true,
		`opening`:                       60.0,
		`3 / 2`:                         1.5,
		`1`:                             1.0,
		`-level + 1`:                    -1.5,
		`min(opening, 50, 70)`:          50.0,
		`round(level) + abs(-1)`:        4.0,
		`level > 2 ? 1 : 0`:             1.0,
		`"a"`:                           "a",
	} {
		kind := map[bool]expression.Type{true: expression.Bool}[isBool(want)]
		switch want.(type) {
		case float64:
			kind = expression.Number
		case string:
			kind = expression.Text
		}
		p, err := expression.Compile(source, env(), kind)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got, err := p.Eval(values()); err != nil || got != want {
			t.Errorf("%s = %v (%v), want %v", source, got, err, want)
		}
	}
}

func isBool(v any) bool { _, ok := v.(bool); return ok }

func TestWhatIsRefusedAndWhy(t *testing.T) {
	for _, c := range []struct {
		source string
		want   expression.Type
		says   string
	}{
		{`mod == "remote"`, expression.Bool, "did you mean mode"},
		{`mode == 2`, expression.Bool, "never equal"},
		{`level`, expression.Bool, "is a number, but a boolean is needed"},
		{`level + mode`, expression.Number, "needs a number on both sides"},
		{`level and e_stop_ok`, expression.Bool, "needs a boolean on both sides"},
		{`now()`, expression.Number, "no function"},
		{`map([1,2], # + 1)`, expression.Number, "no function"},
		{`[1,2]`, expression.Number, "not part of the language"},
		{`level in [1,2]`, expression.Bool, "not part of the language"},
		{`mode matches "a+"`, expression.Bool, "not part of the language"},
		{`let x = 1; x`, expression.Number, "not part of the language"},
		{`level | abs()`, expression.Number, ""},
		{`level.x`, expression.Number, "not part of the language"},
		{`opening % 2`, expression.Number, "whole numbers"},
		{`2 ** 3`, expression.Number, "not part of the language"},
		{`opening >`, expression.Bool, "unexpected"},
		{``, expression.Bool, ""},
		{`abs(1, 2)`, expression.Number, "one number"},
		{`abs(mode)`, expression.Number, "needs numbers"},
		{strings.Repeat("1+", 300) + "1", expression.Number, "limit"},
		{strings.Repeat(" ", 1001) + "1", expression.Number, "limit"},
	} {
		p, err := expression.Compile(c.source, env(), c.want)
		if err == nil {
			if c.says == "" {
				continue // allowed by the language; only its result matters
			}
			t.Errorf("%.40q was accepted as %v", c.source, p.Names())
			continue
		}
		if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.40q: %v\ndoes not say %q", c.source, err, c.says)
		}
	}
}

func TestEvalNeverGuesses(t *testing.T) {
	p, err := expression.Compile("level / opening", env(), expression.Number)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]map[string]any{
		"a value is missing":     {"level": 1.0},
		"a value is nil":         {"level": 1.0, "opening": nil},
		"a value is a text":      {"level": 1.0, "opening": "60"},
		"the result is infinite": {"level": 1.0, "opening": 0.0},
		"the result is NaN":      {"level": 0.0, "opening": 0.0},
	} {
		if got, err := p.Eval(v); err == nil {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestNamesAreThoseThatAreUsed(t *testing.T) {
	p, err := expression.Compile(`mode == "remote" and level > 1 and level < 3`, env(), expression.Bool)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.Names(), " "); got != "level mode" {
		t.Errorf("names are %q", got)
	}
}

func TestAProgramServesManyAtOnce(t *testing.T) {
	p, err := expression.Compile(`level * 2`, env(), expression.Number)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 200 {
				if got, err := p.Eval(map[string]any{"level": float64(i)}); err != nil || got != float64(2*i) {
					t.Errorf("%v %v", got, err)
					return
				}
			}
		})
	}
	group.Wait()
}

func FuzzCompileAndEval(f *testing.F) {
	for _, s := range []string{`mode == "remote"`, `level > 1`, `min(1,2)`, `level ? 1 : 2`, `((((`, `"\x00"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		for _, want := range []expression.Type{expression.Bool, expression.Number, expression.Text} {
			p, err := expression.Compile(source, env(), want)
			if err != nil {
				continue
			}
			if _, err := p.Eval(values()); err != nil {
				continue // such as a division by zero
			}
		}
	})
}

func BenchmarkEval(b *testing.B) {
	p, err := expression.Compile(`mode == "remote" and level > 0.8`, env(), expression.Bool)
	if err != nil {
		b.Fatal(err)
	}
	v := values()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Eval(v); err != nil {
			b.Fatal(err)
		}
	}
}
