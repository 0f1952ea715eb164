package resolve

import "strings"

// stem reduces an English word to its stem, so that "opens", "opened" and
// "opening" meet. It is the English (Porter2) algorithm as published at
// snowballstem.org/algorithms/english/stemmer.html, without its apostrophe
// step: the tokeniser has dropped those. word is folded to lower case; a word
// with anything but a to z in it comes back unchanged.
func stem(word string) string {
	if len(word) < 3 || !isLowerASCII(word) {
		return word
	}
	if s, ok := stemException(word); ok {
		return s
	}
	var buf [32]byte
	w := stemWord{b: append(buf[:0], word...)}
	w.mark(word)
	w.step1a()
	if !stemFixed(string(w.b)) {
		w.step1b()
		w.step1c()
		w.step2()
		w.step3()
		w.step4()
		w.step5()
	}
	for i, c := range w.b {
		if c == 'Y' {
			w.b[i] = 'y'
		}
	}
	if strings.HasPrefix(word, string(w.b)) {
		return word[:len(w.b)] // no copy: most steps only cut
	}
	return string(w.b)
}

func isLowerASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return true
}

func stemException(word string) (string, bool) {
	switch word {
	case "skis":
		return "ski", true
	case "skies":
		return "sky", true
	case "dying":
		return "die", true
	case "lying":
		return "lie", true
	case "tying":
		return "tie", true
	case "idly":
		return "idl", true
	case "gently":
		return "gentl", true
	case "ugly":
		return "ugli", true
	case "early":
		return "earli", true
	case "only":
		return "onli", true
	case "singly":
		return "singl", true
	case "sky", "news", "howe", "atlas", "cosmos", "bias", "andes":
		return word, true
	}
	return "", false
}

// stemFixed names the words that step 1a leaves as they are to stay.
func stemFixed(word string) bool {
	switch word {
	case "inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed":
		return true
	}
	return false
}

// stemWord is a word on its way through the steps. A consonant y is held as
// 'Y'. r1 and r2 are the offsets of the regions the algorithm calls R1 and R2.
type stemWord struct {
	b      []byte
	r1, r2 int
}

// mark finds the consonant y's and the regions.
func (w *stemWord) mark(word string) {
	for i, c := range w.b {
		if c == 'y' && (i == 0 || isVowel(w.b[i-1])) {
			w.b[i] = 'Y'
		}
	}
	w.r1 = w.region(0)
	for _, prefix := range [...]string{"gener", "commun", "arsen"} {
		if strings.HasPrefix(word, prefix) {
			w.r1 = len(prefix)
		}
	}
	w.r2 = w.region(w.r1)
}

// region finds what follows the first non-vowel after a vowel, from start on.
func (w *stemWord) region(start int) int {
	for i := start + 1; i < len(w.b); i++ {
		if !isVowel(w.b[i]) && isVowel(w.b[i-1]) {
			return i + 1
		}
	}
	return len(w.b)
}

func isVowel(c byte) bool {
	switch c {
	case 'a', 'e', 'i', 'o', 'u', 'y':
		return true
	}
	return false
}

func (w *stemWord) has(suffix string) bool {
	n := len(w.b) - len(suffix)
	return n >= 0 && string(w.b[n:]) == suffix
}

// endsIn tells whether the last letter is one of letters.
func (w *stemWord) endsIn(letters string) bool {
	return len(w.b) > 0 && strings.IndexByte(letters, w.b[len(w.b)-1]) >= 0
}

// replace swaps the last n bytes for with.
func (w *stemWord) replace(n int, with string) {
	w.b = append(w.b[:len(w.b)-n], with...)
}

func (w *stemWord) vowelBefore(end int) bool {
	for _, c := range w.b[:max(end, 0)] {
		if isVowel(c) {
			return true
		}
	}
	return false
}

// shortSyllable tells whether the part up to end closes with a short syllable.
func (w *stemWord) shortSyllable(end int) bool {
	if end == 2 {
		return isVowel(w.b[0]) && !isVowel(w.b[1])
	}
	if end < 3 {
		return false
	}
	a, v, c := w.b[end-3], w.b[end-2], w.b[end-1]
	return !isVowel(a) && isVowel(v) && !isVowel(c) && c != 'w' && c != 'x' && c != 'Y'
}

func (w *stemWord) step1a() {
	n := len(w.b)
	switch {
	case w.has("sses"):
		w.replace(2, "")
	case w.has("ied"), w.has("ies"):
		if n > 4 {
			w.replace(2, "")
		} else {
			w.replace(1, "")
		}
	case w.has("us"), w.has("ss"):
	case w.has("s") && w.vowelBefore(n-2):
		w.replace(1, "")
	}
}

func (w *stemWord) step1b() {
	for _, s := range [...]string{"eedly", "eed"} {
		if w.has(s) {
			if len(w.b)-len(s) >= w.r1 {
				w.replace(len(s), "ee")
			}
			return
		}
	}
	for _, s := range [...]string{"ingly", "edly", "ing", "ed"} {
		if w.has(s) {
			if w.vowelBefore(len(w.b) - len(s)) {
				w.replace(len(s), "")
				w.afterStep1b()
			}
			return
		}
	}
}

// afterStep1b repairs what taking -ed or -ing off has left.
func (w *stemWord) afterStep1b() {
	n := len(w.b)
	switch {
	case w.has("at"), w.has("bl"), w.has("iz"):
		w.replace(0, "e")
	case n > 1 && w.b[n-1] == w.b[n-2] && strings.IndexByte("bdfgmnprt", w.b[n-1]) >= 0:
		w.replace(1, "")
	case w.r1 >= n && w.shortSyllable(n):
		w.replace(0, "e")
	}
}

func (w *stemWord) step1c() {
	n := len(w.b)
	if n > 2 && (w.b[n-1] == 'y' || w.b[n-1] == 'Y') && !isVowel(w.b[n-2]) {
		w.b[n-1] = 'i'
	}
}

// A suffixRule swaps a suffix for another.
type suffixRule struct{ suffix, with string }

// longest finds the rule with the longest suffix that w ends in; rules are
// sorted longest first.
func (w *stemWord) longest(rules []suffixRule) (suffixRule, bool) {
	for _, r := range rules {
		if w.has(r.suffix) {
			return r, true
		}
	}
	return suffixRule{}, false
}

func (w *stemWord) step2() {
	if !w.endsIn("ilmnrs") {
		return
	}
	r, ok := w.longest([]suffixRule{
		{"ational", "ate"}, {"ization", "ize"}, {"fulness", "ful"}, {"ousness", "ous"}, {"iveness", "ive"},
		{"tional", "tion"}, {"biliti", "ble"}, {"lessli", "less"},
		{"entli", "ent"}, {"ation", "ate"}, {"alism", "al"}, {"aliti", "al"}, {"ousli", "ous"}, {"iviti", "ive"}, {"fulli", "ful"},
		{"enci", "ence"}, {"anci", "ance"}, {"abli", "able"}, {"izer", "ize"}, {"ator", "ate"}, {"alli", "al"},
		{"bli", "ble"}, {"ogi", "og"}, {"li", ""},
	})
	start := len(w.b) - len(r.suffix)
	if !ok || start < w.r1 {
		return
	}
	if r.suffix == "ogi" && (start == 0 || w.b[start-1] != 'l') {
		return
	}
	if r.suffix == "li" && (start == 0 || strings.IndexByte("cdeghkmnrt", w.b[start-1]) < 0) {
		return
	}
	w.replace(len(r.suffix), r.with)
}

func (w *stemWord) step3() {
	if !w.endsIn("eils") {
		return
	}
	r, ok := w.longest([]suffixRule{
		{"ational", "ate"}, {"tional", "tion"}, {"alize", "al"}, {"icate", "ic"}, {"iciti", "ic"}, {"ative", ""},
		{"ical", "ic"}, {"ness", ""}, {"ful", ""},
	})
	start := len(w.b) - len(r.suffix)
	if !ok || start < w.r1 || r.suffix == "ative" && start < w.r2 {
		return
	}
	w.replace(len(r.suffix), r.with)
}

func (w *stemWord) step4() {
	if !w.endsIn("ceilmnrst") {
		return
	}
	r, ok := w.longest([]suffixRule{
		{"ement", ""}, {"ance", ""}, {"ence", ""}, {"able", ""}, {"ible", ""}, {"ment", ""},
		{"ant", ""}, {"ent", ""}, {"ism", ""}, {"ate", ""}, {"iti", ""}, {"ous", ""}, {"ive", ""}, {"ize", ""}, {"ion", ""},
		{"al", ""}, {"er", ""}, {"ic", ""},
	})
	start := len(w.b) - len(r.suffix)
	if !ok || start < w.r2 {
		return
	}
	if r.suffix == "ion" && (start == 0 || w.b[start-1] != 's' && w.b[start-1] != 't') {
		return
	}
	w.replace(len(r.suffix), "")
}

func (w *stemWord) step5() {
	n := len(w.b)
	switch {
	case w.has("e") && (n-1 >= w.r2 || n-1 >= w.r1 && !w.shortSyllable(n-1)):
		w.replace(1, "")
	case w.has("l") && n-1 >= w.r2 && n > 1 && w.b[n-2] == 'l':
		w.replace(1, "")
	}
}
