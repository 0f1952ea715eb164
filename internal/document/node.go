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
	pos    Pos
	text   string
	parent *Node
	step   string // from the parent: a key, or the index in a list
	keys   []string
	keyPos []Pos
	items  []*Node // list items, or map values in the order of keys
	index  map[string]int
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
	return n.pos
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
func (n *Node) Keys() []string {
	if n == nil {
		return nil
	}
	return slices.Clone(n.keys)
}

// Get gives the value of a key, nil when absent or when the node is no map.
func (n *Node) Get(key string) *Node {
	if i := n.find(key); i >= 0 {
		return n.items[i]
	}
	return nil
}

// KeyPos is where a key stands; the place of the map when the key is absent.
func (n *Node) KeyPos(key string) Pos {
	if i := n.find(key); i >= 0 {
		return n.keyPos[i]
	}
	return n.Pos()
}

// indexFrom is the number of keys from which a lookup table pays.
const indexFrom = 12

func (n *Node) find(key string) int {
	if n == nil || n.kind != Mapping {
		return -1
	}
	if n.index == nil {
		return slices.Index(n.keys, key)
	}
	if i, ok := n.index[key]; ok {
		return i
	}
	return -1
}

// Items gives the entries of a list in order, nil for other kinds.
func (n *Node) Items() []*Node {
	if n == nil || n.kind != List {
		return nil
	}
	return slices.Clone(n.items)
}

// Without gives a map at the same place that lacks some keys, for a reader that is not to know them. Other kinds are given
// back as they are.
func (n *Node) Without(keys ...string) *Node {
	if n.Kind() != Mapping {
		return n
	}
	rest := &Node{kind: Mapping, pos: n.pos, parent: n.parent, step: n.step}
	for i, key := range n.keys {
		if !slices.Contains(keys, key) {
			rest.addKey(key, n.keyPos[i], n.items[i])
		}
	}
	return rest
}

// Problem makes a problem at this node's place and path.
func (n *Node) Problem(rule, hint, format string, args ...any) Problem {
	return Problem{Pos: n.Pos(), Path: n.Path(), Rule: rule, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

// addKey appends an entry to a map under construction and says where the key stood before, if it did.
func (n *Node) addKey(key string, at Pos, value *Node) (earlier Pos, duplicate bool) {
	if i := n.find(key); i >= 0 {
		return n.keyPos[i], true
	}
	n.keys, n.keyPos, n.items = append(n.keys, key), append(n.keyPos, at), append(n.items, value)
	switch {
	case n.index != nil:
		n.index[key] = len(n.keys) - 1
	case len(n.keys) == indexFrom:
		n.index = make(map[string]int, 2*indexFrom)
		for i, k := range n.keys {
			n.index[k] = i
		}
	}
	return Pos{}, false
}
