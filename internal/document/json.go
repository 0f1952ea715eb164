package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// jsonReader walks the tokens of one JSON document and knows where each begins.
type jsonReader struct {
	*parse
	data    []byte
	decoder *json.Decoder
	cursor  cursor
}

func (p *parse) json(data []byte) *Node {
	if !json.Valid(data) {
		p.invalidJSON(data)
		return nil
	}
	r := &jsonReader{parse: p, data: data, decoder: json.NewDecoder(bytes.NewReader(data)), cursor: cursor{file: p.file, data: data}}
	r.decoder.UseNumber()
	node, err := r.value(nil, "", 0)
	if err != nil && p.problems.Err() == nil {
		p.refuse(Pos{File: p.file}, refusal{RuleSyntax, err.Error(), ""})
	}
	return node
}

// invalidJSON reports where the JSON reader stopped.
func (p *parse) invalidJSON(data []byte) {
	if len(bytes.TrimSpace(data)) == 0 {
		p.refuse(Pos{File: p.file, Line: 1, Column: 1}, refusal{RuleSyntax, "the file is empty", "a JSON file holds one value, such as {}"})
		return
	}
	var v json.RawMessage
	err := json.Unmarshal(data, &v)
	c := cursor{file: p.file, data: data}
	at := c.at(0)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = c.at(min(max(0, int(syntax.Offset)-1), len(data)))
	}
	p.refuse(at, refusal{RuleSyntax, fmt.Sprintf("invalid JSON: %v", err), ""})
}

// next gives a token, where it begins, and its raw bytes.
func (r *jsonReader) next() (json.Token, Pos, []byte, error) {
	start := int(r.decoder.InputOffset())
	for start < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[start]) >= 0 {
		start++
	}
	t, err := r.decoder.Token()
	if err != nil {
		return nil, Pos{}, nil, err
	}
	return t, r.cursor.at(start), r.data[start:r.decoder.InputOffset()], nil
}

func (r *jsonReader) value(parent *Node, step string, depth int) (*Node, error) {
	t, at, raw, err := r.next()
	if err != nil {
		return nil, err
	}
	n := r.newNode(at, parent, step)
	switch t := t.(type) {
	case json.Delim:
		return n, r.collection(n, t, depth+1)
	case string:
		n.kind, n.quoted, n.text = String, true, t
		r.checkSurrogates(n, t, raw)
	case json.Number:
		n.text = t.String()
		var bad *refusal
		if n.kind, bad = classify(n.text); bad != nil {
			r.refuseAt(at, n.Path(), *bad)
		}
	case bool:
		n.kind, n.text = Bool, strconv.FormatBool(t)
	}
	return n, nil
}

// errStopped ends the walk after a problem that makes the rest pointless.
var errStopped = errors.New("reading stopped at the problem reported")

// collection fills a list or map up to and including its closing bracket.
func (r *jsonReader) collection(n *Node, open json.Delim, depth int) error {
	if r.tooDeep(n.Pos(), depth) {
		return errStopped
	}
	n.kind = List
	if open == '{' {
		n.kind = Mapping
	}
	for r.decoder.More() {
		if err := r.entry(n, depth); err != nil {
			return err
		}
	}
	_, _, _, err := r.next()
	return err
}

func (r *jsonReader) entry(n *Node, depth int) error {
	if n.kind == List {
		item, err := r.value(n, strconv.Itoa(len(n.items())), depth)
		n.addItem(item)
		return err
	}
	t, at, raw, err := r.next()
	if err != nil {
		return err
	}
	key, _ := t.(string) // the decoder accepts nothing else before a colon
	r.checkSurrogates(r.newNode(at, n.parent, n.step), key, raw)
	value, err := r.value(n, key, depth)
	r.addKey(n, key, at, value)
	return err
}

// checkSurrogates refuses half of a UTF-16 pair, which the decoder replaces silently.
func (r *jsonReader) checkSurrogates(n *Node, text string, raw []byte) {
	if !strings.ContainsRune(text, utf8.RuneError) || bytes.ContainsRune(raw, utf8.RuneError) || bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`)) {
		return
	}
	r.refuseAt(n.Pos(), n.Path(), refusal{RuleEncoding, "the text has half of a UTF-16 surrogate pair", `write both halves, or the character itself`})
}
