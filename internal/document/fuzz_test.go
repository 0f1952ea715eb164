package document_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"capd/internal/document"
)

func seed(f *testing.F) {
	for _, text := range []string{
		"a: 1\nb: [1, 2, {c: d}]\n", "a:\n  - b\n  - c: d\n    e: f\n", "x: |\n  text\n  more\ny: >-\n  fold\n  ed\n", `{a: {b: 1}, c: [x, 'y', "z\u0041"]}`,
		"a: 'it''s'\n# c\nb: \"q\" # d\n", "? a\n: b\n", "a: &x 1\nb: *x\n", "---\na: 1\n...\n", "- - a\n  - b\n-\n  c: d\n", "a: b\n  c\n  d\ne: f\n",
		"labels: {0: off, 1: on}\n", "a: 0x80\n", "a: !!str 1\n", "k:\n- a\n- b\nl: x\n", "a: http://x:1/y\n", "{\"a\": [1e5, null, true]}", "a: \"\\x41\\ud83d\\ude00\"\n",
		"a:\r\n  b: 1\r\n", "\uFEFFa: 1\n", "a: 0123\n", "a: {a: 1, a: 2}\n", "\"\\ud800\"",
	} {
		f.Add([]byte(text))
	}
}

// FuzzParse: whatever the bytes, the answer is a tree or problems, every node stands where its text is, and a tree
// written as JSON reads as the same tree.
func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		n, ps := document.Parse("f.yaml", data)
		if (n == nil) != (ps.Err() != nil) {
			t.Fatalf("node %v with problems %v", n, ps)
		}
		for _, p := range ps {
			if p.Message == "" || p.Rule == "" || p.Pos.Line > bytes.Count(data, []byte("\n"))+2 {
				t.Errorf("problem %#v", p)
			}
		}
		if n == nil {
			return
		}
		checkPlaces(t, n, strings.Split(strings.TrimPrefix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\uFEFF"), "\n"))
		written, err := n.JSON()
		if err != nil {
			t.Fatal(err)
		}
		again, ps := document.Parse("f.json", written)
		if err := ps.Err(); err != nil {
			t.Fatalf("%s is refused: %v", written, err)
		}
		if !reflect.DeepEqual(n.Any(), again.Any()) {
			t.Fatalf("%#v became %#v", n.Any(), again.Any())
		}
	})
}

// checkPlaces holds each node and key against the line it says it stands on.
func checkPlaces(t *testing.T, n *document.Node, lines []string) {
	for _, item := range n.Items() {
		checkPlaces(t, item, lines)
	}
	for _, key := range n.Keys() {
		rest := textAt(t, n.KeyPos(key), lines)
		if quoted := strings.HasPrefix(rest, `"`) || strings.HasPrefix(rest, "'"); !quoted && !strings.HasPrefix(rest, firstWord(key)) {
			t.Errorf("key %q is said to stand at %s: %q", key, n.KeyPos(key), rest)
		}
		checkPlaces(t, n.Get(key), lines)
	}
	if n.Kind() == document.Null {
		return // an absent value has no text
	}
	rest := textAt(t, n.Pos(), lines)
	switch ok := true; n.Kind() {
	case document.String:
		if ok = strings.HasPrefix(rest, firstWord(n.Text())); n.Quoted() {
			ok = rest != "" && strings.Contains(`'"|>`, rest[:1])
		}
		fallthrough
	case document.Number, document.Bool:
		if ok = ok && (n.Quoted() || strings.HasPrefix(rest, firstWord(n.Text()))); !ok {
			t.Errorf("%s %q is said to stand at %s: %q", n.Kind(), n.Text(), n.Pos(), rest)
		}
	}
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

func textAt(t *testing.T, p document.Pos, lines []string) string {
	if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > utf8.RuneCountInString(lines[p.Line-1])+1 {
		t.Fatalf("place %s is outside the file", p)
	}
	return string([]rune(lines[p.Line-1])[p.Column-1:])
}

// FuzzJSON: what Go's decoder reads, Parse reads to the same value, unless it says why not.
func FuzzJSON(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		n, ps := document.Parse("f.json", data)
		decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\uFEFF"))))
		decoder.UseNumber()
		var want any
		if err := decoder.Decode(&want); err != nil || decoder.More() {
			if ps.Err() == nil {
				t.Fatalf("%q is accepted, but is no JSON: %v", data, err)
			}
			return
		}
		if ps.Err() == nil && !reflect.DeepEqual(n.Any(), want) {
			t.Fatalf("%#v instead of %#v", n.Any(), want)
		}
	})
}

// FuzzReader: no document makes the reader fail otherwise than by problems that have a place.
func FuzzReader(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		n, _ := document.Parse("f.yaml", data)
		var ps document.Problems
		readAll(document.NewMap(n, &ps), 0)
		for _, p := range ps {
			if p.Pos.Line < 1 || p.Pos.Column < 1 || p.Message == "" || p.Rule == "" {
				t.Errorf("problem %#v", p)
			}
		}
	})
}

func readAll(m *document.Map, depth int) {
	m.Required("a", "nobody has this")
	m.Each(func(key string, n *document.Node) {
		m.String(key)
		m.Strings(key)
		m.Bool(key)
		m.Int(key)
		m.Decimal(key)
		m.Duration(key)
		m.Enum(key, "a", "on", "true")
		m.List(key)
		if n.Kind() == document.Mapping && depth < 3 {
			readAll(m.Map(key), depth+1)
		}
	})
	m.Done()
}

// FuzzEncode: whatever Parse reads comes back from its encoded form as it was.
func FuzzEncode(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		comesBack(t, "f.yaml", data)
		comesBack(t, "f.json", data)
	})
}

// FuzzDecode: whatever the bytes, the answer is an error or a tree, in memory in proportion; and such a tree, if it could be one of
// Parse, is encoded and comes back.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{"", "a: 1\nb: [1, 2, {c: d}]\n", "{a: {b: 1}, c: [x, 'y', \"z\"]}", "a:\n\n\n  - b: |\n      c\n"} {
		n, _ := document.Parse("f.yaml", []byte(text))
		data, err := document.Encode(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := document.Decode("f.yaml", data)
		if (n == nil) != (err != nil) {
			t.Fatalf("tree %v with error %v", n, err)
		}
		if n == nil {
			return
		}
		if size := count(n); size > len(data) {
			t.Fatalf("%d nodes of %d bytes", size, len(data))
		}
		again, err := document.Encode(n)
		if err != nil {
			return // two equal keys: no tree of Parse
		}
		if back, err := document.Decode("f.yaml", again); err != nil || !reflect.DeepEqual(n, back) {
			t.Fatalf("%x became %x, %v", data, again, err)
		}
	})
}

func count(n *document.Node) int {
	all := 1
	for _, item := range n.Items() {
		all += count(item)
	}
	for _, key := range n.Keys() {
		all += count(n.Get(key))
	}
	return all
}
