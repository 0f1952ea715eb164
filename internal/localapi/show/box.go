package show

import (
	"fmt"
	"strings"
	"time"

	"capd/internal/access"
	"capd/internal/health"
	"capd/internal/localapi"
	"capd/internal/standing"
)

// Locked is the answer to a lock.
func Locked(l localapi.Locked, now time.Time) string {
	p := &page{}
	p.line(0, "LOCKED: %s by %s: %s", l.Lockout.Target, l.Lockout.By, l.Lockout.Reason)
	p.line(0, "No call of capd moves it until %s unlocks it. This is administrative: isolate the energy yourself.", l.Lockout.By)
	if len(l.Running) > 0 {
		p.title("STILL MOVING: calls that were under way before the lock; it does not stop them")
		p.rows(2, runningRows(l.Running, now))
	}
	p.others(l.Others, now)
	return p.text()
}

// Unlocked is the answer to an unlock.
func Unlocked(u localapi.Unlocked, now time.Time) string {
	p := &page{}
	p.line(0, "Unlocked: %s, locked by %s %s: %s", u.Lockout.Target, u.Lockout.By, ago(u.Lockout.At, now), u.Lockout.Reason)
	if u.Forced {
		p.line(0, "By force: tell %s.", u.Lockout.By)
	}
	p.others(u.Others, now)
	return p.text()
}

func (p *page) others(all []standing.Lockout, now time.Time) {
	if len(all) > 0 {
		p.title("ALSO LOCKED by others; it stays blocked until each has unlocked it")
		p.rows(2, lockoutRows(all, now))
	}
}

// Lockouts is the list of lockouts.
func Lockouts(all []standing.Lockout, now time.Time) string {
	p := &page{}
	if len(all) == 0 {
		p.line(0, "Nothing is locked.")
	}
	p.rows(0, lockoutRows(all, now))
	return p.text()
}

// Armed is the answer to an arm.
func Armed(a localapi.Armed, now time.Time) string {
	p := &page{}
	p.line(0, "ARMED: one call of %s on %s, until %s (%s)", a.Arm.Action, a.Arm.Asset, clock(a.Arm.Until, now), ago(a.Arm.Until, now))
	p.line(0, "It is gone after that call, after its time, or when capd restarts. Take it back with capd disarm %s", a.Arm.Action)
	return p.text()
}

// Disarmed is the answer to a disarm.
func Disarmed(a localapi.Armed) string {
	p := &page{}
	p.line(0, "Disarmed: %s. It was armed by %s: %s", a.Arm.Action, a.Arm.By, a.Arm.Reason)
	return p.text()
}

// Arms is the list of consents in force.
func Arms(all []standing.Arm, now time.Time) string {
	p := &page{}
	if len(all) == 0 {
		p.line(0, "Nothing is armed.")
	}
	p.rows(0, armRows(all, now))
	return p.text()
}

// Mode is the mode in force.
func Mode(m standing.ModeState, now time.Time) string {
	p := &page{}
	p.line(0, "%s  set by %s %s", modeText(m.Mode), m.By, ago(m.At, now))
	return p.text()
}

// ModeChange is the answer to a change of the mode.
func ModeChange(c localapi.ModeChange) string {
	p := &page{}
	p.line(0, "%s", modeText(c.Now.Mode))
	p.line(0, "Before: %s, set by %s.", c.Before.Mode, c.Before.By)
	return p.text()
}

// Settled is the answer to a settling.
func Settled(s localapi.Settled) string {
	p := &page{}
	if s.Mark == nil {
		p.line(0, "%s was settled already.", s.Asset)
	} else {
		p.line(0, "Settled: %s. It was unsettled by call %s: %s", s.Asset, s.Mark.Invocation, s.Mark.Why)
	}
	return p.text()
}

// ToolHealth is the answer to degrade and restore.
func ToolHealth(h localapi.ToolHealth) string {
	p := &page{}
	switch {
	case h.Now.Degraded:
		p.line(0, "OUT OF SERVICE: %s: %s. Put it back with capd restore %s", h.Now.Action, h.Now.Reason, h.Now.Action)
	case h.Before.Degraded:
		p.line(0, "In service again: %s. It was degraded: %s", h.Now.Action, h.Before.Reason)
	default:
		p.line(0, "%s was in service already.", h.Now.Action)
	}
	return p.text()
}

// Alarms is a list of alarms.
func Alarms(all []health.Alarm, now time.Time) string {
	p := &page{}
	if len(all) == 0 {
		p.line(0, "No alarm is active.")
	}
	for _, a := range all {
		state := strings.ToUpper(string(a.Severity))
		if !a.Active() {
			state = "cleared by " + a.ClearedBy
		}
		head := fmt.Sprintf("#%d  %s  since %s (%s)", a.ID, state, clock(a.Since, now), ago(a.Since, now))
		if a.Count > 1 {
			head += fmt.Sprintf(", raised %d times, last %s", a.Count, ago(a.Last, now))
		}
		p.line(0, "%s", head)
		p.line(4, "%s", a.Text)
		about := []string{"key " + a.Key}
		for _, f := range [][2]string{{"asset", a.Asset}, {"tool", a.Action}, {"call", a.Invocation}} {
			if f[1] != "" {
				about = append(about, f[0]+" "+f[1])
			}
		}
		p.line(4, "%s", strings.Join(about, ", "))
	}
	return p.text()
}

// Cleared is the answer to the clearing of an alarm.
func Cleared(a health.Alarm) string {
	p := &page{}
	p.line(0, "Cleared: #%d %s", a.ID, a.Text)
	return p.text()
}

// NewToken is a token just made, with its secret on a line of its own.
func NewToken(t localapi.NewToken) string {
	p := &page{}
	p.line(0, "%s", t.Secret)
	p.blank()
	p.line(0, "Token %s (%s). The secret above is shown this once: give it to the agent as bearer token and keep no copy.", t.Token.Name, t.Token.ID)
	p.line(0, "%s", tokenText(t.Token))
	return p.text()
}

func tokenText(t access.Token) string {
	text := "roles " + strings.Join(t.Roles, ", ")
	if len(t.Scopes) > 0 {
		text += "; scopes " + strings.Join(t.Scopes, ", ")
	} else {
		text += "; no scopes"
	}
	if t.Profile != "" {
		text += "; profile " + t.Profile
	}
	if t.Tenant != "" {
		text += "; tenant " + t.Tenant
	}
	if t.Expires.IsZero() {
		return text + "; never expires"
	}
	return text + "; expires " + t.Expires.UTC().Format("2006-01-02 15:04 UTC")
}

// Tokens is the list of tokens.
func Tokens(all []access.Token, now time.Time) string {
	p := &page{}
	if len(all) == 0 {
		p.line(0, `There is no token. Make one: capd token create NAME --role viewer --scope "*" --ttl 720h`)
	}
	var rows [][]string
	for _, t := range all {
		state := "in use"
		switch {
		case !t.Revoked.IsZero():
			state = "REVOKED " + ago(t.Revoked, now)
		case !t.Expires.IsZero() && !now.Before(t.Expires):
			state = "EXPIRED " + ago(t.Expires, now)
		}
		rows = append(rows, []string{t.ID, t.Name, state, tokenText(t)})
	}
	p.rows(0, rows)
	return p.text()
}

// Revoked is the answer to the revoking of a token.
func Revoked(t access.Token) string {
	p := &page{}
	p.line(0, "Revoked: token %s (%s). It opens nothing any more.", t.Name, t.ID)
	return p.text()
}

// Reloaded is what a reload changed.
func Reloaded(r localapi.Reloaded) string {
	p := &page{}
	if n := len(r.Rejected); n > 0 {
		p.line(0, "%s NOT in force as written; the rest is set %d.", count(n, "file"), r.Now)
	} else {
		p.line(0, "All files are in force: set %d.", r.Now)
	}
	for _, part := range []struct {
		what  string
		names []string
	}{{"new", r.Added}, {"changed", r.Changed}, {"gone", r.Removed}} {
		if len(part.names) > 0 {
			p.line(0, "Tools %s: %s", part.what, strings.Join(part.names, ", "))
		}
	}
	p.rejected(r.Rejected)
	if len(r.Warnings) > 0 {
		p.title("WARNINGS about files in force")
		p.problems(2, r.Warnings)
	}
	return p.text()
}
