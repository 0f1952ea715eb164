package registry

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"

	"capd/internal/document"
	"capd/internal/store"
)

// trees parses the files of one publish, each once, or takes over what an earlier publish got from the same bytes: that spares a
// start the YAML parser, which would take most of its time. It gives what document.Parse gives and nothing else: a tree is
// taken over only if its seal says that this very program wrote it, for these bytes under this name. A file with problems has
// no tree.
type trees struct {
	program string            // as programID gives it; without one nothing is taken over, and nothing kept
	stored  map[string][]byte // sealed trees by path
	room    int               // bytes that the trees in the store may have together
	mu      sync.Mutex
	parsed  map[treeKey]tree // guarded by mu
}

// maxTrees bounds the trees in the store, in bytes; a file whose tree has no room is parsed at each start.
const maxTrees = 16 << 20

type treeKey struct{ path, sha256 string }

// tree is what a parse gave.
type tree struct {
	node     *document.Node
	problems document.Problems
	sealed   []byte // for the store; nil when it is there already, or there is nothing to keep
	taken    bool   // from the store
}

func newTrees(program string, stored map[string][]byte) *trees {
	return &trees{program: program, stored: stored, room: maxTrees, parsed: map[treeKey]tree{}}
}

// parse gives what document.Parse gives for a file. Many goroutines may call it.
func (t *trees) parse(f File) (*document.Node, document.Problems) {
	x := t.of(f)
	return x.node, x.problems
}

func (t *trees) of(f File) tree {
	key := treeKey{f.Path, f.SHA256()}
	t.mu.Lock()
	x, ok := t.parsed[key]
	t.mu.Unlock()
	if !ok {
		x = t.read(f, key)
		t.mu.Lock()
		t.parsed[key] = x
		t.mu.Unlock()
	}
	return x
}

func (t *trees) read(f File, key treeKey) tree {
	seal := t.seal(key)
	if encoded, ok := bytes.CutPrefix(t.stored[f.Path], seal); ok && t.program != "" {
		if n, err := document.Decode(f.Path, encoded); err == nil {
			return tree{node: n, taken: true}
		}
	}
	n, ps := document.Parse(f.Path, f.Source)
	x := tree{node: n, problems: slices.Clip(ps)} // many readers append to it
	if t.program != "" && len(ps) == 0 {
		if encoded, err := document.Encode(n); err == nil { // else it is parsed at each start
			x.sealed = append(seal, encoded...)
		}
	}
	return x
}

// save brings the store to the trees of the files in force and no others.
func (t *trees) save(tx store.Tx, inForce []File) error {
	stale, fresh, room := maps.Clone(t.stored), map[string][]byte{}, t.room
	for _, f := range inForce {
		if x := t.of(f); x.taken {
			room -= len(stale[f.Path])
			delete(stale, f.Path)
		} else if x.sealed != nil {
			fresh[f.Path] = x.sealed
		}
	}
	for _, path := range slices.Sorted(maps.Keys(fresh)) {
		if len(fresh[path]) > room {
			continue
		}
		if err := tx.Put(bucketTrees, path, fresh[path]); err != nil {
			return err
		}
		room -= len(fresh[path])
		delete(stale, path)
	}
	return dropTrees(tx, stale)
}

// drop removes every tree from the store.
func (t *trees) drop(tx store.Tx) error { return dropTrees(tx, t.stored) }

func dropTrees(tx store.Tx, which map[string][]byte) error {
	for path := range which {
		if err := tx.Delete(bucketTrees, path); err != nil {
			return err
		}
	}
	return nil
}

// seal binds a tree to the program, whose parser may differ from the next one's, to the file's name and to its bytes.
func (t *trees) seal(key treeKey) []byte {
	sum := sha256.Sum256([]byte(t.program + "\x00" + key.path + "\x00" + key.sha256))
	return sum[:]
}
