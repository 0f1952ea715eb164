package document_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"capd/internal/document"
)

func mustParse(t *testing.T, file, text string) *document.Node {
	t.Helper()
	n, ps := document.Parse(file, []byte(text))
	if err := ps.Err(); err != nil {
		t.Fatalf("parse %q: %v", text, err)
	}
	return n
}

// outline writes a tree with the line and column of every key and value.
func outline(n *document.Node) string {
	at := fmt.Sprintf("@%d:%d", n.Pos().Line, n.Pos().Column)
	var parts []string
	switch n.Kind() {
	case document.Mapping:
		for _, key := range n.Keys() {
			p := n.KeyPos(key)
			parts = append(parts, fmt.Sprintf("%s@%d:%d=%s", key, p.Line, p.Column, outline(n.Get(key))))
		}
		return "{" + strings.Join(parts, " ") + "}" + at
	case document.List:
		for _, item := range n.Items() {
			parts = append(parts, outline(item))
		}
		return "[" + strings.Join(parts, " ") + "]" + at
	case document.Null:
		return "null"
	}
	return n.Text() + at
}

func TestEveryKeyAndValueKnowsItsPlace(t *testing.T) {
	for _, c := range []struct{ name, file, text, want string }{
		{"block", "a.yaml", "a: 1\nbb:\n  c:  x\n", "{a@1:1=1@1:4 bb@2:1={c@3:3=x@3:7}@3:3}@1:1"},
		{"nested flow", "a.yaml", "{a: {b: 1}}", "{a@1:2={b@1:6=1@1:9}@1:5}@1:1"},
		{"flow over lines", "a.yaml", "p: {a: 1,\n    b: [x,\n  'y']}\n", "{p@1:1={a@1:5=1@1:8 b@2:5=[x@2:9 y@3:3]@2:8}@1:4}@1:1"},
		{"lists", "a.yaml", "l:\n- a\n- b: c\n  d: e\n- - f\n", "{l@1:1=[a@2:3 {b@3:3=c@3:6 d@4:3=e@4:6}@3:3 [f@5:5]@5:3]@2:1}@1:1"},
		{"block text", "a.yaml", "t: |\n  x\n  y\nu: >-\n  v\n  w\nz: 1\n", "{t@1:1=x\ny\n@1:4 u@4:1=v w@4:4 z@7:1=1@7:4}@1:1"},
		{"columns are characters", "a.yaml", "出口: {阀: é, b: 1}\n", "{出口@1:1={阀@1:6=é@1:9 b@1:12=1@1:15}@1:5}@1:1"},
		{"windows lines and mark", "a.yaml", "\uFEFFa: 1\r\nb: 'x'\r\n", "{a@1:1=1@1:4 b@2:1=x@2:4}@1:1"},
		{"text over lines", "a.yaml", "a: one\n  two\nb: \"c\n  d\"\ne: 1\n", "{a@1:1=one two@1:4 b@3:1=c d@3:4 e@5:1=1@5:4}@1:1"},
		{"comments", "a.yaml", "# head\na: 1 # one\n\n# mid\nb: 2\n", "{a@2:1=1@2:4 b@5:1=2@5:4}@2:1"},
		{"markers", "a.yaml", "---\na: 1\n...\n# end\n", "{a@2:1=1@2:4}@2:1"},
		{"json", "a.json", "{\n\t\"a\": {\"b\" : [1, \"x\", null, {\"é\": true}]},\r\n \"c\":\"\\u00e9\"}", "{a@2:2={b@2:8=[1@2:15 x@2:18 null {é@2:30=true@2:35}@2:29]@2:14}@2:7 c@3:2=é@3:6}@1:1"},
		{"json by content", "a.yaml", "{\"a\":\t[{\"b\":1}]}", "{a@1:2=[{b@1:9=1@1:13}@1:8]@1:7}@1:1"},
		{"empty values", "a.yaml", "a:\nb:\ne: ~\n-1: []\n", "{a@1:1=null b@2:1=null e@3:1=null -1@4:1=[]@4:5}@1:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := outline(mustParse(t, c.file, c.text)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAnUnquotedScalarMeansOneThing(t *testing.T) {
	for text, want := range map[string]document.Kind{
		"on": document.String, "off": document.String, "yes": document.String, "No": document.String, "y": document.String, "N": document.String,
		"true": document.Bool, "false": document.Bool, "null": document.Null, "~": document.Null, "": document.Null,
		"0": document.Number, "-12": document.Number, "0.1": document.Number, "1e5": document.Number, "-1.5E-3": document.Number, "0x8000": document.Number,
		"18446744073709551616": document.Number, "2026-07-28": document.String, "2026-07-28T10:00:00Z": document.String, "12:30": document.String,
		"1.0.0": document.String, "10.1.2.3": document.String, "250ms": document.String, "1-2": document.String, ".": document.String, "-x": document.String,
		"nan": document.String, "inf": document.String, "Infinity": document.String, "0xZZ": document.String, "a_1": document.String, "e5": document.String,
		"'1'": document.String, `"true"`: document.String, "'null'": document.String, "capd/v1": document.String, "a:b": document.String, "http://x/#y": document.String,
	} {
		n := mustParse(t, "a.yaml", "v: "+text+"\n").Get("v")
		if n.Kind() != want {
			t.Errorf("%s is read as %s, want %s", text, n.Kind(), want)
		}
		if trimmed := strings.Trim(text, `'"`); want != document.Null && n.Text() != trimmed {
			t.Errorf("%s has the text %q", text, n.Text())
		}
		if quoted := strings.ContainsAny(text, `'"`); n.Quoted() != quoted {
			t.Errorf("%s is quoted: %v", text, n.Quoted())
		}
	}
}

func TestAnAmbiguousScalarIsRefusedWithAdvice(t *testing.T) {
	for text, advice := range map[string]string{
		"0123": "write 123", "-07": "leading zero", "00": "leading zero", "0123.5": "leading zero", "1_000": "write 1000", "+5": "write 5", ".5": "0.5", "5.": "write a digit after the point, or none: 5",
		".inf": "no value of a plant", "-.INF": "no value of a plant", ".NaN": "no value of a plant", "0o17": "decimal", "0b11": "decimal", "0X1F": "0x", "-0x10": "without a sign",
		"True": "write true", "FALSE": "write false", "Null": "write null", strings.Repeat("1", 65): "longer", "0x" + strings.Repeat("f", 17): "64 bits",
	} {
		for _, doc := range []string{"a:\n  v: " + text + "\n", "a:\n  " + text + ": v\n"} {
			_, ps := document.Parse("f.yaml", []byte(doc))
			if len(ps) != 1 || !strings.Contains(ps[0].Error(), advice) || ps[0].Pos.Line != 2 {
				t.Errorf("%q: want advice %q, got %v", doc, advice, ps)
			}
		}
	}
}

func TestKeysOfLabelsAreTheirLiteralText(t *testing.T) {
	n := mustParse(t, "a.yaml", "labels: {0: off, 1: on, true: yes, 0x10: 'no', on: x, \"1.5\": y}\n").Get("labels")
	if want := []string{"0", "1", "true", "0x10", "on", "1.5"}; !reflect.DeepEqual(n.Keys(), want) {
		t.Errorf("keys %q, want %q", n.Keys(), want)
	}
	if got := n.Get("0"); got.Kind() != document.String || got.Text() != "off" {
		t.Errorf("label 0 is %s %q", got.Kind(), got.Text())
	}
	for _, key := range []string{"1.5", "null", "~", "1e3"} {
		if _, ps := document.Parse("a.yaml", []byte("a: {"+key+": x}\n")); ps.Err() == nil {
			t.Errorf("key %s is accepted", key)
		}
	}
}

func TestWhatIsRefusedAndWhere(t *testing.T) {
	deep := strings.Repeat("[", document.MaxDepth+1)
	for _, c := range []struct{ name, file, text, want string }{
		{"tab", "f.yaml", "a:\n\tb: 1\n", "f.yaml:2:1: a tab is not accepted"},
		{"tab in a comment", "f.yaml", "a: 1\t# x\n", "f.yaml:1:5: a tab"},
		{"anchor", "f.yaml", "a: &x 1\n", "f.yaml:1:4: anchors"},
		{"alias", "f.yaml", "a: 1\nb: *x\n", "f.yaml:2:4: aliases"},
		{"merge key", "f.yaml", "a:\n  <<: {b: 1}\n", "f.yaml:2:3: merge keys"},
		{"tag", "f.yaml", "a: !!str 1\n", "tags (!name)"},
		{"tag at the very end", "f.yaml", "a: !x", "tags (!name)"},
		{"directive", "f.yaml", "%YAML 1.2\n---\na: 1\n", "f.yaml:1:1: directives"},
		{"complex key", "f.yaml", "? a\n: 1\n", "f.yaml:1:1: complex keys"},
		{"duplicate", "f.yaml", "m:\n  a: 1\n  b: 2\n  a: 3\n", `f.yaml:4:3: m.a: key "a" is already at f.yaml:2:3`},
		{"duplicate in flow", "f.yaml", "{a: 1, 'a': 2}\n", `f.yaml:1:8: a: key "a" is already at f.yaml:1:2`},
		{"duplicate in json", "f.json", `{"a": 1, "a": 2}`, `f.json:1:10: a: key "a" is already at f.json:1:2`},
		{"second document", "f.yaml", "a: 1\n---\nb: 2\n", "f.yaml:2:1: a second document"},
		{"document after the end", "f.yaml", "a: 1\n...\nb: 2\n", "f.yaml:3:1: a second document"},
		{"second json", "f.json", "{}\n{}", "f.json:2:1: invalid JSON"},
		{"json syntax", "f.json", "{\n  \"a\": 01\n}", "f.json:2:9: invalid JSON"},
		{"json end", "f.json", "{\"a\": 1", "f.json:1:7: invalid JSON"},
		{"empty json", "f.json", " \n", "f.json:1:1: the file is empty"},
		{"half a character", "f.json", `{"a": "\ud800"}`, "f.json:1:7: a: the text has half"},
		{"half a character in yaml", "f.yaml", "a: \"\\udc00\"\n", `f.yaml:1:4: a: escape \udc00`},
		{"escape", "f.yaml", "a: \"x\n  \\xZZ\"\n", `f.yaml:1:4: a: escape \xZZ`},
		{"not utf-8", "f.yaml", "a: 1\nb: \xff\n", "f.yaml:2:4: byte 0xFF is not UTF-8"},
		{"control character", "f.yaml", "a: x\x00y\n", "f.yaml:1:5: control character U+0000"},
		{"old mac lines", "f.yaml", "a: 1\rb: 2\r", "f.yaml:1:5: a carriage return"},
		{"conflict", "f.yaml", "a: 1\n<<<<<<< HEAD\nb: 2\n", "f.yaml:2:1: a merge conflict marker"},
		{"deep flow", "f.yaml", "a: " + deep + strings.Repeat("]", document.MaxDepth+1), "nested deeper than 64"},
		{"very deep flow", "f.yaml", strings.Repeat("[", 100_000), "nested deeper than 64"},
		{"very deep list", "f.yaml", strings.Repeat("- ", 100_000) + "a", "nested deeper than 64"},
		{"deep json", "f.json", deep + strings.Repeat("]", document.MaxDepth+1), "f.json:1:65: maps and lists are nested deeper than 64"},
		{"size", "f.yaml", strings.Repeat("#", document.MaxBytes+1), "f.yaml: the file has 4194305 bytes"},
		{"long key", "f.yaml", strings.Repeat("k", 257) + ": 1\n", "longer than 256 characters"},
		{"many keys", "f.yaml", manyKeys(document.MaxKeys + 1), "f.yaml:10001:1: more than 10000 keys"},
		{"unclosed", "f.yaml", "a: [1, 2\nb: 3\n", "f.yaml:"},
		{"unclosed quote", "f.yaml", "a: 1\nb: \"x\n", "f.yaml:2:4: "},
		{"text in text", "f.yaml", "a: b: c\n", "f.yaml:1:4: "},
		{"item left of its dash", "f.yaml", "k:\n-\nb: 1\n", "must stand further to the right"},
		{"value left of its key", "f.yaml", "  k:\n v\n", "f.yaml:"},
		{"dash in a text", "f.yaml", "a: b\n  - c\n", "is not clear"},
		{"blank line in a text", "f.yaml", "a: b\n\n  c\n", "is not clear"},
		{"no space after colon", "f.yaml", "a: {b:1}\n", `f.yaml:1:6: a: a space is missing after ":"`},
		{"no value in flow", "f.yaml", "a: {b: , c: 1}\n", "f.yaml:1:6: a value is missing"},
		{"list in the wrong brackets", "f.yaml", "a: {b: 1, c, d}\n", `f.yaml:1:11: key "c" has no value`},
		{"many absent values", "f.yaml", strings.Repeat("-\n", 2_000), "more than 1000 values are absent"},
		{"many absent values of keys", "f.yaml", manyAbsent(), "more than 1000 values are absent"},
		{"pair in a list", "f.yaml", "a: [b: 1]\n", "needs its own map"},
		{"indicator", "f.yaml", "a: ?x\n", `may not begin with "?"`},
		{"percent", "f.yaml", "{unit: %}\n", "f.yaml:1:8: "},
		{"block header", "f.yaml", "a: |2\n   x\n", `block header "|2"`},
		{"dots", "f.yaml", "...b: 1\n", `may not begin with "..."`},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, ps := document.Parse(c.file, []byte(c.text))
			if n != nil || ps.Err() == nil {
				t.Fatalf("accepted as %v", n.Any())
			}
			if !strings.Contains(ps.Error(), c.want) {
				t.Errorf("got %v\nwant %s", ps, c.want)
			}
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: 1\n", i)
	}
	return b.String()
}

func manyAbsent() string {
	return strings.ReplaceAll(manyKeys(document.MaxAbsent+1), ": 1", ":")
}

func TestProblemsOfAFileAreCollectedInOrder(t *testing.T) {
	_, ps := document.Parse("f.yaml", []byte("a: 0123\nb: {c: True, c: 1}\nd: .5\n"))
	var lines []string
	for _, p := range ps {
		lines = append(lines, fmt.Sprintf("%d:%d %s %s", p.Pos.Line, p.Pos.Column, p.Rule, p.Path))
	}
	if want := []string{"1:4 ambiguous a", "2:8 ambiguous b.c", "2:14 duplicate_key b.c", "3:4 ambiguous d"}; !reflect.DeepEqual(lines, want) {
		t.Errorf("got %q\nwant %q", lines, want)
	}
}

func TestPathsNameTheWay(t *testing.T) {
	n := mustParse(t, "f.yaml", "assets: {PS07-FCV-04: {permits: [{when: x}, {a.b: [y]}]}}\n")
	permits := n.Get("assets").Get("PS07-FCV-04").Get("permits")
	if got := permits.Items()[0].Get("when").Path(); got != "assets.PS07-FCV-04.permits[0].when" {
		t.Error(got)
	}
	if got := permits.Items()[1].Get("a.b").Items()[0].Path(); got != `assets.PS07-FCV-04.permits[1]."a.b"[0]` {
		t.Error(got)
	}
	if got := n.Path(); got != "" {
		t.Error(got)
	}
}

func TestJSONKeepsOrderAndDigits(t *testing.T) {
	n := mustParse(t, "f.yaml", "z: 1.50\na: [0x8000, on, true, null, 1e3, \"<&>\", 18446744073709551616]\nm: {}\nl: []\n")
	got, err := n.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"z":1.50,"a":[32768,"on",true,null,1e3,"<&>",18446744073709551616],"m":{},"l":[]}`; string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	want := map[string]any{"z": json.Number("1.50"), "a": []any{json.Number("32768"), "on", true, nil, json.Number("1e3"), "<&>", json.Number("18446744073709551616")},
		"m": map[string]any{}, "l": []any{}}
	if got := n.Any(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v", got)
	}
}

func TestANilNodeIsAnEmptyNull(t *testing.T) {
	var n *document.Node
	if n.Kind() != document.Null || n.Get("a").Get("b") != nil || n.Text() != "" || n.Path() != "" || n.Any() != nil || n.Keys() != nil || n.Items() != nil || n.Pos() != (document.Pos{}) {
		t.Error("a nil node has something in it")
	}
	if got, err := n.JSON(); err != nil || string(got) != "null" {
		t.Errorf("%s %v", got, err)
	}
}

func TestWithoutLeavesKeysOut(t *testing.T) {
	n := mustParse(t, "f.yaml", "x: {a: 1, b: 2, c: 3}\n").Get("x")
	rest := n.Without("b", "none")
	if got := rest.Keys(); !reflect.DeepEqual(got, []string{"a", "c"}) || rest.Pos() != n.Pos() || rest.Get("c").Path() != "x.c" || n.Get("b") == nil {
		t.Errorf("keys %q at %s", got, rest.Pos())
	}
}

func TestAnEmptyFileIsNull(t *testing.T) {
	for _, text := range []string{"", "\n", "# only a comment\n", "---\n"} {
		if n := mustParse(t, "f.yaml", text); n.Kind() != document.Null || n.Pos().Line != 1 {
			t.Errorf("%q is %s at %s", text, n.Kind(), n.Pos())
		}
	}
}

func TestTextOfAProblem(t *testing.T) {
	p := document.Problem{Pos: document.Pos{File: "a.yaml", Line: 3, Column: 5}, Path: "x.y", Message: "bad", Hint: "write good"}
	if got := p.Error(); got != "a.yaml:3:5: x.y: bad; write good" {
		t.Error(got)
	}
	if got := (document.Problem{Pos: document.Pos{File: "a.yaml"}, Message: "bad"}).Error(); got != "a.yaml: bad" {
		t.Error(got)
	}
	warnings := document.Problems{{Message: "w", Warning: true}}
	if warnings.Err() != nil {
		t.Error("a warning is an error")
	}
	warnings.Add(p)
	if warnings.Err() == nil {
		t.Error("a problem is none")
	}
}
