package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// sumSize is the length of the checksum behind every value. The library sums its meta pages alone, so a bit that
// flips in the flash would otherwise be served.
const sumSize = 4

// Tx reads and writes values by bucket and key within one View or Update. Buckets come into being with their first
// value. A Tx belongs to the goroutine that runs the transaction.
type Tx struct {
	db      *DB
	bolt    *bbolt.Tx
	changed *bool // whether anything was put or deleted
	grows   *bool // whether anything was put
}

// Get returns a copy of a value, or ErrNotFound.
func (t Tx) Get(bucket, key string) ([]byte, error) {
	var value []byte
	err := t.with(bucket, func(b *bbolt.Bucket) (err error) {
		sealed := b.Get([]byte(key))
		if sealed == nil {
			return ErrNotFound
		}
		value, err = t.unseal(bucket, key, sealed)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("store: get %s/%s: %w", bucket, key, err)
	}
	return value, nil
}

// Put sets a value. The bucket "meta" belongs to this package.
func (t Tx) Put(bucket, key string, value []byte) error {
	if bucket == metaBucket {
		return fmt.Errorf("store: put %s/%s: the bucket is reserved", bucket, key)
	}
	return t.put(bucket, key, value)
}

func (t Tx) put(bucket, key string, value []byte) error {
	err := t.change(func() error {
		b, err := t.bolt.CreateBucketIfNotExists([]byte(bucket))
		if err != nil {
			return err
		}
		*t.grows = true
		return b.Put([]byte(key), seal(bucket, key, value))
	})
	if err != nil {
		return fmt.Errorf("store: put %s/%s: %w", bucket, key, err)
	}
	return nil
}

// Delete removes a value; one that is not there is no error.
func (t Tx) Delete(bucket, key string) error {
	if bucket == metaBucket {
		return fmt.Errorf("store: delete %s/%s: the bucket is reserved", bucket, key)
	}
	err := t.change(func() error {
		if b := t.bolt.Bucket([]byte(bucket)); b != nil {
			return b.Delete([]byte(key))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store: delete %s/%s: %w", bucket, key, err)
	}
	return nil
}

// ForEach calls fn with a copy of every value whose key starts with prefix, in the byte order of the keys. It stops
// at fn's first error and returns it. fn may change the bucket; keys it adds behind the present one are visited.
func (t Tx) ForEach(bucket, prefix string, fn func(key string, value []byte) error) error {
	for from := prefix; ; {
		key, value, err := t.next(bucket, from)
		if errors.Is(err, ErrNotFound) || err == nil && !strings.HasPrefix(key, prefix) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("store: read %s/%s*: %w", bucket, prefix, err)
		}
		if err := fn(key, value); err != nil {
			return err
		}
		from = key + "\x00" // the smallest key behind this one
	}
}

// next returns the first key at or behind from, with its value.
func (t Tx) next(bucket, from string) (key string, value []byte, err error) {
	err = t.with(bucket, func(b *bbolt.Bucket) (err error) {
		k, sealed := b.Cursor().Seek([]byte(from))
		if k == nil {
			return ErrNotFound
		}
		key = string(k)
		value, err = t.unseal(bucket, key, sealed)
		return err
	})
	return key, value, err
}

// with runs fn on a bucket; one that is not there has no keys.
func (t Tx) with(bucket string, fn func(*bbolt.Bucket) error) error {
	if t.bolt.DB() == nil {
		return ErrTxDone
	}
	return t.db.guard(func() error {
		b := t.bolt.Bucket([]byte(bucket))
		if b == nil {
			return ErrNotFound
		}
		return fn(b)
	})
}

func (t Tx) change(fn func() error) error {
	if t.bolt.DB() == nil {
		return ErrTxDone
	}
	if !t.bolt.Writable() {
		return ErrReadOnly
	}
	*t.changed = true
	return t.db.guard(fn)
}

// end closes a transaction that fn or commit may have left open, also when fn panics.
func (t Tx) end(err *error) {
	if rerr := t.rollback(); rerr != nil {
		*err = errors.Join(*err, rerr)
	}
}

// rollback gives up what was not committed.
func (t Tx) rollback() error {
	if t.bolt == nil || t.bolt.DB() == nil {
		return nil
	}
	return t.db.guard(t.bolt.Rollback)
}

func (t Tx) commit() error {
	db, id := t.db, t.bolt.ID()
	db.bolt.MaxSize = db.maxSize // this transaction is the only writer
	if !*t.grows {
		db.bolt.MaxSize += deleteReserve
	}
	err := db.guard(t.bolt.Commit)
	if err == nil {
		return nil
	}
	if errors.Is(err, bolterrors.ErrMaxSizeReached) {
		return &SizeError{Path: db.path, Max: int64(db.maxSize)}
	}
	if seen, verr := db.lastCommitted(); verr != nil || seen >= id {
		db.fail(fmt.Errorf("an earlier update may or may not be on disk: %w", err))
	}
	return fmt.Errorf("store: update %s: %w", db.path, err)
}

// lastCommitted is the number of the transaction that readers see. A failed commit that readers see all the same
// has changed the meta page in memory, and nobody knows whether it reached the disk.
func (db *DB) lastCommitted() (int, error) {
	t, err := db.begin(false)
	if err != nil {
		return 0, err
	}
	id := t.bolt.ID()
	return id, t.rollback()
}

// seal appends the checksum, which covers the place too: a value that turns up under another key is damage.
func seal(bucket, key string, value []byte) []byte {
	sealed := make([]byte, 0, len(value)+sumSize)
	sealed = append(sealed, value...)
	return binary.LittleEndian.AppendUint32(sealed, sum(bucket, key, value))
}

// sealedOK reports whether a stored value is the one that was put at its place.
func sealedOK(bucket, key string, sealed []byte) bool {
	n := len(sealed) - sumSize
	return n >= 0 && binary.LittleEndian.Uint32(sealed[n:]) == sum(bucket, key, sealed[:n])
}

func (t Tx) unseal(bucket, key string, sealed []byte) ([]byte, error) {
	if !sealedOK(bucket, key, sealed) {
		return nil, &CorruptError{Path: t.db.path, Reason: fmt.Sprintf("value of %q in bucket %q has a wrong checksum", key, bucket)}
	}
	return bytes.Clone(sealed[:len(sealed)-sumSize]), nil
}

func sum(bucket, key string, value []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	s := crc32.Checksum([]byte(bucket+"\x00"+key+"\x00"), table)
	return crc32.Update(s, table, value)
}

// GetJSON returns a value that PutJSON has set, or ErrNotFound.
func GetJSON[T any](t Tx, bucket, key string) (T, error) {
	var v T
	data, err := t.Get(bucket, key)
	if err != nil {
		return v, err
	}
	return v, decode(bucket, key, data, &v)
}

// PutJSON sets a value as JSON.
func PutJSON(t Tx, bucket, key string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("store: put %s/%s: %w", bucket, key, err)
	}
	return t.Put(bucket, key, data)
}

// ForEachJSON is ForEach over values that PutJSON has set.
func ForEachJSON[T any](t Tx, bucket, prefix string, fn func(key string, v T) error) error {
	return t.ForEach(bucket, prefix, func(key string, data []byte) error {
		var v T
		if err := decode(bucket, key, data, &v); err != nil {
			return err
		}
		return fn(key, v)
	})
}

func decode(bucket, key string, data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("store: decode %s/%s: %w", bucket, key, err)
	}
	return nil
}
