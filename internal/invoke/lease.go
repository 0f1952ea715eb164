package invoke

import (
	"fmt"
	"sync"

	"capd/internal/outcome"
)

// leases gives each asset to one invocation at a time: all of an action's assets, or none.
type leases struct {
	mu   sync.Mutex
	held map[string]*run // by asset
}

func newLeases() *leases { return &leases{held: map[string]*run{}} }

// take leases the assets for r. An asset that another call holds is BUSY, unless r goes to the safe side: then the holder is
// superseded, and take hands back what must end first.
func (l *leases) take(r *run) (superseded []*run, refusal *outcome.Refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, asset := range r.action.Writes {
		holder := l.held[asset]
		if holder == nil || holder == r {
			continue
		}
		if !r.action.ToSafe || holder.action.ToSafe {
			return nil, outcome.Refuse(outcome.Busy, fmt.Sprintf("%s is being moved by call %s of %s (%s)", asset, holder.id, holder.subject.Name, holder.action.Name))
		}
		superseded = append(superseded, holder)
	}
	for _, asset := range r.action.Writes {
		l.held[asset] = r
	}
	return superseded, nil
}

// release gives back what r still holds.
func (l *leases) release(r *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for asset, holder := range l.held {
		if holder == r {
			delete(l.held, asset)
		}
	}
}

// holder is who holds an asset now, nil when nobody does.
func (l *leases) holder(asset string) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[asset]
}
