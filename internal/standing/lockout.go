package standing

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"capd/internal/store"
)

// MaxLockouts is how many lockouts may stand at a time.
const MaxLockouts = 1000

// maxForced is how many forced removals are kept; the oldest go first.
const maxForced = 100

// Lockout is one person's block on an asset or on everything at a place. It is administrative: it stops capd, not energy.
type Lockout struct {
	Target string    `json:"target"` // an asset id, or a location of whole segments such as plant/ps07
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

func (l Lockout) key() string { return lockKey(l.Target, l.By) }

// lockKey joins with a character that no text checked here can hold.
func lockKey(target, by string) string { return target + "\n" + by }

// covers reports whether the lockout blocks an asset at a location.
func (l Lockout) covers(asset, location string) bool {
	if l.Target == asset {
		return true
	}
	rest, ok := strings.CutPrefix(location, l.Target)
	return ok && (rest == "" || rest[0] == '/')
}

// ForcedUnlock is a lockout that somebody else than its owner removed.
type ForcedUnlock struct {
	Lockout
	ForcedBy string    `json:"forced_by"`
	ForcedAt time.Time `json:"forced_at"`
}

// NotLockedError says that a person has no lockout on a target, and who has.
type NotLockedError struct {
	Target, By string
	Others     []string // people with a lockout on this very target, in the order they locked
}

func (e *NotLockedError) Error() string {
	if len(e.Others) == 0 {
		return fmt.Sprintf("there is no lockout on %s; capd status lists those that stand", e.Target)
	}
	return fmt.Sprintf("%s has no lockout on %s; it is locked by %s, and only they can lift that (root may by force)",
		e.By, e.Target, strings.Join(e.Others, ", "))
}

// Lock blocks a target until the same person unlocks it. It is in force only when Lock returns nil. A second lock by the same
// person takes the new reason and keeps the time of the first. A zero At is now. What is wrong with l is an *InputError; whether the target
// exists is for the caller to check.
func (s *Standing) Lock(l Lockout) error {
	if err := checkLockout(l); err != nil {
		return err
	}
	s.change.Lock()
	defer s.change.Unlock()
	if l.At = l.At.Round(0).UTC(); l.At.IsZero() {
		l.At = s.now()
	}
	if old, again := s.lockouts.get(l.key()); again {
		l.At = old.At
	} else if s.lockouts.len() >= MaxLockouts {
		return &InputError{"target", fmt.Sprintf("%d lockouts stand, which is the limit; lift those that are no longer needed, or lock a place instead of each asset", MaxLockouts)}
	}
	return s.lockouts.put(l.key(), l)
}

func checkLockout(l Lockout) error {
	if err := checkText("target", l.Target, MaxTarget); err != nil {
		return err
	}
	for part := range strings.SplitSeq(l.Target, "/") {
		if strings.TrimSpace(part) != part || part == "" {
			return &InputError{"target", fmt.Sprintf("%q is neither an asset nor a place; write an asset id, or a location such as plant/ps07 without a slash at its ends", l.Target)}
		}
	}
	if err := checkText("by", l.By, MaxName); err != nil {
		return err
	}
	return checkText("reason", l.Reason, MaxReason)
}

// Unlock lifts a person's own lockout and gives what it was. Lockouts of others on the target stand. *NotLockedError if there is none.
func (s *Standing) Unlock(target, by string) (Lockout, error) {
	s.change.Lock()
	defer s.change.Unlock()
	l, err := s.lockoutOf(target, by)
	if err != nil {
		return Lockout{}, err
	}
	return l, s.lift(l, func(store.Tx) error { return nil })
}

// ForceUnlock lifts owner's lockout in the name of by, and keeps a record of it: see Forced. Who may do that is for the door to decide.
func (s *Standing) ForceUnlock(target, owner, by string) (Lockout, error) {
	if err := checkText("by", by, MaxName); err != nil {
		return Lockout{}, err
	}
	s.change.Lock()
	defer s.change.Unlock()
	l, err := s.lockoutOf(target, owner)
	if err != nil {
		return Lockout{}, err
	}
	f := ForcedUnlock{Lockout: l, ForcedBy: by, ForcedAt: s.now()}
	key := f.ForcedAt.Format(sortable) + " " + l.key()
	oldest := ""
	if keys := s.forced.keys(); len(keys) >= maxForced {
		oldest = keys[0]
	}
	err = s.lift(l, func(tx store.Tx) error {
		if oldest != "" {
			if err := tx.Delete(s.forced.bucket, oldest); err != nil {
				return err
			}
		}
		return store.PutJSON(tx, s.forced.bucket, key, f)
	})
	if err != nil {
		return Lockout{}, err
	}
	s.forced.drop(oldest)
	s.forced.set(key, f)
	return l, nil
}

// sortable is a time of fixed width, so that keys are in the order of time.
const sortable = "2006-01-02T15:04:05.000000000Z"

func (s *Standing) lockoutOf(target, by string) (Lockout, error) {
	if l, ok := s.lockouts.get(lockKey(target, by)); ok {
		return l, nil
	}
	e := &NotLockedError{Target: target, By: by}
	for _, l := range s.Lockouts() {
		if l.Target == target {
			e.Others = append(e.Others, l.By)
		}
	}
	return Lockout{}, e
}

// lift removes a lockout from the store, together with what else belongs to it, and then from memory.
func (s *Standing) lift(l Lockout, also func(store.Tx) error) error {
	err := s.lockouts.db.Update(func(tx store.Tx) error {
		if err := tx.Delete(s.lockouts.bucket, l.key()); err != nil {
			return err
		}
		return also(tx)
	})
	if err != nil {
		return fmt.Errorf("standing: unlock %s, which stays locked: %w", l.Target, err)
	}
	s.lockouts.drop(l.key())
	return nil
}

// For lists the lockouts that block an asset at a location, oldest first: on the asset itself and on each place it lies in.
func (s *Standing) For(asset, location string) []Lockout {
	return s.lockouts.sorted(func(l Lockout) bool { return l.covers(asset, location) }, oldestLock)
}

// Lockouts lists all that stand, oldest first.
func (s *Standing) Lockouts() []Lockout {
	return s.lockouts.sorted(func(Lockout) bool { return true }, oldestLock)
}

func oldestLock(a, b Lockout) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.key(), b.key())) }

// Forced lists the latest forced removals, newest first, at most 100.
func (s *Standing) Forced() []ForcedUnlock {
	return s.forced.sorted(func(ForcedUnlock) bool { return true }, func(a, b ForcedUnlock) int {
		return cmp.Or(b.ForcedAt.Compare(a.ForcedAt), cmp.Compare(a.key(), b.key()))
	})
}
