// Package resolve chooses the few tools an agent should see for what it wants
// to do: the policy removes, a text ranking orders, pinned tools stay, and the
// rest is cut at Top-K.
//
// It promises that the same index and request give the same result, tool by
// tool and in the same order, and that a tool the policy refused never appears,
// pinned or not. It does no I/O, reads no clock, keeps nothing between calls
// and never looks at a running plant.
package resolve

import (
	"slices"
	"sort"
	"strings"
)

// Doc is one tool as the ranking reads it. Only ID is required; it names the
// tool in results and breaks ties. Texts may be in English, Chinese or German.
type Doc struct {
	ID string
	// Name is the identifier agents call, Title its name for people.
	Name, Title, Description string
	// Intents are requests the tool answers, Aliases other names of it; in both,
	// each entry is a whole way of saying it and more entries cost nothing.
	Intents, Aliases []string
	Tags             []string
	// Assets are names of what the tool acts on.
	Assets []string
	// Parameters are the names and descriptions of the arguments.
	Parameters []string
}

// Stages of a Resolved tool.
const (
	StagePinned = "pinned" // the profile always wants it
	StageRanked = "ranked" // the query found it
	StageAll    = "all"    // there was no query
)

// Request is what one caller wants to see.
type Request struct {
	// Query is the intent in the caller's words; blank asks for every tool. Of a
	// long query the first MaxQuery bytes count.
	Query string
	// TopK bounds the tools besides the pinned ones; 0 or less leaves only those.
	TopK int
	// Pinned are IDs that are listed first, in this order, and take no place of
	// the Top-K. Unknown ones are passed over.
	Pinned []string
	// Allowed is the policy: whether the caller may see the tool, and if not, the
	// rule that says so. It must answer alike throughout a call. Nil allows all.
	Allowed func(id string) (ok bool, rule string)
	// Tags are the profile's tags: a tool the query found gains from each it has.
	Tags []string
}

// Resolved is a chosen tool.
type Resolved struct {
	ID    string
	Score float64 // comparable within one result only; 0 without a match
	Stage string
	// Why tells what matched, strongest first: the field and the caller's words,
	// "intents: 出口阀", and after "~" the concept where the tool uses other
	// words, "name: 阀 ~ valve".
	Why []string
}

// Result is the answer to a Request.
type Result struct {
	Tools    []Resolved     // pinned in the order asked, then by falling score, then by ID
	Total    int            // tools in the index
	Filtered int            // tools left by the policy
	Removed  map[string]int // tools the policy removed, by rule
}

// Resolve answers r. Its cost grows with the tools that share words with the
// query, not with the length of their texts.
func (ix *Index) Resolve(r Request) Result {
	allowed, res := ix.admit(r.Allowed)
	q := ix.parse(r)
	scores := ix.scores(q)
	for _, id := range r.Pinned {
		doc, ok := slices.BinarySearch(ix.ids, id)
		if !ok || !allowed[doc] {
			continue
		}
		allowed[doc] = false // listed once
		res.Tools = append(res.Tools, ix.resolved(hit{int32(doc), scores[doc]}, StagePinned, q))
	}
	stage, hits := StageRanked, ranked(scores, allowed, r.TopK)
	if strings.TrimSpace(r.Query) == "" {
		stage, hits = StageAll, first(allowed, r.TopK)
	}
	for _, h := range hits {
		res.Tools = append(res.Tools, ix.resolved(h, stage, q))
	}
	return res
}

// admit asks the policy about every tool.
func (ix *Index) admit(policy func(string) (bool, string)) ([]bool, Result) {
	res := Result{Total: len(ix.ids), Removed: map[string]int{}}
	allowed := make([]bool, len(ix.ids))
	for doc, id := range ix.ids {
		ok, rule := true, ""
		if policy != nil {
			ok, rule = policy(id)
		}
		allowed[doc] = ok
		if ok {
			res.Filtered++
		} else {
			res.Removed[rule]++
		}
	}
	return allowed, res
}

// hit is a document, by its place in the index, and its score.
type hit struct {
	doc   int32
	score float64
}

// ranked lists the k best of the allowed documents with a score, ties by ID.
func ranked(scores []float64, allowed []bool, k int) []hit {
	var hits []hit
	for doc, s := range scores {
		if s <= 0 || !allowed[doc] {
			continue
		}
		at := sort.Search(len(hits), func(i int) bool { return hits[i].score < s })
		if at >= k {
			continue
		}
		hits = slices.Insert(hits[:min(len(hits), k-1)], at, hit{int32(doc), s})
	}
	return hits
}

// first lists the first k of the allowed documents by ID.
func first(allowed []bool, k int) []hit {
	var hits []hit
	for doc, ok := range allowed {
		if ok && len(hits) < k {
			hits = append(hits, hit{doc: int32(doc)})
		}
	}
	return hits
}

func (ix *Index) resolved(h hit, stage string, q query) Resolved {
	return Resolved{ID: ix.ids[h.doc], Score: h.score, Stage: stage, Why: ix.why(h, q)}
}
