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
// superseded, and take hands back who that is.
func (l *leases) take(r *run) (superseded []*run, refusal *outcome.Refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if superseded, refusal = l.others(r); refusal != nil {
		return nil, refusal
	}
	for _, asset := range r.action.Writes {
		l.held[asset] = r
	}
	return superseded, nil
}

// takeFree leases the assets for r if nobody holds one of them.
func (l *leases) takeFree(r *run) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, asset := range r.action.Writes {
		if l.held[asset] != nil {
			return false
		}
	}
	for _, asset := range r.action.Writes {
		l.held[asset] = r
	}
	return true
}

// holders is who would be superseded by r, or why r would be refused.
func (l *leases) holders(r *run) ([]*run, *outcome.Refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.others(r)
}

func (l *leases) others(r *run) (all []*run, refusal *outcome.Refusal) {
	for _, asset := range r.action.Writes {
		holder := l.held[asset]
		if holder == nil || holder == r {
			continue
		}
		if !r.action.ToSafe {
			return nil, outcome.Refuse(outcome.Busy, fmt.Sprintf("%s is being moved by call %s of %s (%s)", asset, holder.id, holder.subject.Name, holder.action.Name))
		}
		all = append(all, holder)
	}
	return all, nil
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
