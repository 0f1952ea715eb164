package app

import (
	"context"
	"log/slog"
	"sync"

	"capd/internal/registry"
)

// reading is what became of the latest reading of the folders.
type reading struct {
	mu  sync.Mutex
	err error // why nothing was published; nil when all is well
}

// failure is why the latest reading of the folders published nothing, nil if it did.
func (r *reading) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// end notes what became of a reading, and gives what became of the one before.
func (r *reading) end(err error) (before error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, r.err = r.err, err
	return before
}

// reload reads the three folders and publishes them. A failure stays in the status until a reading succeeds, and is logged once, unless
// somebody asked who hears of it from the log alone.
func (k *core) reload(ctx context.Context, log *slog.Logger, asked bool) (*registry.Snapshot, error) {
	s, err := k.publish(ctx)
	switch before := k.reading.end(err); {
	case err != nil && (asked || before == nil || before.Error() != err.Error()):
		log.Error("reload failed; the set in force goes on serving", "error", err)
	case err == nil && (asked || before != nil):
		log.Info("the folders were read", "set", s.ID, "rejected", len(s.Rejected))
	}
	return s, err
}

func (k *core) publish(ctx context.Context) (*registry.Snapshot, error) {
	candidate, err := registry.ReadFolders(k.folders())
	if err != nil {
		return nil, err
	}
	return k.registry.Publish(ctx, candidate)
}
