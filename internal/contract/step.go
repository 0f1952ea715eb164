package contract

import (
	"slices"
	"time"

	"capd/internal/document"
)

// stepsNotBuilt are the step kinds of the format that this build refuses rather than ignores.
var stepsNotBuilt = []string{"call"}

// The bounds of a pulse and of a wait. A pulse shorter than a transaction would be no pulse; an execution that lasts longer than
// minutes belongs to the machine's own control.
const (
	MinPulse = 10 * time.Millisecond
	MaxPulse = 10 * time.Minute
	MaxAwait = 10 * time.Minute
)

// parseSteps reads the steps of execute or withdraw. What is to be awaited belongs to the write that follows it.
func parseSteps(key string, m *document.Map, ps *document.Problems) []Step {
	var steps []Step
	var awaits []Await
	for _, n := range m.List(key) {
		e := document.NewMap(n, ps)
		if i := slices.IndexFunc(stepsNotBuilt, e.Has); i >= 0 {
			e.Problem(stepsNotBuilt[i], "the step %s is not supported by this version of capd; use write, pulse, wait or handshake", stepsNotBuilt[i])
			continue
		}
		if kinds := slices.DeleteFunc([]string{"write", "pulse", "wait", "handshake"}, func(k string) bool { return !e.Has(k) }); len(kinds) > 1 {
			e.Problem(kinds[1], "a step is one thing, and this one is %s and %s; write them as two steps", kinds[0], kinds[1])
			continue
		}
		if key == "withdraw" && (e.Has("pulse") || e.Has("wait") || e.Has("handshake")) {
			m.Problem(key, "only write steps can take a command back")
			continue
		}
		switch {
		case len(steps) > 0:
		case e.Has("wait"):
			m.Problem(key, "nothing is written before this wait; make its condition a permit")
		case e.Has("handshake"):
			m.Problem(key, "nothing is written before this handshake; it tells the machine to take what was written")
		}
		if e.Has("wait") {
			awaits = append(awaits, parseAwait(e.Map("wait"), n.Pos()))
		} else {
			steps = append(steps, parseWrite(e, n.Pos(), awaits, ps))
			awaits = nil
		}
		e.Done()
	}
	alone(key, m, steps)
	for _, w := range awaits {
		ps.Add(document.Problem{Pos: w.Pos, Path: key, Rule: document.RuleValue, Message: "nothing follows this wait",
			Hint: "remove it: the verification waits for the end by itself"})
	}
	return steps
}

// alone holds that pulses and tokens have their points for themselves: what else the action wrote there would cut a pulse short, or
// break the handshake. One action shakes hands once.
func alone(key string, m *document.Map, steps []Step) {
	times, shakes := map[string]int{}, 0
	for _, s := range steps {
		if times[s.Write]++; s.Shakes() {
			shakes++
		}
	}
	for _, s := range steps {
		switch {
		case s.Pulses() && times[s.Write] > 1:
			m.Problem(key, "%q is pulsed and written besides; a pulse needs its point for itself", s.Write)
			return
		case s.Shakes() && (times[s.Write] > 1 || shakes > 1):
			m.Problem(key, "an action shakes hands once, and writes nothing else to the token")
			return
		}
	}
}

// parseWrite reads a write, a pulse or a handshake.
func parseWrite(e *document.Map, pos document.Pos, awaits []Await, ps *document.Problems) Step {
	s := Step{Await: awaits, Pos: pos}
	if e.Has("handshake") {
		h := e.Map("handshake")
		h.Required("token", "echo")
		s.Write, s.Echo = text(h, "token"), text(h, "echo")
		h.Done()
		return s
	}
	if !e.Has("pulse") {
		e.Required("write", "value")
		s.Write, s.Value = e.String("write"), operand(e, "value", ps)
		return s
	}
	p := e.Map("pulse")
	p.Required("point", "value", "for", "release")
	s.Write, s.Value, s.Release = p.String("point"), operand(p, "value", ps), operand(p, "release", ps)
	s.For = within(p, "for", MinPulse, MaxPulse)
	if s.Value.Expr == "" && !s.Value.IsZero() && s.Release.Expr == "" && s.Value.Literal.Equal(s.Release.Literal) {
		p.Problem("release", "the pulse releases to the value that it writes, so nothing would happen")
	}
	p.Done()
	return s
}

func parseAwait(m *document.Map, pos document.Pos) Await {
	m.Required("when", "within")
	defer m.Done()
	return Await{When: text(m, "when"), Within: within(m, "within", MinPoll, MaxAwait), Pos: pos}
}

// within reads a duration that has to lie between two others. One that does not is reported, and given as the nearer bound.
func within(m *document.Map, key string, least, most time.Duration) time.Duration {
	if !m.Has(key) {
		return least
	}
	d := m.Duration(key)
	if d < least || d > most {
		m.Problem(key, "%s %s is not possible; give %s to %s", key, d, least, most)
	}
	return min(max(d, least), most)
}
