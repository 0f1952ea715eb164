package store

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestNewerFormatIsRefusedNamingBoth(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	if err := openTest(t, path, Options{Format: 7}).Close(); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path, Options{Format: 3})
	var wrong *FormatError
	if !errors.As(err, &wrong) || wrong.Have != 7 || wrong.Want != 3 {
		t.Fatal(err)
	}
	if !strings.Contains(err.Error(), "format 7") || !strings.Contains(err.Error(), "format 3") {
		t.Fatal(err)
	}
	openTest(t, path, Options{Format: 7}) // the refusal let go of the file
}

func TestOlderFormatIsMigratedStepByStep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	old := openTest(t, path, Options{Format: 1})
	put(t, old, "x", "k", "one")
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	step := func(from int, add string) Migration {
		return Migration{From: from, Name: add, Run: func(tx Tx) error {
			v, err := tx.Get("x", "k")
			return errors.Join(err, tx.Put("x", "k", append(v, add...)))
		}}
	}
	broken := errors.New("broken")
	fails := Migration{From: 2, Name: "fails", Run: func(Tx) error { return broken }}
	if _, err := Open(path, Options{Format: 3, Migrations: []Migration{step(1, " two"), fails}}); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	var wrong *FormatError
	if _, err := Open(path, Options{Format: 3, Migrations: []Migration{step(1, " two")}}); !errors.As(err, &wrong) || wrong.Have != 2 {
		t.Fatalf("a step is missing: %v", err)
	}
	db := openTest(t, path, Options{Format: 3, Migrations: []Migration{step(2, " three"), step(1, " two")}})
	if v, err := get(db, "x", "k"); v != "one two three" || err != nil {
		t.Fatalf("%q, %v", v, err)
	}
	if have, err := db.format(); have != 3 || err != nil {
		t.Fatalf("format %d, %v", have, err)
	}
}

func TestMetaFormatThatIsNoNumberIsDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.db")
	for _, text := range []string{"", "one", "-1", "0", "1 "} {
		db := openTest(t, path, Options{Format: 1})
		if err := db.Update(func(tx Tx) error { return tx.put(metaBucket, formatKey, []byte(text)) }); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		var bad *CorruptError
		if _, err := Open(path, Options{Format: 1}); !errors.As(err, &bad) {
			t.Errorf("%q: %v", text, err)
		}
		path = filepath.Join(t.TempDir(), "registry.db")
	}
}
