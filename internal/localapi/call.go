package localapi

import (
	"time"

	"capd/internal/access"
	"capd/internal/document"
	"capd/internal/invoke"
	"capd/internal/outcome"
)

// maxWait is how long explain waits for a verdict at most, in seconds.
const maxWait = 60

// call runs one call through the corridor, as the person who asks. Whoever is no technician may only read, whatever the viewers' role
// says: a profile hides the action, so that the refusal is on record like every other.
func (s *Server) call(c call) (any, error) {
	var req CallRequest
	if err := body(c.Request, required(req.take, "action")); err != nil {
		return nil, err
	}
	ask := invoke.Request{Subject: c.who.subject(s.Policy), Action: req.Action, Args: req.Args, RequestID: req.RequestID, DryRun: req.DryRun}
	action := s.Snapshots.Snapshot().Action(req.Action)
	next := ""
	if !c.who.technician && (action == nil || action.Moves()) {
		ask.Profile = &access.Profile{Name: "of those who are no technicians", All: true, Deny: []string{req.Action}}
		next = s.becomeTechnician()
	}
	if action == nil {
		next = "see all with capd tools list"
	}
	return withNext(s.Corridor.Call(c.Context(), ask), next), nil
}

// withNext puts the next step of a person at the box into a refusal, in place of an agent's.
func withNext(a invoke.Answer, next string) invoke.Answer {
	if next == "" || a.Reason == nil || a.Verdict != outcome.NotExecuted {
		return a
	}
	reason := *a.Reason
	reason.Next = next
	a.Reason = &reason
	return a
}

func (r *CallRequest) take(m *document.Map) {
	r.Action, r.RequestID, r.DryRun = m.String("action"), m.String("request_id"), m.Bool("dry_run")
	r.Args = map[string]any{}
	if n := m.Node("args"); n != nil && m.Map("args") != nil {
		if args, ok := n.Any().(map[string]any); ok {
			r.Args = args
		}
	}
}

func (s *Server) explain(c call) (any, error) {
	given, err := query(c.Request, "wait_s")
	if err != nil {
		return nil, err
	}
	wait, err := number(given, "wait_s", 0, maxWait)
	if err != nil {
		return nil, err
	}
	id := c.PathValue("id")
	record, ok := s.Corridor.Explain(c.Context(), c.who.subject(s.Policy), id, time.Duration(wait)*time.Second)
	if !ok {
		next := "capd status lists the latest calls"
		if !c.who.technician {
			next = "you can explain your own calls; a technician can explain every call"
		}
		return nil, problem(NotFound, next, "no call %q is known", clip(id))
	}
	return record, nil
}
