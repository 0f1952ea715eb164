package contract

import (
	"time"

	"capd/internal/document"
)

// Hold re-asserts a command that the machine forgets by itself, such as a drive that stops when it hears nothing.
type Hold struct {
	Points  []string      // aliases of written points that are re-asserted
	Every   time.Duration // between two assertions
	For     time.Duration // after which it ends by itself; nothing is held for ever
	Silence string        // what the machine does when it hears nothing, for people
	Pos     document.Pos
}

// minHold is the shortest period of a hold: each assertion is a transaction on a wire that others need too.
const minHold = 50 * time.Millisecond

func parseHold(a *Action, m *document.Map) *Hold {
	e := m.Map("hold")
	if e == nil {
		return nil
	}
	e.Required("every", "for", "silence")
	h := &Hold{Points: e.Strings("points"), Every: e.Duration("every"), For: e.Duration("for"), Silence: e.String("silence"), Pos: m.Node("hold").Pos()}
	if e.Has("every") && h.Every < minHold {
		e.Problem("every", "every %s is too short; the shortest period is %s", h.Every, minHold)
	}
	if e.Has("for") && h.For <= h.Every {
		e.Problem("for", "for %s must be longer than every %s", h.For, h.Every)
	}
	if len(h.Points) == 0 {
		for _, s := range a.Execute {
			h.Points = append(h.Points, s.Write)
		}
	}
	for _, alias := range h.Points {
		if !writes(a, alias) {
			e.Problem("points", "%q is not written by this action, so it cannot be held", alias)
		}
	}
	e.Done()
	return h
}

func writes(a *Action, alias string) bool {
	for _, s := range a.Execute {
		if s.Write == alias {
			return true
		}
	}
	return false
}
