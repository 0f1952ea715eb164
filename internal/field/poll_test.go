package field

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"capd/internal/hal"
	"capd/internal/physical"
)

const polled = `
links: {L: {transport: fake}}
devices:
  D: {link: L, liveness: {point: A.beat, within: 2s}}
  E: {link: L}
assets:
  A:
    device: D
    points:
      beat:  {at: {place: 0}, role: status}
      quick: {at: {place: 1}, role: feedback, update: 250ms}
      also:  {at: {place: 2}, role: feedback, update: 250ms}
      slow:  {at: {place: 3}, role: feedback, update: 1s}
      idle:  {at: {place: 4}, role: feedback}
      sent:  {at: {place: 5}, role: setpoint, access: write, update: 250ms}
      other: {device: E, at: {place: 1}, role: status, update: 10ms}
`

func polledFake() *fakeDriver {
	f := newFake()
	for place := range 5 {
		f.set("D", place, physical.IntOf(int64(place)))
	}
	f.set("E", 1, physical.IntOf(1))
	return f
}

// batchesOf lists how many points the batches of a device had.
func batchesOf(f *fakeDriver, device string) (points []int) {
	for _, b := range f.seen() {
		if b.device == device {
			points = append(points, b.points)
		}
	}
	return points
}

func TestPollsComeWithTheirPeriodsMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := polledFake()
		field := start(t, f, Options{Poll: true}, polled)
		time.Sleep(2*time.Second + 10*time.Millisecond)
		// At 0 and 1 s and 2 s everything, at each half second the counter too, else the quick ones alone.
		want := []int{4, 2, 3, 2, 4, 2, 3, 2, 4}
		got := batchesOf(f, "D")
		if len(got) != len(want) {
			t.Fatalf("polls of %v points, want %v", got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("polls of %v points, want %v", got, want)
			}
		}
		if n := len(batchesOf(f, "E")); n != 41 {
			t.Errorf("a point with an update of 10ms was polled %d times in 2s, want every 50ms", n)
		}
		if r, ok := field.Last("A.slow"); !ok || !r.Good() || r.Age(time.Now()) != 10*time.Millisecond {
			t.Errorf("the last reading is %+v", r)
		}
		if _, ok := field.Last("A.idle"); ok {
			t.Error("a point without update was polled")
		}
		if s := field.Stats()[0].Devices[0]; s.Polled != 4 || s.Points != 6 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestNothingIsPolledUnlessAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := polledFake()
		start(t, f, Options{}, polled)
		time.Sleep(time.Minute)
		if opened, _, _ := f.counts(); opened != 0 || len(f.seen()) != 0 {
			t.Errorf("%d opened, %v read", opened, f.seen())
		}
	})
}

func TestPollsMissedByASlowDeviceAreNotMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := polledFake()
		f.latency = 600 * time.Millisecond
		start(t, f, Options{Poll: true}, "links: {L: {transport: fake}}\ndevices: {D: {link: L}}\nassets: {A: {device: D, points: {q: {at: {place: 1}, role: status, update: 250ms}}}}")
		time.Sleep(3*time.Second - time.Millisecond)
		if n := len(batchesOf(f, "D")); n != 5 {
			t.Errorf("%d polls of 600ms each in 3s", n)
		}
		f.mu.Lock()
		f.latency = 0
		f.mu.Unlock()
		time.Sleep(time.Second)
		if n := len(batchesOf(f, "D")); n != 9 {
			t.Errorf("%d polls in the next second, want 4", n-5)
		}
	})
}

func TestASilentDeviceIsPolledLessAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := polledFake()
		field := start(t, f, Options{Poll: true}, strings.Replace(polled, ", liveness: {point: A.beat, within: 2s}", "", 1))
		f.breakDown("D", &hal.Error{Kind: hal.Timeout, MaySent: true, Device: "D", Op: "read"})
		time.Sleep(10 * time.Second)
		if n := len(batchesOf(f, "D")); n > 8 {
			t.Errorf("the silent device was asked %d times in 10s", n)
		}
		if r, _ := field.Last("A.quick"); r.Cause != physical.CauseOffline || strings.Contains(r.Detail, "backed off") {
			t.Errorf("the last reading is %+v", r)
		}
		if r, _ := field.Last("A.other"); !r.Good() || r.Age(time.Now()) > 50*time.Millisecond {
			t.Errorf("its neighbour is %+v", r)
		}
		f.breakDown("D", nil)
		time.Sleep(31 * time.Second)
		if r, _ := field.Last("A.quick"); !r.Good() {
			t.Errorf("after the device came back: %+v", r)
		}
	})
}

func TestCloseLetsAPollFinishUnlessTimeRunsOut(t *testing.T) {
	tests := map[string]struct {
		patience time.Duration
		aborted  int
	}{"in time": {time.Minute, 0}, "out of time": {time.Second, 1}}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := polledFake()
				f.latency = 5 * time.Second
				field := New(slog.New(slog.DiscardHandler), Options{Poll: true})
				if err := field.Apply(t.Context(), bound(t, f, polled)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), tt.patience)
				defer cancel()
				if err := field.Close(ctx); (err != nil) != (tt.aborted > 0) {
					t.Errorf("Close gave %v", err)
				}
				if _, open, aborted := f.counts(); aborted != tt.aborted || open != 0 {
					t.Errorf("%d transactions cut, %d connections open", aborted, open)
				}
			})
		})
	}
}

func TestANewBindingStopsTheOldPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := polledFake()
		field := start(t, f, Options{Poll: true}, polled)
		time.Sleep(time.Second)
		if err := field.Apply(t.Context(), bound(t, f, strings.ReplaceAll(polled, "update: 250ms", "update: 10s"))); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		before := len(batchesOf(f, "D"))
		time.Sleep(10*time.Second - time.Millisecond)
		if n := len(batchesOf(f, "D")) - before; n != 19 { // the counter, each half second
			t.Errorf("%d polls in 10s", n)
		}
	})
}
