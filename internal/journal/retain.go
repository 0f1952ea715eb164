package journal

import (
	"context"
	"fmt"
	"os"
	"time"

	"capd/internal/store"
)

// Prune deletes old segments as Options.MaxTotal and MaxAge say, oldest first, whole ones only. It also happens
// whenever a segment begins. While a Replay runs it does nothing.
func (j *Journal) Prune(ctx context.Context) error {
	done := make(chan error, 1)
	if err := handOver(ctx, j, j.tasks, func(w *writer) { done <- w.prune() }); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("journal: delete old segments: %w", context.Cause(ctx))
	}
}

func (w *writer) prune() error {
	if !w.j.reading.TryLock() {
		return nil
	}
	defer w.j.reading.Unlock()
	old := w.expired()
	if old == 0 {
		return nil
	}
	for range old {
		if err := os.Remove(w.j.files[0].path); err != nil {
			return fmt.Errorf("journal: delete an old segment: %w", err)
		}
		w.j.mu.Lock()
		w.j.files = w.j.files[1:]
		w.j.stats.First = w.j.files[0].first
		w.j.mu.Unlock()
	}
	if err := store.SyncDir(w.j.dir); err != nil {
		return fmt.Errorf("journal: delete old segments: %w", err)
	}
	return nil
}

// clockValid is a time that a set clock cannot be before. Boxes without a battery start in 1970 and jump when the
// network tells the time; what was recorded until then is not old.
func clockValid() time.Time { return time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) }

// expired counts the oldest segments that may go. The newest counts as full, so that the total holds while it grows.
func (w *writer) expired() (n int) {
	files := w.j.files
	total := w.o.SegmentSize
	for _, f := range files[:len(files)-1] {
		total += f.size
	}
	needed, now := Seq(w.j.needed.Load()), w.o.Now()
	for ; n < len(files)-1; n++ {
		f := files[n]
		if needed != 0 && files[n+1].first > needed {
			break
		}
		aged := w.o.MaxAge > 0 && f.newest.After(clockValid()) && now.Sub(f.newest) > w.o.MaxAge
		if total <= w.o.MaxTotal && !aged {
			break
		}
		total -= f.size
	}
	return n
}
