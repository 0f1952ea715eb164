package resolve

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// thesaurus finds the concepts of a synonym table in texts. It is immutable.
type thesaurus struct {
	words     map[string][]phrase // of spaced scripts by first stem; longest first
	unspaced  map[rune][]phrase   // of the others by first rune; longest first
	compounds map[string][]string // concepts of the parts of German words
}

// phrase is one spelling of the concepts it stands for. It stands for none if
// it only shields what is inside it.
type phrase struct {
	stems    []string // of a spaced script
	text     string   // of an unspaced script
	concepts []string // as terms of the index: "#valve"
}

// minPart is the least number of bytes of a part of a German compound.
const minPart = 4

// germanColumn is the column of the synonym table whose words form compounds.
const germanColumn = 2

// newThesaurus reads a table in the form of synonymTable.
func newThesaurus(table string) *thesaurus {
	th := &thesaurus{words: map[string][]phrase{}, unspaced: map[rune][]phrase{}, compounds: map[string][]string{}}
	for line := range strings.Lines(table) {
		columns := strings.Split(strings.TrimSpace(line), "|")
		name, _, _ := strings.Cut(columns[0], ",")
		concept := "#" + strings.TrimSpace(name)
		for i, column := range columns {
			for spelling := range strings.SplitSeq(column, ",") {
				spelling = strings.TrimSpace(spelling)
				th.add(spelling, concept)
				if i == germanColumn && len(spelling) >= minPart {
					th.addCompound(spelling, concept)
				}
			}
		}
	}
	return th
}

func (th *thesaurus) add(spelling, concept string) {
	var t tokenizer
	t.tokenize(spelling)
	if len(t.runs) > 0 {
		r, _ := utf8.DecodeRuneInString(spelling)
		th.unspaced[r] = addPhrase(th.unspaced[r], phrase{text: spelling}, concept)
		return
	}
	var base, german phrase // an umlaut as one letter, and as two
	for _, tok := range t.tokens {
		switch tok.kind {
		case wordKind, symbolKind:
			base.stems = append(base.stems, tok.text)
			german.stems = append(german.stems, tok.text)
		case variantKind:
			german.stems[len(german.stems)-1] = tok.text
		}
	}
	th.addWords(base, concept)
	if german.key() != base.key() {
		th.addWords(german, concept)
	}
}

func (th *thesaurus) addWords(p phrase, concept string) {
	if len(p.stems) > 0 {
		th.words[p.stems[0]] = addPhrase(th.words[p.stems[0]], p, concept)
	}
}

func (th *thesaurus) addCompound(spelling, concept string) {
	th.compounds[spelling] = append(th.compounds[spelling], concept)
	if german := foldGerman(spelling); german != "" {
		th.compounds[german] = append(th.compounds[german], concept)
	}
}

func (p phrase) size() int { return len(p.stems) + len(p.text) }

func (p phrase) key() string { return strings.Join(p.stems, " ") + p.text }

// addPhrase keeps list sorted longest first and gives a known phrase a further
// concept.
func addPhrase(list []phrase, p phrase, concept string) []phrase {
	i := slices.IndexFunc(list, func(q phrase) bool { return q.key() == p.key() })
	if i < 0 {
		i = slices.IndexFunc(list, func(q phrase) bool { return q.size() < p.size() })
		if i < 0 {
			i = len(list)
		}
		list = slices.Insert(list, i, p)
	}
	if concept != shieldConcept && !slices.Contains(list[i].concepts, concept) {
		list[i].concepts = append(list[i].concepts, concept)
	}
	return list
}

// analyze cuts src into tokens and adds the concepts behind them. The result
// holds until the next text of t.
func (th *thesaurus) analyze(t *tokenizer, src string) []token {
	t.tokenize(src)
	th.inWords(t)
	for _, run := range t.runs {
		th.inRun(t, run)
	}
	return t.tokens
}

func (th *thesaurus) inRun(t *tokenizer, run span) {
	for pos := run.start; pos < run.end; {
		r, size := utf8.DecodeRuneInString(t.src[pos:])
		for _, p := range th.unspaced[r] {
			if strings.HasPrefix(t.src[pos:run.end], p.text) {
				t.addConcepts(p.concepts, span{pos, pos + len(p.text)})
				size = len(p.text)
				break
			}
		}
		pos += size
	}
}

func (th *thesaurus) inWords(t *tokenizer) {
	t.words = t.words[:0]
	for _, tok := range t.tokens {
		if tok.kind == wordKind || tok.kind == symbolKind {
			t.words = append(t.words, tok)
		}
	}
	for words := t.words; len(words) > 0; {
		p, ok := th.match(words)
		n := max(1, len(p.stems))
		at := span{words[0].start, words[n-1].end}
		if ok {
			t.addConcepts(p.concepts, at)
		} else {
			th.inCompound(t, at)
		}
		words = words[n:]
	}
}

// match finds the longest phrase that words begin with.
func (th *thesaurus) match(words []token) (phrase, bool) {
	for _, p := range th.words[words[0].text] {
		if startsWith(words, p.stems) {
			return p, true
		}
	}
	return phrase{}, false
}

func startsWith(words []token, stems []string) bool {
	if len(words) < len(stems) {
		return false
	}
	for i, s := range stems {
		if words[i].text != s {
			return false
		}
	}
	return true
}

// inCompound looks for the longest known end and beginning of one word, as in
// "Auslassventil".
func (th *thesaurus) inCompound(t *tokenizer, at span) {
	if at.end-at.start < 2*minPart {
		return
	}
	word := strings.ToLower(t.src[at.start:at.end])
	if len(word) != at.end-at.start {
		return // offsets would not fit
	}
	for i := 1; i <= len(word)-minPart; i++ {
		if concepts, ok := th.compounds[word[i:]]; ok {
			t.addConcepts(concepts, span{at.start + i, at.end})
			break
		}
	}
	for i := len(word) - 1; i >= minPart; i-- {
		if concepts, ok := th.compounds[word[:i]]; ok {
			t.addConcepts(concepts, span{at.start, at.start + i})
			return
		}
	}
}

func (t *tokenizer) addConcepts(concepts []string, at span) {
	for _, c := range concepts {
		t.add(c, at.start, at.end, conceptKind)
	}
}
