package registry

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"capd/internal/contract"
	"capd/internal/store"
)

// What the history keeps besides the last good version of each file.
const (
	keptVersions = 20       // of each tool, the newest
	maxHistory   = 16 << 20 // bytes of all tools together; beyond it the oldest go
)

// saveVersions adds to the history what has come into force; kept is the last good versions from now on.
func saveVersions(tx store.Tx, b *build, kept map[string]File) error {
	added := false
	for _, c := range b.snapshot.Contracts {
		f := kept[c.File]
		if b.standing(f) == unchanged {
			continue // it was added when it came into force, and stays while it is kept
		}
		key := c.Tool + "@" + c.Version.String() + "@" + hashInKey(c.SHA256)
		_, err := tx.Get(bucketVersions, key)
		if err == nil {
			continue // an older version once more
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err := store.PutJSON(tx, bucketVersions, key, saved(f)); err != nil {
			return err
		}
		added = true
	}
	if !added {
		return nil
	}
	hashes := map[string]bool{}
	for _, f := range kept {
		hashes[hashInKey(f.SHA256())] = true
	}
	return trimHistory(tx, hashes, maxHistory)
}

// hashInKey is what of a content hash is in the key of a version.
func hashInKey(sha256 string) string { return sha256[:12] }

// history is the stored versions, as one transaction sees them.
type history struct {
	tx    store.Tx
	kept  map[string]bool // hashes that stay
	sizes map[string]int  // bytes by key
	total int
}

// trimHistory deletes the oldest versions where there are too many of a tool, or too many bytes of all; those with the hashes
// given stay.
func trimHistory(tx store.Tx, hashes map[string]bool, limit int) error {
	h := history{tx: tx, kept: hashes, sizes: map[string]int{}}
	byTool := map[string][]string{}
	err := tx.ForEach(bucketVersions, "", func(key string, value []byte) error {
		tool, _, _ := strings.Cut(key, "@")
		byTool[tool] = append(byTool[tool], key)
		h.sizes[key] = len(value)
		h.total += len(value)
		return nil
	})
	if err != nil {
		return err
	}
	for _, keys := range byTool {
		if len(keys) > keptVersions {
			if err := h.trim(keys, func(left int) bool { return left > keptVersions }); err != nil {
				return err
			}
		}
	}
	if h.total <= limit {
		return nil
	}
	enough := limit / 4 * 3 // so that the next versions find room
	return h.trim(slices.Collect(maps.Keys(h.sizes)), func(int) bool { return h.total > enough })
}

// trim deletes from the oldest of the keys on while there are too many; it is told how many are left, those not looked at yet.
func (h *history) trim(keys []string, tooMany func(left int) bool) error {
	oldest, err := h.oldest(keys)
	if err != nil {
		return err
	}
	for i, key := range oldest {
		if !tooMany(len(oldest) - i) {
			return nil
		}
		if h.kept[key[strings.LastIndexByte(key, '@')+1:]] {
			continue
		}
		if err := h.tx.Delete(bucketVersions, key); err != nil {
			return err
		}
		h.total -= h.sizes[key]
		delete(h.sizes, key)
	}
	return nil
}

// oldest sorts versions by their publication.
func (h *history) oldest(keys []string) ([]string, error) {
	published := map[string]time.Time{}
	for _, key := range keys {
		s, err := store.GetJSON[savedFile](h.tx, bucketVersions, key)
		if err != nil {
			return nil, err
		}
		published[key] = s.Published
	}
	return slices.SortedFunc(slices.Values(keys), func(x, y string) int {
		return cmp.Or(published[x].Compare(published[y]), strings.Compare(x, y))
	}), nil
}

// Version is one contract version that was in force at some time.
type Version struct {
	Key       string    `json:"key"` // tool@version@hash
	Path      string    `json:"path"`
	SHA256    string    `json:"sha256"`
	Published time.Time `json:"published"`
}

// History lists the versions of a tool that are or were in force, as far as they are kept, in the order of their versions, then of
// their publication.
func (r *Registry) History(tool string) ([]Version, error) {
	var all []Version
	err := r.db.View(func(tx store.Tx) error {
		return store.ForEachJSON(tx, bucketVersions, tool+"@", func(key string, s savedFile) error {
			all = append(all, Version{Key: key, Path: s.Path, SHA256: s.SHA256, Published: s.Published})
			return nil
		})
	})
	slices.SortStableFunc(all, func(x, y Version) int {
		return cmp.Or(x.version().Compare(y.version()), x.Published.Compare(y.Published))
	})
	return all, err
}

// version is the contract version in the key; the zero one for a key of another form.
func (v Version) version() contract.Version {
	_, rest, _ := strings.Cut(v.Key, "@")
	number, _, _ := strings.Cut(rest, "@")
	version, _ := contract.ParseVersion(number)
	return version
}
