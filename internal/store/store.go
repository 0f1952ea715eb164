// Package store keeps capd's state in one file, registry.db, so that what was committed is there after a crash and
// what cannot be trusted is never served.
//
// It promises: the file is owned by one process at a time; the first file appears under its name only when it is
// complete; its format is checked against this program's and migrated in one transaction; a damaged file is an error
// that says where, found before the database library maps it; every value carries a checksum; an update that would
// exceed the size cap changes nothing. Lock and SyncDir are here for other owners of files.
//
// It never repairs, truncates or replaces a file it cannot read, never waits for a lock longer than asked, and never
// hands out memory that ends with a transaction. It knows nothing of what the values mean.
package store

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

const (
	// DefaultMaxSize is the size cap in bytes where Options give none.
	DefaultMaxSize = 64 << 20
	// MinMaxSize is the smallest size cap in bytes that Options accept.
	MinMaxSize = 1 << 20

	// growStep is by how much the file grows beyond what a transaction needs. The library's own 16 MiB would make
	// the cap coarse.
	growStep = 256 << 10
	// deleteReserve is how far above the cap a transaction that only deletes may grow the file: the tree is
	// copied on write, so without it a full store could not be emptied.
	deleteReserve = 1 << 20
	// firstMap is how much address space the library maps at first. Each time it has to map more within a transaction,
	// it copies all that was put so far.
	firstMap = 8 << 20

	fileMode = 0o600
)

// Options say how Open treats a file.
type Options struct {
	// Timeout is how long to wait for another process to let go of the file; zero tries once.
	Timeout time.Duration
	// MaxSize caps the file in bytes, MinMaxSize or more; zero means DefaultMaxSize, more than 2 GiB means that. It is reached a little early,
	// because the file grows in steps of 256 KiB. A file that is larger already is opened and cannot grow.
	MaxSize int64
	// Format is the version of the layout this program reads and writes, 1 or more.
	Format int
	// Migrations lead from older formats to Format, one for each step.
	Migrations []Migration
}

// DB is an open registry file. Its methods may be called from many goroutines at once.
type DB struct {
	path    string
	maxSize int
	bolt    *bbolt.DB
	failed  atomic.Pointer[error]
}

// Open opens the file at path, or makes the first one; its folder must exist. It returns *LockedError if another
// process holds the file, *CorruptError if it is damaged, *FormatError if its format cannot be used.
func Open(path string, o Options) (*DB, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	f, err := openOwned(path, o)
	if err != nil {
		return nil, err
	}
	db, err := openFile(f, path, o.MaxSize)
	if err != nil {
		return nil, err
	}
	if err := db.migrate(o); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func (o Options) complete() (Options, error) {
	if o.MaxSize == 0 {
		o.MaxSize = DefaultMaxSize
	}
	if o.MaxSize < MinMaxSize {
		return o, fmt.Errorf("store: size cap of %d bytes is below the least of %d", o.MaxSize, MinMaxSize)
	}
	o.MaxSize = min(o.MaxSize, math.MaxInt32-deleteReserve) // the library counts in int, maps 2 GiB on 32 bits
	if o.Format < 1 {
		return o, fmt.Errorf("store: format %d of the program is not 1 or more", o.Format)
	}
	return o, nil
}

// openFile checks f, which the caller has locked, and hands it to the library. It owns f from here on.
func openFile(f *os.File, path string, maxSize int64) (*DB, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("store: %w", err), f.Close())
	}
	if err := checkFile(f, info.Size()); err != nil {
		return nil, errors.Join(corrupt(path, err), f.Close())
	}
	return openBolt(f, path, maxSize, firstMap)
}

// openBolt gives a locked file to the library, which makes an empty one into a database. The library maps at least mapped
// bytes, and a file grows in larger steps once that is more than a step. It closes f on failure.
func openBolt(f *os.File, path string, maxSize int64, mapped int) (*DB, error) {
	db := &DB{path: path, maxSize: int(maxSize)}
	err := db.guard(func() (err error) {
		db.bolt, err = bbolt.Open(path, fileMode, &bbolt.Options{
			NoFreelistSync:  true,
			FreelistType:    bbolt.FreelistMapType,
			NoStatistics:    true,
			MaxSize:         int(maxSize),
			InitialMmapSize: mapped,
			OpenFile:        func(string, int, os.FileMode) (*os.File, error) { return f, nil },
		})
		return err
	})
	if err != nil {
		// The library has closed f unless it panicked; a second close is harmless.
		if cerr := f.Close(); cerr != nil && !errors.Is(cerr, os.ErrClosed) {
			err = errors.Join(err, cerr)
		}
		return nil, fmt.Errorf("store: open %s: %w", path, err)
	}
	db.bolt.AllocSize = growStep
	return db, nil
}

// Path is the file's name as given to Open.
func (db *DB) Path() string { return db.path }

// View runs fn over one unchanging state. It returns fn's error, ErrClosed, or *CorruptError. An Update or Close
// inside fn never returns.
func (db *DB) View(fn func(Tx) error) (err error) {
	t, err := db.begin(false)
	if err != nil {
		return err
	}
	defer t.end(&err)
	return fn(t)
}

// Update runs fn and commits what it did, all or nothing; it has reached the disk when Update returns nil. Where fn puts
// and deletes nothing, nothing is written. One runs at a time. An error of fn leaves the old state, and so does
// *SizeError. After a failure that leaves the state on disk in doubt every further Update is refused until the file is
// opened again.
func (db *DB) Update(fn func(Tx) error) (err error) {
	t, err := db.begin(true)
	if err != nil {
		return err
	}
	defer t.end(&err)
	if err := fn(t); err != nil || !*t.changed {
		return err
	}
	return t.commit()
}

// Close waits for running transactions and lets go of the file. Closing again does nothing.
func (db *DB) Close() error {
	if err := db.guard(db.bolt.Close); err != nil {
		return fmt.Errorf("store: close %s: %w", db.path, err)
	}
	return nil
}

func (db *DB) begin(write bool) (Tx, error) {
	t := Tx{db: db, changed: new(bool), grows: new(bool)}
	err := db.guard(func() (err error) {
		t.bolt, err = db.bolt.Begin(write)
		return err
	})
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return t, fmt.Errorf("store: %s: %w", db.path, ErrClosed)
	}
	if err != nil {
		return t, fmt.Errorf("store: %s: %w", db.path, err)
	}
	if failed := db.failed.Load(); write && failed != nil {
		return t, errors.Join(fmt.Errorf("store: %s takes no updates until it is opened again: %w", db.path, *failed), t.rollback())
	}
	return t, nil
}

// guard runs a call into the library. A failed assertion in it, or a page of the mapped file that the disk cannot
// give (a memory fault), becomes *CorruptError and ends updates; other processes and goroutines go on.
func (db *DB) guard(call func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = &CorruptError{Path: db.path, Reason: fmt.Sprint(p)}
			db.fail(err)
		}
	}()
	return call()
}

func (db *DB) fail(err error) { db.failed.CompareAndSwap(nil, &err) }
