package health

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"capd/internal/store"
)

// Threshold is how many failed verifications in a row put an action out of service.
const Threshold = 3

// bucketBreakers holds a State per action that has something to tell.
const bucketBreakers = "breakers"

// State is how well an action has proved itself lately. The zero State is that of an action that never failed.
type State struct {
	Action     string    `json:"action"`
	Degraded   bool      `json:"degraded"`
	Failures   int       `json:"failures"`             // in a row
	Since      time.Time `json:"since,omitzero"`       // when it was degraded
	Reason     string    `json:"reason,omitempty"`     // of the failure that degraded it (before that, of the latest), or of the person
	By         string    `json:"by,omitempty"`         // the person who degraded it; empty: the breaker did
	Invocation string    `json:"invocation,omitempty"` // the latest failed call
	RestoredBy string    `json:"restored_by,omitempty"`
	RestoredAt time.Time `json:"restored_at,omitzero"`
}

// Verification is how one call's verification ended. Only physical failures belong here: a machine or a witness that did not agree, never a
// refusal or a mistake of the caller.
type Verification struct {
	OK         bool
	Invocation string
	Reason     string
}

// Breakers counts failed verifications by action. It is safe for concurrent use.
type Breakers struct {
	db     *store.DB
	now    func() time.Time
	change sync.Mutex   // one change at a time
	mu     sync.RWMutex // of states; never held across the disk
	states map[string]State
}

// OpenBreakers loads the breakers of a store. Times come from now, the wall clock.
func OpenBreakers(db *store.DB, now func() time.Time) (*Breakers, error) {
	b := &Breakers{db: db, now: wall(now), states: map[string]State{}}
	err := db.View(func(tx store.Tx) error {
		return store.ForEachJSON(tx, bucketBreakers, "", func(action string, s State) error {
			b.states[action] = s
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("health: load breakers: %w", err)
	}
	return b, nil
}

// State gives an action's state.
func (b *Breakers) State(action string) State {
	b.mu.RLock()
	defer b.mu.RUnlock()
	s := b.states[action]
	s.Action = action
	return s
}

// States lists the actions that are degraded or have failed last, by name.
func (b *Breakers) States() []State {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var list []State
	for _, s := range b.states {
		if s.Degraded || s.Failures > 0 {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b State) int { return cmp.Compare(a.Action, b.Action) })
	return list
}

// Record counts how a verification ended; tripped says that this one degraded the action. A success forgets the failures and ends
// a degradation by the breaker, not one by a person. A failure counts even if the error says that the disk refused it.
func (b *Breakers) Record(action string, v Verification) (tripped bool, err error) {
	if err := checkText("action", action); err != nil {
		return false, err
	}
	b.change.Lock()
	defer b.change.Unlock()
	s := b.State(action)
	if v.OK {
		return false, b.succeed(s)
	}
	s.Failures++
	s.Invocation = v.Invocation
	if !s.Degraded {
		s.Reason = clip(v.Reason)
		if tripped = s.Failures >= Threshold; tripped {
			s.Degraded, s.Since, s.By = true, b.now(), ""
		}
	}
	b.set(s)
	return tripped, b.store(s)
}

func (b *Breakers) succeed(s State) error {
	next := s
	if next.Failures = 0; s.By == "" {
		next = State{Action: s.Action, RestoredBy: s.RestoredBy, RestoredAt: s.RestoredAt}
	}
	if next == s {
		return nil
	}
	return b.put(next)
}

// Degrade takes an action out of service in a person's name, until Restore. An action that the breaker has degraded is the person's from then on.
func (b *Breakers) Degrade(action, by, reason string) error {
	if err := checkTexts("action", action, "by", by, "reason", reason); err != nil {
		return err
	}
	b.change.Lock()
	defer b.change.Unlock()
	s := b.State(action)
	if !s.Degraded {
		s.Since = b.now()
	}
	s.Degraded, s.By, s.Reason = true, by, clip(reason)
	return b.put(s)
}

// Restore puts an action back into service and forgets its failures. One that is in service stays as it is.
func (b *Breakers) Restore(action, by string) error {
	if err := checkTexts("action", action, "by", by); err != nil {
		return err
	}
	b.change.Lock()
	defer b.change.Unlock()
	if s := b.State(action); !s.Degraded && s.Failures == 0 {
		return nil
	}
	return b.put(State{Action: action, RestoredBy: by, RestoredAt: b.now()})
}

// put is for what makes an action usable again, or for what a person decides: on disk first, then in force.
func (b *Breakers) put(s State) error {
	if err := b.store(s); err != nil {
		return err
	}
	b.set(s)
	return nil
}

func (b *Breakers) store(s State) error {
	err := b.db.Update(func(tx store.Tx) error { return store.PutJSON(tx, bucketBreakers, s.Action, s) })
	if err != nil {
		return fmt.Errorf("health: record the breaker of %s: %w", s.Action, err)
	}
	return nil
}

func (b *Breakers) set(s State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.states[s.Action] = s
}
