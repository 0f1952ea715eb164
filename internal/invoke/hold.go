package invoke

import (
	"bytes"
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
	busy   chan struct{}  // guarded by holds.mu; closed when the assertion under way is over, nil without one
	until  time.Time
	last   time.Time // of the assertion that surely went out last; of the goroutine that asserts
	cancel context.CancelFunc
	owed   bool // the release of a pulse: it ends when it stands, not with its run

	// Of an owed release, guarded by holds.mu:
	paused   bool // another command writes its point
	relieved bool // a later command wrote the same value, and that was acknowledged
}

func newHolds() *holds { return &holds{byPoint: map[string]*hold{}} }

// release lets go of points that another command writes now, and waits for an assertion of them that is under way: nothing is
// asserted after the command that took over. A hold without points ends, and every hold that a command to the safe side touches. An
// owed release only pauses: whether it is over shows when the other command may have been sent.
func (h *holds) release(writes []plannedWrite, safe bool) (paused []*hold) {
	h.mu.Lock()
	var under []chan struct{}
	for _, w := range writes {
		held := h.byPoint[w.ref]
		if held == nil {
			continue
		}
		if held.busy != nil {
			under = append(under, held.busy)
		}
		if held.owed {
			if !held.paused {
				held.paused, paused = true, append(paused, held)
			}
			continue
		}
		held.writes = slices.DeleteFunc(held.writes, func(p plannedWrite) bool { return p.ref == w.ref })
		delete(h.byPoint, w.ref)
		if len(held.writes) == 0 || safe {
			h.forget(held)
		}
	}
	h.mu.Unlock()
	for _, over := range under {
		<-over
	}
	return paused
}

// end lets go of everything that a run holds, and waits for an assertion under way.
func (h *holds) end(r *run) {
	h.mu.Lock()
	var over chan struct{}
	for _, held := range h.byPoint {
		if held.run == r && !held.owed {
			over = held.busy
			h.forget(held)
		}
	}
	h.mu.Unlock()
	if over != nil {
		<-over
	}
}

// forget ends a hold; the caller holds mu.
func (h *holds) forget(held *hold) {
	held.cancel()
	for ref, other := range h.byPoint {
		if other == held {
			delete(h.byPoint, ref)
		}
	}
}

// begin starts the assertion of one point, unless it was let go of; finish ends it.
func (h *holds) begin(held *hold, ref string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byPoint[ref] != held || held.paused {
		return false
	}
	held.busy = make(chan struct{})
	return true
}

func (h *holds) finish(held *hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(held.busy)
	held.busy = nil
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
	held := &hold{run: r, until: time.Now().Add(spec.For), last: time.Now(), cancel: cancel}
	for _, w := range r.writes {
		if slices.Contains(spec.Points, w.step.Alias) {
			held.writes = append(held.writes, w)
		}
	}
	c.holds.take(held)
	c.obligation(r, "hold begun", fmt.Sprintf("re-asserted every %s until %s", spec.Every, held.until.Format(time.RFC3339)))
	c.holds.group.Go(func() {
		defer cancel()
		defer c.survive("hold", r.id)
		why := c.keepHold(ctx, held, spec.Every)
		c.holds.end(r)
		c.obligation(r, "hold ended", why)
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
		case <-ticker.C:
		}
		if why := c.holdOver(ctx, held, time.Now()); why != "" {
			c.raise(held.run, outcome.Reverted, "hold_ended", "the hold of "+held.run.action.Name+" has ended: "+why+"; the machine "+held.run.action.Hold.Silence)
			return why
		}
		c.assert(ctx, held)
	}
}

// holdOver is why a hold ends, "" while it goes on. A machine that has heard nothing for too long may have stopped by itself, and
// somebody may stand at it: it is not started again by an assertion.
func (c *Corridor) holdOver(ctx context.Context, held *hold, now time.Time) string {
	a := held.run.action
	switch silent := now.Sub(held.last); {
	case now.After(held.until):
		return "its time is over"
	case silent > a.Hold.Lapse:
		return fmt.Sprintf("it could not be re-asserted for %s", silent.Round(time.Millisecond))
	}
	if why := c.mayNotHold(held.run); why != "" || a.While == nil {
		return why
	}
	var refs []string
	for _, alias := range a.While.Aliases {
		refs = append(refs, a.Scope.Points[alias].Ref)
	}
	ctx, cancel := context.WithDeadline(ctx, held.last.Add(a.Hold.Lapse))
	defer cancel()
	if holds, known, seen := awaited(a, *a.While, held.run.params, c.machine.ReadCached(ctx, refs, a.Hold.Every)); known && !holds {
		return fmt.Sprintf("%s does not hold any more (%s)", a.While.When.Source(), seen)
	}
	return ""
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
	began, all := time.Now(), true
	defer func() {
		if all {
			held.last = began
		}
	}()
	late, cancel := context.WithDeadline(context.WithoutCancel(ctx), held.last.Add(held.run.action.Hold.Lapse))
	defer cancel()
	for _, w := range c.holds.owed(held) {
		if ctx.Err() != nil || c.mayNotHold(held.run) != "" || !c.holds.begin(held, w.ref) { // reading its condition took its time
			continue
		}
		err := c.assertOne(late, held, w)
		if all = all && err == nil; err != nil && ctx.Err() == nil {
			c.raise(held.run, outcome.OutcomeUnknown, "hold", "the hold of "+held.run.action.Name+" could not be re-asserted: "+err.Error())
		}
	}
}

func (c *Corridor) assertOne(ctx context.Context, held *hold, w plannedWrite) error {
	defer c.holds.finish(held)
	return safely(func() error { return c.send(ctx, w) })
}

// endOwed lets go of a release that stands.
func (h *holds) endOwed(held *hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(held)
}

// goOn lets a paused release go on.
func (h *holds) goOn(held *hold, relieved bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held.paused, held.relieved = false, held.relieved || relieved
}

func (h *holds) isRelieved(held *hold) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return held.relieved
}

// undoes reports whether a release that is owed will take back what writes ask for.
func (h *holds) undoes(writes []plannedWrite) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(writes, func(w plannedWrite) bool {
		held := h.byPoint[w.ref]
		return held != nil && held.owed && !bytes.Equal(held.writes[0].raw, w.raw)
	})
}

func (h *holds) isPaused(held *hold) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return held.paused
}

// oldestOwed is the oldest intent whose pulse is not surely released, 0 for none.
func (h *holds) oldestOwed() journal.Seq {
	h.mu.Lock()
	defer h.mu.Unlock()
	var oldest journal.Seq
	for _, held := range h.byPoint {
		if seq := held.run.intent; held.owed && seq > 0 && (oldest == 0 || seq < oldest) {
			oldest = seq
		}
	}
	return oldest
}

// owing is the record of an obligation.
type owing struct {
	Invocation string `json:"invocation"`
	Action     string `json:"action"`
	Asset      string `json:"asset"`
	What       string `json:"what"`
	Point      string `json:"point,omitempty"`
	Text       string `json:"text"`
}

// obligation journals what capd owes, and that it owes it no more.
func (c *Corridor) obligation(r *run, what, text string) { c.obligationOn(r, what, "", text) }

func (c *Corridor) obligationOn(r *run, what, point, text string) {
	record := owing{r.id, r.action.Name, r.action.Contract.Asset, what, point, text}
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
		if held.run == r && !held.owed {
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
