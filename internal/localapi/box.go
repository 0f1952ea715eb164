package localapi

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"capd/internal/document"
	"capd/internal/health"
	"capd/internal/inventory"
	"capd/internal/invoke"
	"capd/internal/journal"
	"capd/internal/registry"
	"capd/internal/standing"
)

// noteTime bounds how long a change waits to be on record; the change is in force before.
const noteTime = 5 * time.Second

// change is what the journal keeps of a change at the box, besides who made it.
type change struct {
	Event  string    `json:"event"`
	By     string    `json:"by"`
	UID    uint32    `json:"uid"`
	At     time.Time `json:"at"`
	Target string    `json:"target,omitempty"`
	Owner  string    `json:"owner,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Before string    `json:"before,omitempty"`
	Now    string    `json:"now,omitempty"`
}

// note writes a change into the journal and the log. The change is in force already: a journal that refuses it is told to the log and
// shows in the status, and the corridor stops on its own account.
func (s *Server) note(c call, event string, x change) {
	x.Event, x.By, x.UID, x.At = event, c.who.name, c.who.uid, time.Now().UTC()
	s.Log.Info("changed at the box", "event", event, "by", x.By, "uid", x.UID, "target", x.Target, "owner", x.Owner, "reason", x.Reason, "before", x.Before, "now", x.Now)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), noteTime)
	defer cancel()
	if _, err := s.Journal.Append(ctx, journal.Event, x); err != nil {
		s.Log.Error("change at the box not journalled", "event", event, "by", x.By, "target", x.Target, "error", err)
	}
}

// required makes a take that reports the keys that are missing.
func required(take func(*document.Map), keys ...string) func(*document.Map) {
	return func(m *document.Map) {
		m.Required(keys...)
		take(m)
	}
}

func (s *Server) lock(c call) (any, error) {
	target, reason := "", ""
	take := func(m *document.Map) { target, reason = m.String("target"), m.String("reason") }
	if err := body(c.Request, required(take, "target", "reason")); err != nil {
		return nil, err
	}
	covered, err := coveredBy(s.Snapshots.Snapshot(), target)
	if err != nil {
		return nil, err
	}
	if err := s.Standing.Lock(standing.Lockout{Target: target, By: c.who.name, Reason: reason}); err != nil {
		return nil, err
	}
	s.note(c, "lock", change{Target: target, Reason: reason})
	locked := Locked{Others: []standing.Lockout{}, Running: []invoke.Running{}}
	for _, l := range s.Standing.Lockouts() {
		switch {
		case l.Target != target:
		case l.By == c.who.name:
			locked.Lockout = l
		default:
			locked.Others = append(locked.Others, l)
		}
	}
	for _, r := range s.Corridor.Running() {
		if slices.Contains(covered, r.Asset) {
			locked.Running = append(locked.Running, r)
		}
	}
	return locked, nil
}

// coveredBy lists the assets that a lockout of target blocks: the asset itself, or all at a place.
func coveredBy(snapshot *registry.Snapshot, target string) ([]string, error) {
	if snapshot.Inventory.Assets[target] != nil {
		return []string{target}, nil
	}
	var covered []string
	for _, id := range snapshot.Inventory.AssetIDs() {
		location := snapshot.Inventory.Assets[id].Location
		if location == target || strings.HasPrefix(location, target+"/") {
			covered = append(covered, id)
		}
	}
	if len(covered) == 0 || target == "" {
		return nil, unknown("asset or place", clip(target), slices.Concat(snapshot.Inventory.AssetIDs(), places(snapshot.Inventory)),
			"give an asset, or a place such as plant/ps07; capd assets lists all")
	}
	return covered, nil
}

// places lists every location of an asset and what lies above it.
func places(inv *inventory.Inventory) []string {
	seen := map[string]bool{}
	for _, a := range inv.Assets {
		place := ""
		for part := range strings.SplitSeq(a.Location, "/") {
			place = strings.TrimPrefix(place+"/"+part, "/")
			seen[place] = true
		}
	}
	delete(seen, "")
	return inventory.SortedKeys(seen)
}

func (s *Server) unlock(c call) (any, error) {
	target, owner := "", ""
	take := func(m *document.Map) { target, owner = m.String("target"), m.String("force") }
	if err := body(c.Request, required(take, "target")); err != nil {
		return nil, err
	}
	lifted, err := s.lift(c.who, target, owner)
	if none, ok := errors.AsType[*standing.NotLockedError](err); ok && len(none.Others) == 0 {
		return nil, s.notLocked(target)
	}
	if err != nil {
		return nil, err
	}
	s.note(c, "unlock", change{Target: target, Owner: lifted.By, Reason: lifted.Reason})
	doc := Unlocked{Lockout: lifted, Forced: owner != "", Others: []standing.Lockout{}}
	for _, l := range s.Standing.Lockouts() {
		if l.Target == target {
			doc.Others = append(doc.Others, l)
		}
	}
	return doc, nil
}

// lift removes the caller's own lockout, or another person's, which only root may.
func (s *Server) lift(who peer, target, owner string) (standing.Lockout, error) {
	if owner == "" {
		return s.Standing.Unlock(target, who.name)
	}
	if !who.root() && !(s.OwnUIDIsTechnician && who.uid == s.people.own) {
		return standing.Lockout{}, problem(Forbidden, "ask "+owner+" to unlock it, or root where that is not possible", "%s may not lift the lockout of %s", who.name, owner)
	}
	return s.Standing.ForceUnlock(target, owner, who.name)
}

func (s *Server) notLocked(target string) error {
	var locked []string
	for _, l := range s.Standing.Lockouts() {
		locked = append(locked, l.Target)
	}
	next := "nothing is locked"
	if len(locked) > 0 {
		next = "locked are " + strings.Join(slices.Compact(slices.Sorted(slices.Values(locked))), ", ")
	}
	if near := document.Suggest(target, locked); near != "" {
		next = "did you mean " + near + "?"
	}
	return problem(NotFound, next, "there is no lockout on %q", clip(target))
}

func (s *Server) mode(c call) (any, error) {
	mode, reason := "", ""
	take := func(m *document.Map) {
		mode, reason = m.Enum("mode", string(standing.Observe), string(standing.Shadow), string(standing.Active)), m.String("reason")
	}
	if err := body(c.Request, required(take, "mode", "reason")); err != nil {
		return nil, err
	}
	if strings.TrimSpace(reason) == "" {
		return nil, problem(BadRequest, "say why, for those who come after you", "the reason is empty")
	}
	before := s.Standing.Mode()
	if err := s.Standing.SetMode(standing.Mode(mode), c.who.name); err != nil {
		return nil, err
	}
	s.note(c, "mode", change{Reason: reason, Before: string(before.Mode), Now: mode})
	return ModeChange{Before: before, Now: s.Standing.Mode()}, nil
}

func (s *Server) settle(c call) (any, error) {
	asset, reason := "", ""
	take := func(m *document.Map) { asset, reason = m.String("asset"), m.String("reason") }
	if err := body(c.Request, required(take, "asset")); err != nil {
		return nil, err
	}
	mark, marked := s.Standing.Unsettled(asset)
	if !marked {
		_, err := findAsset(s.Snapshots.Snapshot(), asset)
		return Settled{Asset: asset}, err
	}
	if err := s.Standing.Settle(asset, c.who.name); err != nil {
		return nil, err
	}
	s.note(c, "settle", change{Target: asset, Reason: cmp.Or(reason, "unsettled by "+mark.Invocation)})
	return Settled{Asset: asset, Mark: &mark}, nil
}

func (s *Server) alarms(c call) (any, error) {
	given, err := query(c.Request, "all")
	if err != nil {
		return nil, err
	}
	all, err := flag(given, "all")
	if err != nil {
		return nil, err
	}
	return map[string][]health.Alarm{"alarms": list(s.Alarms.List(all))}, nil
}

func (s *Server) clearAlarm(c call) (any, error) {
	key := ""
	take := func(m *document.Map) { key = m.String("key") }
	if err := body(c.Request, required(take, "key")); err != nil {
		return nil, err
	}
	active := s.Alarms.List(false)
	i := slices.IndexFunc(active, func(a health.Alarm) bool { return a.Key == key || strconv.FormatUint(a.ID, 10) == key })
	if i < 0 {
		var keys []string
		for _, a := range active {
			keys = append(keys, a.Key)
		}
		return nil, unknown("active alarm", clip(key), keys, "capd alarms lists them")
	}
	if _, err := s.Alarms.Clear(active[i].Key, c.who.name); err != nil {
		return nil, err
	}
	s.note(c, "clear_alarm", change{Target: active[i].Key, Reason: active[i].Text})
	return map[string]health.Alarm{"alarm": active[i]}, nil
}
