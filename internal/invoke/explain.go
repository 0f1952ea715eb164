package invoke

import (
	"context"
	"slices"
	"time"

	"capd/internal/access"
	"capd/internal/outcome"
)

// Explain tells everything capd knows of an invocation. It waits up to wait for a verdict that is still pending. A subject sees
// its own calls; a technician sees every call. False means that there is no such call, or none that this subject may see.
func (c *Corridor) Explain(ctx context.Context, s access.Subject, id string, wait time.Duration) (Record, bool) {
	c.mu.Lock()
	r := c.running[id]
	c.mu.Unlock()
	if r != nil {
		if !mayExplain(s, r.subject.ID) {
			return Record{}, false
		}
		if !waitFor(ctx, r.done, wait) {
			return Record{Answer: c.pending(r), Subject: r.subject.ID, Name: r.subject.Name, Tool: r.action.Contract.Tool, Version: r.action.Contract.Version.String(), Args: r.args}, true
		}
	}
	record, whole, ok := c.records.get(id)
	if ok && !mayExplain(s, record.Subject) {
		return Record{}, false
	}
	if ok && whole {
		return record, true
	}
	if old, found := c.recall(ctx, id); found {
		record, ok = old, true
	}
	if !ok || !mayExplain(s, record.Subject) {
		return Record{}, false
	}
	return record, true
}

// mayExplain reports whether a subject may see a call of another one.
func mayExplain(s access.Subject, caller string) bool { return s.Technician || s.ID == caller }

func waitFor(ctx context.Context, done <-chan struct{}, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	case <-ctx.Done():
		return false
	}
}

// Recent lists the latest records in memory, newest first, at most limit.
func (c *Corridor) Recent(limit int) []Record { return c.records.recent(limit) }

// Running is an invocation under way, for the status of the box.
type Running struct {
	Invocation string          `json:"invocation"`
	Action     string          `json:"action"`
	Asset      string          `json:"asset"`
	Subject    string          `json:"subject"`
	Since      time.Time       `json:"since"`
	Verdict    outcome.Verdict `json:"verdict"`
}

// Running lists the invocations under way, oldest first.
func (c *Corridor) Running() []Running {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Running
	for _, r := range c.running {
		out = append(out, Running{r.id, r.action.Name, r.action.Contract.Asset, r.subject.Name, r.started, outcome.Pending})
	}
	return sortedByTime(out)
}

func sortedByTime(all []Running) []Running {
	slices.SortFunc(all, func(a, b Running) int { return a.Since.Compare(b.Since) })
	return all
}
