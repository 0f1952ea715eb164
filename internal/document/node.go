package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind says what a node is.
type Kind uint8

// The kinds of a node. The kind of a map is Mapping, because Map is the reader of one.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Mapping
)

// String names the kind as it is named in messages.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "bool"
	case Number:
		return "number"
	case String:
		return "text"
	case List:
		return "list"
	case Mapping:
		return "map"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Node is one value of a document. It never changes after Parse. All methods accept a nil node, which reads as an empty
// null without a place, so that Get can be chained.
type Node struct {
	kind   Kind
	quoted bool
	place  place
	file   *string // one for all nodes of a file
	text   string
	parent *Node
	step   string // from the parent: a key, or the index in a list
	below  *below // nil for scalars, empty lists and empty maps, which are most
}

// below is what a list or map holds.
type below struct {
	items    []*Node // list items, or map values in the order of keys
	keys     []string
	keyPlace []place
	index    map[string]int // of keys, where it pays
}

// place is a Pos without its file; columns and lines are bounded by MaxBytes.
type place struct{ line, column int32 }

func placeOf(p Pos) place { return place{int32(p.Line), int32(p.Column)} }

func (n *Node) posOf(p place) Pos {
	return Pos{File: *n.file, Line: int(p.line), Column: int(p.column)}
}

// items gives what stands below a node, without a copy.
func (n *Node) items() []*Node {
	if n == nil || n.below == nil {
		return nil
	}
	return n.below.items
}

// names gives the keys of a map, without a copy.
func (n *Node) names() []string {
	if n == nil || n.below == nil {
		return nil
	}
	return n.below.keys
}

// Kind is what the node is; a nil node is Null.
func (n *Node) Kind() Kind {
	if n == nil {
		return Null
	}
	return n.kind
}

// Pos is where the value starts: the quote, the bracket, the "|", or the first key or dash of a block.
func (n *Node) Pos() Pos {
	if n == nil {
		return Pos{}
	}
	return n.posOf(n.place)
}

// Path is the way from the root, like "assets.PS07-FCV-04.points.setpoint.at" or "permits[0].when"; empty for the root.
// A key that would be misread there is quoted.
func (n *Node) Path() string {
	if n == nil || n.parent == nil {
		return ""
	}
	if n.parent.kind == List {
		return n.parent.Path() + "[" + n.step + "]"
	}
	return joinPath(n.parent.Path(), n.step)
}

func joinPath(path, key string) string {
	if key == "" || strings.ContainsAny(key, ".[]\" \n") {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// Text is a scalar as written, without its quotes and with escapes resolved; a number keeps its spelling ("0x8000",
// "1.50"). It is empty for null, lists and maps.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	return n.text
}

// Quoted says whether the text stood in quotes or in a block ("|" or ">").
func (n *Node) Quoted() bool { return n != nil && n.quoted }

// Keys gives the keys of a map in file order, nil for other kinds.
func (n *Node) Keys() []string { return slices.Clone(n.names()) }

// Get gives the value of a key, nil when absent or when the node is no map.
func (n *Node) Get(key string) *Node {
	if i := n.find(key); i >= 0 {
		return n.below.items[i]
	}
	return nil
}

// KeyPos is where a key stands; the place of the map when the key is absent.
func (n *Node) KeyPos(key string) Pos {
	if i := n.find(key); i >= 0 {
		return n.posOf(n.below.keyPlace[i])
	}
	return n.Pos()
}

// indexFrom is the number of keys from which a lookup table pays.
const indexFrom = 12

func (n *Node) find(key string) int {
	if n == nil || n.below == nil || n.kind != Mapping {
		return -1
	}
	if n.below.index == nil {
		return slices.Index(n.below.keys, key)
	}
	if i, ok := n.below.index[key]; ok {
		return i
	}
	return -1
}

// Items gives the entries of a list in order, nil for other kinds.
func (n *Node) Items() []*Node {
	if n == nil || n.kind != List {
		return nil
	}
	return slices.Clone(n.items())
}

// Without gives a map at the same place that lacks some keys, for a reader that is not to know them. Other kinds are given
// back as they are.
func (n *Node) Without(keys ...string) *Node {
	if n.Kind() != Mapping {
		return n
	}
	rest := &Node{kind: Mapping, place: n.place, file: n.file, parent: n.parent, step: n.step}
	for i, key := range n.names() {
		if !slices.Contains(keys, key) {
			rest.addKey(key, n.below.keyPlace[i], n.below.items[i])
		}
	}
	return rest
}

// Problem makes a problem at this node's place and path.
func (n *Node) Problem(rule, hint, format string, args ...any) Problem {
	return Problem{Pos: n.Pos(), Path: n.Path(), Rule: rule, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

// addItem appends to a list under construction.
func (n *Node) addItem(item *Node) {
	if n.below == nil {
		n.below = &below{}
	}
	n.below.items = append(n.below.items, item)
}

// addKey appends an entry to a map under construction and says where the key stood before, if it did.
func (n *Node) addKey(key string, at place, value *Node) (earlier place, duplicate bool) {
	if i := n.find(key); i >= 0 {
		return n.below.keyPlace[i], true
	}
	n.addItem(value)
	b := n.below
	b.keys, b.keyPlace = append(b.keys, key), append(b.keyPlace, at)
	if b.index != nil {
		b.index[key] = len(b.keys) - 1
	} else {
		b.makeIndex()
	}
	return place{}, false
}

// makeIndex makes the lookup table of a map where it pays.
func (b *below) makeIndex() {
	if len(b.keys) < indexFrom {
		return
	}
	b.index = make(map[string]int, len(b.keys))
	for i, k := range b.keys {
		b.index[k] = i
	}
}
