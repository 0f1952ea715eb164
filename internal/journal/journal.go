// Package journal is the durable truth of what capd intended to do to machines and what came out: records of JSON,
// numbered without gaps, in append-only segment files, each linked to all before it by a hash.
//
// It promises: when Append returns a sequence, the record is on disk; many callers share one sync. A crash loses
// only what was not acknowledged. A record that was torn by a crash is cut off and reported; a record that was
// changed, or is missing, is an error that names the place, and then nothing is touched. One process writes at a
// time. After a failed write or sync nothing more is taken.
//
// It never rewrites a record, never repairs a chain, never deletes the newest segment or one that is still needed,
// orders nothing by the clock, and knows nothing of what the payloads mean.
package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"capd/internal/store"
)

// Defaults and limits of Options, in bytes.
const (
	DefaultSegmentSize = 8 << 20
	DefaultMaxTotal    = 64 << 20
	MinSegmentSize     = 4 << 10
	MaxSegmentSize     = 64 << 20

	// maxSegmentFile is the largest file a segment can be: a record larger than the segment size has one of its own.
	maxSegmentFile = MaxSegmentSize + headerSize + recordMin + MaxPayload
)

// Options say how a journal is kept.
type Options struct {
	// Now gives the time of records; nil means time.Now.
	Now func() time.Time
	// Replay is called by Open for every record there is, in order; an error of it ends Open. It may be nil.
	Replay func(Record) error
	// LockTimeout is how long Open waits for another process to let go; zero tries once.
	LockTimeout time.Duration
	// SegmentSize in bytes is where the next segment begins; zero means DefaultSegmentSize.
	SegmentSize int64
	// MaxTotal in bytes bounds all segments together, at least two segments; zero means DefaultMaxTotal.
	MaxTotal int64
	// MaxAge bounds the age of a segment's last record; zero sets no bound.
	MaxAge time.Duration

	// open opens a file for writing; tests put failing ones here.
	open func(path string, flag int) (file, error)
}

// file is what the writer needs of a segment.
type file interface {
	WriteAt(p []byte, at int64) (int, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Journal is an open journal. Its methods may be called from many goroutines at once.
type Journal struct {
	dir    string
	opened Report
	lock   *os.File // of the folder

	requests chan *request
	tasks    chan func(*writer)
	closing  chan struct{} // closed by the first Close
	stopped  chan struct{} // closed when the writer has ended
	close    sync.Once
	closeErr error // valid once stopped is closed

	needed atomic.Uint64
	// reading is held by those who read files: while it is, none is deleted or cut.
	reading sync.RWMutex

	mu    sync.Mutex // guards what readers see of the writer's state
	stats Stats
	files []segment
}

// Stats are figures for people and for health.
type Stats struct {
	Segments  int
	Bytes     int64
	First     Seq // the first that a segment holds or will hold
	Last      Seq
	Durable   Seq    // the last one surely on disk
	Hash      Hash   // of the record Durable; zero when no segment holds that record any more
	Appends   uint64 // records since Open
	Syncs     uint64 // since Open; fewer than Appends when callers share
	Failed    error  // why nothing more is taken
	Retention error  // why the last attempt to delete old segments failed
}

// Open opens the journal in a folder, which it makes if missing (its parent must exist), verifies the whole chain,
// cuts off a torn end, and starts the writer, which runs until Close. It returns *store.LockedError if another
// process writes there, *DamagedError, *FormatError, or the error of Options.Replay; then nothing was changed.
func Open(ctx context.Context, dir string, o Options) (*Journal, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	lock, err := own(dir, o.LockTimeout)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{
		dir: dir, lock: lock,
		requests: make(chan *request), tasks: make(chan func(*writer)),
		closing: make(chan struct{}), stopped: make(chan struct{}),
	}
	w, err := j.load(ctx, o)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	go w.run()
	return j, nil
}

func (o Options) complete() (Options, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.SegmentSize == 0 {
		o.SegmentSize = DefaultSegmentSize
	}
	if o.MaxTotal == 0 {
		o.MaxTotal = max(DefaultMaxTotal, 2*o.SegmentSize)
	}
	if o.open == nil {
		o.open = func(path string, flag int) (file, error) { return os.OpenFile(path, flag, 0o600) }
	}
	switch {
	case o.SegmentSize < MinSegmentSize || o.SegmentSize > MaxSegmentSize:
		return o, fmt.Errorf("journal: segment size of %d bytes is outside of %d to %d", o.SegmentSize, MinSegmentSize, MaxSegmentSize)
	case o.MaxTotal < 2*o.SegmentSize:
		return o, fmt.Errorf("journal: total of %d bytes is below two segments of %d", o.MaxTotal, o.SegmentSize)
	case o.MaxAge < 0:
		return o, fmt.Errorf("journal: age of %v is negative", o.MaxAge)
	}
	return o, nil
}

// own makes the folder if it is missing and locks it.
func own(dir string, timeout time.Duration) (*os.File, error) {
	err := os.Mkdir(dir, 0o750)
	if err == nil {
		err = store.SyncDir(filepath.Dir(dir))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	lock, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := store.Lock(lock, timeout); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// load verifies what is there and makes a writer that goes on behind it.
func (j *Journal) load(ctx context.Context, o Options) (*writer, error) {
	list, err := listSegments(j.dir)
	if err != nil {
		return nil, err
	}
	s := scanner{visit: o.Replay, next: 1}
	for i := range list {
		if err := s.segment(ctx, &list[i], noLimit, i == len(list)-1); err != nil {
			return nil, err
		}
	}
	j.opened, j.files = s.report, list
	w := &writer{j: j, o: o, next: s.next, hash: s.hash, record: s.record, durable: s.report.Last}
	j.stats.First, j.stats.Last, j.stats.Durable, j.stats.Hash = 1, s.report.Last, s.report.Last, s.record
	if len(list) > 0 {
		j.stats.First = list[0].first
	}
	if err := w.begin(); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return w, nil
}

// Opened says what Open found, a torn end among it.
func (j *Journal) Opened() Report { return j.opened }

// Append writes a record and returns its sequence once it is on disk. The payload becomes JSON of at most MaxPayload
// bytes. It returns ErrFailed (wrapped, as all) after a failed write, ErrClosed, ErrTooLarge, or ErrUncertain with
// the context's error if ctx ended while the record was being written.
func (j *Journal) Append(ctx context.Context, kind Kind, payload any) (Seq, error) {
	return j.append(ctx, kind, payload, true)
}

// AppendAdvisory writes a record and returns without waiting for the disk: it survives a crash of capd, not
// necessarily one of the machine. Intents and outcomes are refused, they must be durable.
func (j *Journal) AppendAdvisory(ctx context.Context, kind Kind, payload any) (Seq, error) {
	if kind == Intent || kind == Outcome {
		return 0, fmt.Errorf("journal: %v must not be advisory", kind)
	}
	return j.append(ctx, kind, payload, false)
}

func (j *Journal) append(ctx context.Context, kind Kind, payload any, durable bool) (Seq, error) {
	if !kind.known() {
		return 0, fmt.Errorf("journal: %v is no kind of record", kind)
	}
	data, err := json.Marshal(payload)
	if err != nil {
		return 0, fmt.Errorf("journal: payload of %v: %w", kind, err)
	}
	if len(data) > MaxPayload {
		return 0, fmt.Errorf("journal: payload of %v has %d bytes, the limit is %d: %w", kind, len(data), MaxPayload, ErrTooLarge)
	}
	r := &request{kind: kind, payload: data, durable: durable, done: make(chan result, 1)}
	if err := handOver(ctx, j, j.requests, r); err != nil {
		return 0, err
	}
	select {
	case res := <-r.done:
		return res.seq, res.err
	case <-ctx.Done():
	}
	select {
	case res := <-r.done: // both at once: then it is known
		return res.seq, res.err
	default:
		return 0, fmt.Errorf("journal: %v: %w: %w", kind, ErrUncertain, context.Cause(ctx))
	}
}

// handOver gives v to the writer, unless ctx or the journal ends first.
func handOver[T any](ctx context.Context, j *Journal, to chan<- T, v T) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("journal: nothing was written: %w", context.Cause(ctx))
	}
	select {
	case to <- v:
		return nil
	case <-j.closing:
		return fmt.Errorf("journal: %s: %w", j.dir, ErrClosed)
	case <-ctx.Done():
		return fmt.Errorf("journal: nothing was written: %w", context.Cause(ctx))
	}
}

// Replay calls fn for every record written up to now, in order, also those not on disk yet, and verifies the chain on the way; it stops at fn's first
// error. fn may append; while it runs, no segment is deleted.
func (j *Journal) Replay(ctx context.Context, fn func(Record) error) error {
	_, err := j.scan(ctx, fn)
	return err
}

// Verify checks every segment from the first one kept to the last record.
func (j *Journal) Verify(ctx context.Context) (Report, error) { return j.scan(ctx, nil) }

func (j *Journal) scan(ctx context.Context, fn func(Record) error) (Report, error) {
	j.reading.RLock()
	defer j.reading.RUnlock()
	j.mu.Lock()
	files := append([]segment(nil), j.files...)
	j.mu.Unlock()
	s := scanner{visit: fn}
	for i := range files {
		if err := s.segment(ctx, &files[i], files[i].size, false); err != nil {
			return s.report, err
		}
	}
	return s.report, nil
}

// Need keeps the record seq, and all behind it, from being deleted by retention, until it is called again; 0 needs
// none. It is for what is still open: an intent without an outcome, an obligation not discharged.
func (j *Journal) Need(seq Seq) { j.needed.Store(uint64(seq)) }

// Stats returns the present figures.
func (j *Journal) Stats() Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.stats
	s.Segments = len(j.files)
	for _, f := range j.files {
		s.Bytes += f.size
	}
	return s
}

// Close waits for what is being written, brings it to disk and lets go of the folder. Closing again returns the same.
func (j *Journal) Close() error {
	j.close.Do(func() { close(j.closing) })
	<-j.stopped
	return j.closeErr
}
