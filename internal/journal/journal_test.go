package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"capd/internal/store"
)

type note struct {
	N    int    `json:"n"`
	Text string `json:"text,omitempty"`
}

func open(t testing.TB, dir string, o Options) *Journal {
	t.Helper()
	j, err := Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() }) // tests that mind close themselves
	return j
}

func newDir(t testing.TB) string { return filepath.Join(t.TempDir(), "journal") }

func add(t testing.TB, j *Journal, kind Kind, n int, text string) Seq {
	t.Helper()
	seq, err := j.Append(t.Context(), kind, note{n, text})
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func closeNow(t testing.TB, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// lines gives every record of a folder as "seq kind payload".
func lines(t testing.TB, dir string) []string {
	t.Helper()
	var list []string
	_, err := Read(t.Context(), dir, func(r Record) error {
		list = append(list, fmt.Sprintf("%d %v %s", r.Seq, r.Kind, r.Payload))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestRecordsComeBackInOrderAfterReopening(t *testing.T) {
	dir, at := newDir(t), time.Date(2026, 3, 1, 12, 0, 0, 7, time.UTC)
	j := open(t, dir, Options{Now: func() time.Time { return at }})
	for i, kind := range []Kind{Intent, Outcome, Amendment, Obligation, Event} {
		if seq := add(t, j, kind, i, "x"); seq != Seq(i+1) {
			t.Fatalf("%v has sequence %d", kind, seq)
		}
	}
	seq, err := j.AppendAdvisory(t.Context(), Progress, json.RawMessage(`{"sent": true}`))
	if seq != 6 || err != nil {
		t.Fatal(seq, err)
	}
	head, err := j.Verify(t.Context())
	if err != nil || head.Last != 6 || head.First != 1 || head.Records != 6 {
		t.Fatalf("%+v, %v", head, err)
	}
	closeNow(t, j)

	var replayed []Record
	again := open(t, dir, Options{Replay: func(r Record) error { replayed = append(replayed, r); return nil }})
	if len(replayed) != 6 || !replayed[0].Time.Equal(at) || replayed[5].Hash != head.Head || again.Opened().Torn != nil {
		t.Fatalf("%+v", replayed)
	}
	if string(replayed[5].Payload) != `{"sent":true}` || replayed[3].Kind != Obligation {
		t.Fatalf("%+v", replayed[5])
	}
	if seq := add(t, again, Event, 9, ""); seq != 7 {
		t.Fatalf("the sequence goes on with %d", seq)
	}
	info, err := os.Stat(segmentPath(dir, 1))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info.Mode(), err)
	}
}

func TestRefusedAppendsLeaveTheJournalWorking(t *testing.T) {
	j := open(t, newDir(t), Options{})
	ctx := t.Context()
	refused := func(_ Seq, err error) {
		t.Helper()
		if err == nil || errors.Is(err, ErrFailed) {
			t.Errorf("got %v", err)
		}
	}
	refused(j.Append(ctx, 0, 1))
	refused(j.Append(ctx, Event+1, 1))
	refused(j.Append(ctx, Event, func() {}))
	refused(j.Append(ctx, Event, json.RawMessage("{")))
	refused(j.AppendAdvisory(ctx, Intent, 1))
	refused(j.AppendAdvisory(ctx, Outcome, 1))
	_, err := j.Append(ctx, Event, strings.Repeat("x", MaxPayload-1))
	if !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := j.Append(gone, Event, 1); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUncertain) {
		t.Error(err)
	}
	if seq, err := j.Append(ctx, Event, strings.Repeat("x", MaxPayload-2)); seq != 1 || err != nil {
		t.Errorf("the largest payload: %d, %v", seq, err)
	}
}

func TestChainRunsAcrossSegments(t *testing.T) {
	dir := newDir(t)
	j := open(t, dir, Options{SegmentSize: MinSegmentSize})
	for i := range 100 {
		add(t, j, Event, i, strings.Repeat("x", 200))
	}
	add(t, j, Event, 100, strings.Repeat("y", 3*MinSegmentSize)) // larger than a segment
	add(t, j, Event, 101, "")
	report, err := j.Verify(t.Context())
	if err != nil || report.Records != 102 || report.Segments < 6 || report.Segments != j.Stats().Segments {
		t.Fatalf("%+v, %v, %+v", report, err, j.Stats())
	}
	closeNow(t, j)
	if got := lines(t, dir); len(got) != 102 {
		t.Fatalf("%d records", len(got))
	}
	for i := range report.Segments - 1 {
		info, err := os.Stat(segmentPath(dir, uint32(i+1)))
		if err != nil || info.Size() > MinSegmentSize && info.Size() < 3*MinSegmentSize {
			t.Errorf("segment %d has %d bytes, %v", i+1, info.Size(), err)
		}
	}
	again := open(t, dir, Options{SegmentSize: MinSegmentSize})
	if again.Opened().Head != report.Head {
		t.Fatal("the head changed")
	}
}

func TestClockJumpsDoNotTouchOrder(t *testing.T) {
	dir := newDir(t)
	times := []int64{2e18, 0, 3e18, -5, 1}
	next := 0
	j := open(t, dir, Options{Now: func() time.Time { next++; return time.Unix(0, times[next%len(times)]) }})
	for i := range 10 {
		add(t, j, Event, i, "")
	}
	closeNow(t, j)
	for i, line := range lines(t, dir) {
		if want := fmt.Sprintf(`%d event {"n":%d}`, i+1, i); line != want {
			t.Errorf("%s, want %s", line, want)
		}
	}
}

// TestCallersShareOneSync holds the first sync until fifteen more callers wait: one more sync serves them all.
func TestCallersShareOneSync(t *testing.T) {
	dir := newDir(t)
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		disk := &faultyDisk{}
		j := open(t, dir, Options{open: disk.open})
		disk.onSync(func() error { <-gate; return nil })
		var callers sync.WaitGroup
		for i := range 16 {
			callers.Go(func() { add(t, j, Intent, i, "") })
			synctest.Wait() // it waits for the disk or for the writer
		}
		if s := j.Stats(); s.Durable != 0 || s.Last != 1 {
			t.Errorf("an append was acknowledged before its sync: %+v", s)
		}
		close(gate)
		callers.Wait()
		if s := j.Stats(); s.Syncs != 2 || s.Appends != 16 || s.Durable != 16 {
			t.Errorf("%+v, want 16 appends in 2 syncs", s)
		}
		closeNow(t, j)
	})
}

func TestManyCallersGetDistinctSequences(t *testing.T) {
	dir := newDir(t)
	j := open(t, dir, Options{SegmentSize: 16 << 10})
	var callers sync.WaitGroup
	seqs := make(chan Seq, 16*50)
	for g := range 16 {
		callers.Go(func() {
			for i := range 50 {
				kind, write := Intent, j.Append
				if i%3 == 0 {
					kind, write = Progress, j.AppendAdvisory
				}
				seq, err := write(t.Context(), kind, note{g*50 + i, "some text"})
				if err != nil {
					t.Error(err)
				}
				seqs <- seq
			}
		})
	}
	callers.Wait()
	seen := map[Seq]bool{}
	for range cap(seqs) {
		seen[<-seqs] = true
	}
	if len(seen) != cap(seqs) || seen[0] {
		t.Fatalf("%d distinct sequences of %d", len(seen), cap(seqs))
	}
	s := j.Stats()
	t.Logf("%d appends, %d syncs, %d segments", s.Appends, s.Syncs, s.Segments)
	closeNow(t, j)
	if got := lines(t, dir); len(got) != cap(seqs) {
		t.Fatalf("%d records", len(got))
	}
}

func TestReplayRunsBesideAppends(t *testing.T) {
	j := open(t, newDir(t), Options{SegmentSize: MinSegmentSize, MaxTotal: 2 * MinSegmentSize})
	for i := range 20 {
		add(t, j, Event, i, strings.Repeat("x", 100))
	}
	seen := 0
	err := j.Replay(t.Context(), func(r Record) error {
		seen++
		add(t, j, Event, seen, strings.Repeat("y", 500)) // many segments begin; none may be deleted now
		return nil
	})
	if err != nil || seen == 0 {
		t.Fatalf("%d records, %v", seen, err)
	}
	if _, err := j.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("enough")
	if err := j.Replay(t.Context(), func(Record) error { return stop }); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Replay(gone, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestCloseAnswersEverybody(t *testing.T) {
	dir := newDir(t)
	j := open(t, dir, Options{})
	var callers sync.WaitGroup
	var mu sync.Mutex
	acknowledged := map[Seq]bool{}
	begun := make(chan struct{}, 8)
	for range 8 {
		callers.Go(func() {
			for first := true; ; first = false {
				seq, err := j.Append(context.Background(), Event, note{})
				if errors.Is(err, ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acknowledged[seq] = true
				mu.Unlock()
				if first {
					begun <- struct{}{}
				}
			}
		})
	}
	for range 8 {
		<-begun
	}
	closeNow(t, j)
	callers.Wait()
	closeNow(t, j)
	if got := lines(t, dir); len(got) != len(acknowledged) {
		t.Fatalf("%d records, %d acknowledged", len(got), len(acknowledged))
	}
	if err := j.Prune(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("prune: %v", err)
	}
}

func TestSecondOpenerIsToldWhoWrites(t *testing.T) {
	dir := newDir(t)
	j := open(t, dir, Options{})
	var locked *store.LockedError
	_, err := Open(t.Context(), dir, Options{LockTimeout: 30 * time.Millisecond})
	if !errors.As(err, &locked) || locked.PID != os.Getpid() || locked.Path != dir {
		t.Fatal(err)
	}
	if report, err := Read(t.Context(), dir, nil); err != nil || report.Segments != 1 {
		t.Fatalf("reading needs no lock: %+v, %v", report, err)
	}
	add(t, j, Event, 1, "")
	closeNow(t, j)
	open(t, dir, Options{})
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{SegmentSize: 100}, {SegmentSize: 1 << 40}, {MaxTotal: 1 << 20}, {MaxAge: -1}} {
		if _, err := Open(t.Context(), newDir(t), o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "missing", "journal"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	stop := errors.New("stop")
	dir := newDir(t)
	j := open(t, dir, Options{})
	add(t, j, Event, 1, "")
	closeNow(t, j)
	if _, err := Open(t.Context(), dir, Options{Replay: func(Record) error { return stop }}); !errors.Is(err, stop) {
		t.Error(err)
	}
	open(t, dir, Options{})
}

// TestTheHashOfTheLastDurableRecordIsGiven keeps what another place may note, to know the journal again.
func TestTheHashOfTheLastDurableRecordIsGiven(t *testing.T) {
	dir, hashes := newDir(t), map[Seq]Hash{0: {}}
	o := Options{SegmentSize: MinSegmentSize, Replay: func(r Record) error { hashes[r.Seq] = r.Hash; return nil }}
	noted := map[Seq]Hash{}
	for range 3 {
		j := open(t, dir, o)
		for i := range 4 { // begins a segment every third time
			noted[j.Stats().Durable] = j.Stats().Hash
			add(t, j, Event, i, strings.Repeat("x", 1200))
		}
		if _, err := j.AppendAdvisory(t.Context(), Event, note{5, ""}); err != nil {
			t.Fatal(err)
		}
		noted[j.Stats().Durable] = j.Stats().Hash
		closeNow(t, j)
		noted[j.Stats().Durable] = j.Stats().Hash
	}
	closeNow(t, open(t, dir, o))
	for seq, hash := range noted {
		if hashes[seq] != hash {
			t.Errorf("record %d: noted %x, in the journal %x", seq, hash, hashes[seq])
		}
	}
	if len(noted) < 15 {
		t.Errorf("%d positions", len(noted))
	}
}
