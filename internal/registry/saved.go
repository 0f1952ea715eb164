package registry

import (
	"encoding/json"
	"errors"
	"time"

	"capd/internal/store"
)

// Buckets of the store that belong to the registry.
const (
	bucketFiles    = "files"    // path -> savedFile: the last good version of each file
	bucketTrees    = "trees"    // path -> sealed tree: what the parse of a file in force gave
	bucketVersions = "versions" // tool@version@hash -> savedFile: contract versions that were in force
)

type savedFile struct {
	Path      string    `json:"path"`
	Kind      Kind      `json:"kind"`
	SHA256    string    `json:"sha256"`
	Source    []byte    `json:"source"`
	Published time.Time `json:"published"`
}

// load gives the last good version of each file, and the sealed trees, both by path.
func (r *Registry) load() (good map[string]File, trees map[string][]byte, err error) {
	var saved [][]byte
	trees = map[string][]byte{}
	err = r.db.View(func(tx store.Tx) error {
		return errors.Join(
			tx.ForEach(bucketFiles, "", func(_ string, data []byte) error { saved = append(saved, data); return nil }),
			tx.ForEach(bucketTrees, "", func(path string, sealed []byte) error { trees[path] = sealed; return nil }))
	})
	if err != nil {
		return nil, nil, err
	}
	good, err = decodeSaved(saved)
	return good, trees, err
}

func decodeSaved(saved [][]byte) (map[string]File, error) {
	files, errs := make([]savedFile, len(saved)), make([]error, len(saved))
	each(len(saved), func(i int) { errs[i] = json.Unmarshal(saved[i], &files[i]) })
	good := map[string]File{}
	for _, s := range files {
		good[s.Path] = File{Path: s.Path, Kind: s.Kind, Source: s.Source}
	}
	return good, errors.Join(errs...)
}

// save writes the set in force in one transaction: what is served, and nothing of what was rejected. Where the store is too full for
// the trees, it does without them.
func (r *Registry) save(b *build) error {
	err := r.db.Update(func(tx store.Tx) error { return errors.Join(saveSet(tx, b), b.trees.save(tx, b.use)) })
	var full *store.SizeError
	if !errors.As(err, &full) {
		return err
	}
	if err := r.db.Update(b.trees.drop); err != nil { // by itself: room that is freed is there for the next transaction
		return err
	}
	return r.db.Update(func(tx store.Tx) error { return saveSet(tx, b) })
}

func saveSet(tx store.Tx, b *build) error {
	kept := map[string]bool{}
	for _, f := range b.use {
		kept[f.Path] = true
		if b.standing(f) == unchanged {
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
}

func saved(f File) savedFile {
	return savedFile{Path: f.Path, Kind: f.Kind, SHA256: f.SHA256(), Source: f.Source, Published: time.Now().UTC()}
}
