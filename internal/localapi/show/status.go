package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"capd/internal/invoke"
	"capd/internal/localapi"
	"capd/internal/outcome"
	"capd/internal/standing"
)

// Status is the state of the box: what is wrong, what is locked, what runs, and the mode first.
func Status(s localapi.Status, now time.Time) string {
	p := &page{}
	p.line(0, "%s  set by %s %s", modeText(s.Mode.Mode), s.Mode.By, ago(s.Mode.At, now))
	if wrong := wrongs(s); len(wrong) > 0 {
		p.line(0, "NEEDS A LOOK: %s", strings.Join(wrong, ", "))
	} else {
		p.line(0, "Nothing is wrong.")
	}
	p.lockouts(s.Lockouts, now)
	p.armed(s.Armed, now)
	p.running(s.Running, now)
	p.journalFailed(s.Journal)
	p.unsettled(s.Unsettled, now)
	p.degraded(s, now)
	p.alarmCount(s.Alarms, now)
	p.rejected(s.Rejected)
	p.setup(s.Warnings)
	p.links(s.Links, now)
	p.recent(s.Recent, now)
	p.foot(s, now)
	return p.text()
}

func modeText(m standing.Mode) string {
	switch m {
	case standing.Observe:
		return "OBSERVE mode: no write can leave this box."
	case standing.Shadow:
		return "SHADOW mode: every gate is checked, nothing is sent."
	default:
		return strings.ToUpper(string(m)) + " mode: capd moves machines."
	}
}

// wrongs lists what a person should look at, in short.
func wrongs(s localapi.Status) []string {
	var out []string
	add := func(n int, one string) {
		if n > 0 {
			out = append(out, count(n, one))
		}
	}
	if s.Journal.Failed != "" {
		out = append(out, "the journal cannot be written")
	}
	add(s.Alarms.Active, "active alarm")
	add(len(s.Degraded), "degraded tool")
	add(len(s.Unsettled), "unsettled asset")
	devices := 0
	for _, l := range s.Links {
		for _, d := range l.Devices {
			if d.Health != localapi.Healthy && d.Health != localapi.Unused {
				devices++
			}
		}
	}
	add(devices, "faulty device")
	add(len(s.Rejected), "rejected file")
	return out
}

func (p *page) lockouts(all []standing.Lockout, now time.Time) {
	if len(all) == 0 {
		return
	}
	p.title("LOCKED (administrative; no isolation of energy)")
	p.rows(2, lockoutRows(all, now))
}

func lockoutRows(all []standing.Lockout, now time.Time) [][]string {
	var rows [][]string
	for _, l := range all {
		rows = append(rows, []string{l.Target, "by " + l.By, ago(l.At, now), l.Reason})
	}
	return rows
}

func (p *page) armed(all []standing.Arm, now time.Time) {
	if len(all) > 0 {
		p.title("ARMED (one call each; capd disarm TOOL takes it back)")
		p.rows(2, armRows(all, now))
	}
}

func armRows(all []standing.Arm, now time.Time) [][]string {
	var rows [][]string
	for _, a := range all {
		rows = append(rows, []string{a.Action, a.Asset, "by " + a.By, "ends " + ago(a.Until, now), a.Reason})
	}
	return rows
}

func (p *page) unsettled(all []standing.Mark, now time.Time) {
	if len(all) == 0 {
		return
	}
	p.title("UNSETTLED (state not known since a call; look at the machine, then: capd settle ASSET)")
	var rows [][]string
	for _, m := range all {
		rows = append(rows, []string{m.Asset, ago(m.At, now), m.Why})
	}
	p.rows(2, rows)
}

func (p *page) degraded(s localapi.Status, now time.Time) {
	if len(s.Degraded) == 0 {
		return
	}
	p.title("OUT OF SERVICE (look at the machine, then: capd restore TOOL)")
	var rows [][]string
	for _, d := range s.Degraded {
		who := "by capd"
		if d.By != "" {
			who = "by " + d.By
		}
		rows = append(rows, []string{d.Action, who, ago(d.Since, now), d.Reason})
	}
	p.rows(2, rows)
}

func (p *page) alarmCount(a localapi.AlarmCount, now time.Time) {
	if a.Active == 0 {
		return
	}
	p.title("ALARMS: %d active, worst %s (capd alarms)", a.Active, a.Worst)
	if n := a.Newest; n != nil {
		p.line(2, "newest, %s: %s", ago(n.Since, now), n.Text)
	}
	if a.Dropped > 0 {
		p.line(2, "%d older active alarms had to make room", a.Dropped)
	}
}

func (p *page) running(all []invoke.Running, now time.Time) {
	if len(all) == 0 {
		return
	}
	p.title("RUNNING")
	p.rows(2, runningRows(all, now))
}

func runningRows(all []invoke.Running, now time.Time) [][]string {
	var rows [][]string
	for _, r := range all {
		rows = append(rows, []string{r.Action, r.Asset, "by " + r.Subject, "for " + span(max(0, now.Sub(r.Since))), r.Invocation})
	}
	return rows
}

func (p *page) journalFailed(j localapi.JournalState) {
	if j.Failed != "" {
		p.title("JOURNAL CANNOT BE WRITTEN, so nothing may be moved")
		p.line(2, "%s", j.Failed)
	}
}

func (p *page) links(links []localapi.Link, now time.Time) {
	if len(links) == 0 {
		return
	}
	p.title("WIRES")
	var rows [][]string
	for _, l := range links {
		figures := "not used yet"
		if l.Transactions > 0 {
			figures = fmt.Sprintf("%.1f ms, %d of %d failed%s", l.LatencyMS, l.Failed, l.Transactions, errorKinds(l.Errors))
			if l.UtilisationPercent > 0 {
				figures += fmt.Sprintf(", %.1f %% busy", l.UtilisationPercent)
			}
		}
		rows = append(rows, []string{l.ID, word(l.Health), "last ok " + ago(l.LastOK, now), figures})
		for _, d := range l.Devices {
			rows = append(rows, []string{"  " + d.ID, word(d.Health), "last ok " + ago(d.LastGood, now), deviceText(d, now)})
		}
	}
	p.rows(2, rows)
}

// word is a health in words, in capitals when somebody should look.
func word(h localapi.Health) string {
	if h == localapi.Healthy || h == localapi.Unused {
		return string(h)
	}
	return strings.ToUpper(strings.ReplaceAll(string(h), "_", " "))
}

func errorKinds(errors map[string]uint64) string {
	var parts []string
	for _, kind := range sortedKeys(errors) {
		parts = append(parts, fmt.Sprintf("%d %s", errors[kind], kind))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func deviceText(d localapi.Device, now time.Time) string {
	parts := []string{count(d.Points, "point")}
	if d.Bad > 0 {
		parts = append(parts, fmt.Sprintf("%d bad", d.Bad))
	}
	if l := d.Liveness; l != nil && l.Frozen {
		parts = append(parts, fmt.Sprintf("%s has not moved since %s", l.Counter, ago(l.LastMove, now)))
	}
	if !d.PausedUntil.IsZero() {
		parts = append(parts, "asked again "+ago(d.PausedUntil, now))
	}
	return strings.Join(parts, ", ")
}

func (p *page) recent(all []localapi.Outcome, now time.Time) {
	if len(all) == 0 {
		return
	}
	p.title("LATEST CALLS (capd explain ID)")
	for _, o := range all {
		p.line(2, "%s", outcomeLine(o, now))
		p.line(4, "%s by %s, %s", o.Asset, cmp.Or(o.SubjectName, o.Subject), o.Invocation)
		if o.Amended != "" {
			p.line(4, "later: %s", o.Amended)
		}
	}
}

func outcomeLine(o localapi.Outcome, now time.Time) string {
	text := fmt.Sprintf("%s  %s", clock(o.At, now), o.Verdict)
	if o.Level != nil && (o.Sent || *o.Level > outcome.E0) {
		text += " " + o.Level.String()
	}
	if o.Code != "" {
		text += " " + string(o.Code)
	}
	text += "  " + o.Action
	return text
}

func (p *page) foot(s localapi.Status, now time.Time) {
	p.blank()
	p.line(0, "capd %s, pid %d, up %s. Journal %s in %s; state %s.", s.Version, s.PID, span(time.Duration(s.UptimeS)*time.Second),
		size(s.Journal.Bytes), count(s.Journal.Segments, "segment"), size(s.Store.Bytes))
	f := s.Snapshot
	p.line(0, "Set %d, published %s: %s, %s, %s, %s, %s.", f.ID, ago(f.At, now), count(f.Assets, "asset"), count(f.Points, "point"),
		count(f.Contracts, "contract"), count(f.Tools, "tool"), count(f.Profiles, "profile"))
	if n := len(slices.DeleteFunc(slices.Clone(s.Warnings), isSetup)); n > 0 {
		p.line(0, "%s about files in force: capd status --json", count(n, "warning"))
	}
	if s.MCPURL != "" {
		p.line(0, "Agents connect to %s", s.MCPURL)
	}
	if !s.Caller.Technician {
		p.line(0, "You are %s and may look, not change.", s.Caller.Name)
	}
}
