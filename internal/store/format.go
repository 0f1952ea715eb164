package store

import (
	"errors"
	"fmt"
	"strconv"

	"go.etcd.io/bbolt"
)

// The version of the layout is decimal text under this bucket and key.
const (
	metaBucket = "meta"
	formatKey  = "format"
)

// Migration leads from one format to the next.
type Migration struct {
	From int    // the format it starts from; it leads to From+1
	Name string // for messages
	Run  func(Tx) error
}

// migrate brings the file to the program's format. All steps and the new number are one transaction.
func (db *DB) migrate(o Options) error {
	have, err := db.format()
	if err != nil || have == o.Format {
		return err
	}
	if have > o.Format {
		return &FormatError{Path: db.path, Have: have, Want: o.Format}
	}
	return db.Update(func(t Tx) error {
		for from := have; from < o.Format; from++ {
			m, ok := migrationFrom(o.Migrations, from)
			if !ok {
				return &FormatError{Path: db.path, Have: from, Want: o.Format}
			}
			if err := m.Run(t); err != nil {
				return fmt.Errorf("store: %s: migration %q from format %d: %w; nothing was changed", db.path, m.Name, from, err)
			}
		}
		return t.putFormat(o.Format)
	})
}

func migrationFrom(list []Migration, from int) (Migration, bool) {
	for _, m := range list {
		if m.From == from {
			return m, true
		}
	}
	return Migration{}, false
}

func (db *DB) format() (format int, err error) {
	err = db.View(func(t Tx) error {
		text, err := t.Get(metaBucket, formatKey)
		if errors.Is(err, ErrNotFound) {
			return &CorruptError{Path: db.path, Reason: "it has no meta/format, so capd did not write it"}
		}
		if err != nil {
			return err
		}
		format, err = strconv.Atoi(string(text))
		if err != nil || format < 1 {
			return &CorruptError{Path: db.path, Reason: fmt.Sprintf("meta/format is %q, not a version", text)}
		}
		return nil
	})
	return format, err
}

// Fresh reports whether nothing was put into the file since it was made.
func (db *DB) Fresh() (fresh bool, err error) {
	t, err := db.begin(false)
	if err != nil {
		return false, err
	}
	defer t.end(&err)
	fresh = true
	err = db.guard(func() error {
		return t.bolt.ForEach(func(name []byte, _ *bbolt.Bucket) error {
			fresh = fresh && string(name) == metaBucket
			return nil
		})
	})
	return fresh, err
}

func (t Tx) putFormat(format int) error {
	return t.put(metaBucket, formatKey, []byte(strconv.Itoa(format)))
}
