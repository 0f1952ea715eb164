package journal

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

const kept = 4 * MinSegmentSize

// fill appends records of about a third of a segment.
func fill(t *testing.T, j *Journal, n int) {
	t.Helper()
	for i := range n {
		add(t, j, Event, i, strings.Repeat("x", 1200))
	}
}

func TestTotalSizeDeletesWholeOldSegmentsAndTheRestVerifies(t *testing.T) {
	dir := newDir(t)
	o := Options{SegmentSize: MinSegmentSize, MaxTotal: kept}
	j := open(t, dir, o)
	fill(t, j, 100)
	s := j.Stats()
	if s.Bytes > kept || s.Segments < 3 || s.First == 1 || s.Last != 100 || s.Retention != nil {
		t.Fatalf("%+v", s)
	}
	report, err := j.Verify(t.Context())
	if err != nil || report.First != s.First || report.Last != 100 {
		t.Fatalf("%+v, %v", report, err)
	}
	closeNow(t, j)
	again := open(t, dir, o)
	if r := again.Opened(); r.First != s.First || r.Head != report.Head || again.Stats().First != s.First {
		t.Fatalf("%+v", r)
	}
	fill(t, again, 10)
	if _, err := again.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsStillNeededIsKept(t *testing.T) {
	dir := newDir(t)
	j := open(t, dir, Options{SegmentSize: MinSegmentSize, MaxTotal: kept})
	fill(t, j, 5)
	j.Need(5)
	fill(t, j, 60)
	if s := j.Stats(); s.First > 5 || s.First == 1 || s.Bytes < kept {
		t.Fatalf("record 5 must stay, what is before it need not: %+v", s)
	}
	j.Need(0)
	if err := j.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := j.Stats(); s.Bytes > kept || s.First <= 5 {
		t.Fatalf("%+v", s)
	}
}

func TestAgeDeletesOldSegmentsButNeverTheNewest(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	j := open(t, newDir(t), Options{SegmentSize: MinSegmentSize, MaxAge: 24 * time.Hour, Now: func() time.Time { return now }})
	fill(t, j, 10)
	if err := j.Prune(t.Context()); err != nil || j.Stats().First != 1 {
		t.Fatalf("nothing is old: %+v, %v", j.Stats(), err)
	}
	now = now.Add(23 * time.Hour)
	fill(t, j, 3)
	now = now.Add(2 * time.Hour)
	if err := j.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := j.Stats(); s.First < 8 || s.First > 11 {
		t.Fatalf("what is 25 hours old goes, what is 2 hours old stays: %+v", s)
	}
	now = now.Add(1000 * time.Hour)
	if err := j.Prune(t.Context()); err != nil || j.Stats().Segments != 1 {
		t.Fatalf("%+v, %v", j.Stats(), err)
	}
}

func TestClockThatWasNotSetMakesNothingOld(t *testing.T) {
	now := time.Unix(100, 0) // a box without a battery
	j := open(t, newDir(t), Options{SegmentSize: MinSegmentSize, MaxAge: time.Hour, Now: func() time.Time { return now }})
	fill(t, j, 10)
	now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) // the network told the time
	fill(t, j, 10)
	if s := j.Stats(); s.First != 1 {
		t.Fatalf("records of this hour were deleted: %+v", s)
	}
}

func TestReplayHoldsBackDeletion(t *testing.T) {
	j := open(t, newDir(t), Options{SegmentSize: MinSegmentSize, MaxTotal: kept})
	fill(t, j, 10)
	first := true
	err := j.Replay(t.Context(), func(r Record) error {
		if first {
			first = false
			fill(t, j, 50)
			if err := j.Prune(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := j.Stats(); s.Bytes <= kept {
		t.Fatalf("%+v", s)
	}
	if err := j.Prune(t.Context()); err != nil || j.Stats().Bytes > kept {
		t.Fatalf("%+v, %v", j.Stats(), err)
	}
}

func TestSegmentThatCannotBeDeletedIsReportedAndNotFatal(t *testing.T) {
	dir := newDir(t)
	j := open(t, dir, Options{SegmentSize: MinSegmentSize, MaxTotal: kept})
	fill(t, j, 5)
	if err := os.Remove(segmentPath(dir, 1)); err != nil { // somebody else did it
		t.Fatal(err)
	}
	fill(t, j, 20)
	if s := j.Stats(); s.Failed != nil || !errors.Is(s.Retention, os.ErrNotExist) || s.Last != 25 {
		t.Fatalf("%+v", s)
	}
}
