// Package guard decides whether a call may go ahead: Admit over static facts, Permit over fresh readings.
//
// Its promise: both are pure functions of the facts they are given, with a closed list of reasons; the same facts give the same
// answer; what cannot be judged is refused. It never does I/O and never changes anything.
package guard

import (
	"fmt"
	"time"

	"capd/internal/access"
	"capd/internal/contract"
	"capd/internal/health"
	"capd/internal/outcome"
	"capd/internal/registry"
	"capd/internal/standing"
)

// Visible reports whether a subject may see and call an action, and the rule that hides it. It is the one visibility function:
// lists, find_tools, calls, resources and the status socket all ask it.
func Visible(p access.Policy, s access.Subject, profile *access.Profile, a *registry.Action) (bool, string) {
	if a.Risk == contract.Critical {
		if ok, _ := p.Allows(s, []string{"see:critical"}); !ok {
			return false, "critical"
		}
	}
	if ok, missing := p.Allows(s, a.Permissions); !ok {
		return false, "permission " + missing
	}
	if !access.Covers(s, a.Scopes, a.Location()) {
		return false, "scope"
	}
	if profile != nil {
		if ok, rule := profile.Permits(a.Name); !ok {
			return false, "profile " + rule
		}
	}
	return true, ""
}

// Static is what Admit looks at: nothing in it needs the machine.
type Static struct {
	Now        time.Time
	Subject    access.Subject
	Action     *registry.Action
	Visible    bool
	Rule       string // why it is not visible
	Mode       standing.Mode
	Lockouts   []standing.Lockout
	Armed      bool
	Calls      []time.Time // admitted calls of this action in its rate window, oldest first
	Running    int
	Health     health.State
	Unsettled  *standing.Mark
	JournalErr error
}

// Admit is the first gate. It gives nil, or why the call is refused.
func Admit(f Static) *outcome.Refusal {
	gates := []func(Static) *outcome.Refusal{admitAccess, admitMode, admitLockout, admitArm, admitRate, admitConcurrency, admitHealth,
		admitSettled, admitJournal}
	for _, gate := range gates {
		if r := gate(f); r != nil {
			return r
		}
	}
	return nil
}

func admitAccess(f Static) *outcome.Refusal {
	if f.Visible {
		return nil
	}
	return outcome.Refuse(outcome.NoAccess, fmt.Sprintf("%s may not call %s: %s is missing", f.Subject.Name, f.Action.Name, f.Rule))
}

func admitMode(f Static) *outcome.Refusal {
	if f.Mode != standing.Observe {
		return nil
	}
	return outcome.Refuse(outcome.ObserveMode, "this box is in observe mode: no write can leave it")
}

func admitLockout(f Static) *outcome.Refusal {
	if len(f.Lockouts) == 0 {
		return nil
	}
	l := f.Lockouts[0]
	text := fmt.Sprintf("%s is locked by %s since %s: %s", l.Target, l.By, l.At.Format(time.RFC3339), l.Reason)
	if more := len(f.Lockouts) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return outcome.Refuse(outcome.LockedOut, text)
}

func admitArm(f Static) *outcome.Refusal {
	if f.Action.Risk != contract.Critical || f.Armed || f.Action.ToSafe {
		return nil
	}
	return outcome.Refuse(outcome.NotArmed, fmt.Sprintf("%s is critical: a technician must arm it at the box for each single use (capd arm %s)", f.Action.Name, f.Action.Name))
}

func admitRate(f Static) *outcome.Refusal {
	rate := f.Action.Limits.Rate
	if rate.Count == 0 || f.Action.ToSafe || len(f.Calls) < rate.Count {
		return nil
	}
	after := f.Calls[len(f.Calls)-rate.Count].Add(rate.Per)
	r := outcome.Refuse(outcome.RateLimited, fmt.Sprintf("%s may be called %d times in %s; the next call is possible at %s",
		f.Action.Name, rate.Count, rate.Per, after.Format(time.RFC3339)))
	r.After = &after
	r.Next = "call again after " + after.Format(time.RFC3339)
	return r
}

func admitConcurrency(f Static) *outcome.Refusal {
	most := f.Action.Limits.MaxConcurrent
	if most == 0 || f.Action.ToSafe || f.Running < most {
		return nil
	}
	return outcome.Refuse(outcome.Busy, fmt.Sprintf("%s is running %d times, and %d at once is the limit", f.Action.Name, f.Running, most))
}

func admitHealth(f Static) *outcome.Refusal {
	if !f.Health.Degraded || f.Action.ToSafe || f.Action.OnDegraded == "alarm" {
		return nil
	}
	return outcome.Refuse(outcome.Degraded, fmt.Sprintf("%s is degraded since %s: %s", f.Action.Name, f.Health.Since.Format(time.RFC3339), f.Health.Reason))
}

// admitSettled refuses relative actions on an asset whose last outcome is unknown; absolute ones ask for the same state again.
func admitSettled(f Static) *outcome.Refusal {
	if f.Unsettled == nil || f.Action.Absolute || f.Action.ToSafe {
		return nil
	}
	return outcome.Refuse(outcome.Unsettled, fmt.Sprintf("the outcome of call %s on %s is unknown: %s", f.Unsettled.Invocation, f.Unsettled.Asset, f.Unsettled.Why))
}

func admitJournal(f Static) *outcome.Refusal {
	if f.JournalErr == nil || f.Action.ToSafe {
		return nil
	}
	r := outcome.Refuse(outcome.JournalFailed, "nothing may be moved while nothing can be written down: "+f.JournalErr.Error())
	r.Next = "have that done at the box; actions to the safe side go on meanwhile"
	return r
}
