package document_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"capd/internal/document"
)

func reader(t *testing.T, text string) (*document.Map, *document.Problems) {
	t.Helper()
	ps := &document.Problems{}
	return document.NewMap(mustParse(t, "f.yaml", text), ps), ps
}

func TestReadingWhatIsThere(t *testing.T) {
	m, ps := reader(t, `{s: text, l: [a, b], b: true, i: 0x10, neg: -5, d: 1.5e-3, hex: 0x8000, dur: 1m30s, e: even, m: {x: 1}, n: null}`)
	check := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %#v, want %#v", what, got, want)
		}
	}
	check("text", m.String("s"), "text")
	check("texts", m.Strings("l"), []string{"a", "b"})
	check("items", len(m.List("l")), 2)
	check("bool", m.Bool("b"), true)
	check("int", m.Int("i"), int64(16))
	check("negative int", m.Int("neg"), int64(-5))
	d, ok := m.Decimal("d")
	check("decimal", d, "0.0015")
	check("decimal is there", ok, true)
	hex, _ := m.Decimal("hex")
	check("hexadecimal", hex, "32768")
	check("duration", m.Duration("dur"), 90*time.Second)
	check("word", m.Enum("e", "none", "even", "odd"), "even")
	check("inner", m.Map("m").Int("x"), int64(1))
	check("null is present", m.Has("n"), true)
	check("absent", m.Has("nothing"), false)
	check("node", m.Node("s").Text(), "text")
	m.Required("s", "l")
	m.Done()
	if len(*ps) != 0 {
		t.Errorf("problems: %v", *ps)
	}
}

func TestAbsentKeysAreZeroAndNoProblem(t *testing.T) {
	m, ps := reader(t, "{}")
	d, ok := m.Decimal("k")
	if m.String("k") != "" || m.Strings("k") != nil || m.Bool("k") || m.Int("k") != 0 || d != "" || ok || m.Duration("k") != 0 ||
		m.Enum("k", "a") != "" || m.Node("k") != nil || m.Map("k") != nil || m.List("k") != nil || len(*ps) != 0 {
		t.Errorf("something is there; problems %v", *ps)
	}
}

func TestWrongTypesSayWhatIsFoundAndExpected(t *testing.T) {
	for _, c := range []struct {
		value string
		read  func(*document.Map)
		want  string
	}{
		{"1.0", func(m *document.Map) { m.String("v") }, `f.yaml:1:5: v: found number 1.0, expected a text; quote it: "1.0"`},
		{"true", func(m *document.Map) { m.String("v") }, `found true, expected a text; quote it: "true"`},
		{"null", func(m *document.Map) { m.String("v") }, `found nothing, expected a text`},
		{"[a]", func(m *document.Map) { m.String("v") }, `found a list, expected a text`},
		{"valve", func(m *document.Map) { m.Strings("v") }, `found text "valve", expected a list of texts, such as [one, two]; write [valve]`},
		{"[a, 1]", func(m *document.Map) { m.Strings("v") }, `f.yaml:1:9: v[1]: found number 1, expected a text`},
		{"{a: b}", func(m *document.Map) { m.List("v") }, `found a map, expected a list`},
		{"on", func(m *document.Map) { m.Bool("v") }, `found text "on", expected true or false; write true`},
		{"No", func(m *document.Map) { m.Bool("v") }, `write false`},
		{"1", func(m *document.Map) { m.Bool("v") }, `found number 1, expected true or false`},
		{"1.5", func(m *document.Map) { m.Int("v") }, `found number 1.5, expected a whole number, such as 10 or 0x0A; write it without a point`},
		{"'7'", func(m *document.Map) { m.Int("v") }, `found text "7", expected a whole number, such as 10 or 0x0A; write it without quotes`},
		{"9223372036854775808", func(m *document.Map) { m.Int("v") }, `number 9223372036854775808 does not fit 64 bits`},
		{"0xFFFFFFFFFFFFFFFF", func(m *document.Map) { m.Int("v") }, `does not fit 64 bits`},
		{"abc", func(m *document.Map) { m.Decimal("v") }, `found text "abc", expected a number, such as 0.1`},
		{"1e65", func(m *document.Map) { m.Decimal("v") }, `the exponent of 1e65 is beyond 64`},
		{"5", func(m *document.Map) { m.Duration("v") }, `found number 5, expected a duration, such as 250ms, 2s or 1m; add the unit: 5ms or 5s`},
		{"1d", func(m *document.Map) { m.Duration("v") }, `a day is 24h`},
		{"'5'", func(m *document.Map) { m.Duration("v") }, `found text "5", expected a duration`},
		{"'0'", func(m *document.Map) { m.Duration("v") }, `found text "0", expected a duration`},
		{"''", func(m *document.Map) { m.Duration("v") }, `expected a duration`},
		{"-5s", func(m *document.Map) { m.Duration("v") }, `duration -5s is negative`},
		{"evne", func(m *document.Map) { m.Enum("v", "none", "even", "odd") }, `"evne" is not allowed here; did you mean "even"? allowed: none, even, odd`},
		{"x", func(m *document.Map) { m.Enum("v", "none", "even") }, `"x" is not allowed here; allowed: none, even`},
		{"3", func(m *document.Map) { m.Map("v").Required("a") }, `found number 3, expected a map, such as {key: value}`},
	} {
		m, ps := reader(t, "{v: "+c.value+"}")
		c.read(m)
		if len(*ps) != 1 || !strings.Contains((*ps)[0].Error(), c.want) {
			t.Errorf("%s\ngot  %v\nwant %s", c.value, *ps, c.want)
		}
	}
}

func TestUnknownAndMissingKeysAreNamed(t *testing.T) {
	m, ps := reader(t, "asset:\n  titel: x\n  zzz: y\n  device: d\n")
	a := m.Map("asset")
	a.Required("title", "device")
	_ = a.String("title")
	a.Done()
	m.Done()
	want := []string{
		`f.yaml:2:3: asset: key "title" is missing`,
		`f.yaml:2:3: asset.titel: unknown key "titel"; did you mean "title"?`,
		`f.yaml:3:3: asset.zzz: unknown key "zzz"; known keys: device, title`,
	}
	var got []string
	for _, p := range *ps {
		got = append(got, p.Error())
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestEachVisitsInFileOrderAndKnowsAllKeys(t *testing.T) {
	m, ps := reader(t, "{b: 1, a: 2, 0: 3}")
	var keys []string
	m.Each(func(key string, n *document.Node) { keys = append(keys, key+"="+n.Text()) })
	m.Done()
	if want := []string{"b=1", "a=2", "0=3"}; !reflect.DeepEqual(keys, want) || len(*ps) != 0 {
		t.Errorf("%q %v", keys, *ps)
	}
}

func TestProblemsStandAtTheirKey(t *testing.T) {
	m, ps := reader(t, "a:\n  b: 1\n")
	a := m.Map("a")
	a.Problem("b", "value %d is odd", 1)
	a.Report("c", "range", "ask for less", "absent")
	want := document.Problems{
		{Pos: document.Pos{File: "f.yaml", Line: 2, Column: 3}, Path: "a.b", Rule: document.RuleValue, Message: "value 1 is odd"},
		{Pos: document.Pos{File: "f.yaml", Line: 2, Column: 3}, Path: "a.c", Rule: "range", Hint: "ask for less", Message: "absent"},
	}
	if !reflect.DeepEqual(*ps, want) {
		t.Errorf("%#v", *ps)
	}
}

func TestReadersOfNothingStaySilent(t *testing.T) {
	ps := &document.Problems{}
	var absent *document.Map
	for _, m := range []*document.Map{absent, document.NewMap(nil, ps)} {
		m.Required("a")
		m.Problem("a", "x")
		m.Each(func(string, *document.Node) { t.Error("an entry of nothing") })
		m.Done()
		if m.String("a") != "" || m.Map("a").Bool("b") || m.Has("a") {
			t.Error("something is there")
		}
	}
	if len(*ps) != 0 {
		t.Error(*ps)
	}
}

func TestDecimalsAreWrittenOut(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "-0": "-0", "1.50": "1.50", "1e3": "1000", "1.5e1": "15", "1.25E+1": "12.5", "-1.5e-3": "-0.0015", "100e-2": "1.00", "0e5": "0", "0.00e-1": "0.000",
		"12.5e0": "12.5", "0x8000": "32768", "0xffffffffffffffff": "18446744073709551615",
	} {
		if got, ok := mustParse(t, "f.yaml", "[ "+text+" ]").Items()[0].Decimal(); !ok || got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

func TestSuggestions(t *testing.T) {
	among := []string{"holding_register", "input_register", "coil", "title", "unit_id", "tx"}
	for word, want := range map[string]string{
		"holding_registr": "holding_register", "Title": "title", "titel": "title", "coli": "coil", "unitid": "unit_id", "ty": "", "x": "", "": "",
		"something else": "", strings.Repeat("t", 100): "", "TX": "tx",
	} {
		if got := document.Suggest(word, among); got != want {
			t.Errorf("%q suggests %q, want %q", word, got, want)
		}
	}
}
