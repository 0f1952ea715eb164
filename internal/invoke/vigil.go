package invoke

import (
	"context"
	"sync"
	"time"

	"capd/internal/outcome"
	"capd/internal/verify"
)

// vigils are the watches over ended calls, at most one for each asset; the next command on the asset ends it.
type vigils struct {
	mu      sync.Mutex
	byAsset map[string]context.CancelFunc
	group   sync.WaitGroup
}

func newVigils() *vigils { return &vigils{byAsset: map[string]context.CancelFunc{}} }

func (v *vigils) begin(ctx context.Context, assets []string, watch func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	v.mu.Lock()
	for _, asset := range assets {
		if old := v.byAsset[asset]; old != nil {
			old()
		}
		v.byAsset[asset] = cancel
	}
	v.mu.Unlock()
	v.group.Go(func() {
		defer cancel()
		watch(ctx)
	})
}

func (v *vigils) end(assets []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, asset := range assets {
		if cancel := v.byAsset[asset]; cancel != nil {
			cancel()
			delete(v.byAsset, asset)
		}
	}
}

func (v *vigils) wait() { v.group.Wait() }

// keepWatch begins what goes on after an answer: a confirmed state may be left again, an unsettled one may still arrive.
func (c *Corridor) keepWatch(r *run, a Answer, k concluded) {
	c.mu.Lock()
	over := r.superseded
	c.mu.Unlock()
	if !k.intended || over || c.ctx.Err() != nil { // what another command has changed meanwhile is not watched
		return
	}
	switch {
	case a.Verdict == outcome.Confirmed && r.action.Plan.Watch != nil:
		c.vigils.begin(c.ctx, r.action.Writes, func(ctx context.Context) {
			defer c.survive("watch", r.id)
			c.watchConfirmed(ctx, r, k.act)
		})
	case a.Verdict == outcome.Unknown && a.Reason.Code == outcome.VerifyTimeout:
		c.vigils.begin(c.ctx, r.action.Writes, func(ctx context.Context) {
			defer c.survive("late watch", r.id)
			c.watchLate(ctx, r, k.act)
		})
	}
}

// watchConfirmed raises REVERTED when the confirmed state is left during the contract's watch.
func (c *Corridor) watchConfirmed(ctx context.Context, r *run, act verify.Act) {
	act.End = time.Now()
	text, left := verify.Watch(ctx, c.machine, r.action.Plan, act)
	if !left {
		return
	}
	c.raise(r, outcome.Reverted, "reverted", r.action.Name+": "+text)
	c.amend(r, Amendment{At: time.Now(), Kind: "reverted", Text: "REVERTED: " + text})
}

// watchLate goes on measuring for one more verification window after VERIFY_TIMEOUT; a late arrival is recorded and settles the asset.
func (c *Corridor) watchLate(ctx context.Context, r *run, act verify.Act) {
	act.End = time.Now()
	d, _ := verify.Run(ctx, c.machine, r.action.Plan, act)
	if ctx.Err() != nil || d.Verdict != outcome.Confirmed {
		return
	}
	c.settle(r, "late confirmation of "+r.id)
	c.amend(r, Amendment{At: time.Now(), Kind: "late_confirmed", Verdict: outcome.Confirmed, Text: "Confirmed late, at " + d.Level.String() + "."})
}
