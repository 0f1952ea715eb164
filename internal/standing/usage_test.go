package standing

import (
	"reflect"
	"sync"
	"testing"
	"time"
)

const run = "PS07-P-02.run"

func (b *box) record(kind EventKind) {
	b.t.Helper()
	must(b.t, b.Record(run, UsageEvent{Kind: kind}))
}

func TestEveryWriteIsCountedAndStartsAndStopsAreRemembered(t *testing.T) {
	b := newBox(t, Active)
	if u := b.Usage(run); !reflect.DeepEqual(u, Usage{}) {
		t.Errorf("a point never written: %+v", u)
	}
	started := b.clock.at
	b.record(Start)
	b.clock.advance(time.Minute)
	stopped := b.clock.at
	b.record(Stop)
	b.clock.advance(time.Minute)
	b.record(Write)
	want := Usage{LastWrite: b.clock.at, LastStop: stopped, Starts: []time.Time{started}, Writes: 3}
	if got := b.Usage(run); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	b.restart(Active)
	if got := b.Usage(run); !reflect.DeepEqual(got, want) {
		t.Errorf("after a restart %+v\nwant            %+v", got, want)
	}
	if other := b.Usage("PS07-P-01.run"); other.Writes != 0 {
		t.Errorf("another point: %+v", other)
	}
}

func TestStartsAreForgottenAfterAnHour(t *testing.T) {
	b := newBox(t, Active)
	b.record(Start)
	b.clock.advance(30 * time.Minute)
	b.record(Start)
	b.clock.advance(30*time.Minute - time.Nanosecond)
	if n := len(b.Usage(run).Starts); n != 2 {
		t.Errorf("%d starts within the hour, want 2", n)
	}
	b.clock.advance(time.Nanosecond)
	if n := len(b.Usage(run).Starts); n != 1 {
		t.Errorf("%d starts after an hour, want 1", n)
	}
	b.record(Write)
	if u, _ := b.usage.get(run); len(u.Starts) != 1 || u.Writes != 3 {
		t.Errorf("kept: %+v", u)
	}
}

func TestAClockThatIsSetBackForgetsNoStartAndNoStop(t *testing.T) {
	b := newBox(t, Active)
	b.record(Start)
	b.record(Stop)
	late := b.clock.at
	b.clock.advance(-48 * time.Hour)
	b.record(Start)
	if u := b.Usage(run); len(u.Starts) != 2 || !u.LastStop.Equal(late) || !u.LastWrite.Equal(late) {
		t.Errorf("usage %+v", u)
	}
}

func TestAnEventMayHaveItsOwnTime(t *testing.T) {
	b := newBox(t, Active)
	at := b.clock.at.Add(-10 * time.Second)
	must(t, b.Record(run, UsageEvent{At: at, Kind: Start}))
	if u := b.Usage(run); !u.LastWrite.Equal(at) || len(u.Starts) != 1 || !u.Starts[0].Equal(at) {
		t.Errorf("usage %+v", u)
	}
}

func TestTheNumberOfStartsIsBounded(t *testing.T) {
	b := newBox(t, Active)
	u := Usage{}
	for i := range MaxStarts {
		u.Starts = append(u.Starts, b.clock.at.Add(time.Duration(i)*time.Millisecond))
	}
	b.usage.set(run, u)
	b.clock.advance(time.Minute)
	b.record(Start)
	if got := b.Usage(run).Starts; len(got) != MaxStarts || !got[MaxStarts-1].Equal(b.clock.at) || !got[0].Equal(u.Starts[1]) {
		t.Errorf("%d starts from %s to %s", len(got), got[0], got[len(got)-1])
	}
}

func TestWhatUsageGivesBelongsToTheCaller(t *testing.T) {
	b := newBox(t, Active)
	b.record(Start)
	b.Usage(run).Starts[0] = time.Time{}
	if b.Usage(run).Starts[0].IsZero() {
		t.Error("the record was changed from outside")
	}
}

func TestAWrongEventIsRefused(t *testing.T) {
	b := newBox(t, Active)
	wantInput(t, b.Record("", UsageEvent{Kind: Write}), "point")
	wantInput(t, b.Record(run, UsageEvent{Kind: "toggle"}), "kind")
	if b.Usage(run).Writes != 0 {
		t.Error("it was counted")
	}
}

func TestWritesFromManyGoroutinesAreAllCounted(t *testing.T) {
	b := newBox(t, Active)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				if err := b.Record(run, UsageEvent{Kind: Start}); err != nil {
					t.Error(err)
				}
				b.Usage(run)
			}
		})
	}
	wg.Wait()
	if u := b.Usage(run); u.Writes != 20 || len(u.Starts) != 20 {
		t.Errorf("usage %+v", u)
	}
}

func BenchmarkUsage(b *testing.B) {
	box := newBox(b, Active)
	box.usage.set(run, Usage{Writes: 5, LastWrite: box.clock.at, Starts: []time.Time{box.clock.at, box.clock.at}})
	b.ReportAllocs()
	for b.Loop() {
		if box.Usage(run).Writes != 5 {
			b.Fatal("lost")
		}
	}
}
