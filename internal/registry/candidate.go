package registry

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"capd/internal/document"
)

// Kind is what a file holds.
type Kind string

// The kinds of files.
const (
	KindInventory Kind = "inventory"
	KindContract  Kind = "contract"
	KindProfile   Kind = "profile"
)

// File is one file as it stands on disk.
type File struct {
	Path   string
	Kind   Kind
	Source []byte
	Err    error // why it could not be read
}

// SHA256 is the file's content hash in hexadecimal.
func (f File) SHA256() string {
	sum := sha256.Sum256(f.Source)
	return hex.EncodeToString(sum[:])
}

// Candidate is a whole set of files, as Publish takes it.
type Candidate struct{ Files []File }

// digest identifies a candidate: equal digests have the same files with the same content.
func (c Candidate) digest() string {
	h := sha256.New()
	for _, f := range c.Files {
		fmt.Fprintf(h, "%s\x00%s\x00%s\x00%v\x00", f.Path, f.Kind, f.SHA256(), f.Err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Folders names the three folders.
type Folders struct{ Assets, Contracts, Profiles string }

// MaxFile is the largest file that is read, in bytes.
const MaxFile = 1 << 20

// ReadFolders reads every .yaml, .yml and .json file of the three folders, in the order of their names. A folder that cannot be
// read is an error: an empty set must never be mistaken for "everything was deleted". A single file that cannot be read carries
// its own error.
func ReadFolders(f Folders) (Candidate, error) {
	var c Candidate
	for _, dir := range []struct {
		path string
		kind Kind
	}{{f.Assets, KindInventory}, {f.Contracts, KindContract}, {f.Profiles, KindProfile}} {
		files, err := readFolder(dir.path, dir.kind)
		if err != nil {
			return Candidate{}, err
		}
		c.Files = append(c.Files, files...)
	}
	return c, nil
}

func readFolder(path string, kind Kind) ([]File, error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) && kind == KindProfile {
		return nil, nil // profiles are optional
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the %s folder %s: %w; create it or correct folders in capd.yaml", kind, path, err)
	}
	var files []File
	for _, e := range entries {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) {
			files = append(files, File{Path: filepath.Join(path, e.Name())})
		}
	}
	each(len(files), func(i int) { files[i] = readFile(files[i].Path, kind) })
	return files, nil
}

func readFile(path string, kind Kind) File {
	f := File{Path: path, Kind: kind}
	f.Source, f.Err = readRegular(path)
	return f
}

// readRegular reads a file of bounded size. What is no regular file is not opened: a named pipe would block, a device never end.
func readRegular(path string) (source []byte, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	content := bytes.NewBuffer(make([]byte, 0, min(info.Size(), MaxFile)+bytes.MinRead))
	_, err = content.ReadFrom(io.LimitReader(f, MaxFile+1))
	if source = content.Bytes(); err == nil && len(source) > MaxFile {
		return nil, fmt.Errorf("%s is larger than the limit of %d bytes; split the file", path, MaxFile)
	}
	return source, err
}

// unreadable is a file's read error as a problem at the file.
func unreadable(f File) document.Problems {
	return document.Problems{{Pos: document.Pos{File: f.Path}, Rule: "read", Message: "cannot read the file: " + f.Err.Error(), Hint: "check owner, mode and size"}}
}
