package localapi

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"capd/internal/contract"
	"capd/internal/document"
	"capd/internal/field"
	"capd/internal/hal"
	"capd/internal/health"
	"capd/internal/invoke"
	"capd/internal/journal"
	"capd/internal/registry"
)

// recentInStatus is how many outcomes a status shows; maxRecent how many can be asked for.
const (
	recentInStatus = 10
	maxRecent      = 200
)

func (s *Server) status(c call) (any, error) {
	if _, err := query(c.Request); err != nil {
		return nil, err
	}
	now, snapshot := time.Now(), s.Snapshots.Snapshot()
	doc := Status{Version: s.Version, PID: os.Getpid(), Started: s.started.UTC(), UptimeS: int64(now.Sub(s.started).Seconds()), MCPURL: s.MCPURL,
		Caller: Caller{UID: c.who.uid, Name: c.who.name, Technician: c.who.technician}, Mode: s.Standing.Mode(), Snapshot: published(snapshot, now),
		Links: linksOf(s.Machine.Stats()), Rejected: list(append(s.unread(), rejectedOf(snapshot)...)), Warnings: list(append(s.people.doubts(), problemsOf(snapshot.Warnings)...)), Suspended: suspendedOf(snapshot),
		Lockouts: list(s.Standing.Lockouts()), Armed: list(s.Standing.Arms()), Unsettled: list(s.Standing.Marks()), Running: list(s.Corridor.Running()), Degraded: s.degraded(),
		Alarms: alarmCount(s.Alarms.List(false), s.Alarms.Dropped()), Recent: outcomesOf(s.Corridor.Recent(recentInStatus)), Journal: journalState(s.Journal.Stats())}
	if s.StoreSize != nil {
		doc.Store.Bytes = s.StoreSize()
	}
	return doc, nil
}

func (s *Server) recent(c call) (any, error) {
	given, err := query(c.Request, "limit")
	if err != nil {
		return nil, err
	}
	limit, err := number(given, "limit", recentInStatus, maxRecent)
	if err != nil {
		return nil, err
	}
	return map[string][]Outcome{"recent": outcomesOf(s.Corridor.Recent(limit))}, nil
}

// list is a list that JSON writes as [] when it is empty.
func list[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

func published(s *registry.Snapshot, now time.Time) Published {
	p := Published{ID: s.ID, At: s.At.UTC(), Assets: len(s.Inventory.Assets), Contracts: len(s.Contracts), Tools: len(s.Actions), Profiles: len(s.Profiles)}
	if !s.At.IsZero() {
		p.AgeS = int64(now.Sub(s.At).Seconds())
	}
	for _, a := range s.Inventory.Assets {
		p.Points += len(a.Points)
	}
	return p
}

func problemsOf(ps document.Problems) []Problem {
	out := make([]Problem, len(ps))
	for i, p := range ps {
		out[i] = Problem{File: p.Pos.File, Line: p.Pos.Line, Column: p.Pos.Column, Path: p.Path, Rule: p.Rule, Message: p.Message, Hint: p.Hint, Warning: p.Warning}
	}
	return out
}

// unread is the folders as one rejected item, while they cannot be read.
func (s *Server) unread() []RejectedFile {
	if s.Unread == nil {
		return nil
	}
	err := s.Unread()
	if err == nil {
		return nil
	}
	where := "assets.d, contracts.d, profiles.d"
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		where = path.Path
	}
	return []RejectedFile{{File: where, Kind: "folder", Serving: "the set in force before; no change of a file is taken in",
		Problems: []Problem{{File: where, Rule: "read", Message: err.Error()}}}}
}

func rejectedOf(s *registry.Snapshot) []RejectedFile {
	out := make([]RejectedFile, len(s.Rejected))
	for i, r := range s.Rejected {
		out[i] = RejectedFile{File: r.File, Kind: r.Kind, Serving: r.Serving, Problems: problemsOf(r.Problems)}
	}
	return out
}

// suspendedOf lists the rejected contract files of which no version is in force.
func suspendedOf(s *registry.Snapshot) []string {
	out := []string{}
	for _, r := range s.Rejected {
		serves := slices.ContainsFunc(s.Contracts, func(c *contract.Contract) bool { return c.File == r.File })
		if r.Kind == string(registry.KindContract) && !serves {
			out = append(out, r.File)
		}
	}
	return out
}

// degraded lists the actions that are out of service.
func (s *Server) degraded() []health.State {
	return list(slices.DeleteFunc(s.Breakers.States(), func(st health.State) bool { return !st.Degraded }))
}

func alarmCount(active []health.Alarm, dropped uint64) AlarmCount {
	count := AlarmCount{Active: len(active), Dropped: dropped}
	if len(active) > 0 {
		count.Newest = &active[0]
	}
	for _, severity := range []health.Severity{health.Info, health.Warning, health.Critical} {
		if slices.ContainsFunc(active, func(a health.Alarm) bool { return a.Severity == severity }) {
			count.Worst = severity
		}
	}
	return count
}

func outcomesOf(records []invoke.Record) []Outcome {
	out := make([]Outcome, len(records))
	for i, r := range records {
		a := r.Answer
		o := Outcome{Invocation: a.Invocation, At: askedAt(a), Action: a.Action, Asset: a.Asset, Subject: r.Subject, SubjectName: r.Name, Verdict: a.Verdict, Level: a.Level, Sent: a.Sent}
		if a.Reason != nil {
			o.Code, o.Message = a.Reason.Code, a.Reason.Message
		}
		if n := len(a.Amendments); n > 0 {
			o.Amended = a.Amendments[n-1].Text
		}
		out[i] = o
	}
	return out
}

// askedAt is when a call was asked: from its timings, else from its UUIDv7, whose first 48 bits are the Unix time in milliseconds
// (RFC 9562, section 5.7).
func askedAt(a invoke.Answer) time.Time {
	if a.Timings != nil {
		return a.Timings.Started.UTC()
	}
	raw, err := hex.DecodeString(strings.ReplaceAll(a.Invocation, "-", ""))
	if err != nil || len(raw) != 16 || raw[6]>>4 != 7 {
		return time.Time{}
	}
	ms := int64(0)
	for _, b := range raw[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms).UTC()
}

func journalState(s journal.Stats) JournalState {
	state := JournalState{Segments: s.Segments, Bytes: s.Bytes, Last: uint64(s.Last), Durable: uint64(s.Durable)}
	if s.Failed != nil {
		state.Failed = s.Failed.Error()
	}
	if s.Retention != nil {
		state.RetentionFailed = s.Retention.Error()
	}
	return state
}

func linksOf(all []field.LinkStatus) []Link {
	out := make([]Link, len(all))
	for i, l := range all {
		link := Link{ID: l.ID, Transport: l.Transport, Transactions: l.Stats.Transactions, Failed: l.Stats.Failed, LastOK: l.Stats.LastOK, Queue: l.Stats.Depth,
			LatencyMS: milliseconds(l.Stats.Latency), MaxLatencyMS: milliseconds(l.Stats.MaxLatency), BusyMS: l.Stats.Busy.Milliseconds(),
			UtilisationPercent: utilisation(l.Stats, time.Now()), Errors: map[string]uint64{}, Devices: []Device{}}
		for kind, n := range l.Stats.Errors {
			link.Errors[kind.String()] = n
		}
		for _, d := range l.Devices {
			link.Devices = append(link.Devices, deviceOf(d))
		}
		link.Health = linkHealth(l.Open, link.Devices)
		out[i] = link
	}
	return out
}

// utilisation is how much of the link's life it was busy, in percent with one decimal.
func utilisation(s hal.LinkStats, now time.Time) float64 {
	life := now.Sub(s.Since)
	if s.Since.IsZero() || life <= 0 {
		return 0
	}
	return math.Round(1000*float64(s.Busy)/float64(life)) / 10
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
}

func deviceOf(d field.DeviceStatus) Device {
	device := Device{ID: d.ID, Points: d.Points, Polled: d.Polled, Bad: d.Bad, LastGood: d.LastGood, LastWrite: d.LastWrite, PausedUntil: d.BackedOff}
	if l := d.Liveness; l.Watched {
		device.Liveness = &Liveness{Counter: l.Counter, WithinMS: l.Within.Milliseconds(), Alive: l.Alive, Frozen: l.Frozen, LastMove: l.LastMove}
	}
	switch {
	case d.Silent:
		device.Health = Offline
	case d.Liveness.Frozen:
		device.Health = Frozen
	case d.Bad > 0:
		device.Health = BadPoints
	case d.LastGood.IsZero():
		device.Health = Unused
	default:
		device.Health = Healthy
	}
	return device
}

// linkHealth is offline when no device answers, else as good as its best device: one dead unit is no broken wire.
func linkHealth(open bool, devices []Device) Health {
	if !open || len(devices) == 0 {
		return Unused
	}
	for _, h := range []Health{Healthy, BadPoints, Frozen, Unused} {
		if slices.ContainsFunc(devices, func(d Device) bool { return d.Health == h }) {
			if h == Healthy || h == Unused {
				return h
			}
			return Healthy
		}
	}
	return Offline
}
