package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// newSuffix marks a first file that is not complete yet.
const newSuffix = ".new"

// openOwned opens the file at path and locks it; where there is none it makes the first one.
func openOwned(path string, o Options) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			if err := create(path, o); err != nil {
				return nil, fmt.Errorf("store: make the first %s: %w", path, err)
			}
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		same, err := lockNamed(f, path, o)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if same {
			return f, nil
		}
		if err := f.Close(); err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
	}
}

// create makes an empty file of the program's format under another name and renames it when it is on disk. It
// returns nil too if somebody else was faster.
func create(path string, o Options) (err error) {
	f, err := os.OpenFile(path+newSuffix, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	same, err := lockNamed(f, f.Name(), o)
	if err != nil || !same {
		return errors.Join(err, f.Close())
	}
	if _, err := os.Lstat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, os.Remove(f.Name()), f.Close())
	}
	if err := f.Truncate(0); err != nil { // what a crash left behind
		return errors.Join(err, f.Close())
	}
	db, err := openBolt(f, f.Name(), o.MaxSize, 0)
	if err != nil {
		return err
	}
	// The lock lasts until Close, so nobody else begins another first file before this one has its name.
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.publish(f, path, o.Format)
}

// publish writes the format, twice, so that either of the library's two meta pages leads to it, and gives the file
// its name.
func (db *DB) publish(f *os.File, path string, format int) error {
	for range 2 {
		if err := db.Update(func(t Tx) error { return t.putFormat(format) }); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// lockNamed locks f and reports whether path still means f: while waiting, its owner may have renamed or replaced it.
func lockNamed(f *os.File, path string, o Options) (same bool, err error) {
	if err := Lock(f, o.Timeout); err != nil {
		return false, err
	}
	mine, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	named, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	return os.SameFile(mine, named), nil
}

// SyncDir brings the names in a folder to disk: a file that was made, renamed or removed is surely so after it.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
