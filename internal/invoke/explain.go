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
		if !s.Technician && r.subject.ID != s.ID {
			return Record{}, false
		}
		if !waitFor(ctx, r.done, wait) {
			return Record{Answer: r.pending(), Subject: r.subject.ID, Tool: r.action.Contract.Tool, Version: r.action.Contract.Version.String(), Args: r.args}, true
		}
	}
	record, ok := c.records.get(id)
	if !ok || !s.Technician && record.Subject != s.ID {
		return Record{}, false
	}
	return record, true
}

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

// Recent lists the latest records, newest first, at most limit.
func (c *Corridor) Recent(limit int) []Record {
	c.records.mu.Lock()
	defer c.records.mu.Unlock()
	var out []Record
	for i := len(c.records.order) - 1; i >= 0 && len(out) < limit; i-- {
		out = append(out, *c.records.byID[c.records.order[i]])
	}
	return out
}

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
