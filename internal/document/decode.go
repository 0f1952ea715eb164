package document

import (
	"encoding/binary"
	"errors"
	"math"
	"strconv"
)

// errEncoding is what Decode says of bytes that Encode of this program did not write.
var errEncoding = errors.New("document: this is not a tree as this program encodes it")

// Decode gives back the tree that Encode wrote, as Parse of the file of that name gave it. Whatever the bytes are, it gives a
// tree or an error, and takes memory in proportion to them.
func Decode(file string, data []byte) (*Node, error) {
	if len(data) == 0 || len(data) > MaxEncoded || data[0] != encodingFormat {
		return nil, errEncoding
	}
	d := decoder{file: &file, data: data, text: string(data), at: 1}
	count := d.number()
	if count < 1 || count > (len(data)-d.at)/leastNode {
		return nil, errEncoding
	}
	// Blocks for all nodes, not an allocation for each: a tree is kept or dropped as a whole.
	d.nodes, d.items = make([]Node, count), make([]*Node, count-1)
	root := d.node(nil, "", 0)
	if d.failed || d.at < len(data) || len(d.nodes) > 0 || len(d.items) > 0 {
		return nil, errEncoding
	}
	return root, nil
}

// decoder reads an encoded tree. After a failure every read gives nothing.
type decoder struct {
	file   *string
	data   []byte
	text   string // data once more: the texts of the tree are parts of it
	at     int
	line   int64 // of the place read last
	nodes  []Node
	items  []*Node
	failed bool
}

func (d *decoder) fail() { d.failed, d.at = true, len(d.data) }

func (d *decoder) number() int {
	if d.at < len(d.data) && d.data[d.at] < 0x80 { // nearly all
		d.at++
		return int(d.data[d.at-1])
	}
	n, size := binary.Uvarint(d.data[d.at:])
	if size <= 0 || n > math.MaxInt32 {
		d.fail()
		return 0
	}
	d.at += size
	return int(n)
}

func (d *decoder) string() string {
	size := d.number()
	if size > len(d.data)-d.at {
		d.fail()
		return ""
	}
	d.at += size
	return d.text[d.at-size : d.at]
}

func (d *decoder) place() place {
	step, size := binary.Varint(d.data[d.at:])
	if size <= 0 || step < -math.MaxInt32 || step > math.MaxInt32 || d.line+step < 0 || d.line+step > math.MaxInt32 {
		d.fail()
		return place{}
	}
	d.at += size
	d.line += step
	return place{int32(d.line), int32(d.number())}
}

// node reads a node and all below it; nil after a failure.
func (d *decoder) node(parent *Node, step string, depth int) *Node {
	if d.at == len(d.data) || len(d.nodes) == 0 || depth > MaxDepth {
		d.fail()
		return nil
	}
	shape := d.data[d.at]
	d.at++
	n := &d.nodes[0]
	d.nodes = d.nodes[1:]
	*n = Node{kind: Kind(shape &^ quotedFlag), quoted: shape&quotedFlag != 0, place: d.place(), file: d.file, parent: parent, step: step}
	switch n.kind {
	case List, Mapping:
		d.collection(n, depth+1)
	case Null, Bool, Number, String:
		n.text = d.string()
	default:
		d.fail()
	}
	return n
}

// collection reads the items of a list, or the entries of a map.
func (d *decoder) collection(n *Node, depth int) {
	count := d.number()
	if count > len(d.items) {
		d.fail()
	}
	if count == 0 || d.failed {
		return
	}
	b := &below{items: d.items[:count:count]}
	n.below, d.items = b, d.items[count:]
	if n.kind == List {
		for i := range b.items {
			b.items[i] = d.node(n, strconv.Itoa(i), depth)
		}
		return
	}
	b.keys, b.keyPlace = make([]string, count), make([]place, count)
	for i := range b.items {
		b.keys[i], b.keyPlace[i] = d.string(), d.place()
		b.items[i] = d.node(n, b.keys[i], depth)
	}
	b.makeIndex()
}
