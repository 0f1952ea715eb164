package localapi

import (
	"errors"
	"time"

	"capd/internal/contract"
	"capd/internal/document"
	"capd/internal/registry"
	"capd/internal/standing"
)

func (s *Server) arm(c call) (any, error) {
	name, reason, within := "", "", standing.DefaultArm
	take := func(m *document.Map) {
		name, reason = m.String("action"), m.String("reason")
		if m.Has("for") {
			within = m.Duration("for")
		}
	}
	if err := body(c.Request, required(take, "action", "reason")); err != nil {
		return nil, err
	}
	a, err := findCritical(s.Snapshots.Snapshot(), name)
	if err != nil {
		return nil, err
	}
	armed, err := s.Standing.Arm(standing.Arm{Action: a.Name, Asset: a.Contract.Asset, Contract: a.Contract.SHA256, By: c.who.name, Reason: reason}, within)
	if err != nil {
		return nil, err
	}
	s.note(c, "arm", change{Target: a.Name, Reason: reason, Now: "until " + armed.Until.Format(time.RFC3339)})
	return Armed{armed}, nil
}

func (s *Server) disarm(c call) (any, error) {
	name := ""
	take := func(m *document.Map) { name = m.String("action") }
	if err := body(c.Request, required(take, "action")); err != nil {
		return nil, err
	}
	taken, err := s.Standing.Disarm(name)
	if _, none := errors.AsType[*standing.NotArmedError](err); none {
		var armed []string
		for _, a := range s.Standing.Arms() {
			armed = append(armed, a.Action)
		}
		return nil, unknown("armed tool", clip(name), armed, "capd arm lists what is armed")
	}
	if err != nil {
		return nil, err
	}
	s.note(c, "disarm", change{Target: name, Owner: taken.By, Reason: taken.Reason})
	return Armed{taken}, nil
}

// findCritical finds an action that needs a consent.
func findCritical(snapshot *registry.Snapshot, name string) (*registry.Action, error) {
	var critical []string
	for _, a := range snapshot.Actions {
		if a.Risk == contract.Critical && a.Moves() && !a.ToSafe {
			critical = append(critical, a.Name)
		}
	}
	a := snapshot.Action(name)
	switch {
	case a == nil:
		return nil, unknown("critical tool", clip(name), critical, "capd tools list shows all")
	case a.Risk != contract.Critical || !a.Moves():
		return nil, problem(BadRequest, "call it as it is", "%s is not critical and needs no consent", a.Name)
	case a.ToSafe:
		return nil, problem(BadRequest, "call it as it is", "%s goes to the safe side and needs no consent", a.Name)
	}
	return a, nil
}
