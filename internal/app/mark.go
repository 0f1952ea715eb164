package app

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"capd/internal/health"
	"capd/internal/journal"
	"capd/internal/standing"
	"capd/internal/store"
)

// Where registry.db keeps the mark, and how far it may lie behind while capd runs: flash memory wears.
const (
	bucketMark = "journal_mark"
	markKey    = "latest"
	markPeriod = 10 * time.Minute
)

// The alarms about lost state.
const (
	registryLost = "state/registry.db"
	journalLost  = "state/journal"
)

// byLoss is who sets the mode of a box that lost its registry.db.
const byLoss = "capd (registry.db was lost)"

// mark is where the journal stood when registry.db heard of it last. With it each of the two tells when the other one is gone.
type mark struct {
	Seq  journal.Seq `json:"seq"`            // a record that was surely on disk; 0 is none yet
	Hash string      `json:"hash,omitempty"` // of that record, in hexadecimal; empty when it was not known
	Lost *loss       `json:"lost,omitempty"` // found to be lost, and not in the alarms yet
}

// loss is state that is gone. It stays in the mark until its alarm is on disk, so that a crash in between hides nothing.
type loss struct {
	Key  string `json:"key"` // registryLost or journalLost
	Text string `json:"text"`
}

// findLoss compares a journal with the mark that registry.db had, nil when it had none. fresh says that nothing was in registry.db;
// hash is what the record of the mark has now, empty when it is there no more. It is a pure function.
func findLoss(before *mark, fresh bool, dir string, now journal.Report, hash string) *loss {
	switch {
	case before != nil && before.Lost != nil:
		return before.Lost
	case fresh && now.Last > 0:
		return &loss{registryLost, fmt.Sprintf("registry.db is new, but the journal beside it has records up to %d: lockouts, tokens, the mode, tools out of service, "+
			"unsettled assets and counts of writes are lost, so this box only observes. Stop capd and restore registry.db from a backup; or set the lockouts "+
			"again, make new tokens, look at the machines, then: capd mode active", now.Last)}
	case before == nil: // a new box, or one whose registry.db was written by a capd that kept no mark
		return nil
	case now.Last < before.Seq:
		return &loss{journalLost, fmt.Sprintf("the journal in %s ends at record %d, but record %d was on disk: what was done between them, what was under way and what capd owed "+
			"to the machines are lost, and a request_id of then acts again. Stop capd and restore the folder from a backup; or look at the machines, then clear this alarm",
			dir, now.Last, before.Seq)}
	case hash != "" && before.Hash != "" && hash != before.Hash:
		return &loss{journalLost, fmt.Sprintf("record %d of the journal in %s is not the one that this box wrote: the folder belongs to another box, or was begun anew. "+
			"Stop capd and restore the folder from a backup; or look at the machines, then clear this alarm", before.Seq, dir)}
	default:
		return nil
	}
}

// marks keeps the mark of one open journal.
type marks struct {
	db      *store.DB
	journal *journal.Journal
	saved   mark
}

// openJournal opens the journal, compares it with what registry.db knows of it, and notes where it stands now.
func openJournal(ctx context.Context, db *store.DB, dir string, o journal.Options) (*journal.Journal, *marks, error) {
	fresh, err := db.Fresh()
	if err != nil {
		return nil, nil, err
	}
	before, err := readMark(db)
	if err != nil {
		return nil, nil, err
	}
	hash := ""
	o.Replay = func(r journal.Record) error {
		if before != nil && r.Seq == before.Seq {
			hash = hex.EncodeToString(r.Hash[:])
		}
		return nil
	}
	j, err := journal.Open(ctx, dir, o)
	if err != nil {
		return nil, nil, err
	}
	m := &marks{db: db, journal: j}
	if err := m.save(findLoss(before, fresh, dir, j.Opened(), hash)); err != nil {
		return nil, nil, errors.Join(err, j.Close())
	}
	return j, m, nil
}

func readMark(db *store.DB) (*mark, error) {
	var m mark
	err := db.View(func(tx store.Tx) (err error) {
		m, err = store.GetJSON[mark](tx, bucketMark, markKey)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return &m, err
}

// save notes where the journal stands, and what is lost and not told yet.
func (m *marks) save(lost *loss) error {
	s := m.journal.Stats()
	now := mark{Seq: s.Durable, Lost: lost}
	if s.Hash != (journal.Hash{}) {
		now.Hash = hex.EncodeToString(s.Hash[:])
	}
	if err := m.db.Update(func(tx store.Tx) error { return store.PutJSON(tx, bucketMark, markKey, now) }); err != nil {
		return fmt.Errorf("the position of the journal is not kept: %w", err)
	}
	m.saved = now
	return nil
}

// follow notes where the journal stands if it moved.
func (m *marks) follow() error {
	if m.journal.Stats().Durable == m.saved.Seq {
		return nil
	}
	return m.save(m.saved.Lost)
}

// keep follows the journal now and then until ctx ends.
func (m *marks) keep(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(markPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := m.follow(); err != nil {
				log.Error("registry.db", "error", err)
			}
		}
	}
}

// freshMode is the mode of a box whose registry.db has none: what capd.yaml says, unless it had another one that is lost.
func (k *core) freshMode() standing.Mode {
	if lost := k.marks.saved.Lost; lost != nil && lost.Key == registryLost {
		return standing.Observe
	}
	return standing.Mode(k.config.Mode)
}

// tellLoss raises the alarm of lost state, and forgets the loss once the alarm is on disk.
func (k *core) tellLoss(log *slog.Logger) error {
	lost := k.marks.saved.Lost
	if lost == nil {
		return nil
	}
	log.Error("state was lost", "what", lost.Key, "text", lost.Text)
	if lost.Key == registryLost {
		if err := k.standing.SetMode(standing.Observe, byLoss); err != nil {
			return err
		}
	}
	if _, err := k.alarms.Raise(health.Alarm{Key: lost.Key, Text: lost.Text, Severity: health.Critical}); err != nil {
		return err
	}
	return k.marks.save(nil)
}
