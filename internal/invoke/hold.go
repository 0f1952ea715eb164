package invoke

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"capd/internal/journal"
	"capd/internal/outcome"
	"capd/internal/standing"
)

// holds are the commands that capd owes the machine again and again, one for each point: a declared hold is an obligation, not a
// repeat. The next command that writes a held point ends its hold, or takes it over with its own.
type holds struct {
	mu      sync.Mutex
	byPoint map[string]*hold
	group   sync.WaitGroup
}

// hold is the points of one action that are re-asserted together.
type hold struct {
	run    *run
	writes []plannedWrite // guarded by holds.mu; shrinks as other commands take points over
	until  time.Time
	cancel context.CancelFunc
}

func newHolds() *holds { return &holds{byPoint: map[string]*hold{}} }

// release lets go of points that another command writes now; a hold without points ends.
func (h *holds) release(writes []plannedWrite) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range writes {
		held := h.byPoint[w.ref]
		if held == nil {
			continue
		}
		delete(h.byPoint, w.ref)
		held.writes = slices.DeleteFunc(held.writes, func(p plannedWrite) bool { return p.ref == w.ref })
		if len(held.writes) == 0 {
			held.cancel()
		}
	}
}

// end lets go of everything that a run holds.
func (h *holds) end(r *run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ref, held := range h.byPoint {
		if held.run == r {
			held.cancel()
			delete(h.byPoint, ref)
		}
	}
}

func (h *holds) take(held *hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range held.writes {
		h.byPoint[w.ref] = held
	}
}

// owed is what a hold must assert now.
func (h *holds) owed(held *hold) []plannedWrite {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(held.writes)
}

func (h *holds) wait() { h.group.Wait() }

// beginHold starts the hold of an action, right after its act: the machine may forget the command before it is verified.
func (c *Corridor) beginHold(r *run) {
	spec := r.action.Hold
	if spec == nil || c.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	held := &hold{run: r, until: time.Now().Add(spec.For), cancel: cancel}
	for _, w := range r.writes {
		if slices.Contains(spec.Points, w.step.Alias) {
			held.writes = append(held.writes, w)
		}
	}
	c.holds.take(held)
	c.obligation(r, "hold begun", fmt.Sprintf("re-asserted every %s until %s", spec.Every, held.until.Format(time.RFC3339)))
	c.holds.group.Go(func() {
		defer cancel()
		c.obligation(r, "hold ended", c.keepHold(ctx, held, spec.Every))
		c.holds.end(r)
	})
}

// keepHold asserts until the hold is over, and says why it ended.
func (c *Corridor) keepHold(ctx context.Context, held *hold, every time.Duration) string {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return "released"
		case now := <-ticker.C:
			if now.After(held.until) {
				c.raise(held.run, outcome.Reverted, "hold", "the hold of "+held.run.action.Name+" has expired; the machine "+held.run.action.Hold.Silence)
				return "expired"
			}
		}
		if why := c.mayNotHold(held.run); why != "" {
			c.raise(held.run, outcome.Reverted, "hold", "the hold of "+held.run.action.Name+" has ended: "+why+"; the machine "+held.run.action.Hold.Silence)
			return why
		}
		c.assert(ctx, held)
	}
}

// mayNotHold is why nothing may be written any more: lockouts and the mode count for obligations too.
func (c *Corridor) mayNotHold(r *run) string {
	if mode := c.Standing.Mode().Mode; mode != standing.Active {
		return "the box is in mode " + string(mode)
	}
	if locks := c.lockouts(r.action); len(locks) > 0 {
		return "locked by " + locks[0].By + ": " + locks[0].Reason
	}
	return ""
}

// assert writes every held point once. A failed assertion is told, and tried again at the next turn.
func (c *Corridor) assert(ctx context.Context, held *hold) {
	for _, w := range c.holds.owed(held) {
		if ctx.Err() != nil {
			return
		}
		c.acts.Add(1)
		_, err := c.machine.Write(context.WithoutCancel(ctx), w.ref, w.value)
		c.acts.Done()
		if err != nil && ctx.Err() == nil {
			c.raise(held.run, outcome.OutcomeUnknown, "hold", "the hold of "+held.run.action.Name+" could not be re-asserted: "+err.Error())
		}
	}
}

// obligation journals what capd owes, and that it owes it no more.
func (c *Corridor) obligation(r *run, what, text string) {
	record := map[string]any{"invocation": r.id, "action": r.action.Name, "asset": r.action.Contract.Asset, "what": what, "text": text}
	if _, err := c.Journal.Append(context.WithoutCancel(c.ctx), journal.Obligation, record); err != nil {
		c.Log.Error("obligation not on disk", "invocation", r.id, "error", err)
	}
	c.Log.Info("obligation", "invocation", r.id, "what", what, "text", text)
}

// trueUntil is until when a confirmed state is kept, nil without a hold.
func (c *Corridor) trueUntil(r *run) *time.Time {
	c.holds.mu.Lock()
	defer c.holds.mu.Unlock()
	for _, held := range c.holds.byPoint {
		if held.run == r {
			until := held.until
			return &until
		}
	}
	return nil
}

// budget is how much of a point's lifetime of writes is used.
type budget struct {
	Point string `json:"point"`
	Used  int64  `json:"used"`
	Limit int64  `json:"limit"`
}

// budgets lists the written points whose writes are numbered.
func (c *Corridor) budgets(r *run) []budget {
	var all []budget
	for _, w := range r.writes {
		if e := w.step.Point.Point.Envelope; e != nil && e.LifetimeWrite > 0 {
			all = append(all, budget{Point: w.ref, Used: c.Standing.Usage(w.ref).Writes, Limit: e.LifetimeWrite})
		}
	}
	return all
}
