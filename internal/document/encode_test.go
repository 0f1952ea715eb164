package document_test

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"capd/internal/document"
)

// comesBack encodes what Parse gives and wants exactly that back: kinds, texts, quotes, order, places, parents, tables.
func comesBack(t *testing.T, file string, data []byte) (read bool) {
	t.Helper()
	n, ps := document.Parse(file, data)
	if ps.Err() != nil {
		return false
	}
	encoded, err := document.Encode(n)
	if err != nil {
		t.Fatalf("%q: %v", data, err)
	}
	back, err := document.Decode(file, encoded)
	if err != nil || !reflect.DeepEqual(n, back) {
		t.Fatalf("%q came back as %s, %v, and not as %s", data, outline(back), err, outline(n))
	}
	return true
}

func TestAnEncodedTreeComesBackAsItWas(t *testing.T) {
	many := make([]string, 200)
	for i := range many {
		many[i] = fmt.Sprintf("k%d: %d", i, i)
	}
	for name, text := range map[string]string{
		"nothing":         "",
		"null":            "~",
		"one text":        "x",
		"all kinds":       "a: 1\nb: true\nc: ~\nd:\ne: 'q'\nf: \"1\"\ng: |\n  t\n  u\nh: [1, [], {}, {x: null}]\n",
		"spellings":       "[0x8000, 1.50, 1e3, -0, 1.0.0, 2026-07-28, 12:30, yes, off, '', \"\\u0000\\n\"]",
		"not ASCII":       "出口: {阀: é, \"b\": 🙂}\n",
		"few keys":        strings.Join(many[:11], "\n"),
		"a table of keys": strings.Join(many[:12], "\n"),
		"many keys":       strings.Join(many, "\n"),
		"comments":        "# one\n\n\na: 1 # two\n# three\n",
		"long lines":      "a: [" + strings.Repeat("1, ", 300) + "{b: 1}]\n" + strings.Repeat("#\n", 300) + "c: 1",
		"deepest":         strings.Repeat("[", document.MaxDepth) + "1" + strings.Repeat("]", document.MaxDepth),
		"deepest maps":    strings.Repeat("{a: ", document.MaxDepth) + "1" + strings.Repeat("}", document.MaxDepth),
		"windows lines":   "\uFEFFa: 1\r\nb: 'x'\r\n",
		"json":            "{\n\t\"a\": {\"b\" : [1, \"x\", null, {\"é\": true}]},\r\n \"c\":\"\\u00e9\"}",
	} {
		for _, file := range []string{"a.yaml", "contracts.d/a.json", ""} {
			if !comesBack(t, file, []byte(text)) && file == "a.yaml" {
				t.Errorf("%s is no longer a document", name)
			}
		}
	}
}

func TestTheFilesOfThisProjectComeBackAsTheyWere(t *testing.T) {
	read := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && comesBack(t, path, data) {
			read++
		}
		return err
	})
	if err != nil || read < 20 {
		t.Errorf("%d files, %v", read, err)
	}
}

// writer writes random documents of many forms.
type writer struct {
	*rand.Rand
	strings.Builder
}

func (w *writer) pick(texts ...string) string { return texts[w.IntN(len(texts))] }

func (w *writer) value(indent int) {
	switch kind := w.IntN(7); {
	case kind < 2 && indent < 8:
		w.WriteString(w.pick("\n", " # c\n", "\n\n# c\n"))
		for i := range 1 + w.IntN(w.IntN(15)+1) {
			fmt.Fprintf(w, "%*s%s%d:", indent, "", w.pick("k", "'q'k", "阀", "- "), i)
			w.value(indent + 2)
		}
	case kind < 4 && indent < 8:
		w.WriteString("\n")
		for range 1 + w.IntN(3) {
			fmt.Fprintf(w, "%*s-", indent, "")
			w.value(indent + 2)
		}
	default:
		w.WriteString(w.pick(" 1", " 0x1F", " -1.50e3", "", " ~", " true", " text of words", " 'it''s'", ` "\u00e9 \""`, " [1, x, {a: b}]", " {a: [], 阀: {}}",
			fmt.Sprintf(" |\n%*st\n%*su", indent, "", indent, "")) + w.pick("\n", "\n", "\n\n", "\r\n"))
	}
}

func TestRandomDocumentsComeBackAsTheyWere(t *testing.T) {
	read := 0
	for seed := range uint64(1500) {
		w := writer{Rand: rand.New(rand.NewPCG(seed, 0))}
		w.WriteString("a:")
		w.value(2)
		if comesBack(t, "a.yaml", []byte(w.String())) {
			read++
		}
	}
	if read < 300 {
		t.Errorf("only %d of the documents are accepted: the test proves little", read)
	}
}

func TestATreeThatIsNoneOfParseIsNotEncoded(t *testing.T) {
	if data, err := document.Encode(nil); err == nil {
		t.Errorf("nothing became %q", data)
	}
	n := mustParse(t, "a.yaml", "a: {b: 1, c: [2]}\nd: 2\n")
	for what, part := range map[string]*document.Node{"a part": n.Get("a"), "a tree without a key": n.Without("d")} {
		if data, err := document.Encode(part); err == nil {
			t.Errorf("%s became %q", what, data)
		}
	}
}

func TestBytesThatAreNoEncodedTreeAreRefused(t *testing.T) {
	n := mustParse(t, "a.yaml", "a: {b: 1, c: [2, x]}\nd: 2\n")
	good, err := document.Encode(n)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, data []byte) {
		t.Helper()
		if got, err := document.Decode("a.yaml", data); err == nil || got != nil {
			t.Errorf("%s: read as %s", what, outline(got))
		}
	}
	for cut := range good {
		refused(fmt.Sprintf("cut to %d bytes", cut), good[:cut])
	}
	refused("longer", append(slices.Clone(good), 0))
	refused("of a later format", append([]byte{good[0] + 1}, good[1:]...))
	refused("of an unknown kind", slices.Concat(good[:2], []byte{0x7F}, good[3:]))
	node := []byte{byte(document.List), 0, 1, 1}
	refused("too deep", slices.Concat([]byte{good[0], document.MaxDepth + 2}, slices.Repeat(node, document.MaxDepth+1), []byte{0, 0, 1, 0}))
	refused("of more nodes than there are bytes", slices.Concat(binary.AppendUvarint(good[:1:1], 1<<30), good[2:]))
	refused("huge", make([]byte, document.MaxEncoded+1))
}
