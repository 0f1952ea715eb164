package registry

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"capd/internal/hal"
	"capd/internal/store"
)

// Registry holds the active Snapshot and the last good version of every file.
type Registry struct {
	drivers     []hal.Driver
	db          *store.DB
	log         *slog.Logger
	program     string // as programID gives it; without one no tree is kept
	publishing  sync.Mutex
	published   string // digest of the candidate in force; guarded by publishing
	active      atomic.Pointer[Snapshot]
	subscribers []func(*Snapshot)
}

// New makes a registry over an opened store. It serves an empty snapshot until the first Publish. Each subscriber is called, in
// order, after a snapshot was swapped in; they are given here because nothing may be wired later.
func New(db *store.DB, drivers []hal.Driver, log *slog.Logger, subscribers ...func(*Snapshot)) *Registry {
	program, err := programID()
	if err != nil {
		log.Info("every start parses every file", "because", err)
	}
	r := &Registry{drivers: drivers, db: db, log: log, program: program, subscribers: subscribers}
	r.active.Store(emptySnapshot())
	return r
}

// Snapshot is what is in force now. It never blocks and never does I/O.
func (r *Registry) Snapshot() *Snapshot { return r.active.Load() }

// Publish checks a candidate and makes what is good of it active: the only way anything becomes active. For a file that is not
// good its last good version goes on serving. The error means that nothing changed.
func (r *Registry) Publish(ctx context.Context, c Candidate) (*Snapshot, error) {
	r.publishing.Lock()
	defer r.publishing.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	digest := c.digest()
	if digest == r.published {
		return r.Snapshot(), nil // a reload by hand and the watch over the folders see the same change
	}
	good, stored, err := r.load()
	if err != nil {
		return nil, fmt.Errorf("registry: read the last good set: %w", err)
	}
	b := newBuild(c, good, newTrees(r.program, stored), r.drivers, r.Snapshot())
	s := b.run()
	if err := r.save(b); err != nil {
		return nil, fmt.Errorf("registry: save the new set: %w; the old set goes on serving", err)
	}
	s.ID, s.At = r.Snapshot().ID+1, time.Now()
	r.active.Store(s)
	r.published = digest
	r.log.Info("published", "snapshot", s.ID, "actions", len(s.Actions), "contracts", len(s.Contracts), "rejected", len(s.Rejected))
	for _, rejected := range s.Rejected {
		r.log.Warn("file rejected", "file", rejected.File, "serving", rejected.Serving, "problems", rejected.Problems.Error())
	}
	for _, tell := range r.subscribers {
		tell(s)
	}
	return s, nil
}
