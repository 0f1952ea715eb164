package registry

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"capd/internal/contract"
	"capd/internal/store"
)

// Buckets of the store that belong to the registry.
const (
	bucketFiles    = "files"    // path -> savedFile: the last good version of each file
	bucketVersions = "versions" // tool@version -> savedFile: every contract version that was ever in force
)

type savedFile struct {
	Path      string    `json:"path"`
	Kind      Kind      `json:"kind"`
	SHA256    string    `json:"sha256"`
	Source    []byte    `json:"source"`
	Published time.Time `json:"published"`
}

func (r *Registry) loadGood() (map[string]File, error) {
	good := map[string]File{}
	err := r.db.View(func(tx store.Tx) error {
		return store.ForEachJSON(tx, bucketFiles, "", func(_ string, s savedFile) error {
			good[s.Path] = File{Path: s.Path, Kind: s.Kind, Source: s.Source}
			return nil
		})
	})
	return good, err
}

// save writes the set in force in one transaction: what is served, and nothing of what was rejected.
func (r *Registry) save(b *build) error {
	return r.db.Update(func(tx store.Tx) error {
		kept := map[string]bool{}
		for _, f := range b.use {
			kept[f.Path] = true
			if old, ok := b.good[f.Path]; ok && old.SHA256() == f.SHA256() {
				continue
			}
			if err := store.PutJSON(tx, bucketFiles, f.Path, saved(f)); err != nil {
				return err
			}
		}
		for _, rejected := range b.rejected {
			kept[rejected.File] = true // its last good version stays, even while it is suspended
		}
		for path := range b.good {
			if !kept[path] {
				if err := tx.Delete(bucketFiles, path); err != nil {
					return err
				}
			}
		}
		return saveVersions(tx, b)
	})
}

func saveVersions(tx store.Tx, b *build) error {
	sources := map[string]File{}
	for _, f := range b.use {
		sources[f.Path] = f
	}
	for _, c := range b.snapshot.Contracts {
		key := c.Tool + "@" + c.Version.String() + "@" + c.SHA256[:12]
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
	}
	return nil
}

func saved(f File) savedFile {
	return savedFile{Path: f.Path, Kind: f.Kind, SHA256: f.SHA256(), Source: f.Source, Published: time.Now().UTC()}
}

// Version is one contract version that was in force at some time.
type Version struct {
	Key       string    `json:"key"` // tool@version@hash
	Path      string    `json:"path"`
	SHA256    string    `json:"sha256"`
	Published time.Time `json:"published"`
}

// History lists every version of a tool that was ever in force, in the order of their versions, then of their publication.
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
