package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"capd/internal/store"
)

const (
	batchBytes = 4 << 20   // of payload that one sync is shared for, about
	bufferKept = 256 << 10 // of the write buffer between batches
)

// request is one Append on its way to the writer.
type request struct {
	kind    Kind
	payload []byte
	durable bool
	seq     Seq // given by the writer
	done    chan result
}

type result struct {
	seq Seq
	err error
}

// writer is the goroutine that owns the newest segment and the end of the chain.
type writer struct {
	j *Journal
	o Options

	f      file
	end    int64 // in f, of what was written
	synced int64 // in f, of what is surely on disk

	next    Seq       // of the next record
	hash    Hash      // that it is linked to
	record  Hash      // of the record before it
	last    time.Time // of the record before it
	written Seq       // the last one in f
	durable Seq       // the last one surely on disk

	buf    []byte // records encoded and not written yet
	batch  []*request
	failed error
}

// begin opens the newest segment behind its last whole record, or makes the first one. What is there is brought to
// disk: a capd that was killed may have left it in memory only.
func (w *writer) begin() error {
	w.written = w.next - 1
	n := len(w.j.files)
	if n == 0 {
		return w.startSegment()
	}
	last := w.j.files[n-1]
	f, err := w.o.open(last.path, os.O_WRONLY)
	if err != nil {
		return err
	}
	if w.j.opened.Torn != nil {
		err = f.Truncate(last.size)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	w.f, w.end, w.synced = f, last.size, last.size
	return nil
}

func (w *writer) run() {
	defer close(w.j.stopped)
	for {
		select {
		case r := <-w.j.requests:
			w.serve(w.gather(r))
		case task := <-w.j.tasks:
			task(w)
		case <-w.j.closing:
			w.j.closeErr = w.finish()
			return
		}
	}
}

// gather takes whoever waits besides first.
func (w *writer) gather(first *request) []*request {
	// Callers just answered may have the next record ready. With 16 of them this makes 13 share a sync, not 8: less
	// wear of the flash.
	runtime.Gosched()
	w.batch = append(w.batch[:0], first)
	for size := len(first.payload); size < batchBytes; {
		select {
		case r := <-w.j.requests:
			w.batch = append(w.batch, r)
			size += len(r.payload)
		default:
			return w.batch
		}
	}
	return w.batch
}

// serve writes a batch and answers it. If it fails all of it counts as failed, though some may be on disk.
func (w *writer) serve(batch []*request) {
	if w.failed == nil {
		if err := w.write(batch); err != nil {
			w.fail(err)
		}
	}
	for _, r := range batch {
		if w.failed != nil {
			r.seq = 0
		}
		r.done <- result{seq: r.seq, err: w.failed}
	}
	clear(batch)
}

func (w *writer) write(batch []*request) error {
	durable := false
	for _, r := range batch {
		used := w.end + int64(len(w.buf))
		if used > headerSize && used+recordMin+int64(len(r.payload)) > w.o.SegmentSize {
			if err := w.rotate(); err != nil {
				return err
			}
		}
		rec := Record{Seq: w.next, Kind: r.kind, Time: w.o.Now(), Payload: r.payload, durable: w.durable}
		w.buf = rec.encode(w.buf, w.hash)
		w.next, w.hash, w.record, w.last = rec.Seq+1, rec.Hash, rec.Hash, rec.Time
		r.seq = rec.Seq
		durable = durable || r.durable
	}
	if err := w.flush(); err != nil {
		return err
	}
	if durable {
		return w.sync()
	}
	return nil
}

// flush writes the buffer behind what is there.
func (w *writer) flush() error {
	if _, err := w.f.WriteAt(w.buf, w.end); err != nil {
		return err
	}
	w.end += int64(len(w.buf))
	n := uint64(w.next - 1 - w.written)
	w.written = w.next - 1
	w.publish(func(s *Stats, newest *segment) {
		newest.size, newest.newest = w.end, w.last
		s.Last = w.written
		s.Appends += n
	})
	if w.buf = w.buf[:0]; cap(w.buf) > bufferKept {
		w.buf = nil
	}
	return nil
}

// sync brings what was written to disk. After a failure nobody knows what is there, and the kernel may have dropped
// it, so all since the last good sync is given up.
func (w *writer) sync() error {
	if err := w.f.Sync(); err != nil {
		w.end, w.written = w.synced, w.durable
		return err
	}
	w.synced, w.durable = w.end, w.written
	w.publish(func(s *Stats, _ *segment) {
		s.Durable, s.Hash = w.durable, w.record
		s.Syncs++
	})
	return nil
}

// rotate ends the newest segment, on disk as a whole, and begins the next one.
func (w *writer) rotate() error {
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.sync(); err != nil {
		return err
	}
	old := w.f
	if err := w.startSegment(); err != nil {
		return err
	}
	if err := old.Close(); err != nil {
		return err
	}
	err := w.prune()
	w.publish(func(s *Stats, _ *segment) { s.Retention = err })
	return nil
}

// startSegment makes the next segment under another name and renames it when its header is on disk, so that a crash
// leaves no half header.
func (w *writer) startSegment() error {
	h := header{index: 1, first: w.next, made: w.o.Now().UnixNano(), prev: w.hash}
	if n := len(w.j.files); n > 0 {
		h.index = w.j.files[n-1].index + 1
	}
	path := segmentPath(w.j.dir, h.index)
	head, sum := h.encode()
	f, err := w.o.open(path+newSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	if err := place(f, head, path); err != nil {
		return errors.Join(err, f.Close())
	}
	w.f, w.end, w.synced, w.hash = f, headerSize, headerSize, sum
	w.j.mu.Lock()
	defer w.j.mu.Unlock()
	w.j.files = append(w.j.files, segment{path: path, index: h.index, first: h.first, size: headerSize, newest: w.o.Now()})
	return nil
}

func place(f file, head []byte, path string) error {
	if _, err := f.WriteAt(head, 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(path+newSuffix, path); err != nil {
		return err
	}
	return store.SyncDir(filepath.Dir(path))
}

// fail ends the taking of records. What was written and not acknowledged is cut off if that is possible; if not, Open
// does it or takes the records as they are: an intent that was refused and is found all the same is only verified.
func (w *writer) fail(cause error) {
	w.buf = nil
	if w.j.reading.TryLock() {
		if err := w.f.Truncate(w.end); err != nil {
			cause = errors.Join(cause, err)
		}
		w.j.reading.Unlock()
	}
	w.failed = &FailedError{Dir: w.j.dir, Cause: cause}
	w.publish(func(s *Stats, newest *segment) {
		newest.size, s.Last, s.Failed = w.end, w.written, w.failed
	})
}

// publish changes what readers see.
func (w *writer) publish(change func(s *Stats, newest *segment)) {
	w.j.mu.Lock()
	defer w.j.mu.Unlock()
	change(&w.j.stats, &w.j.files[len(w.j.files)-1])
}

// finish brings advisory records to disk and lets go of everything.
func (w *writer) finish() error {
	var err error
	if w.failed == nil && w.end > w.synced {
		err = w.sync()
	}
	if err := errors.Join(err, w.f.Close(), w.j.lock.Close()); err != nil {
		return fmt.Errorf("journal: close %s: %w", w.j.dir, err)
	}
	return nil
}
