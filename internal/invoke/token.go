package invoke

import (
	"fmt"
	"maps"
	"slices"

	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/registry"
)

// chooseToken gives a handshake its token: a number that neither the token's point nor its echo shows now, so that an echo of it can
// only be the answer to this call. Without both readings nothing is chosen.
func (c *Corridor) chooseToken(r *run, readings map[string]physical.Reading) *outcome.Refusal {
	h := r.action.Shake
	if h == nil {
		return nil
	}
	unknown := func(format string, args ...any) *outcome.Refusal {
		return outcome.Refuse(outcome.PermitUnknown, "no token can be chosen for the handshake: "+fmt.Sprintf(format, args...))
	}
	var shown []physical.Decimal
	for _, ref := range []string{h.Token.Ref, h.Echo.Ref} {
		n, ok := readings[ref].Value.Number()
		if !ok || !readings[ref].Good() {
			return unknown("%s is %s (%s) %s", ref, readings[ref].Quality, readings[ref].Cause, readings[ref].Detail)
		}
		shown = append(shown, n)
	}
	i := slices.IndexFunc(r.writes, func(w plannedWrite) bool { return w.step.Token })
	w := &r.writes[i]
	one, _ := physical.IntOf(1).Number()
	for _, candidate := range []physical.Decimal{shown[0].Add(one), one, one.Add(one), one.Add(one).Add(one)} {
		value := physical.NumberOf(candidate)
		raw, err := c.machine.Encode(w.ref, value)
		e := w.step.Point.Point.Envelope
		if err != nil || e != nil && !e.Contains(candidate) || candidate.Equal(shown[0]) || candidate.Equal(shown[1]) {
			continue
		}
		w.value, w.raw = value, raw
		r.params = maps.Clone(r.params)
		r.params[registry.TokenParam] = value.Any()
		return nil
	}
	return unknown("neither 1, 2, 3 nor %s can be written to %s", shown[0].Add(one), w.ref)
}
