package invoke

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"capd/internal/access"
	"capd/internal/health"
	"capd/internal/journal"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/registry"
	"capd/internal/verify"
)

// replay is what a start finds in the journal.
type replay struct {
	open  map[string]intent
	seqs  map[string]journal.Seq
	order []string                 // of the intents, as they were written
	owed  map[string][]owedRelease // by point, oldest first
}

// Recover reads the journal and takes up every intent without an outcome: it may have been sent, so nothing of it is sent again
// and its verification runs with a fresh window. Call it once, before the doors open. A record that this capd cannot read never
// keeps it from starting: an outcome is then decided again, and of an intent an alarm tells.
func (c *Corridor) Recover(ctx context.Context) error {
	found := replay{open: map[string]intent{}, seqs: map[string]journal.Seq{}, owed: map[string][]owedRelease{}}
	err := c.Journal.Replay(ctx, func(rec journal.Record) error {
		if err := c.relive(&found, rec); err != nil {
			c.unreadable(rec, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("invoke: read the journal: %w", err)
	}
	for _, id := range slices.Backward(found.order) { // of two on one asset, the later command is the one that counts
		if i, unfinished := found.open[id]; unfinished {
			c.resume(i, found.seqs[id])
		}
	}
	for _, owed := range found.owed {
		c.takeUpRelease(owed[len(owed)-1])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.needOldest()
	return nil
}

// relive takes one record of an earlier life into memory.
func (c *Corridor) relive(found *replay, rec journal.Record) error {
	switch rec.Kind {
	case journal.Intent:
		i, err := decode[intent](rec)
		if err != nil {
			return err
		}
		found.open[i.Invocation], found.seqs[i.Invocation] = i, rec.Seq
		found.order = append(found.order, i.Invocation)
		c.records.claim(i.Subject, i.RequestID, i.Invocation, i.Key, i.At)
		found.noteOwed(i, rec.Seq)
	case journal.Outcome, journal.Event:
		e, isEnd, err := decodeEnd(rec)
		if err != nil || !isEnd {
			return err
		}
		delete(found.open, e.Answer.Invocation)
		found.untake(e.Answer.Invocation)
		if e.Answer.Verdict == outcome.NotExecuted {
			found.endOwed(e.Answer.Invocation, "", false)
		}
		c.records.put(e.record())
		if rec.Kind == journal.Outcome {
			c.records.claim(e.Subject, e.RequestID, e.Answer.Invocation, e.Key, rec.Time)
		}
	case journal.Obligation:
		o, err := decode[owing](rec)
		if err != nil {
			return err
		}
		if o.What == releaseEnded || o.What == releaseVoid {
			found.endOwed(o.Invocation, o.Point, o.What == releaseEnded)
		}
	case journal.Amendment:
		a, err := decode[amended](rec)
		if err != nil {
			return err
		}
		c.records.amend(a.Invocation, a.Amendment)
	}
	return nil
}

// unreadable tells of a record that another version wrote, or a defect.
func (c *Corridor) unreadable(rec journal.Record, err error) {
	c.Log.Error("record not understood", "record", uint64(rec.Seq), "kind", rec.Kind.String(), "error", err)
	if rec.Kind != journal.Intent {
		return
	}
	_, err = c.Alarms.Raise(health.Alarm{Key: fmt.Sprintf("journal/%d", rec.Seq), Code: outcome.OutcomeUnknown, Severity: health.Critical,
		Text: fmt.Sprintf("the intent in record %d of the journal cannot be read, so a command may have been sent that nobody verifies; look at the plant", rec.Seq)})
	c.keep(err)
}

// decodeEnd reads the record of an outcome or of a refusal; isEnd is false for an event of another kind.
func decodeEnd(rec journal.Record) (e ended, isEnd bool, err error) {
	if rec.Kind == journal.Event {
		if head, err := decode[struct {
			Event string `json:"event"`
		}](rec); err != nil || head.Event != refusalEvent {
			return ended{}, false, nil
		}
	}
	e, err = decode[ended](rec)
	return e, err == nil, err
}

// decode reads a payload. Numbers of arguments stay as they were written: not every one that an agent sends fits a float.
func decode[T any](rec journal.Record) (T, error) {
	var v T
	d := json.NewDecoder(bytes.NewReader(rec.Payload))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return v, fmt.Errorf("record %d (%s): %w", rec.Seq, rec.Kind, err)
	}
	return v, nil
}

// resume verifies one intent of an earlier life.
func (c *Corridor) resume(i intent, seq journal.Seq) {
	c.Log.Warn("intent without outcome: verifying, sending nothing", "invocation", i.Invocation, "action", i.Action)
	r, act, err := c.restore(i)
	if err != nil {
		c.giveUp(i, err)
		return
	}
	r.intent = seq
	if !c.leases.takeFree(r) {
		c.conclude(r, c.decided(r, supersededDecision(verify.Decision{}), true), nil, concluded{intended: true})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, supersede := context.WithCancelCause(c.ctx)
	r.supersede = supersede
	c.running[r.id] = r
	c.needOldest()
	c.runs.Go(func() {
		defer supersede(nil)
		defer c.rescue(r)
		act.End = time.Now()
		c.verify(ctx, r, act, actResult{end: act.End}, act.End)
	})
}

func (c *Corridor) restore(i intent) (*run, verify.Act, error) {
	a := c.Snapshots.Snapshot().Action(i.Action)
	if a == nil || a.Plan == nil {
		return nil, verify.Act{}, fmt.Errorf("the action %s is no longer in force", i.Action)
	}
	params, refusal := a.Params.Check(i.Args)
	if refusal != nil {
		return nil, verify.Act{}, fmt.Errorf("its arguments no longer fit: %s", refusal.Message)
	}
	r := &run{id: i.Invocation, subject: access.Subject{ID: i.Subject, Name: i.SubjectName}, action: a, args: i.Args, key: i.Key,
		requestID: i.RequestID, params: params, started: i.At, restored: true, sent: true, done: make(chan struct{})}
	act := verify.Act{Written: map[string][]byte{}, Asked: map[string]physical.Value{}, Baseline: map[string]physical.Reading{}, Params: params}
	for _, w := range i.Writes {
		raw, err := hex.DecodeString(w.Raw)
		if err != nil {
			return nil, act, fmt.Errorf("its record is damaged: %w", err)
		}
		act.Written[w.Point], act.Asked[w.Point] = raw, w.Value
		if a.Shake != nil && a.Shake.Token.Ref == w.Point {
			params[registry.TokenParam] = w.Value.Any()
		}
	}
	for ref, b := range i.Baseline {
		reading, err := b.reading()
		if err != nil {
			return nil, act, fmt.Errorf("its baseline is damaged: %w", err)
		}
		act.Baseline[ref] = reading
	}
	return r, act, nil
}

// giveUp records an intent whose action can no longer be verified: unknown, with an alarm.
func (c *Corridor) giveUp(i intent, why error) {
	level := outcome.E0
	refusal := outcome.Refuse(outcome.OutcomeUnknown, fmt.Sprintf("capd ended after the intent was written and cannot verify it now: %v", why))
	a := Answer{Verdict: outcome.Unknown, Level: &level, Sent: true, CommandStanding: true, Invocation: i.Invocation, Action: i.Action, Asset: i.Asset,
		Reason: reasonOf(refusal), AfterRestart: true}
	a.Reason.RetrySafe = false
	a.Summary = summarize(a)
	c.conclude(c.lostRun(i), a, nil, concluded{intended: true})
}

// lostAction stands for an action that is no longer in force, so that its outcome can still be recorded under its name.
func lostAction(i intent) *registry.Action {
	a := registry.Lost(i.Action, i.Tool, i.Asset)
	for _, w := range i.Writes {
		if asset, _, _ := strings.Cut(w.Point, "."); !slices.Contains(a.Writes, asset) {
			a.Writes = append(a.Writes, asset)
		}
	}
	return a
}
