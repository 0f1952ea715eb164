package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	files, trees := map[string][]byte{}, map[string][]byte{}
	err = r.db.View(func(tx store.Tx) error {
		for bucket, into := range map[string]map[string][]byte{bucketFiles: files, bucketTrees: trees} {
			if err := tx.ForEach(bucket, "", func(path string, data []byte) error { into[path] = data; return nil }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	good, err = decodeSaved(files)
	return good, trees, err
}

func decodeSaved(data map[string][]byte) (map[string]File, error) {
	paths := slices.Collect(maps.Keys(data))
	files, errs := make([]savedFile, len(paths)), make([]error, len(paths))
	each(len(paths), func(i int) {
		if err := json.Unmarshal(data[paths[i]], &files[i]); err != nil {
			errs[i] = fmt.Errorf("decode %s/%s: %w", bucketFiles, paths[i], err)
		}
	})
	good := map[string]File{}
	for _, s := range files {
		good[s.Path] = File{Path: s.Path, Kind: s.Kind, Source: s.Source}
	}
	return good, errors.Join(errs...)
}

// save writes the set in force in one transaction: what is served, and nothing of what was rejected. Where the store is too
// full for the trees, it does without them.
func (r *Registry) save(b *build) error {
	err := r.db.Update(func(tx store.Tx) error { return errors.Join(saveSet(tx, b), b.trees.save(tx, b.use)) })
	var full *store.SizeError
	if !errors.As(err, &full) {
		return err
	}
	if err := r.db.Update(b.trees.drop); err != nil { // what a transaction frees, only the next one can use
		return err
	}
	return r.db.Update(func(tx store.Tx) error { return saveSet(tx, b) })
}

func saveSet(tx store.Tx, b *build) error {
	for _, f := range b.use {
		if b.standing(f) == unchanged {
			continue
		}
		if err := store.PutJSON(tx, bucketFiles, f.Path, saved(f)); err != nil {
			return err
		}
	}
	kept := b.kept()
	for path := range b.good {
		if _, ok := kept[path]; !ok {
			if err := tx.Delete(bucketFiles, path); err != nil {
				return err
			}
		}
	}
	return saveVersions(tx, b, kept)
}

// kept is the last good version of each file from now on, by path; one stays even while it is suspended.
func (b *build) kept() map[string]File {
	kept := map[string]File{}
	for path := range b.rejected {
		if old, ok := b.good[path]; ok {
			kept[path] = old
		}
	}
	for _, f := range b.use {
		kept[f.Path] = f
	}
	return kept
}

func saved(f File) savedFile {
	return savedFile{Path: f.Path, Kind: f.Kind, SHA256: f.SHA256(), Source: f.Source, Published: time.Now().UTC()}
}
