package resolve

import (
	"strings"
	"unicode"
)

// foldRune maps one rune to the spelling the index compares: lower case, no
// accents, full-width forms and superscripts as plain ASCII. A combining
// accent folds to nothing.
func foldRune(r rune) string {
	if r >= '！' && r <= '～' {
		r -= '！' - '!'
	}
	r = unicode.ToLower(r)
	if r < 0x80 {
		return string(r)
	}
	switch r {
	case 'à', 'á', 'â', 'ã', 'ä', 'å', 'ā', 'ă', 'ą':
		return "a"
	case 'ç', 'ć', 'č':
		return "c"
	case 'ď', 'đ':
		return "d"
	case 'è', 'é', 'ê', 'ë', 'ē', 'ė', 'ę', 'ě':
		return "e"
	case 'ğ':
		return "g"
	case 'ì', 'í', 'î', 'ï', 'ī', 'į', 'ı':
		return "i"
	case 'ł':
		return "l"
	case 'ñ', 'ń', 'ň':
		return "n"
	case 'ò', 'ó', 'ô', 'õ', 'ö', 'ø', 'ō', 'ő':
		return "o"
	case 'ŕ', 'ř':
		return "r"
	case 'ś', 'ş', 'š':
		return "s"
	case 'ţ', 'ť':
		return "t"
	case 'ù', 'ú', 'û', 'ü', 'ū', 'ů', 'ű', 'ų':
		return "u"
	case 'ý', 'ÿ':
		return "y"
	case 'ź', 'ż', 'ž':
		return "z"
	case 'ß':
		return "ss"
	case 'æ':
		return "ae"
	case 'œ':
		return "oe"
	case 'µ', 'μ':
		return "u"
	case '²':
		return "2"
	case '³':
		return "3"
	}
	if isCombining(r) {
		return ""
	}
	return string(r)
}

func isCombining(r rune) bool { return r >= 0x300 && r <= 0x36f }

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// fold folds a whole word.
func fold(word string) string {
	if isASCII(word) {
		return strings.ToLower(word)
	}
	var b strings.Builder
	for _, r := range word {
		b.WriteString(foldRune(r))
	}
	return b.String()
}

// foldGerman folds a word with its umlauts spelt in two letters, so that
// "oeffnen" and "öffnen" meet. It returns "" for a word without umlauts.
func foldGerman(word string) string {
	if !strings.ContainsAny(word, "äöüÄÖÜ") {
		return ""
	}
	var b strings.Builder
	for _, r := range word {
		switch unicode.ToLower(r) {
		case 'ä':
			b.WriteString("ae")
		case 'ö':
			b.WriteString("oe")
		case 'ü':
			b.WriteString("ue")
		default:
			b.WriteString(foldRune(r))
		}
	}
	return b.String()
}
