package registerlist

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// headerRows is how many rows that are not blank may stand before the header.
const headerRows = 60

// header says which column of the list says what.
type header struct {
	line     int
	at       [columns]int // the place of the column in a row, -1 when the list has none
	names    []string     // the headings as written
	hex      bool         // addresses are hexadecimal
	base     Base         // what the heading of the addresses says about them
	bytes    bool         // the length is in bytes, not in registers
	exponent bool         // scales are powers of ten
	wordwise bool         // the order column is about words, not about bytes
	match    vocabulary
}

// heading is a known name of a column: which, and how usual it is (0 is the most usual).
type heading struct {
	column column
	rank   int
}

// vocabulary finds columns by their headings.
type vocabulary struct {
	exact  map[string]heading
	tables map[string]string
}

func newVocabulary() vocabulary {
	v := vocabulary{exact: map[string]heading{}, tables: tableWords()}
	for c, names := range headings() {
		for rank, name := range names {
			if _, taken := v.exact[plain(name)]; !taken {
				v.exact[plain(name)] = heading{column(c), rank}
			}
		}
	}
	return v
}

// plain folds a text for comparison: compatible forms to the usual ones, lower case, and one blank for every run of what is
// neither letter nor digit.
func plain(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(norm.NFKC.String(text)) {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte(' ')
		}
		gap = false
		b.WriteRune(r)
	}
	return b.String()
}

var brackets = regexp.MustCompile(`[(\[{（【][^)\]}）】]*[)\]}）】]?`)

// How sure a heading is: written exactly, exactly but for what stands in brackets, or as a part of a longer one.
const (
	sureNot = iota
	surePart
	sureOutside
	sureWhole
)

// heading finds the column of a cell.
func (v vocabulary) heading(text string) (h heading, sure int) {
	if h, sure = v.exactly(text); sure != sureNot || len(text) > longestHeading {
		return h, sure
	}
	outside, longest := plain(brackets.ReplaceAllString(text, " ")), 0
	for name, candidate := range v.exact {
		if len(name) < longest || len(name) < 3 || !contains(outside, name) {
			continue
		}
		if len(name) > longest || candidate.column < h.column || candidate.column == h.column && candidate.rank < h.rank {
			h, sure, longest = candidate, surePart, len(name)
		}
	}
	return h, sure
}

// longestHeading is how many bytes a heading may have.
const longestHeading = 120

// exactly finds the column of a cell that holds nothing but a known name.
func (v vocabulary) exactly(text string) (heading, int) {
	if text == "" || len(text) > longestHeading {
		return heading{}, sureNot
	}
	if h, ok := v.exact[plain(text)]; ok {
		return h, sureWhole
	}
	if h, ok := v.exact[plain(brackets.ReplaceAllString(text, " "))]; ok {
		return h, sureOutside
	}
	return heading{}, sureNot
}

// table finds the table that a cell names, alone or as a part of a longer text; "" when it names none.
func (v vocabulary) table(text string) string {
	folded := plain(text)
	if len(folded) > longestHeading {
		return ""
	}
	if t := v.tables[folded]; t != "" {
		return t
	}
	best, table := "", ""
	for name, t := range v.tables {
		if len(name) >= 4 && contains(folded, name) && (len(name) > len(best) || len(name) == len(best) && name < best) {
			best, table = name, t
		}
	}
	return table
}

// titleWord is what a name of a table has that is hardly the title of anything else.
var titleWord = regexp.MustCompile(`coil|register|discrete (in|out)put|spule|寄存器|线圈|离散`)

// tablesIn are the tables that a title names.
func (v vocabulary) tablesIn(text string) []string {
	folded := plain(text)
	if len(folded) > longestHeading {
		return nil
	}
	found := map[string]bool{}
	for name, t := range v.tables {
		if name == folded || titleWord.MatchString(name) && contains(folded, name) {
			found[t] = true
		}
	}
	return slices.Collect(maps.Keys(found))
}

// contains says whether a name stands in a text: as whole words, or anywhere when it is not in Latin letters.
func contains(text, name string) bool {
	if name[0] >= 0x80 {
		return len(name) >= 6 && strings.Contains(text, name)
	}
	return strings.Contains(" "+text+" ", " "+name+" ")
}

// try reads a row as the header; the score is how much of it is known, and 0 when there is no address and something besides.
func (v vocabulary) try(r *row) (h header, score int) {
	h = header{line: r.line, match: v}
	var found [columns]struct{ sure, rank int }
	for c := range h.at {
		h.at[c] = -1
	}
	for i, c := range r.cells {
		h.names = append(h.names, c.text)
		head, sure := v.heading(c.text)
		if sure == sureNot {
			continue
		}
		if f := found[head.column]; h.at[head.column] < 0 || sure > f.sure || sure == f.sure && head.rank < f.rank {
			h.at[head.column], found[head.column] = i, struct{ sure, rank int }{sure, head.rank}
		}
	}
	for _, c := range []column{colOffset, colLength} { // "Offset" or "Registers" may be what a list calls its addresses
		if h.at[colAddress] < 0 && h.at[c] >= 0 {
			h.at[colAddress], h.at[c], found[colAddress] = h.at[c], -1, found[c]
		}
	}
	known := 0
	for c, f := range found {
		if h.at[c] >= 0 {
			known++
			score += f.sure
		}
	}
	if h.at[colAddress] < 0 || known < 2 {
		return h, 0
	}
	h.details()
	return h, score
}

// What a list says about its own numbers, in its titles or in the heading of its addresses.
var (
	zeroBased    = regexp.MustCompile(`\b(0 based|zero based|base 0|0 basiert|nullbasiert|0 basierend)\b|从0开始|从零开始`)
	oneBased     = regexp.MustCompile(`\b(1 based|one based|base 1|1 basiert|1 basierend)\b|从1开始`)
	zeroHeading  = regexp.MustCompile(`\b(protocol|pdu|from 0|ab 0)\b|从0|协议`)
	oneHeading   = regexp.MustCompile(`\b(from 1|ab 1)\b|从1`)
	hexHeading   = regexp.MustCompile(`\b(hex|hexadecimal|hexadezimal|0x|h)\b|十六进制|16进制`)
	bytesHeading = regexp.MustCompile(`bytes?\b|字节`)
	powerHeading = regexp.MustCompile(`10 ?(\^|\*\*)|exponent|power of ten|zehnerpotenz|指数`)
	wordsHeading = regexp.MustCompile(`wor[dt]|register|字`)
)

// details reads what headings say besides the name of their column.
func (h *header) details() {
	address := plain(h.name(colAddress))
	h.hex = hexHeading.MatchString(address)
	h.says(address)
	switch {
	case h.base != Auto:
	case zeroHeading.MatchString(address):
		h.base = Zero
	case oneHeading.MatchString(address):
		h.base = One
	}
	h.bytes = bytesHeading.MatchString(plain(h.name(colLength)))
	h.exponent = powerHeading.MatchString(strings.ToLower(norm.NFKC.String(h.name(colScale))))
	order := plain(h.name(colOrder))
	h.wordwise = wordsHeading.MatchString(order) && !bytesHeading.MatchString(order)
}

// says notes what a folded text says about the base of the addresses, unless that is known already.
func (h *header) says(text string) {
	switch {
	case h.base != Auto:
	case zeroBased.MatchString(text):
		h.base = Zero
	case oneBased.MatchString(text):
		h.base = One
	}
}

// name is the heading of a column, "" when the list has none.
func (h *header) name(c column) string {
	if i := h.at[c]; i >= 0 {
		return h.names[i]
	}
	return ""
}

// unused are the headings that no point is made of.
func (h *header) unused() []string {
	used := map[int]bool{}
	for _, i := range h.at {
		used[i] = true
	}
	var names []string
	for i, n := range h.names {
		if !used[i] && n != "" {
			names = append(names, n)
		}
	}
	return names
}

// repeated reports whether a row is the header again, as on every printed page, or its second line in another language.
func (h *header) repeated(r *row) bool {
	same := 0
	for c, i := range h.at {
		if i < 0 || r.cell(i).text == "" {
			continue
		}
		head, sure := h.match.exactly(r.cell(i).text)
		switch {
		case r.cell(i).text == h.names[i] || sure != sureNot && head.column == column(c):
			same++
		case column(c) == colAddress:
			return false
		}
	}
	return same >= 2
}

// findHeader looks for the header among the first rows, with one separator.
func findHeader(text string, sep rune, v vocabulary) (best header, score int) {
	rows, r, seen := newRows(text, sep), row{}, 0
	for seen < headerRows && rows.next(&r) {
		if r.blank() {
			continue
		}
		seen++
		if h, s := v.try(&r); s > score {
			best, score = h, s
		}
	}
	return best, score
}

// findTable finds separator and header together: the separator is the one with which most headings are known.
func findTable(text string, sep rune) (header, rune) {
	candidates := []rune{';', '\t', ',', '|'}
	if sep != 0 {
		candidates = []rune{sep}
	}
	v := newVocabulary()
	best, used, most := header{match: v}, candidates[0], 0
	for _, c := range candidates {
		if h, score := findHeader(text, c, v); score > most {
			best, used, most = h, c, score
		}
	}
	return best, used
}
