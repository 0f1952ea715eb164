package guard_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"capd/internal/access"
	"capd/internal/contract"
	"capd/internal/guard"
	"capd/internal/health"
	"capd/internal/outcome"
	"capd/internal/registry"
	"capd/internal/standing"
)

// gate is one gate of Admit: how it closes, what it answers, and whether the way to the safe side passes it all the same.
type gate struct {
	name  string
	close func(*guard.Static)
	code  outcome.Code
	layer outcome.Layer
	says  string
	safe  bool
}

// gates is every gate in its order.
func gates() []gate {
	return []gate{
		{"access", func(f *guard.Static) { f.Visible, f.Rule = false, "permission valve:write" }, outcome.NoAccess, outcome.LayerPolicy, "permission valve:write", false},
		{"observe", func(f *guard.Static) { f.Mode = standing.Observe }, outcome.ObserveMode, outcome.LayerPolicy, "observe mode", false},
		{"lockout", func(f *guard.Static) {
			f.Lockouts = []standing.Lockout{{Target: "VALVE", By: "mei", Reason: "packing", At: ago(time.Hour)}, {Target: "plant", By: "li", Reason: "x"}}
		}, outcome.LockedOut, outcome.LayerPolicy, "VALVE is locked by mei since 2026-07-01T11:00:00Z: packing (and 1 more)", false},
		{"arm", func(f *guard.Static) { f.Action.Risk = contract.Critical }, outcome.NotArmed, outcome.LayerPolicy, "technician must arm", true},
		{"rate", func(f *guard.Static) {
			f.Calls = []time.Time{ago(50 * time.Second), ago(40 * time.Second), ago(10 * time.Second)}
		}, outcome.RateLimited, outcome.LayerPolicy, "3 times in 1m0s; the next call is possible at 2026-07-01T12:00:10Z", true},
		{"concurrency", func(f *guard.Static) { f.Running = 2 }, outcome.Busy, outcome.LayerPolicy, "2 at once is the limit", true},
		{"degraded", func(f *guard.Static) {
			f.Health = health.State{Degraded: true, Since: ago(time.Hour), Reason: "stuck at 37 %"}
		}, outcome.Degraded, outcome.LayerPolicy, "stuck at 37 %", true},
		{"unsettled", func(f *guard.Static) {
			f.Action.Absolute, f.Unsettled = false, &standing.Mark{Asset: "VALVE", Invocation: "i-1", Why: "no witness"}
		}, outcome.Unsettled, outcome.LayerPolicy, "i-1", true},
		{"journal", func(f *guard.Static) { f.JournalErr = errors.New("no space left") }, outcome.JournalFailed, outcome.LayerExecution, "no space left", true},
	}
}

func static(t *testing.T, change ...func(*guard.Static)) guard.Static {
	t.Helper()
	f := guard.Static{Now: now(), Subject: access.Subject{Name: "agent"}, Action: action(t, "VALVE", setValve, "min: 0, max: 100", ""), Visible: true, Mode: standing.Active}
	for _, c := range change {
		c(&f)
	}
	return f
}

func TestAdmitPassesACallAgainstWhichNothingSpeaks(t *testing.T) {
	if r := guard.Admit(static(t)); r != nil {
		t.Error(r)
	}
	if r := guard.Admit(static(t, func(f *guard.Static) { f.Mode = standing.Shadow })); r != nil {
		t.Errorf("shadow passes all gates: %v", r)
	}
}

func TestEachGateOfAdmitClosesWithItsOwnAnswer(t *testing.T) {
	for _, g := range gates() {
		t.Run(g.name, func(t *testing.T) {
			r := guard.Admit(static(t, g.close))
			if code(r) != g.code || r.Layer != g.layer || !strings.Contains(r.Message, g.says) || r.Next == "" || !r.RetrySafe {
				t.Errorf("got %+v", r)
			}
			safe := guard.Admit(static(t, g.close, func(f *guard.Static) { f.Action.ToSafe = true }))
			if passes := safe == nil; passes != g.safe {
				t.Errorf("the way to the safe side passes = %v (%v), want %v", passes, safe, g.safe)
			}
		})
	}
}

func TestTheFirstClosedGateAnswers(t *testing.T) {
	all := gates()
	for i := range all {
		f := static(t)
		for _, g := range all[i:] {
			g.close(&f)
		}
		if got := code(guard.Admit(f)); got != all[i].code {
			t.Errorf("from %s on all gates are closed: got %s, want %s", all[i].name, got, all[i].code)
		}
	}
}

func TestWhatOpensAGateAgain(t *testing.T) {
	for name, open := range map[string]func(*guard.Static){
		"armed": func(f *guard.Static) { f.Action.Risk, f.Armed = contract.Critical, true },
		"two calls of three": func(f *guard.Static) {
			f.Calls = []time.Time{ago(20 * time.Second), ago(time.Second)}
		},
		"one of two is running": func(f *guard.Static) { f.Running = 1 },
		"no limits": func(f *guard.Static) {
			f.Action.Limits, f.Running, f.Calls = contract.Limits{}, 1000, slices.Repeat([]time.Time{now()}, 1000)
		},
		"degraded, but the contract says alarm": func(f *guard.Static) {
			f.Health, f.Action.OnDegraded = health.State{Degraded: true}, "alarm"
		},
		"unsettled, but absolute": func(f *guard.Static) { f.Unsettled = &standing.Mark{} },
		"relative, but settled":   func(f *guard.Static) { f.Action.Absolute = false },
	} {
		if r := guard.Admit(static(t, open)); r != nil {
			t.Errorf("%s: %v", name, r)
		}
	}
}

func TestTheRateWindowSaysWhenTheNextCallIsPossible(t *testing.T) {
	f := static(t, func(f *guard.Static) {
		f.Calls = []time.Time{ago(59 * time.Second), ago(50 * time.Second), ago(40 * time.Second), ago(10 * time.Second)} // more than the limit: it was lowered
	})
	r := guard.Admit(f)
	if code(r) != outcome.RateLimited || r.After == nil || !r.After.Equal(now().Add(10*time.Second)) {
		t.Errorf("got %+v", r)
	}
}

func TestVisibilityNamesTheRuleThatHides(t *testing.T) {
	policy := access.NewPolicy(map[string][]string{"operator": {"valve:write"}, "chief": {"valve:write", "see:critical"}})
	subject := func(role string, scopes ...string) access.Subject {
		return access.Subject{Roles: []string{role}, Scopes: scopes}
	}
	valve := action(t, "VALVE", setValve+"\n    security: {permissions: [\"valve:write\"], scopes: [\"site:x\"]}", "min: 0, max: 100", "")
	critical := *valve
	own := *valve.Action
	own.Risk = contract.Critical
	critical.Action = &own
	for name, c := range map[string]struct {
		subject access.Subject
		profile *access.Profile
		action  *registry.Action
		rule    string
	}{
		"permitted":                  {subject("operator", "site:x"), nil, valve, ""},
		"no permission":              {subject("viewer", "site:x"), nil, valve, "permission valve:write"},
		"another site":               {subject("operator", "site:y"), nil, valve, "scope"},
		"hidden by the profile":      {subject("operator", "site:x"), &access.Profile{Name: "p", Tools: []string{"other*"}}, valve, "profile"},
		"critical is not shown":      {subject("operator", "site:x"), nil, &critical, "critical"},
		"critical is shown to a few": {subject("chief", "site:x"), nil, &critical, ""},
		"a technician at the box":    {access.Subject{Local: true, Technician: true}, nil, &critical, ""},
	} {
		ok, rule := guard.Visible(policy, c.subject, c.profile, c.action)
		if ok != (c.rule == "") || !strings.HasPrefix(rule, c.rule) {
			t.Errorf("%s: %v, %q; want %q", name, ok, rule, c.rule)
		}
	}
}
