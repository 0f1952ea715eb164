package verify

import "capd/internal/physical"

// ShownBefore reports whether the baseline contradicts nothing that a plan expects: then that it is so after the act does not show that the
// act came.
func ShownBefore(p *Plan, a Act) bool {
	t := NewTrial(p, a)
	baseline := func(_ int, point Point) (physical.Reading, standing) {
		if r := a.Baseline[point.Ref]; r.Good() {
			return r, accepted
		}
		return physical.Reading{}, unusable
	}
	for _, c := range t.claims {
		if c.expect != nil && t.askBy(baseline, c, 0).state == fails {
			return false
		}
	}
	return true
}
