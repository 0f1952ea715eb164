package localapi

import (
	"context"

	"capd/internal/registry"
)

// reload reads the folders again. The caller's leaving does not cut it: a publish is never half done.
func (s *Server) reload(c call) (any, error) {
	if err := optional(c.Request, none); err != nil {
		return nil, err
	}
	before := s.Snapshots.Snapshot()
	now, err := s.Reload(context.WithoutCancel(c.Context()))
	if err != nil {
		return nil, problem(Unavailable, "nothing was changed; correct that and call capd reload again", "the folders were not published: %v", err)
	}
	s.note(c, "reload", change{})
	doc := Reloaded{Before: before.ID, Now: now.ID, Added: []string{}, Removed: []string{}, Changed: []string{}, Rejected: rejectedOf(now),
		Warnings: problemsOf(now.Warnings)}
	doc.compare(before, now)
	return doc, nil
}

func (r *Reloaded) compare(before, now *registry.Snapshot) {
	for _, a := range now.Actions {
		switch old := before.Action(a.Name); {
		case old == nil:
			r.Added = append(r.Added, a.Name)
		case old.Contract.SHA256 != a.Contract.SHA256:
			r.Changed = append(r.Changed, a.Name)
		}
	}
	for _, a := range before.Actions {
		if now.Action(a.Name) == nil {
			r.Removed = append(r.Removed, a.Name)
		}
	}
}
