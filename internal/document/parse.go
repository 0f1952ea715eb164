package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Parse reads one YAML or JSON document. A file named *.json, and any bytes that are valid JSON, are read as JSON, where
// tabs are white space; everything else is YAML. The node is nil exactly when a problem that is no warning was found. An
// empty file is a null node.
func Parse(file string, data []byte) (*Node, Problems) {
	p := &parse{file: file}
	root := p.document(data)
	if p.problems.Err() != nil {
		return nil, p.problems.Sorted()
	}
	return root, p.problems
}

// parse is the work on one file.
type parse struct {
	file     string
	problems Problems
}

func (p *parse) document(data []byte) *Node {
	if len(data) > MaxBytes {
		p.refuse(Pos{File: p.file}, refusal{RuleLimit, fmt.Sprintf("the file has %d bytes, the limit is %d", len(data), MaxBytes), "split the file"})
		return nil
	}
	if !p.checkUTF8(data) {
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if strings.EqualFold(filepath.Ext(p.file), ".json") || json.Valid(data) {
		return p.json(data)
	}
	return p.yaml(strings.ReplaceAll(string(data), "\r\n", "\n"))
}

func (p *parse) checkUTF8(data []byte) bool {
	if utf8.Valid(data) {
		return true
	}
	c := cursor{file: p.file, data: data}
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			p.refuse(c.at(at), refusal{RuleEncoding, fmt.Sprintf("byte 0x%02X is not UTF-8", data[at]), "save the file as UTF-8"})
			break
		}
		at += size
	}
	return false
}

// maxProblems bounds what one parse reports; a binary file would otherwise report every line.
const maxProblems = 100

func (p *parse) refuse(at Pos, r refusal) { p.refuseAt(at, "", r) }

func (p *parse) refuseAt(at Pos, path string, r refusal) {
	if len(p.problems) < maxProblems {
		p.problems.Add(Problem{Pos: at, Path: path, Rule: r.rule, Message: r.message, Hint: r.hint})
	}
}

// newNode begins a node.
func (p *parse) newNode(at Pos, parent *Node, step string) *Node {
	return &Node{place: placeOf(at), file: &p.file, parent: parent, step: step}
}

// addKey puts a value into a map and reports a key that is there already, or that is too long to be a name.
func (p *parse) addKey(m *Node, key string, at Pos, value *Node) {
	if utf8.RuneCountInString(key) > MaxKeyLength {
		p.refuseAt(at, m.Path(), longKey(key))
	}
	if earlier, duplicate := m.addKey(key, placeOf(at), value); duplicate {
		p.refuseAt(at, joinPath(m.Path(), key), refusal{RuleDuplicateKey, fmt.Sprintf("key %q is already at %s", key, m.posOf(earlier)), "remove or rename one of them"})
	}
}

func longKey(key string) refusal {
	return refusal{RuleLimit, fmt.Sprintf("key %q is longer than %d characters", clip(key), MaxKeyLength), ""}
}

// tooDeep reports a value below the deepest level.
func (p *parse) tooDeep(at Pos, depth int) bool {
	if depth <= MaxDepth {
		return false
	}
	p.refuse(at, refusal{RuleLimit, fmt.Sprintf("maps and lists are nested deeper than %d", MaxDepth), ""})
	return true
}

// cursor turns growing byte offsets into lines and columns in one pass over the data.
type cursor struct {
	file         string
	data         []byte
	offset       int
	line, column int // of offset, from 0
}

func (c *cursor) at(offset int) Pos {
	for c.offset < offset {
		r, size := utf8.DecodeRune(c.data[c.offset:])
		c.offset += size
		c.column++
		if r == '\n' {
			c.line, c.column = c.line+1, 0
		}
	}
	return Pos{File: c.file, Line: c.line + 1, Column: c.column + 1}
}
