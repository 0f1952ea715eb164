package journal

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
)

// faultyDisk opens real files whose writes and syncs the test can make fail.
type faultyDisk struct {
	mu    sync.Mutex
	room  int64 // bytes until the disk is full; 0 is no limit
	sync  func() error
	stuck bool // nothing can be cut off either
}

func (d *faultyDisk) open(path string, flag int) (file, error) {
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: f, disk: d}, nil
}

func (d *faultyDisk) onSync(fn func() error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sync = fn
}

type faultyFile struct {
	*os.File
	disk *faultyDisk
}

func (f *faultyFile) WriteAt(p []byte, at int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.room == 0 || int64(len(p)) < f.disk.room {
		if f.disk.room > 0 {
			f.disk.room -= int64(len(p))
		}
		return f.File.WriteAt(p, at)
	}
	n, err := f.File.WriteAt(p[:f.disk.room-1], at)
	return n, errors.Join(err, syscall.ENOSPC)
}

func (f *faultyFile) Sync() error {
	f.disk.mu.Lock()
	fn := f.disk.sync
	f.disk.mu.Unlock()
	if fn != nil {
		if err := fn(); err != nil {
			return err
		}
	}
	return f.File.Sync()
}

func (f *faultyFile) Truncate(size int64) error {
	if f.disk.stuck {
		return syscall.EIO
	}
	return f.File.Truncate(size)
}

// TestFullDiskFailsTheJournalUntilReopened runs out of room after every possible number of bytes of a record.
func TestFullDiskFailsTheJournalUntilReopened(t *testing.T) {
	const size = recordMin + len(`{"n":2,"text":"second"}`)
	for _, stuck := range []bool{false, true} {
		for room := 1; room <= size; room += 3 {
			dir := newDir(t)
			disk := &faultyDisk{stuck: stuck}
			j := open(t, dir, Options{open: disk.open})
			add(t, j, Intent, 1, "first")
			disk.room = int64(room)
			for range 2 {
				seq, err := j.Append(t.Context(), Intent, note{2, "second"})
				if seq != 0 || !errors.Is(err, ErrFailed) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), dir) {
					t.Fatalf("room for %d bytes: %d, %v", room, seq, err)
				}
			}
			disk.room = 0
			if _, err := j.AppendAdvisory(t.Context(), Event, 1); !errors.Is(err, ErrFailed) {
				t.Fatalf("there is room again, and it was not reopened: %v", err)
			}
			if s := j.Stats(); !errors.Is(s.Failed, ErrFailed) || s.Last != 1 || s.Durable != 1 {
				t.Fatalf("%+v", s)
			}
			if !stuck {
				if r, err := j.Verify(t.Context()); err != nil || r.Last != 1 || r.Torn != nil {
					t.Fatalf("%+v, %v", r, err)
				}
			}
			closeNow(t, j)
			again := open(t, dir, Options{})
			if torn := again.Opened().Torn; (torn != nil) != (stuck && room > 1) {
				t.Fatalf("room for %d bytes, stuck %v: %+v", room, stuck, torn)
			}
			if seq := add(t, again, Intent, 2, "again"); seq != 2 {
				t.Fatalf("sequence %d", seq)
			}
			closeNow(t, again)
			if got := lines(t, dir); len(got) != 2 {
				t.Fatalf("%q", got)
			}
		}
	}
}

func TestFailedSyncGivesUpWhatWasNotAcknowledged(t *testing.T) {
	dir, disk := newDir(t), &faultyDisk{}
	j := open(t, dir, Options{open: disk.open})
	add(t, j, Intent, 1, "")
	if _, err := j.AppendAdvisory(t.Context(), Progress, note{2, ""}); err != nil {
		t.Fatal(err)
	}
	disk.onSync(func() error { return syscall.EIO })
	if _, err := j.Append(t.Context(), Outcome, note{3, ""}); !errors.Is(err, ErrFailed) || !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	disk.onSync(nil)
	if s := j.Stats(); s.Last != 1 || s.Durable != 1 {
		t.Fatalf("%+v", s)
	}
	closeNow(t, j)
	if got := lines(t, dir); len(got) != 1 {
		t.Fatalf("%q", got)
	}
}

func TestFailureWhileASegmentBeginsKeepsTheOldOne(t *testing.T) {
	for name, fault := range map[string]func(d *faultyDisk){
		"header does not fit": func(d *faultyDisk) { d.room = 50 },
		"sync fails":          func(d *faultyDisk) { d.onSync(func() error { return syscall.EIO }) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, disk := newDir(t), &faultyDisk{}
			j := open(t, dir, Options{open: disk.open, SegmentSize: MinSegmentSize})
			add(t, j, Event, 1, strings.Repeat("x", 3900))
			fault(disk)
			if _, err := j.Append(t.Context(), Event, note{2, strings.Repeat("x", 3900)}); !errors.Is(err, ErrFailed) {
				t.Fatal(err)
			}
			closeNow(t, j)
			again := open(t, dir, Options{SegmentSize: MinSegmentSize})
			add(t, again, Event, 2, strings.Repeat("x", 3900))
			closeNow(t, again)
			if got := lines(t, dir); len(got) != 2 {
				t.Fatalf("%d records", len(got))
			}
		})
	}
}

func TestOpenOnAFailingDiskIsAnError(t *testing.T) {
	dir := newDir(t)
	bad := &faultyDisk{sync: func() error { return syscall.EIO }}
	if _, err := Open(t.Context(), dir, Options{open: bad.open}); !errors.Is(err, syscall.EIO) {
		t.Fatalf("first segment: %v", err)
	}
	closeNow(t, open(t, dir, Options{}))
	if _, err := Open(t.Context(), dir, Options{open: bad.open}); !errors.Is(err, syscall.EIO) {
		t.Fatalf("existing segment: %v", err)
	}
	disk := &faultyDisk{}
	j := open(t, dir, Options{open: disk.open})
	if _, err := j.AppendAdvisory(t.Context(), Event, 1); err != nil {
		t.Fatal(err)
	}
	disk.onSync(func() error { return syscall.EIO })
	if err := j.Close(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("close: %v", err)
	}
	open(t, dir, Options{})
}

func TestCallerMayStopWaitingForASlowDisk(t *testing.T) {
	dir := newDir(t)
	synctest.Test(t, func(t *testing.T) {
		gate, disk := make(chan struct{}), &faultyDisk{}
		j := open(t, dir, Options{open: disk.open})
		disk.onSync(func() error { <-gate; return nil })
		ctx, cancel := context.WithCancel(t.Context())
		answers := make(chan error, 2)
		append1 := func() {
			_, err := j.Append(ctx, Intent, note{})
			answers <- err
		}
		go append1() // in the writer's hands
		synctest.Wait()
		go append1() // not yet
		synctest.Wait()
		cancel()
		uncertain := 0
		for range 2 {
			err := <-answers
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if errors.Is(err, ErrUncertain) {
				uncertain++
			}
		}
		if uncertain != 1 {
			t.Errorf("%d of the callers must count with a record on disk, want 1", uncertain)
		}
		close(gate)
		closeNow(t, j)
	})
}

func TestAFailedJournalSaysWhatToDo(t *testing.T) {
	for cause, want := range map[error]string{
		syscall.ENOSPC: "no space left on device; free space on that file system, then systemctl restart capd",
		syscall.EDQUOT: "free space on that file system, then systemctl restart capd",
		syscall.EROFS:  "make it writable, then systemctl restart capd",
		syscall.EIO:    "mend it, then systemctl restart capd",
	} {
		dir, disk := newDir(t), &faultyDisk{}
		j := open(t, dir, Options{open: disk.open})
		disk.onSync(func() error { return &os.PathError{Op: "sync", Path: dir, Err: cause} })
		_, err := j.Append(t.Context(), Intent, note{1, ""})
		if !errors.Is(err, ErrFailed) || !errors.Is(err, cause) || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "journal") > strings.Count(dir, "journal")*2+1 {
			t.Errorf("%v: got %q, want one with %q, and no word twice", cause, err, want)
		}
		disk.onSync(nil)
	}
}
