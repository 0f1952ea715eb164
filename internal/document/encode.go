package document

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The compact form of a tree, for a cache: Decode gives back what Parse gave, places included, many times faster than a parse.
//
//	tree    = format nodes node              nodes is the number of nodes
//	node    = shape place scalar             of null, bool, number, text
//	        | shape place count node*        of a list
//	        | shape place count entry*       of a map
//	entry   = text place node                the key, where it stands, its value
//	scalar  = text
//	text    = length byte*
//	place   = line column                    line counts from the place before it in the tree and is signed
//	shape   = a byte: the kind, plus quotedFlag
//
// All numbers are varints as in encoding/binary. The name of the file is not part of it.
const (
	encodingFormat = 1 // rises with every change of the above
	quotedFlag     = 0x80
	leastNode      = 4 // bytes of the smallest node
)

// MaxEncoded is the largest encoded tree, in bytes: some four times the largest file that has one.
const MaxEncoded = 4 * MaxBytes

// Encode writes the tree below root, which Parse gave, in the compact form that Decode of the same program reads. It is an
// error, and costs only time, if the tree is too large or would not come back as it is.
func Encode(root *Node) ([]byte, error) {
	if root == nil {
		return nil, errors.New("document: nothing to encode")
	}
	file := root.Pos().File
	var e encoder
	e.node(root)
	data := append(binary.AppendUvarint([]byte{encodingFormat}, uint64(e.nodes)), e.data...)
	if len(data) > MaxEncoded {
		return nil, fmt.Errorf("document: encode %s: %d bytes are more than %d", file, len(data), MaxEncoded)
	}
	back, err := Decode(file, data)
	if err != nil {
		return nil, fmt.Errorf("document: encode %s: %w", file, err)
	}
	if !same(root, back) {
		return nil, fmt.Errorf("document: encode %s: the tree does not come back as it is", file)
	}
	return data, nil
}

type encoder struct {
	data  []byte
	nodes int
	line  int32 // of the place written last
}

func (e *encoder) number(n int) { e.data = binary.AppendUvarint(e.data, uint64(n)) }

func (e *encoder) text(s string) {
	e.number(len(s))
	e.data = append(e.data, s...)
}

func (e *encoder) place(p place) {
	e.data = binary.AppendVarint(e.data, int64(p.line)-int64(e.line))
	e.number(int(p.column))
	e.line = p.line
}

func (e *encoder) node(n *Node) {
	e.nodes++
	shape := byte(n.kind)
	if n.quoted {
		shape |= quotedFlag
	}
	e.data = append(e.data, shape)
	e.place(n.place)
	switch n.kind {
	case List:
		e.number(len(n.items()))
		for _, item := range n.items() {
			e.node(item)
		}
	case Mapping:
		e.number(len(n.items()))
		for i, item := range n.items() {
			e.text(n.below.keys[i])
			e.place(n.below.keyPlace[i])
			e.node(item)
		}
	default:
		e.text(n.text)
	}
}

// same reports whether two trees cannot be told apart by any reader. It looks at every field of a node; of the table of keys, at
// what it finds.
func same(a, b *Node) bool {
	if a.kind != b.kind || a.quoted != b.quoted || a.Pos() != b.Pos() || a.text != b.text || a.step != b.step || (a.parent == nil) != (b.parent == nil) ||
		len(a.items()) != len(b.items()) || len(a.names()) != len(b.names()) {
		return false
	}
	for i, key := range a.names() {
		if key != b.below.keys[i] || a.below.keyPlace[i] != b.below.keyPlace[i] || a.find(key) != i || b.find(key) != i {
			return false
		}
	}
	for i, item := range a.items() {
		if other := b.below.items[i]; item.parent != a || other.parent != b || !same(item, other) {
			return false
		}
	}
	return true
}
