package standing

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func consent(action string) Arm {
	return Arm{Action: action, Asset: "PS07-P-01", Contract: "c1", By: "li", Reason: "commissioning"}
}

func arm(t testing.TB, b *box, a Arm, within time.Duration) {
	t.Helper()
	_, err := b.Arm(a, within)
	must(t, err)
}

func TestAConsentIsForOneCallWithinItsTime(t *testing.T) {
	b := newBox(t, Active)
	if _, ok := b.TakeArm("purge", "c1"); ok {
		t.Error("armed without a consent")
	}
	arm(t, b, consent("purge"), time.Minute)
	if a, ok := b.Armed("purge", "c1"); !ok || a.By != "li" || !a.Until.Equal(b.clock.at.Add(time.Minute)) {
		t.Errorf("armed %+v %v", a, ok)
	}
	if _, ok := b.TakeArm("purge", "c1"); !ok {
		t.Error("the consent cannot be used")
	}
	if _, ok := b.TakeArm("purge", "c1"); ok {
		t.Error("the consent was used twice")
	}
	arm(t, b, consent("purge"), time.Minute)
	b.clock.advance(time.Minute)
	if _, ok := b.TakeArm("purge", "c1"); ok || len(b.Arms()) != 0 {
		t.Error("a consent outlives its time")
	}
}

func TestAConsentIsToOneContentOfAContract(t *testing.T) {
	b := newBox(t, Active)
	arm(t, b, consent("purge"), time.Minute)
	if _, ok := b.TakeArm("purge", "c2"); ok {
		t.Error("the contract was changed since, and the consent holds")
	}
	if _, ok := b.TakeArm("purge", "c1"); !ok {
		t.Error("a look for another content used the consent up")
	}
}

func TestAConsentEndsWithTheProcessAndWithAClockSetBack(t *testing.T) {
	b := newBox(t, Active)
	arm(t, b, consent("purge"), time.Minute)
	b.restart(Active)
	if got := b.Arms(); len(got) != 0 {
		t.Errorf("after a restart %+v", got)
	}
	arm(t, b, consent("purge"), time.Minute)
	b.clock.advance(-time.Hour)
	if _, ok := b.Armed("purge", "c1"); ok {
		t.Error("a clock that was set back stretches a consent")
	}
}

func TestAConsentCanBeTakenBack(t *testing.T) {
	b := newBox(t, Active)
	arm(t, b, consent("purge"), time.Minute)
	if a, err := b.Disarm("purge"); err != nil || a.By != "li" {
		t.Errorf("disarmed %+v, %v", a, err)
	}
	_, err := b.Disarm("purge")
	if none, ok := errors.AsType[*NotArmedError](err); !ok || none.Action != "purge" || !strings.Contains(err.Error(), "capd arm") {
		t.Errorf("error %v", err)
	}
}

func TestConsentsAreListedInTheOrderOfTheirEnd(t *testing.T) {
	b := newBox(t, Active)
	arm(t, b, consent("later"), time.Hour)
	arm(t, b, consent("soon"), time.Minute)
	if got := b.Arms(); len(got) != 2 || got[0].Action != "soon" || got[1].Action != "later" {
		t.Errorf("arms %+v", got)
	}
}

func TestAWrongConsentNamesTheField(t *testing.T) {
	b := newBox(t, Active)
	for _, c := range []struct {
		field  string
		change func(*Arm)
		within time.Duration
	}{
		{"action", func(a *Arm) { a.Action = "" }, time.Minute},
		{"asset", func(a *Arm) { a.Asset = "" }, time.Minute},
		{"by", func(a *Arm) { a.By = "" }, time.Minute},
		{"reason", func(a *Arm) { a.Reason = " " }, time.Minute},
		{"for", func(*Arm) {}, 0},
		{"for", func(*Arm) {}, -time.Second},
		{"for", func(*Arm) {}, MaxArm + time.Second},
	} {
		a := consent("purge")
		c.change(&a)
		_, err := b.Arm(a, c.within)
		wantInput(t, err, c.field)
	}
	if got := b.Arms(); len(got) != 0 {
		t.Errorf("armed all the same: %+v", got)
	}
}

func TestOfManyCallsAtOnceOneGetsTheConsent(t *testing.T) {
	b := newBox(t, Active)
	arm(t, b, consent("purge"), time.Minute)
	var got atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, ok := b.TakeArm("purge", "c1"); ok {
				got.Add(1)
			}
		})
	}
	all.Wait()
	if got.Load() != 1 {
		t.Errorf("%d calls used one consent", got.Load())
	}
}
