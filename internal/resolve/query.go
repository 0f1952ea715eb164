package resolve

import (
	"slices"
	"sort"
)

// MaxQuery bounds the bytes of a query that count.
const MaxQuery = 4096

// queryTerm is one term of a query that stands in some document.
type queryTerm struct {
	postings []posting
	weight   float64
	at       span   // its first place in the query
	concept  string // the concept, if the term is one
}

// query is what a request looks for.
type query struct {
	text  string
	terms []queryTerm // each once
	tags  []string    // folded
}

// parse reads the request's query and tags.
func (ix *Index) parse(r Request) query {
	text := r.Query[:min(len(r.Query), MaxQuery)]
	return query{text, ix.queryTerms(text), distinctTags(r.Tags)}
}

// queryTerms lists what text asks for: words, words written as one, concepts.
func (ix *Index) queryTerms(text string) []queryTerm {
	p := parser{ix: ix, seen: map[string]bool{}}
	tokens := ix.synonyms.analyze(&tokenizer{}, text)
	var before []word
	for i, tok := range tokens {
		respelt := i+1 < len(tokens) && tokens[i+1].kind == variantKind
		if tok.stop || tok.kind == conceptKind || respelt {
			continue
		}
		at := span{tok.start, tok.end}
		p.add(tok.text, tok.kind.weight(), at)
		if tok.kind == wordKind {
			before = p.joined(append(before, word{fold(text[at.start:at.end]), at}))
		}
	}
	plain := len(p.terms)
	for _, c := range conceptUses(tokens) {
		p.addConcept(c, plain)
	}
	return p.terms
}

// conceptUse is a concept and where the query speaks of it.
type conceptUse struct {
	term string
	at   []span
}

// conceptUses collects the concepts among tokens in the order they appear.
func conceptUses(tokens []token) []conceptUse {
	var uses []conceptUse
	for _, tok := range tokens {
		if tok.kind != conceptKind {
			continue
		}
		i := slices.IndexFunc(uses, func(u conceptUse) bool { return u.term == tok.text })
		if i < 0 {
			i = len(uses)
			uses = append(uses, conceptUse{term: tok.text})
		}
		uses[i].at = append(uses[i].at, span{tok.start, tok.end})
	}
	return uses
}

type parser struct {
	ix    *Index
	terms []queryTerm
	seen  map[string]bool
}

// word is a word of the query before stemming.
type word struct {
	text string
	at   span
}

func (p *parser) add(term string, weight float64, at span) {
	if p.seen[term] {
		return
	}
	if id, ok := p.ix.terms[term]; ok {
		p.seen[term] = true
		p.terms = append(p.terms, queryTerm{postings: p.ix.postings[id], weight: weight, at: at})
	}
}

// joined adds the last two and three words as one term, since tools write
// "websearch" and "get_web_search" for a web search. It returns the words that
// the next one may be joined to.
func (p *parser) joined(words []word) []word {
	last := len(words) - 1
	text := words[last].text
	for i := last - 1; i >= 0 && i >= last-2; i-- {
		text = words[i].text + text
		p.add(stem(text), joinedWeight, span{words[i].at.start, words[last].at.end})
	}
	return words[max(0, last-1):]
}

// addConcept adds a synonym. It counts in the documents that have none of the
// words that stand for it in the query, nor another concept of those words: one
// word means one thing.
func (p *parser) addConcept(c conceptUse, plain int) {
	id, ok := p.ix.terms[c.term]
	if !ok {
		return
	}
	postings := p.ix.postings[id]
	for i, t := range p.terms {
		said := slices.ContainsFunc(c.at, func(s span) bool { return s.holds(t.at) || t.at.holds(s) })
		if i < plain && said || t.at == c.at[0] {
			postings = without(postings, t.postings)
		}
	}
	p.terms = append(p.terms, queryTerm{postings, conceptWeight, c.at[0], c.term[1:]})
}

// without returns the postings of list in documents that are not in other.
func without(list, other []posting) []posting {
	out := make([]posting, 0, len(list))
	for _, p := range list {
		for len(other) > 0 && other[0].doc < p.doc {
			other = other[1:]
		}
		if len(other) == 0 || other[0].doc > p.doc {
			out = append(out, p)
		}
	}
	return out
}

// find looks a document up among the postings of a term.
func find(list []posting, doc int32) (posting, bool) {
	i := sort.Search(len(list), func(i int) bool { return list[i].doc >= doc })
	if i < len(list) && list[i].doc == doc {
		return list[i], true
	}
	return posting{}, false
}

// scores rates every document of the index.
func (ix *Index) scores(q query) []float64 {
	scores := make([]float64, len(ix.ids))
	for _, t := range q.terms {
		for _, p := range t.postings {
			scores[p.doc] += t.weight * float64(p.impact)
		}
	}
	for _, tag := range q.tags {
		for _, doc := range ix.tagged[tag] {
			scores[doc] *= 1 + tagBoost
		}
	}
	return scores
}

func distinctTags(tags []string) []string {
	if len(tags) == 0 {
		return nil
	}
	out := make([]string, len(tags))
	for i, t := range tags {
		out[i] = fold(t)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
