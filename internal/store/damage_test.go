package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// sample makes a registry file whose tree has branch pages, overflow pages and an inline bucket.
func sample(t testing.TB) (data []byte, content string) {
	path := filepath.Join(t.TempDir(), "sample.db")
	db := openTest(t, path, Options{})
	err := db.Update(func(tx Tx) error {
		for i := range 60 {
			if err := tx.Put("many", fmt.Sprintf("key %03d", i), []byte(strings.Repeat("v", 100))); err != nil {
				return err
			}
		}
		return errors.Join(tx.Put("big", "one", bytes.Repeat([]byte("0123456789"), 900)), tx.Put("small", "one", []byte("inline")))
	})
	if err != nil {
		t.Fatal(err)
	}
	content = all(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data, content
}

func all(t testing.TB, db *DB) string {
	t.Helper()
	var s strings.Builder
	for _, bucket := range []string{"many", "big", "small"} {
		list, err := dump(db, bucket, "")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&s, bucket, list)
	}
	return s.String()
}

func TestEveryFlippedByteIsFoundOrHarmless(t *testing.T) {
	data, content := sample(t)
	m, err := findMeta(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	used := newChecker(bytes.NewReader(data), m)
	used.seen[0], used.seen[1] = true, true
	if err := used.tree(m.root, keys{}, used.bucket); err != nil {
		t.Fatal(err)
	}
	dir, opened := t.TempDir(), 0
	for at := range data {
		if page := uint64(at) / m.pageSize; (page >= m.pages || !used.seen[page]) && at%127 != 0 {
			continue
		}
		data[at] ^= 0x10
		if err := checkFile(bytes.NewReader(data), int64(len(data))); err == nil && (at < 8192 && at%4096 < 80 || at%127 == 0) {
			opened++ // in one of the two meta pages, in slack, or in a page that is not in use
			got := openAll(t, filepath.Join(dir, "x.db"), data)
			if got != content && !(at < 8192 && got == "many []\nbig []\nsmall []\n") { // the other meta page is the state before
				t.Fatalf("a flip at byte %d was not noticed: %.200s", at, got)
			}
		} else if err != nil && !isDamage(err) {
			t.Fatalf("flip at %d: %v", at, err)
		}
		data[at] ^= 0x10
	}
	t.Logf("%d bytes flipped, %d files opened", len(data), opened)
}

func openAll(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := Open(path, Options{Format: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := all(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestEveryTruncatedFileIsRefusedAndLeftAlone(t *testing.T) {
	data, _ := sample(t)
	path := filepath.Join(t.TempDir(), "registry.db")
	for n := 0; n < len(data)-4096; n += 509 {
		short := data[:n]
		if err := os.WriteFile(path, short, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := Open(path, Options{Format: 1})
		var bad *CorruptError
		if err == nil {
			// What lies behind the pages in use is not missed.
			if cerr := db.Close(); cerr != nil {
				t.Fatal(cerr)
			}
			continue
		}
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "backup") {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, short) {
			t.Fatalf("%d bytes: the damaged file was changed, %v", n, err)
		}
	}
}

func TestForeignFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string][]byte{"empty": {}, "text": []byte("inventory: capd/v1\n"), "zeros": make([]byte, 65536)} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		var bad *CorruptError
		if _, err := Open(path, Options{Format: 1}); !errors.As(err, &bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(dir, Options{Format: 1}); err == nil {
		t.Error("a folder was opened")
	}
	other := filepath.Join(dir, "other.db")
	for _, nested := range []bool{false, true} {
		foreign(t, other, nested)
		var bad *CorruptError
		if _, err := Open(other, Options{Format: 1}); !errors.As(err, &bad) {
			t.Errorf("a database of another program, nested %v: %v", nested, err)
		}
	}
}

// foreign makes a database as other programs do, its list of free pages stored.
func foreign(t *testing.T, path string, nested bool) {
	t.Helper()
	b, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = b.Update(func(tx *bbolt.Tx) error {
		if !nested {
			return nil
		}
		outer, err := tx.CreateBucketIfNotExists([]byte("outer"))
		if err != nil {
			return err
		}
		_, err = outer.CreateBucket([]byte("inner"))
		return err
	})
	if err := errors.Join(err, b.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestStoredFreelistOfOtherToolsIsChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	db := openTest(t, path, Options{})
	for i := range 30 {
		put(t, db, "x", fmt.Sprint(i), strings.Repeat("v", 1000))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	foreign(t, path, false) // opens it and stores the list
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := findMeta(bytes.NewReader(data), int64(len(data)))
	if err != nil || m.freelist == noFreelist {
		t.Fatalf("no list was stored: %+v, %v", m, err)
	}
	sound(t, path)
	list := data[m.freelist*m.pageSize:]
	for name, spoil := range map[string]func(){
		"a page in use is listed":    func() { list[pageHeader] = byte(m.root) },
		"more pages than there are":  func() { list[10], list[11] = 0xFE, 0xFF },
		"it is of another page type": func() { list[8] = pageLeaf },
	} {
		before := bytes.Clone(data)
		spoil()
		if err := checkFile(bytes.NewReader(data), int64(len(data))); !isDamage(err) {
			t.Errorf("%s: %v", name, err)
		}
		copy(data, before)
	}
	put(t, openTest(t, path, Options{}), "x", "more", "v")
}

func TestPageLostUnderAReaderIsAnErrorNotACrash(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: with -short no memory fault is provoked; an emulator of another processor may not survive it")
	}
	path := filepath.Join(t.TempDir(), "registry.db")
	db, err := Open(path, Options{Format: 1})
	if err != nil {
		t.Fatal(err)
	}
	put(t, db, "x", "k", strings.Repeat("v", 100000))
	if err := os.Truncate(path, 8192); err != nil { // what a bad disk does to a mapping
		t.Fatal(err)
	}
	var bad *CorruptError
	if _, err := get(db, "x", "k"); !errors.As(err, &bad) {
		t.Fatalf("read: %v", err)
	}
	if err := db.Update(func(Tx) error { t.Error("an update ran"); return nil }); !errors.As(err, &bad) {
		t.Fatalf("update: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func FuzzOpen(f *testing.F) {
	data, _ := sample(f)
	f.Add(uint32(0), uint32(0), []byte{})
	f.Add(uint32(len(data)-4096), uint32(8), []byte{0x10, 0, 0xFF})
	f.Fuzz(func(t *testing.T, cut, at uint32, patch []byte) {
		file := bytes.Clone(data[:len(data)-int(cut)%len(data)])
		copy(file[int(at)%len(file):], patch)
		path := filepath.Join(t.TempDir(), "x.db")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := Open(path, Options{Format: 1})
		if err != nil {
			return
		}
		put(t, db, "many", "more", "v") // what passes the check can be read and written
		all(t, db)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		sound(t, path)
	})
}
