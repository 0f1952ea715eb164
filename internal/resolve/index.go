package resolve

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// The ranking is BM25F in its simple form: occurrences are weighted by field and
// summed, and so is the length, before the one saturation (Robertson, Zaragoza,
// Taylor: Simple BM25 Extension to Multiple Weighted Fields, CIKM 2004). The
// numbers were chosen on the retrieval set that eval_test.go reads; the
// neighbourhood is flat, so none is finer than its digits.
const (
	saturation    = 1.5  // k1: how soon repeating a word stops to count
	lengthPenalty = 0.8  // b: how far long texts are discounted
	conceptWeight = 0.7  // of a synonym, where a word itself weighs 1
	pairWeight    = 0.7  // of two characters: a word of n has n-1 overlapping pairs
	numberWeight  = 0.5  // of a number, which is oftener a value than a name
	joinedWeight  = 0.5  // of neighbouring words that a tool writes as one
	tagBoost      = 0.15 // share a score gains per profile tag
)

// weight is what a token of the query counts.
func (k kind) weight() float64 {
	switch k {
	case hanKind:
		return pairWeight
	case numberKind:
		return numberWeight
	}
	return 1
}

// field is a part of a Doc with a weight of its own.
type field uint8

const (
	nameField field = iota
	titleField
	intentsField
	aliasesField
	assetsField
	tagsField
	descriptionField
	parametersField
	fieldCount
)

// fieldRule says how a field takes part.
type fieldRule struct {
	name         string
	weight       float64
	alternatives bool // entries say the same thing again, so the longest is the length
	texts        func(*Doc) []string
}

func fieldRules() [fieldCount]fieldRule {
	return [fieldCount]fieldRule{
		nameField:        {"name", 3, false, func(d *Doc) []string { return []string{d.Name} }},
		titleField:       {"title", 2, false, func(d *Doc) []string { return []string{d.Title} }},
		intentsField:     {"intents", 3, true, func(d *Doc) []string { return d.Intents }},
		aliasesField:     {"aliases", 3, true, func(d *Doc) []string { return d.Aliases }},
		assetsField:      {"assets", 2, false, func(d *Doc) []string { return d.Assets }},
		tagsField:        {"tags", 1, false, func(d *Doc) []string { return d.Tags }},
		descriptionField: {"description", 1, false, func(d *Doc) []string { return []string{d.Description} }},
		parametersField:  {"parameters", 0.5, false, func(d *Doc) []string { return d.Parameters }},
	}
}

// posting says that a term stands in a document.
type posting struct {
	doc    int32
	field  field   // where the term weighs most
	impact float32 // what the term adds to the score of the document
}

// Index is the searchable form of one set of tools. It never changes, so any
// number of goroutines may use it at once.
type Index struct {
	rules    [fieldCount]fieldRule
	synonyms *thesaurus
	ids      []string           // ascending; a document is known by its place here
	tagged   map[string][]int32 // documents by folded tag
	terms    map[string]int32
	postings [][]posting // by term; ascending documents
}

// NewIndex builds the index of docs. Documents are told apart by ID; of two with
// the same one the first counts. It keeps no reference to docs.
func NewIndex(docs []Doc) *Index { return newIndex(docs, newThesaurus(synonymTable)) }

func newIndex(docs []Doc, synonyms *thesaurus) *Index {
	docs = slices.Clone(docs)
	slices.SortStableFunc(docs, func(a, b Doc) int { return cmp.Compare(a.ID, b.ID) })
	docs = slices.CompactFunc(docs, func(a, b Doc) bool { return a.ID == b.ID })
	ix := &Index{
		rules: fieldRules(), synonyms: synonyms,
		tagged: map[string][]int32{}, terms: map[string]int32{},
	}
	b := builder{ix: ix, lengths: make([]float64, len(docs))}
	for i := range docs {
		ix.ids = append(ix.ids, docs[i].ID)
		b.add(int32(i), &docs[i])
	}
	b.finish()
	return ix
}

// Len returns the number of tools in the index.
func (ix *Index) Len() int { return len(ix.ids) }

// builder collects counts; the average length must be known before they can be
// weighed.
type builder struct {
	ix          *Index
	tokenizer   tokenizer
	lengths     []float64      // weighted, by document
	occurrences [][]occurrence // by term; ascending documents, then fields
}

// occurrence counts a term in one field of one document.
type occurrence struct {
	doc   int32
	field field
	count uint16
}

func (b *builder) add(doc int32, d *Doc) {
	for f, rule := range b.ix.rules {
		total, longest := 0, 0
		for _, text := range rule.texts(d) {
			n := b.text(doc, field(f), text)
			total, longest = total+n, max(longest, n)
		}
		if rule.alternatives {
			total = longest
		}
		b.lengths[doc] += rule.weight * float64(total)
	}
	for _, tag := range d.Tags {
		tag = fold(tag)
		if list := b.ix.tagged[tag]; len(list) == 0 || list[len(list)-1] != doc {
			b.ix.tagged[tag] = append(list, doc)
		}
	}
}

// text counts the terms of one text and returns its length.
func (b *builder) text(doc int32, f field, text string) int {
	length := 0
	for _, tok := range b.ix.synonyms.analyze(&b.tokenizer, text) {
		if tok.stop {
			continue
		}
		if tok.kind.counts() {
			length++
		}
		b.count(tok.text, doc, f)
	}
	return length
}

func (b *builder) count(term string, doc int32, f field) {
	id, ok := b.ix.terms[term]
	if !ok {
		id = int32(len(b.occurrences))
		b.ix.terms[strings.Clone(term)] = id // or it would keep the whole text alive
		b.occurrences = append(b.occurrences, nil)
	}
	list := b.occurrences[id]
	if n := len(list); n > 0 && list[n-1].doc == doc && list[n-1].field == f {
		list[n-1].count = min(list[n-1].count, math.MaxUint16-1) + 1
		return
	}
	b.occurrences[id] = append(list, occurrence{doc, f, 1})
}

// finish turns counts into postings.
func (b *builder) finish() {
	average := 0.0
	for _, l := range b.lengths {
		average += l / float64(len(b.lengths))
	}
	b.ix.postings = make([][]posting, len(b.occurrences))
	for id, list := range b.occurrences {
		var out []posting
		for len(list) > 0 {
			n := 1
			for n < len(list) && list[n].doc == list[0].doc {
				n++
			}
			out = append(out, b.weigh(list[:n], average))
			list = list[n:]
		}
		rarity := idf(len(out), len(b.lengths))
		for i := range out {
			out[i].impact *= rarity
		}
		b.ix.postings[id] = slices.Clip(out)
	}
}

// idf is the weight of a term that stands in found of total documents.
func idf(found, total int) float32 {
	return float32(math.Log(1 + (float64(total-found)+0.5)/(float64(found)+0.5)))
}

// weigh sums up the occurrences of one term in one document.
func (b *builder) weigh(list []occurrence, average float64) posting {
	p := posting{doc: list[0].doc}
	sum, most := 0.0, 0.0
	for _, o := range list {
		w := b.ix.rules[o.field].weight * float64(o.count)
		sum += w
		if w > most {
			most, p.field = w, o.field
		}
	}
	norm := 1.0
	if average > 0 {
		norm = 1 - lengthPenalty + lengthPenalty*b.lengths[p.doc]/average
	}
	p.impact = float32(sum * (saturation + 1) / (saturation*norm + sum))
	return p
}
