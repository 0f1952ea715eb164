package localapi_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"capd/internal/access"
	"capd/internal/health"
	"capd/internal/invoke"
	"capd/internal/journal"
	"capd/internal/localapi"
	"capd/internal/localapi/localtest"
	"capd/internal/outcome"
	"capd/internal/standing"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

func TestALockoutStopsCallsAndNamesWhoAndWhy(t *testing.T) {
	b := localtest.Start(t)
	l, err := b.Client.Lock(t.Context(), "PS07-FCV-04", "replacing the actuator")
	must(t, err)
	if l.Lockout.Target != "PS07-FCV-04" || l.Lockout.By == "" || len(l.Others) != 0 {
		t.Errorf("%+v", l)
	}
	a, err := b.Client.Call(t.Context(), opening(60))
	must(t, err)
	if a.Reason == nil || a.Reason.Code != outcome.LockedOut || !contains(a.Text(), "replacing the actuator") || !contains(a.Text(), l.Lockout.By) {
		t.Errorf("%s", a.Text())
	}
	u, err := b.Client.Unlock(t.Context(), "PS07-FCV-04", "")
	must(t, err)
	if u.Lockout.Reason != "replacing the actuator" || u.Forced {
		t.Errorf("%+v", u)
	}
	if a, err = b.Client.Call(t.Context(), opening(60)); err != nil || a.Verdict != outcome.Confirmed {
		t.Errorf("after the unlock: %v %s", err, a.Text())
	}
}

func TestALockOnAPlaceCoversItsAssetsAndTellsWhatStillMoves(t *testing.T) {
	b := localtest.Start(t)
	b.Machine.Hold()
	done := make(chan invoke.Answer, 1)
	go func() {
		a, err := b.Client.Call(t.Context(), opening(60))
		if err != nil {
			t.Error(err)
		}
		done <- a
	}()
	id := waitRunning(t, b)
	l, err := b.Client.Lock(t.Context(), "plant/ps07", "storm")
	must(t, err)
	if len(l.Running) != 1 || l.Running[0].Invocation != id {
		t.Errorf("running %+v", l.Running)
	}
	b.Machine.Release()
	<-done
	assets, err := b.Client.Assets(t.Context())
	must(t, err)
	for _, a := range assets {
		if len(a.Lockouts) != 1 {
			t.Errorf("%s is not locked", a.ID)
		}
	}
}

func TestLockAndUnlockOfWhatIsNotThereSayWhatWasMeant(t *testing.T) {
	b := localtest.Start(t)
	for target, hint := range map[string]string{"PS07-FCV-40": "did you mean PS07-FCV-04?", "plant/ps70": "did you mean plant/ps07?",
		"": "give an asset"} {
		_, err := b.Client.Lock(t.Context(), target, "why")
		if text := wantError(t, err, localapi.NotFound); !contains(text, hint) {
			t.Errorf("%q: %s", target, text)
		}
	}
	must(t, second(b.Client.Lock(t.Context(), "PS07-FCV-04", "why")))
	if text := wantError(t, second(b.Client.Unlock(t.Context(), "PS07-FCV-4", "")), localapi.NotFound); !contains(text, "did you mean PS07-FCV-04?") {
		t.Error(text)
	}
	wantError(t, second(b.Client.Lock(t.Context(), "PS07-FCV-04", "two\nlines")), localapi.BadRequest)
}

func TestALockoutOfAnotherPersonStandsUntilForced(t *testing.T) {
	b := localtest.Start(t)
	must(t, b.Standing.Lock(standing.Lockout{Target: "PS07-FCV-04", By: "wang", Reason: "inside the pit"}))
	if text := wantError(t, second(b.Client.Unlock(t.Context(), "PS07-FCV-04", "")), localapi.Conflict); !contains(text, "wang") {
		t.Error(text)
	}
	u, err := b.Client.Unlock(t.Context(), "PS07-FCV-04", "wang")
	must(t, err)
	if !u.Forced || u.Lockout.By != "wang" || len(b.Standing.Forced()) != 1 {
		t.Errorf("%+v, %+v", u, b.Standing.Forced())
	}
}

func TestAnAssetThatIsGoneCanStillBeUnlocked(t *testing.T) {
	b := localtest.Start(t)
	l, err := b.Client.Lock(t.Context(), "PS07-FCV-04", "why")
	must(t, err)
	must(t, b.Standing.Lock(standing.Lockout{Target: "GONE-01", By: l.Lockout.By, Reason: "before it was removed from the inventory"}))
	must(t, second(b.Client.Unlock(t.Context(), "GONE-01", "")))
}

func TestManyLockAndUnlockAtOnce(t *testing.T) {
	b := localtest.Start(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				if _, err := b.Client.Lock(t.Context(), "PS07-FCV-04", "why"); err != nil {
					t.Error(err)
				}
				if _, err := b.Client.Status(t.Context()); err != nil {
					t.Error(err)
				}
				_, err := b.Client.Unlock(t.Context(), "PS07-FCV-04", "")
				if e, ok := errors.AsType[*localapi.Error](err); err != nil && (!ok || e.Code != localapi.NotFound) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(b.Standing.Lockouts()); n != 0 {
		t.Errorf("%d lockouts were left", n)
	}
}

func TestTheModeChangesWithAReason(t *testing.T) {
	b := localtest.Start(t)
	c, err := b.Client.SetMode(t.Context(), "observe", "storm warning")
	must(t, err)
	if c.Before.Mode != standing.Active || c.Now.Mode != standing.Observe {
		t.Errorf("%+v", c)
	}
	a, err := b.Client.Call(t.Context(), opening(60))
	must(t, err)
	if a.Reason == nil || a.Reason.Code != outcome.ObserveMode || b.Machine.Writes() != 0 {
		t.Errorf("%s", a.Text())
	}
	if text := wantError(t, second(b.Client.SetMode(t.Context(), "activ", "why")), localapi.BadRequest); !contains(text, `did you mean "active"?`) {
		t.Error(text)
	}
	wantError(t, second(b.Client.SetMode(t.Context(), "active", " ")), localapi.BadRequest)
}

func TestAToolIsTakenOutOfServiceAndPutBack(t *testing.T) {
	b := localtest.Start(t)
	h, err := b.Client.Degrade(t.Context(), "set_discharge_valve", "calibration")
	must(t, err)
	if !h.Now.Degraded || h.Now.Reason != "calibration" {
		t.Errorf("%+v", h)
	}
	a, err := b.Client.Call(t.Context(), opening(60))
	must(t, err)
	if a.Reason == nil || a.Reason.Code != outcome.Degraded {
		t.Errorf("%s", a.Text())
	}
	s, err := b.Client.Status(t.Context())
	must(t, err)
	if len(s.Degraded) != 1 {
		t.Errorf("status %+v", s.Degraded)
	}
	if h, err = b.Client.Restore(t.Context(), "set_discharge_valve", ""); err != nil || h.Now.Degraded || !h.Before.Degraded {
		t.Errorf("%v %+v", err, h)
	}
	for name, hint := range map[string]string{"set_discharge_valv": "did you mean set_discharge_valve?",
		"ps07-fcv-04": "name one of its actions: set_discharge_valve"} {
		if text := wantError(t, second(b.Client.Degrade(t.Context(), name, "why")), localapi.NotFound); !contains(text, hint) {
			t.Errorf("%s: %s", name, text)
		}
	}
	wantError(t, second(b.Client.Degrade(t.Context(), "valve_status", "why")), localapi.BadRequest)
	wantError(t, second(b.Client.Degrade(t.Context(), "set_discharge_valve", "")), localapi.BadRequest)
}

func TestATechnicianSettlesAnAsset(t *testing.T) {
	b := localtest.Start(t)
	must(t, b.Standing.Unsettle("PS07-FCV-04", "01890a5d", "no answer"))
	s, err := b.Client.Settle(t.Context(), "PS07-FCV-04", "seen on site")
	must(t, err)
	if s.Mark == nil || s.Mark.Why != "no answer" {
		t.Errorf("%+v", s)
	}
	if s, err = b.Client.Settle(t.Context(), "PS07-FCV-04", ""); err != nil || s.Mark != nil {
		t.Errorf("twice: %v %+v", err, s)
	}
	wantError(t, second(b.Client.Settle(t.Context(), "PS07-FCV-40", "")), localapi.NotFound)
}

func TestAlarmsAreListedAndCleared(t *testing.T) {
	b := localtest.Start(t)
	for _, key := range []string{"one", "two"} {
		_, err := b.Alarms.Raise(health.Alarm{Key: key, Text: "text of " + key, Severity: health.Critical})
		must(t, err)
	}
	active, err := b.Client.Alarms(t.Context())
	must(t, err)
	if len(active) != 2 || active[0].Key != "two" {
		t.Errorf("%+v", active)
	}
	must(t, second(b.Client.ClearAlarm(t.Context(), "one")))
	must(t, second(b.Client.ClearAlarm(t.Context(), "2")))
	if active, err = b.Client.Alarms(t.Context()); err != nil || len(active) != 0 {
		t.Errorf("%v %+v", err, active)
	}
	all, err := b.Client.AllAlarms(t.Context())
	must(t, err)
	if len(all) != 2 || all[0].ClearedBy == "" {
		t.Errorf("%+v", all)
	}
	wantError(t, second(b.Client.ClearAlarm(t.Context(), "one")), localapi.NotFound)
}

func TestATokenIsMadeListedAndRevoked(t *testing.T) {
	b := localtest.Start(t)
	made, err := b.Client.CreateToken(t.Context(), access.TokenSpec{Name: "agent", Roles: []string{"operator"}, Scopes: []string{"site:ps07"},
		Profile: "reader", TTL: time.Hour})
	must(t, err)
	subject, err := b.Tokens.Authenticate(made.Secret)
	must(t, err)
	if subject.Name != "agent" || subject.Technician || made.Token.Expires.IsZero() {
		t.Errorf("%+v %+v", subject, made.Token)
	}
	all, err := b.Client.Tokens(t.Context())
	must(t, err)
	if len(all) != 1 || all[0].ID != made.Token.ID {
		t.Errorf("%+v", all)
	}
	must(t, second(b.Client.RevokeToken(t.Context(), "agent")))
	if _, err := b.Tokens.Authenticate(made.Secret); !errors.Is(err, access.ErrRevoked) {
		t.Errorf("after the revoke: %v", err)
	}
	for _, c := range []struct {
		spec access.TokenSpec
		code localapi.ErrorCode
		hint string
	}{
		{access.TokenSpec{Name: "x", Roles: []string{"operater"}, TTL: time.Hour}, localapi.BadRequest, "did you mean operator?"},
		{access.TokenSpec{Name: "x", Roles: []string{"viewer"}, TTL: time.Second}, localapi.BadRequest, "ttl"},
		{access.TokenSpec{Name: "x", Roles: []string{"viewer"}}, localapi.BadRequest, "how long"},
		{access.TokenSpec{Name: "x", Roles: []string{"viewer"}, NoExpiry: true, Profile: "readr"}, localapi.NotFound, "did you mean reader?"},
	} {
		if text := wantError(t, second(b.Client.CreateToken(t.Context(), c.spec)), c.code); !contains(text, c.hint) {
			t.Errorf("%+v: %s", c.spec, text)
		}
	}
	if text := wantError(t, second(b.Client.RevokeToken(t.Context(), "agnet")), localapi.NotFound); !contains(text, "did you mean agent?") {
		t.Error(text)
	}
}

func TestAReloadTellsWhatChangedAndWhichFileIsBad(t *testing.T) {
	b := localtest.Start(t)
	b.Write(t, "contracts.d/bad.yaml", "contract: capd/v1\ntool: bad\nversion: x\n")
	r, err := b.Client.Reload(t.Context())
	must(t, err)
	if r.Now != r.Before+1 || len(r.Rejected) != 1 || len(r.Rejected[0].Problems) == 0 || r.Rejected[0].Problems[0].Line == 0 || len(r.Added) != 0 {
		t.Errorf("%+v", r)
	}
	s, err := b.Client.Status(t.Context())
	must(t, err)
	if len(s.Rejected) != 1 || len(s.Suspended) != 1 || s.Snapshot.Tools != 2 {
		t.Errorf("rejected %+v, suspended %v", s.Rejected, s.Suspended)
	}
}

func TestAReloadThatCannotReadTheFoldersChangesNothing(t *testing.T) {
	b := localtest.Start(t)
	must(t, os.Rename(filepath.Join(b.Dir, "contracts.d"), filepath.Join(b.Dir, "elsewhere")))
	if text := wantError(t, second(b.Client.Reload(t.Context())), localapi.Unavailable); !contains(text, "nothing was changed") {
		t.Error(text)
	}
	s, err := b.Client.Status(t.Context())
	must(t, err)
	if s.Snapshot.Tools != 2 {
		t.Errorf("%+v", s.Snapshot)
	}
}

func TestChangesAtTheBoxAreJournalledAndDoNotDisturbARecovery(t *testing.T) {
	b := localtest.Start(t)
	must(t, second(b.Client.Lock(t.Context(), "PS07-FCV-04", "why")))
	must(t, second(b.Client.SetMode(t.Context(), "shadow", "trial")))
	must(t, second(b.Client.Reload(t.Context())))
	var events []string
	must(t, b.Journal.Replay(t.Context(), func(r journal.Record) error {
		if r.Kind == journal.Event {
			events = append(events, string(r.Payload))
		}
		return nil
	}))
	if len(events) != 3 || !contains(events[0], `"event":"lock"`) || !contains(events[0], `"reason":"why"`) || !contains(events[1],
		`"before":"active"`) {
		t.Errorf("%v", events)
	}
	again := invoke.New(context.Background(), b.Corridor.Deps)
	must(t, again.Recover(t.Context()))
	must(t, again.Close(t.Context()))
}
