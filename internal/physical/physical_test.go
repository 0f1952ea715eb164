package physical_test

import (
	"encoding/json"
	"errors"
	"testing"

	"capd/internal/physical"
)

func dec(t *testing.T, s string) physical.Decimal {
	t.Helper()
	d, err := physical.ParseDecimal(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestScalingIsExactBothWays(t *testing.T) {
	for _, c := range []struct{ factor, offset, raw, value string }{
		{"0.1", "0", "600", "60"},
		{"0.1", "0", "1", "0.1"},
		{"0.01", "-40", "4000", "0"},
		{"-2", "5", "-3", "11"},
		{"0.3", "0", "7", "2.1"},
	} {
		s := physical.Scale{Factor: dec(t, c.factor), Offset: dec(t, c.offset)}
		if got := s.Value(dec(t, c.raw)); !got.Equal(dec(t, c.value)) {
			t.Errorf("raw %s x %s + %s = %s, want %s", c.raw, c.factor, c.offset, got, c.value)
		}
		if got, err := s.RawInteger(dec(t, c.value)); err != nil || !got.Equal(dec(t, c.raw)) {
			t.Errorf("the raw of %s is %s (%v), want %s", c.value, got, err, c.raw)
		}
	}
}

func TestAValueBetweenTwoRawIntegersNamesItsNeighbours(t *testing.T) {
	for _, c := range []struct{ factor, value, below, above string }{
		{"0.1", "60.05", "60", "60.1"}, {"0.1", "-0.05", "-0.1", "0"}, {"-0.1", "0.05", "0", "0.1"}, {"5", "12", "10", "15"},
	} {
		_, err := physical.Scale{Factor: dec(t, c.factor)}.RawInteger(dec(t, c.value))
		e, ok := errors.AsType[*physical.NotRepresentableError](err)
		if !ok || !e.Below.Equal(dec(t, c.below)) || !e.Above.Equal(dec(t, c.above)) {
			t.Errorf("%s at scale %s: %v, want %s and %s", c.value, c.factor, err, c.below, c.above)
		}
	}
}

func TestScaleZeroHasNoInverse(t *testing.T) {
	var zero physical.Scale
	if _, err := zero.RawInteger(dec(t, "1")); err == nil {
		t.Error("RawInteger took scale 0")
	}
	if _, err := zero.RawFloat(dec(t, "1")); err == nil {
		t.Error("RawFloat took scale 0")
	}
}

func TestValuesSurviveJSON(t *testing.T) {
	for _, v := range []physical.Value{physical.IntOf(-3), physical.NumberOf(dec(t, "0.1")), physical.NumberOf(dec(t, "12345678901234567890.5")),
		physical.FlagOf(true), physical.TextOf("remote"), physical.NumberOf(dec(t, "1e400")), physical.NumberOf(dec(t, "-1e-400")), {}} {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var back physical.Value
		if err := json.Unmarshal(raw, &back); err != nil || !back.Equal(v) {
			t.Errorf("%s came back as %s (%v)", v, back, err)
		}
	}
	var v physical.Value
	if err := json.Unmarshal([]byte(`[1]`), &v); err == nil {
		t.Error("a list was taken for a value")
	}
}

func TestWhatIsNoNumberIsRefused(t *testing.T) {
	for _, text := range []string{"", "abc", "NaN", "1e999999999", "0x10", "1,5"} {
		if d, err := physical.ParseDecimal(text); err == nil {
			t.Errorf("%q was read as %s", text, d)
		}
	}
}

func FuzzParseDecimal(f *testing.F) {
	f.Add("0.1")
	f.Add("-1e400")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := physical.ParseDecimal(text)
		if err != nil {
			return
		}
		again, err := physical.ParseDecimal(d.String())
		if err != nil && len(d.String()) <= 1000 || err == nil && !again.Equal(d) {
			t.Errorf("%q became %s, which reads as %s (%v)", text, d, again, err)
		}
	})
}
