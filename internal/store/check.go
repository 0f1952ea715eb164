package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
)

// The file's layout, as in go.etcd.io/bbolt v1.5.0, internal/common/{meta,page,bucket}.go: numbers in the byte order
// of the machine, little endian on all that capd is built for.
const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	pageHeader   = 16 // id uint64, flags uint16, count uint16, overflow uint32
	elementSize  = 16 // of branch and leaf pages alike
	bucketHeader = 16 // root uint64, sequence uint64
	metaSize     = 64

	pageBranch   = 0x01
	pageLeaf     = 0x02
	pageFreelist = 0x10

	entryBucket = 0x01 // flag of a leaf element whose value is a bucket

	noFreelist = math.MaxUint64
	maxDepth   = 32 // of the tree; two keys a page and 2^32 pages need no more
)

// damage is what a check found, as text for people.
type damage string

func (d damage) Error() string { return string(d) }

func damaged(format string, a ...any) error { return damage(fmt.Sprintf(format, a...)) }

// meta is the root of one committed state.
type meta struct {
	pageSize, root, freelist, pages, txid uint64
}

// checker walks the pages of one state. It reads through the file, never through a mapping: the library trusts what
// it maps, and a damaged page would end the process from one of its goroutines.
type checker struct {
	r     io.ReaderAt
	meta  meta
	seen  []bool // by page
	first []byte // room for one page
}

// checkFile reports, as damage, why the file must not be opened: every page that can be reached must be whole, in
// order and reached once, and every value must have its checksum.
func checkFile(r io.ReaderAt, size int64) error {
	if size == 0 {
		return damaged("it is empty, and capd never leaves an empty file")
	}
	m, err := findMeta(r, size)
	if err != nil {
		return err
	}
	if m.pages > uint64(size)/m.pageSize {
		return damaged("it is cut short: %d bytes where %d pages of %d are needed", size, m.pages, m.pageSize)
	}
	c := newChecker(r, m)
	if err := c.tree(m.root, keys{}, c.bucket); err != nil {
		return err
	}
	return c.freelist()
}

func newChecker(r io.ReaderAt, m meta) checker {
	return checker{r: r, meta: m, seen: make([]bool, m.pages), first: make([]byte, m.pageSize)}
}

// findMeta returns the newest valid meta page, looking where the library looks.
func findMeta(r io.ReaderAt, size int64) (meta, error) {
	first, err := readMeta(r, 0)
	if err != nil && !isDamage(err) {
		return first, err
	}
	if err == nil {
		second, err2 := readMeta(r, int64(first.pageSize))
		if err2 == nil && second.txid > first.txid {
			return second, nil
		}
		if err2 != nil && !isDamage(err2) {
			return first, err2
		}
		return first, nil
	}
	for at := int64(1024); at <= 1024<<14 && at < size; at <<= 1 {
		if m, err := readMeta(r, at); err == nil && m.pageSize == uint64(at) {
			return m, nil
		}
	}
	return first, err
}

func isDamage(err error) bool {
	var d damage
	return errors.As(err, &d)
}

func readMeta(r io.ReaderAt, at int64) (meta, error) {
	var b [pageHeader + metaSize]byte
	if _, err := r.ReadAt(b[:], at); errors.Is(err, io.EOF) {
		return meta{}, damaged("it is too short for a database")
	} else if err != nil {
		return meta{}, err
	}
	d := b[pageHeader:]
	h := fnv.New64a()
	h.Write(d[:metaSize-8]) // never fails
	m := meta{
		pageSize: uint64(binary.LittleEndian.Uint32(d[8:])),
		root:     binary.LittleEndian.Uint64(d[16:]),
		freelist: binary.LittleEndian.Uint64(d[32:]),
		pages:    binary.LittleEndian.Uint64(d[40:]),
		txid:     binary.LittleEndian.Uint64(d[48:]),
	}
	switch {
	case binary.LittleEndian.Uint32(d) != boltMagic:
		return m, damaged("it is not a bbolt database")
	case binary.LittleEndian.Uint32(d[4:]) != boltVersion:
		return m, damaged("it is a bbolt database of version %d, not %d", binary.LittleEndian.Uint32(d[4:]), boltVersion)
	case binary.LittleEndian.Uint64(d[metaSize-8:]) != h.Sum64():
		return m, damaged("both of its meta pages have wrong checksums")
	case m.pageSize < 1024 || m.pageSize > 1<<24 || m.pageSize&(m.pageSize-1) != 0:
		return m, damaged("page size %d", m.pageSize)
	}
	return m, nil
}

// page is one page with its overflow, as read.
type page struct {
	id    uint64
	flags uint16
	count int
	data  []byte // header included
}

func parsePage(data []byte) page {
	return page{
		id:    binary.LittleEndian.Uint64(data),
		flags: binary.LittleEndian.Uint16(data[8:]),
		count: int(binary.LittleEndian.Uint16(data[10:])),
		data:  data,
	}
}

// load reads a page that may be reached only once.
func (c *checker) load(id uint64) (page, error) {
	if id < 2 || id >= c.meta.pages {
		return page{}, damaged("page %d of %d is referred to", id, c.meta.pages)
	}
	at, first := int64(id*c.meta.pageSize), c.first
	if _, err := c.r.ReadAt(first, at); err != nil {
		return page{}, fmt.Errorf("read page %d: %w", id, err)
	}
	overflow := uint64(binary.LittleEndian.Uint32(first[12:]))
	if got := binary.LittleEndian.Uint64(first); got != id || id+overflow >= c.meta.pages {
		return page{}, damaged("page %d calls itself %d and spans %d pages of %d", id, got, overflow+1, c.meta.pages)
	}
	for i := id; i <= id+overflow; i++ {
		if c.seen[i] {
			return page{}, damaged("page %d is used twice", i)
		}
		c.seen[i] = true
	}
	data := make([]byte, (overflow+1)*c.meta.pageSize)
	if rest := data[copy(data, first):]; len(rest) > 0 {
		if _, err := c.r.ReadAt(rest, at+int64(len(first))); err != nil {
			return page{}, fmt.Errorf("read page %d: %w", id, err)
		}
	}
	return parsePage(data), nil
}

// element returns n bytes that element i points to, pos behind the element itself.
func (p page) element(i int, pos uint32, n uint64) ([]byte, error) {
	from := uint64(pageHeader) + uint64(i)*elementSize + uint64(pos)
	if from+n > uint64(len(p.data)) {
		return nil, damaged("element %d of page %d points outside of it", i, p.id)
	}
	return p.data[from : from+n], nil
}

// numbers returns the four 32-bit words of element i.
func (p page) numbers(i int) (w [4]uint32) {
	at := p.data[pageHeader+i*elementSize:]
	for k := range w {
		w[k] = binary.LittleEndian.Uint32(at[4*k:])
	}
	return w
}

// keys is the span of keys a page may hold, and how deep it stands.
type keys struct {
	from, to []byte // to is excluded; nil is open
	depth    int
}

// entry is one element of a leaf page.
type entry struct {
	flags      uint32
	key, value []byte
}

// tree walks the tree below a root page and hands every entry to visit.
func (c *checker) tree(id uint64, span keys, visit func(entry) error) error {
	p, err := c.load(id)
	if err != nil {
		return err
	}
	if span.depth > maxDepth {
		return damaged("page %d stands more than %d pages deep", id, maxDepth)
	}
	switch p.flags {
	case pageLeaf:
		return p.leaf(span, visit)
	case pageBranch:
		return c.branch(p, span, visit)
	}
	return damaged("page %d has type %#x where a branch or leaf is needed", id, p.flags)
}

func (c *checker) branch(p page, span keys, visit func(entry) error) error {
	if p.count == 0 {
		return damaged("branch page %d is empty", p.id)
	}
	list := make([][]byte, p.count, p.count+1)
	child := make([]uint64, p.count)
	for i := range list {
		if _, err := p.element(i, 0, elementSize); err != nil {
			return err
		}
		w := p.numbers(i) // pos, key size, page
		key, err := p.element(i, w[0], uint64(w[1]))
		if err != nil {
			return err
		}
		list[i], child[i] = key, uint64(w[2])|uint64(w[3])<<32
	}
	if err := p.inOrder(list, span); err != nil {
		return err
	}
	list = append(list, span.to)
	for i, id := range child {
		if err := c.tree(id, keys{from: list[i], to: list[i+1], depth: span.depth + 1}, visit); err != nil {
			return err
		}
	}
	return nil
}

func (p page) leaf(span keys, visit func(entry) error) error {
	entries := make([]entry, p.count)
	list := make([][]byte, p.count)
	for i := range entries {
		if _, err := p.element(i, 0, elementSize); err != nil {
			return err
		}
		w := p.numbers(i) // flags, pos, key size, value size
		both, err := p.element(i, w[1], uint64(w[2])+uint64(w[3]))
		if err != nil {
			return err
		}
		list[i] = both[:w[2]]
		entries[i] = entry{flags: w[0], key: list[i], value: both[w[2]:]}
	}
	if err := p.inOrder(list, span); err != nil {
		return err
	}
	for _, e := range entries {
		if err := visit(e); err != nil {
			return err
		}
	}
	return nil
}

func (p page) inOrder(list [][]byte, span keys) error {
	last := span.from
	for i, key := range list {
		order := bytes.Compare(last, key)
		if order > 0 || order == 0 && i > 0 || span.to != nil && bytes.Compare(key, span.to) >= 0 {
			return damaged("key %d of page %d is out of order", i, p.id)
		}
		last = key
	}
	return nil
}

// bucket checks an entry of the root, which must be a bucket of values.
func (c *checker) bucket(e entry) error {
	name := string(e.key)
	if e.flags != entryBucket || len(e.value) < bucketHeader {
		return damaged("entry %q of the root is not a bucket", name)
	}
	visit := func(v entry) error {
		if v.flags != 0 || !sealedOK(name, string(v.key), v.value) {
			return damaged("value of %q in bucket %q has a wrong checksum", v.key, name)
		}
		return nil
	}
	if root := binary.LittleEndian.Uint64(e.value); root != 0 {
		return c.tree(root, keys{}, visit)
	}
	inline := e.value[bucketHeader:]
	if len(inline) < pageHeader {
		return damaged("bucket %q is cut short", name)
	}
	p := parsePage(inline)
	if p.flags != pageLeaf {
		return damaged("bucket %q has an inline page of type %#x", name, p.flags)
	}
	return p.leaf(keys{}, visit)
}

// freelist checks the list of free pages that other tools may have stored; capd stores none.
func (c *checker) freelist() error {
	if c.meta.freelist == noFreelist {
		return nil
	}
	p, err := c.load(c.meta.freelist)
	if err != nil {
		return err
	}
	// A count of 0xFFFF says that the first number is the count (page.go, FreelistPageCount).
	count, ids := uint64(p.count), p.data[pageHeader:]
	if count == 0xFFFF {
		count, ids = binary.LittleEndian.Uint64(ids), ids[8:]
	}
	if p.flags != pageFreelist || count > uint64(len(ids)/8) {
		return damaged("page %d is not a list of %d free pages", p.id, count)
	}
	for i := range count {
		id := binary.LittleEndian.Uint64(ids[8*i:])
		if id < 2 || id >= c.meta.pages || c.seen[id] {
			return damaged("page %d is listed as free and is not", id)
		}
		c.seen[id] = true
	}
	return nil
}
