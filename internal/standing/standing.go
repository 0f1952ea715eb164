// Package standing keeps what stands at the box until a person changes it: the mode, technicians' lockouts and consents, what each
// point has been put through, and which assets are unsettled.
//
// Its promise: what a person decides is in force only once it is on disk, so that a lockout somebody relies on survives a
// power cut. What has happened at a machine (writes, an unknown outcome) counts at once even if the disk refuses it, and the
// caller is told. A consent never outlives the process. Reads never wait for the disk. It never decides who may change something, which is for the doors, nor
// whether a call may run, which is guard's.
package standing

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"capd/internal/store"
)

// Limits of the texts, in characters.
const (
	MaxName   = 64  // of a person
	MaxTarget = 256 // of an asset id, a location or a point
	MaxReason = 500
)

// Standing is the present state. It is safe for concurrent use.
type Standing struct {
	now      func() time.Time
	change   sync.Mutex // one change at a time
	mode     *table[ModeState]
	lockouts *table[Lockout]
	forced   *table[ForcedUnlock]
	usage    *table[Usage]
	marks    *table[Mark]

	arms  sync.Mutex // of armed
	armed map[string]Arm
}

// Open loads the state from a store. A store without a mode gets the given one, for good. Times come from now, the wall clock.
func Open(db *store.DB, fresh Mode, now func() time.Time) (*Standing, error) {
	s := &Standing{now: func() time.Time { return now().Round(0).UTC() }, armed: map[string]Arm{}}
	var errs [5]error
	s.mode, errs[0] = load[ModeState](db, "mode")
	s.lockouts, errs[1] = load[Lockout](db, "lockouts")
	s.forced, errs[2] = load[ForcedUnlock](db, "forced_unlocks")
	s.usage, errs[3] = load[Usage](db, "usage")
	s.marks, errs[4] = load[Mark](db, "unsettled")
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return s, s.openMode(fresh)
}

// InputError says what is wrong with something a person gave.
type InputError struct {
	Field   string // mode, target, by, reason, asset, point, action, for
	Message string
}

func (e *InputError) Error() string { return e.Field + ": " + e.Message }

// checkText refuses what cannot be shown in one line.
func checkText(field, text string, most int) error {
	switch {
	case strings.TrimSpace(text) == "":
		return &InputError{field, "is missing; give one"}
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return &InputError{field, fmt.Sprintf("%q has characters that cannot be shown; write it in one line of plain text", text)}
	case utf8.RuneCountInString(text) > most:
		return &InputError{field, fmt.Sprintf("has %d characters, the limit is %d; shorten it", utf8.RuneCountInString(text), most)}
	}
	return nil
}

// table is one bucket of the store with its copy in memory.
type table[T any] struct {
	db     *store.DB
	bucket string
	mu     sync.RWMutex // of items; never held across the disk
	items  map[string]T
}

func load[T any](db *store.DB, bucket string) (*table[T], error) {
	t := &table[T]{db: db, bucket: bucket, items: map[string]T{}}
	err := db.View(func(tx store.Tx) error {
		return store.ForEachJSON(tx, bucket, "", func(key string, v T) error {
			t.items[key] = v
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("standing: load %s: %w", bucket, err)
	}
	return t, nil
}

func (t *table[T]) get(key string) (T, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	v, ok := t.items[key]
	return v, ok
}

// sorted lists the items that keep wants, nil if there are none.
func (t *table[T]) sorted(keep func(T) bool, compare func(a, b T) int) []T {
	t.mu.RLock()
	var list []T
	for _, v := range t.items {
		if keep(v) {
			list = append(list, v)
		}
	}
	t.mu.RUnlock()
	slices.SortFunc(list, compare)
	return list
}

// put is for decisions: on disk first, then in force.
func (t *table[T]) put(key string, v T) error {
	if err := t.store(key, v); err != nil {
		return err
	}
	t.set(key, v)
	return nil
}

// note is for facts: they count even if the disk refuses them.
func (t *table[T]) note(key string, v T) error {
	t.set(key, v)
	return t.store(key, v)
}

func (t *table[T]) store(key string, v T) error {
	err := t.db.Update(func(tx store.Tx) error { return store.PutJSON(tx, t.bucket, key, v) })
	if err != nil {
		return fmt.Errorf("standing: record %s of %q: %w", t.bucket, key, err)
	}
	return nil
}

func (t *table[T]) set(key string, v T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.items[key] = v
}

// drop forgets a key in memory; the caller has removed it from the store.
func (t *table[T]) drop(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.items, key)
}

// keys lists the keys in order.
func (t *table[T]) keys() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Sorted(maps.Keys(t.items))
}

func (t *table[T]) len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.items)
}
