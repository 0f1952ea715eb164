package contract

import (
	"slices"
	"time"

	"capd/internal/document"
)

// Hold re-asserts a command that the machine forgets by itself, such as a drive that stops when it hears nothing.
type Hold struct {
	Points  []string      // aliases of written points that are re-asserted
	Every   time.Duration // between two assertions
	For     time.Duration // after which it ends by itself; nothing is held for ever
	Silence string        // what the machine does when it hears nothing, for people
	Lapse   time.Duration // after so long without an assertion the machine may have stopped by itself, and is not started again
	While   string        // condition on fresh readings; once it is known not to hold, nothing is asserted any more; "" is none
	Pos     document.Pos
}

// minHold is the shortest period of a hold: each assertion is a transaction on a wire that others need too.
const minHold = 50 * time.Millisecond

func parseHold(a *Action, m *document.Map, ps *document.Problems) *Hold {
	e := m.Map("hold")
	if e == nil {
		return nil
	}
	e.Required("every", "for", "silence")
	h := &Hold{Points: e.Strings("points"), Every: atLeast(e, "every", minHold, "each assertion takes a transaction of the wire", ps),
		For: e.Duration("for"), Silence: text(e, "silence"), Pos: m.Node("hold").Pos()}
	if h.Lapse = 3 * h.Every; e.Has("lapse") {
		h.Lapse = atLeast(e, "lapse", h.Every, "an assertion may be late by its own period", ps)
	}
	if e.Has("while") {
		h.While = text(e, "while")
	}
	if e.Has("for") && h.Every > 0 && h.For <= h.Every {
		e.Problem("for", "for %s must be longer than every %s", h.For, h.Every)
	}
	if len(h.Points) == 0 {
		for _, s := range a.Execute {
			if !s.Pulses() && !s.Shakes() {
				h.Points = append(h.Points, s.Write)
			}
		}
	}
	for _, alias := range h.Points {
		if !slices.ContainsFunc(a.Execute, func(s Step) bool { return s.Write == alias }) {
			e.Problem("points", "%q is not written by this action, so it cannot be held", alias)
		}
		if slices.ContainsFunc(a.Execute, func(s Step) bool { return s.Write == alias && s.Pulses() }) {
			e.Problem("points", "%q is pulsed by this action, so it cannot be held as well", alias)
		}
		if slices.ContainsFunc(a.Execute, func(s Step) bool { return s.Write == alias && s.Shakes() }) {
			e.Problem("points", "%q takes the token of a handshake, which is not held", alias)
		}
	}
	e.Done()
	return h
}
