package health

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"capd/internal/outcome"
	"capd/internal/store"
)

func stuck(invocation string) Alarm {
	return Alarm{Key: "mismatch/PS07-FCV-04", Code: outcome.VerifyMismatch, Asset: "PS07-FCV-04", Action: valve, Invocation: invocation,
		Text: "the valve settled at 45 %, asked was 60 %", Severity: Critical}
}

func raise(t testing.TB, a *Alarms, one Alarm) Alarm {
	t.Helper()
	got, err := a.Raise(one)
	must(t, err)
	return got
}

func TestARepeatedAlarmIsCountedAndKeepsItsFirstCause(t *testing.T) {
	c := newClock()
	a := alarms(t, open(t, registry(t)), c)
	first := raise(t, a, stuck("inv-1"))
	if first.ID != 1 || first.Count != 1 || !first.Since.Equal(c.at) || !first.Active() {
		t.Fatalf("first %+v", first)
	}
	c.advance(10 * time.Second)
	again := stuck("inv-2")
	again.Text, again.Code = "something else", outcome.VerifyTimeout
	raise(t, a, again)
	list := a.List(false)
	if len(list) != 1 {
		t.Fatalf("%d alarms", len(list))
	}
	got := list[0]
	if got.Count != 2 || !got.Last.Equal(c.at) || got.Invocation != "inv-1" || got.Text != first.Text || got.Code != first.Code || !got.Since.Equal(first.Since) {
		t.Errorf("repeated %+v", got)
	}
}

func TestAClearedAlarmIsListedOnlyOnRequestAndComesBackAsANewOne(t *testing.T) {
	c := newClock()
	a := alarms(t, open(t, registry(t)), c)
	raise(t, a, stuck("inv-1"))
	c.advance(time.Minute)
	cleared, err := a.Clear(stuck("").Key, "li")
	if must(t, err); !cleared {
		t.Error("nothing was cleared")
	}
	if len(a.List(false)) != 0 {
		t.Error("a cleared alarm is still active")
	}
	if got := a.List(true)[0]; got.ClearedBy != "li" || !got.ClearedAt.Equal(c.at) || got.Active() {
		t.Errorf("cleared %+v", got)
	}
	if cleared, err = a.Clear(stuck("").Key, "li"); cleared || err != nil {
		t.Errorf("cleared twice: %v %v", cleared, err)
	}
	if second := raise(t, a, stuck("inv-2")); second.ID != 2 || second.Invocation != "inv-2" || second.ClearedBy != "" {
		t.Errorf("second %+v", second)
	}
	if all := a.List(true); len(all) != 2 || all[0].ID != 2 || all[1].ID != 1 {
		t.Errorf("not newest first: %+v", all)
	}
}

func TestAlarmsSurviveARestart(t *testing.T) {
	path, c := registry(t), newClock()
	db := open(t, path)
	a := alarms(t, db, c)
	raise(t, a, stuck("inv-1"))
	raise(t, a, Alarm{Key: "journal", Text: "disk is full"})
	_, err := a.Clear("journal", "li")
	must(t, err)
	before := a.List(true)
	must(t, db.Close())

	a = alarms(t, open(t, path), c)
	if after := a.List(true); !reflect.DeepEqual(before, after) {
		t.Errorf("before %+v\nafter  %+v", before, after)
	}
	if again := raise(t, a, stuck("inv-9")); again.Count != 2 || again.Invocation != "inv-1" {
		t.Errorf("an active alarm was not continued: %+v", again)
	}
	if next := raise(t, a, Alarm{Key: "new", Text: "x"}); next.ID != 3 {
		t.Errorf("number %d was given, want 3", next.ID)
	}
}

// stored counts what a restart would find.
func stored(t *testing.T, db *store.DB) int64 {
	t.Helper()
	return alarms(t, db, newClock()).List(true)[0].Count
}

func TestRepeatsAreWrittenOnceAMinuteAndWhenFlushed(t *testing.T) {
	c, db := newClock(), open(t, registry(t))
	a := alarms(t, db, c)
	for range 5 {
		raise(t, a, stuck("inv-1"))
		c.advance(time.Second)
	}
	if n := stored(t, db); n != 1 {
		t.Errorf("%d on disk within the first minute, want 1", n)
	}
	c.advance(time.Minute)
	raise(t, a, stuck("inv-1"))
	if n := stored(t, db); n != 6 {
		t.Errorf("%d on disk after a minute, want 6", n)
	}
	c.advance(time.Second)
	raise(t, a, stuck("inv-1"))
	must(t, a.Flush())
	if n := stored(t, db); n != 7 {
		t.Errorf("%d on disk after a flush, want 7", n)
	}
}

func TestAClockThatIsSetBackStillWritesRepeats(t *testing.T) {
	c, db := newClock(), open(t, registry(t))
	a := alarms(t, db, c)
	raise(t, a, stuck("inv-1"))
	c.advance(-24 * time.Hour)
	raise(t, a, stuck("inv-1"))
	if n := stored(t, db); n != 2 {
		t.Errorf("%d on disk, want 2", n)
	}
}

func TestTheListIsBoundedAndKeepsWhatMattersMost(t *testing.T) {
	c, db := newClock(), open(t, registry(t))
	a := alarms(t, db, c)
	number := func(i int) Alarm { return Alarm{Key: fmt.Sprintf("key-%d", i), Text: "x", Severity: Critical} }
	// Fill the list in memory; going through the disk 500 times would only be slow.
	for i := range MaxAlarms {
		one := number(i)
		one.ID = uint64(i + 1)
		a.add(one)
	}
	info := a.list[300]
	a.list[300].Severity = Info
	a.list[400].ClearedBy = "li"

	raise(t, a, number(1001))
	if len(a.List(true)) != MaxAlarms || a.Dropped() != 0 {
		t.Fatalf("%d alarms, %d dropped; the cleared one should have made room", len(a.List(true)), a.Dropped())
	}
	raise(t, a, number(1002))
	for _, one := range a.List(true) {
		if one.Key == info.Key {
			t.Error("a critical alarm made room before one of severity info")
		}
	}
	if a.Dropped() != 1 {
		t.Errorf("%d dropped, want 1", a.Dropped())
	}
	raise(t, a, number(1003))
	if oldest := a.List(true)[MaxAlarms-1]; oldest.Key != "key-1" {
		t.Errorf("oldest is %s, want key-1", oldest.Key)
	}
}

func TestWhatMadeRoomIsGoneFromDisk(t *testing.T) {
	c, db := newClock(), open(t, registry(t))
	a := alarms(t, db, c)
	raise(t, a, Alarm{Key: "old", Text: "x"})
	for i := range MaxAlarms - 1 {
		a.add(Alarm{ID: uint64(i + 2), Key: fmt.Sprintf("key-%d", i), Severity: Critical})
	}
	raise(t, a, Alarm{Key: "new", Text: "x"})
	if list := alarms(t, db, c).List(true); len(list) != 1 || list[0].Key != "new" {
		t.Errorf("on disk: %+v", list)
	}
}

func TestAnAlarmStandsWithoutTheDiskAndIsNotClearedWithoutIt(t *testing.T) {
	c, db := newClock(), open(t, registry(t))
	a := alarms(t, db, c)
	must(t, db.Close())
	for range 2 {
		if _, err := a.Raise(stuck("inv-1")); !errors.Is(err, store.ErrClosed) {
			t.Errorf("error %v", err)
		}
	}
	if list := a.List(false); len(list) != 1 || list[0].Count != 2 {
		t.Errorf("alarms %+v", list)
	}
	if cleared, err := a.Clear(stuck("").Key, "li"); cleared || !errors.Is(err, store.ErrClosed) {
		t.Errorf("cleared %v, error %v", cleared, err)
	}
	if len(a.List(false)) != 1 {
		t.Error("cleared without the disk")
	}
	if err := a.Flush(); !errors.Is(err, store.ErrClosed) {
		t.Errorf("flush: %v", err)
	}
}

func TestAlarmInputIsChecked(t *testing.T) {
	a := alarms(t, open(t, registry(t)), newClock())
	_, err := a.Raise(Alarm{Text: "x"})
	wantInput(t, err, "key")
	_, err = a.Raise(Alarm{Key: "k", Severity: "urgent"})
	wantInput(t, err, "severity")
	_, err = a.Clear("k", "")
	wantInput(t, err, "by")
	if got := raise(t, a, Alarm{Key: "k", Text: strings.Repeat("x", 2*MaxText)}); got.Severity != Warning || len([]rune(got.Text)) != MaxText {
		t.Errorf("defaults: %+v", got)
	}
}

func TestDamagedAlarmsAreAnError(t *testing.T) {
	for bucket, key := range map[string]string{bucketAlarms: "1", bucketNumbers: latestKey} {
		db := open(t, registry(t))
		damage(t, db, bucket, key)
		if _, err := OpenAlarms(db, time.Now); err == nil {
			t.Errorf("opened with a damaged %s", bucket)
		}
	}
}
