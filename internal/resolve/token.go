package resolve

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind says what a token is made of; it decides the token's weight in a query.
type kind uint8

const (
	wordKind    kind = iota // a word or one part of an identifier, stemmed
	numberKind              // a number without leading zeros
	wholeKind               // an identifier with its parts joined: "xv3" for "XV-03"
	variantKind             // another spelling of the word before: "oeffnen" for "öffnen"
	hanKind                 // two neighbouring characters of a script without spaces
	symbolKind              // a unit sign: "%", "°"
	conceptKind             // an entry of the synonym table: "#valve"
)

// counts tells whether a token adds to the length of its field; the others are
// only further views of the same text.
func (k kind) counts() bool {
	return k == wordKind || k == numberKind || k == hanKind || k == symbolKind
}

// token is one term of a text. src[start:end] is what it was made from.
type token struct {
	text       string
	start, end int
	kind       kind
	stop       bool // too common to rank by
}

// maxParts bounds the identifiers that are kept whole; longer chains are paths
// and addresses nobody types.
const maxParts = 8

// tokenizer cuts texts into tokens. Its slices hold the last text's results and
// are used again for the next.
type tokenizer struct {
	src    string
	tokens []token
	runs   []span  // of unspaced scripts
	parts  []span  // of the identifier at hand
	words  []token // scratch of the thesaurus
}

type span struct{ start, end int }

func (s span) holds(t span) bool { return s.start <= t.start && t.end <= s.end }

// tokenize cuts src into tokens in the order of their start. It accepts any
// bytes; what is not valid UTF-8 separates words.
func (t *tokenizer) tokenize(src string) {
	t.src, t.tokens, t.runs = src, t.tokens[:0], t.runs[:0]
	for pos := 0; pos < len(src); {
		r, size := utf8.DecodeRuneInString(src[pos:])
		switch {
		case isUnspaced(r):
			pos = t.run(pos)
		case isWordRune(r):
			pos = t.chunk(pos)
		case strings.ContainsRune("%％‰°℃℉", r):
			t.symbol(r, pos, pos+size)
			pos += size
		default:
			pos += size
		}
	}
}

// isUnspaced tells the scripts that put no space between words.
func isUnspaced(r rune) bool {
	if r < 0x1100 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r == 'ー'
}

func isWordRune(r rune) bool {
	if r < 0x80 {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return r != utf8.RuneError && !isUnspaced(r) &&
		(unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || r == '²' || r == '³')
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' || r >= '０' && r <= '９' }

func isConnector(r rune) bool {
	switch r {
	case '_', '-', '.', '/', ':', '－', '＿':
		return true
	}
	return false
}

func isApostrophe(r rune) bool { return r == '\'' || r == '’' }

// symbol takes a unit sign; a sign of two in one is taken apart.
func (t *tokenizer) symbol(r rune, start, end int) {
	switch r {
	case '℃':
		t.add("°", start, end, symbolKind)
		t.add("c", start, end, wordKind)
	case '℉':
		t.add("°", start, end, symbolKind)
		t.add("f", start, end, wordKind)
	default:
		t.add(foldRune(r), start, end, symbolKind)
	}
}

func (t *tokenizer) add(text string, start, end int, k kind) {
	t.tokens = append(t.tokens, token{text: text, start: start, end: end, kind: k})
}

// run takes characters of an unspaced script as overlapping pairs, and a
// lonely character as it is. Particles separate.
func (t *tokenizer) run(pos int) int {
	begin, prev, prevprev := pos, -1, -1
	for pos < len(t.src) {
		r, size := utf8.DecodeRuneInString(t.src[pos:])
		if !isUnspaced(r) {
			break
		}
		switch {
		case isParticle(r):
			t.lonely(prevprev, prev, pos)
			prev, prevprev = -1, -1
		case prev < 0:
			prev = pos
		default:
			t.add(t.src[prev:pos+size], prev, pos+size, hanKind)
			prevprev, prev = prev, pos
		}
		pos += size
	}
	t.lonely(prevprev, prev, pos)
	t.runs = append(t.runs, span{begin, pos})
	return pos
}

// lonely adds the character at start if it was never part of a pair.
func (t *tokenizer) lonely(before, start, end int) {
	if before < 0 && start >= 0 {
		t.add(t.src[start:end], start, end, hanKind)
	}
}

// chunk takes an identifier: word runes with single connectors between them.
// It adds every part, then the whole.
func (t *tokenizer) chunk(pos int) int {
	t.parts = t.parts[:0]
	start, end := pos, pos
	var prev rune
	for end < len(t.src) {
		r, size := utf8.DecodeRuneInString(t.src[end:])
		next, nextSize := utf8.DecodeRuneInString(t.src[end+size:])
		switch {
		case isWordRune(r):
			if splits(t.src[start:end], r, next, t.src[end+size+nextSize:]) {
				t.parts = append(t.parts, span{start, end})
				start = end
			}
		case r == '.' && isDigit(prev) && isDigit(next): // a decimal point stays inside
		case isConnector(r) && isWordRune(next):
			t.parts = append(t.parts, span{start, end})
			start = end + size
		default:
			t.identifier(span{start, end})
			return skipClitic(t.src, end)
		}
		prev = r
		end += size
	}
	t.identifier(span{start, end})
	return end
}

// splits tells whether part ends before r: at a change between letters and
// digits, and at the humps of camelCase. One letter alone is no hump, so that
// "kW" and "pH" stay whole.
func splits(part string, r, next rune, rest string) bool {
	prev, size := utf8.DecodeLastRuneInString(part)
	switch {
	case part == "" || prev == '.' || isCombining(r):
		return false
	case isDigit(prev) != isDigit(r):
		return true
	case size == len(part) || !unicode.IsUpper(r):
		return false
	case unicode.IsLower(prev):
		return true
	}
	after, _ := utf8.DecodeRuneInString(rest)
	plural := next == 's' && !unicode.IsLower(after) // "PLCs" is one word
	return unicode.IsUpper(prev) && unicode.IsLower(next) && !plural
}

// skipClitic steps over "'s", "'t", "'ll" and their like behind a word.
func skipClitic(src string, pos int) int {
	r, size := utf8.DecodeRuneInString(src[pos:])
	if !isApostrophe(r) {
		return pos
	}
	end := pos + size
	for end < len(src) && src[end] >= 'a' && src[end] <= 'z' {
		end++
	}
	if end-pos-size > 2 {
		return pos
	}
	return end
}

// identifier adds the parts found so far, the last one, and the whole of them.
func (t *tokenizer) identifier(last span) {
	if len(t.parts) == 0 {
		t.part(last, true)
		return
	}
	t.parts = append(t.parts, last)
	var whole strings.Builder
	for _, p := range t.parts {
		whole.WriteString(t.part(p, false))
	}
	if whole.Len() > 0 && len(t.parts) <= maxParts {
		t.add(stem(whole.String()), t.parts[0].start, last.end, wholeKind)
	}
}

// part adds one part and returns its unstemmed text.
func (t *tokenizer) part(p span, alone bool) string {
	raw := t.src[p.start:p.end]
	text := fold(raw)
	if text == "" {
		return ""
	}
	tok := token{start: p.start, end: p.end}
	if text[0] >= '0' && text[0] <= '9' {
		text = trimZeros(text)
		tok.text, tok.kind = text, numberKind
	} else {
		tok.text, tok.kind, tok.stop = stem(text), wordKind, alone && isStopWord(text) && !isUpper(raw)
	}
	t.tokens = append(t.tokens, tok)
	if german := foldGerman(raw); german != "" {
		t.add(stem(german), p.start, p.end, variantKind)
	}
	return text
}

// trimZeros takes leading zeros off, so that tag "XV-03" answers to "valve 3".
func trimZeros(number string) string {
	for len(number) > 1 && number[0] == '0' && number[1] != '.' {
		number = number[1:]
	}
	return number
}
