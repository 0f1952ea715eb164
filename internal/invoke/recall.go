package invoke

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"capd/internal/journal"
)

// recall reads an ended invocation, with its samples and amendments, from the journal: memory keeps the latest alone. One reads at a
// time, and only for what can be an invocation.
func (c *Corridor) recall(ctx context.Context, id string) (Record, bool) {
	if _, err := uuid.Parse(id); err != nil || len(id) != len(uuid.Nil.String()) {
		return Record{}, false
	}
	select {
	case c.recalling <- struct{}{}:
		defer func() { <-c.recalling }()
	case <-ctx.Done():
		return Record{}, false
	}
	found, ok := Record{}, false
	err := c.Journal.Replay(ctx, func(rec journal.Record) error {
		if !bytes.Contains(rec.Payload, []byte(id)) {
			return nil
		}
		switch rec.Kind {
		case journal.Outcome, journal.Event:
			e, isEnd, err := decodeEnd(rec)
			if err == nil && isEnd && e.Answer.Invocation == id {
				found, ok = e.record(), true
			}
			return err
		case journal.Amendment:
			a, err := decode[amended](rec)
			if err == nil && a.Invocation == id {
				found.Answer.Amendments = append(found.Answer.Amendments, a.Amendment)
			}
			return err
		}
		return nil
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		c.Log.Error("an old outcome cannot be read", "invocation", id, "error", err)
	}
	return found, ok
}

// recallRequest brings the outcome that a request_id belongs to back into memory, if it has left it.
func (c *Corridor) recallRequest(ctx context.Context, r *run) {
	if r.requestID == "" {
		return
	}
	id, key, ok := c.records.request(r.subject.ID, r.requestID, time.Now())
	if !ok || key != r.key {
		return
	}
	if _, _, inMemory := c.records.get(id); inMemory || c.isRunning(id) {
		return
	}
	if old, found := c.recall(ctx, id); found {
		c.records.put(old)
	}
}

func (c *Corridor) isRunning(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running[id] != nil
}
