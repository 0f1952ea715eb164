package standing

import (
	"testing"
	"time"
)

const valve = "PS07-FCV-04"

func TestAnAssetStaysUnsettledUntilItIsSettled(t *testing.T) {
	b := newBox(t, Active)
	if m, ok := b.Unsettled(valve); ok || m != (Mark{}) {
		t.Errorf("fresh: %+v", m)
	}
	must(t, b.Unsettle(valve, "inv-1", "the reply was lost"))
	marked := Mark{Asset: valve, Invocation: "inv-1", Why: "the reply was lost", At: b.clock.at}
	b.restart(Active)
	if m, ok := b.Unsettled(valve); !ok || m != marked {
		t.Errorf("after a restart %+v, want %+v", m, marked)
	}
	must(t, b.Settle(valve, "li"))
	b.restart(Active)
	if m, ok := b.Unsettled(valve); ok {
		t.Errorf("after it was settled: %+v", m)
	}
	if m, _ := b.marks.get(valve); m.SettledBy != "li" || m.SettledAt.IsZero() || m.Invocation != "inv-1" {
		t.Errorf("who settled it is not on record: %+v", m)
	}
}

func TestALaterCallMarksAnAssetAgain(t *testing.T) {
	b := newBox(t, Active)
	must(t, b.Unsettle(valve, "inv-1", "lost"))
	must(t, b.Settle(valve, "li"))
	b.clock.advance(time.Minute)
	must(t, b.Unsettle(valve, "inv-2", "lost again"))
	if m, ok := b.Unsettled(valve); !ok || m.Invocation != "inv-2" || m.SettledBy != "" {
		t.Errorf("mark %+v", m)
	}
}

func TestMarksAreListedOldestFirstWithoutTheSettledOnes(t *testing.T) {
	b := newBox(t, Active)
	for _, asset := range []string{"Z", "M", "A"} {
		must(t, b.Unsettle(asset, "inv", "lost"))
		b.clock.advance(time.Second)
	}
	must(t, b.Settle("M", "a fresh reading"))
	if got := b.Marks(); len(got) != 2 || got[0].Asset != "Z" || got[1].Asset != "A" {
		t.Errorf("marks %+v", got)
	}
}

func TestSettlingWhatIsSettledChangesNothing(t *testing.T) {
	b := newBox(t, Active)
	must(t, b.Settle(valve, "li"))
	if _, ok := b.marks.get(valve); ok {
		t.Error("a mark came into being")
	}
	wantInput(t, b.Settle(valve, ""), "by")
	wantInput(t, b.Unsettle("", "inv", "lost"), "asset")
}
