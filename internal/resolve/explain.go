package resolve

import (
	"cmp"
	"slices"
)

// maxWhy bounds the reasons given for one tool.
const maxWhy = 8

// reason is a stretch of the query that a field of a document answers.
type reason struct {
	field   field
	at      span
	score   float64
	concept string
}

// why explains the score of h, strongest reason first.
func (ix *Index) why(h hit, q query) []string {
	var reasons []reason
	for _, t := range q.terms {
		if p, ok := find(t.postings, h.doc); ok {
			reasons = append(reasons, reason{p.field, t.at, t.weight * float64(p.impact), t.concept})
		}
	}
	reasons = merge(reasons)
	slices.SortStableFunc(reasons, func(a, b reason) int { return cmp.Compare(b.score, a.score) })
	var out []string
	for _, x := range reasons[:min(len(reasons), maxWhy)] {
		line := ix.rules[x.field].name + ": " + q.text[x.at.start:x.at.end]
		if x.concept != "" {
			line += " ~ " + x.concept
		}
		out = append(out, line)
	}
	if len(reasons) == 0 {
		return nil
	}
	for _, tag := range q.tags {
		if _, ok := slices.BinarySearch(ix.tagged[tag], h.doc); ok {
			out = append(out, "profile tag: "+tag)
		}
	}
	return out
}

// merge joins reasons of one field whose stretches overlap or touch, as
// neighbouring words and character pairs do.
func merge(reasons []reason) []reason {
	slices.SortStableFunc(reasons, func(a, b reason) int {
		return cmp.Or(cmp.Compare(a.field, b.field), cmp.Compare(a.concept, b.concept),
			cmp.Compare(a.at.start, b.at.start), cmp.Compare(b.at.end, a.at.end))
	})
	var out []reason
	for _, x := range reasons {
		last := len(out) - 1
		if last >= 0 && out[last].field == x.field && out[last].concept == x.concept && x.at.start <= out[last].at.end+1 {
			out[last].at.end = max(out[last].at.end, x.at.end)
			out[last].score += x.score
			continue
		}
		out = append(out, x)
	}
	return out
}
