package draft

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// longest is the most characters that the inventory accepts in an id or a point's name.
const longest = 63

// PointName makes a point's name (a-z, 0-9 and _, beginning with a letter) of a text such as "PS07.FCV-04/Position". It is
// empty when the text has letters that it cannot spell so, such as Chinese ones: a name of the rest would mislead.
func PointName(text string) string {
	spelled, ok := spell(text)
	if !ok {
		return ""
	}
	name := strings.Trim(join(strings.ToLower(spelled), '_'), "_")
	if name != "" && unicode.IsDigit(rune(name[0])) {
		name = "p_" + name
	}
	return clipName(name)
}

// ID makes an id of a link, device or asset (letters, digits, - and _) of a text; the fallback when nothing of it is left.
func ID(text, fallback string) string {
	spelled, ok := spell(text)
	id := strings.Trim(join(spelled, '-'), "-_")
	if !ok || id == "" {
		return fallback
	}
	return clipName(id)
}

func clipName(name string) string { return strings.TrimRight(name[:min(len(name), longest)], "_-") }

// letters are those whose plain form is not the letter without its mark.
var letters = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "Ä", "Ae", "Ö", "Oe", "Ü", "Ue", "ß", "ss", "ø", "o", "Ø", "O", "æ", "ae", "Æ", "Ae",
	"ł", "l", "Ł", "L", "Δ", "delta", "µ", "u", "μ", "u", "φ", "phi", "Ω", "ohm", "Σ", "sum")

// spell writes Latin letters with marks as plain ones: "Größe" is "Groesse", "débit" is "debit". It is false when letters of
// another script remain.
func spell(text string) (string, bool) {
	text = letters.Replace(norm.NFC.String(text))
	var b strings.Builder
	for _, r := range norm.NFKD.String(text) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r > unicode.MaxASCII && unicode.IsLetter(r):
			return "", false
		default:
			b.WriteRune(r)
		}
	}
	return b.String(), true
}

// join replaces every run of characters that a name cannot have by one sep; - and _ stay where they are a sep.
func join(text string, sep rune) string {
	var b strings.Builder
	gap := false
	for _, r := range text {
		plain := r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' && sep == '-')
		if !plain {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteRune(sep)
		}
		gap = false
		b.WriteRune(r)
	}
	return b.String()
}

// PlaceName is the name of a point that has no other: "hr_100", "di_3".
func PlaceName(table string, address int) string {
	short := map[string]string{"holding_register": "hr", "input_register": "ir", "coil": "co", "discrete_input": "di"}[table]
	return fmt.Sprintf("%s_%d", short, address)
}

// Names gives each name out once. The zero value is ready; it belongs to one goroutine.
type Names struct{ taken map[string]int }

// Take is the name itself when it is free, else the name with the next free number behind it.
func (n *Names) Take(name string) string {
	if n.taken == nil {
		n.taken = map[string]int{}
	}
	unique := name
	for n.taken[unique] > 0 {
		n.taken[name]++
		suffix := "_" + strconv.Itoa(n.taken[name])
		unique = name[:min(len(name), longest-len(suffix))] + suffix
	}
	n.taken[unique]++
	return unique
}
