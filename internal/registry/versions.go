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

// What the history keeps besides the versions in force.
const (
	keptVersions = 20       // of each tool, the newest
	maxHistory   = 16 << 20 // bytes of all tools together; beyond it the oldest go
)

// saveVersions adds the versions that are new in force to the history.
func saveVersions(tx store.Tx, b *build) error {
	sources := map[string]File{}
	for _, f := range b.use {
		sources[f.Path] = f
	}
	inForce, added := map[string]bool{}, false
	for _, c := range b.snapshot.Contracts {
		key := c.Tool + "@" + c.Version.String() + "@" + c.SHA256[:12]
		inForce[key] = true
		_, err := tx.Get(bucketVersions, key)
		if err == nil {
			continue
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err := store.PutJSON(tx, bucketVersions, key, saved(sources[c.File])); err != nil {
			return err
		}
		added = true
	}
	if !added {
		return nil
	}
	return trimHistory(tx, inForce)
}

// history is the stored versions, as one transaction sees them.
type history struct {
	tx      store.Tx
	inForce map[string]bool
	sizes   map[string]int // bytes by key
	total   int
}

// trimHistory deletes the oldest versions beyond what the history keeps; what is in force stays.
func trimHistory(tx store.Tx, inForce map[string]bool) error {
	h := history{tx: tx, inForce: inForce, sizes: map[string]int{}}
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
	if h.total <= maxHistory {
		return nil
	}
	const enough = maxHistory / 4 * 3 // so that the next versions find room
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
		if h.inForce[key] {
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

// History lists the versions of a tool that were in force, as far as they are kept, in the order of their versions, then of their publication.
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
