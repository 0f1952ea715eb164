package registerlist

import "regexp"

// orderWord is a way to write an order and what it means, of bytes and of words. Empty means that it is written, but can mean several.
type orderWord struct {
	pattern     *regexp.Regexp
	bytes, word string
}

// orderReader reads orders; the first word that is found counts.
type orderReader struct {
	words  []orderWord
	behind *regexp.Regexp // a type with its order behind its width, as float32be
}

// newOrderReader holds the words. Letters and digits name bytes, the most significant first: ABCD and 1234 send the high word first.
func newOrderReader() orderReader {
	word := func(bytes, words, pattern string) orderWord {
		return orderWord{regexp.MustCompile(pattern), bytes, words}
	}
	return orderReader{
		behind: regexp.MustCompile(`^(.*\d)[ _-]?(be|le|sw|sb)$`),
		words: []orderWord{
			word("ABCD", "ABCD", `\bab[ _-]*cd(?:[ _-]*ef[ _-]*gh)?\b|\b12[ _-]*34\b|\b0[ ,_-]1[ ,_-]2[ ,_-]3\b|\b1[ ,_-]2[ ,_-]3[ ,_-]4\b`),
			word("CDAB", "CDAB", `\b(?:gh[ _-]*ef[ _-]*)?cd[ _-]*ab\b|\b34[ _-]*12\b|\b3[ ,_-]4[ ,_-]1[ ,_-]2\b|\b2[ ,_-]3[ ,_-]0[ ,_-]1\b`),
			word("BADC", "BADC", `\bba[ _-]*dc(?:[ _-]*fe[ _-]*hg)?\b|\b21[ _-]*43\b|\b2[ ,_-]1[ ,_-]4[ ,_-]3\b|\b1[ ,_-]0[ ,_-]3[ ,_-]2\b`),
			word("DCBA", "DCBA", `\b(?:hg[ _-]*fe[ _-]*)?dc[ _-]*ba\b|\b43[ _-]*21\b|\b4[ ,_-]3[ ,_-]2[ ,_-]1\b|\b3[ ,_-]2[ ,_-]1[ ,_-]0\b`),
			word("DCBA", "DCBA", `(words?|registers?)[ _-]*(and|\+|&|/)[ _-]*bytes?[ _-]*swap(ped)?|bytes?[ _-]*(and|\+|&|/)[ _-]*words?[ _-]*swap(ped)?`),
			word("BADC", "BADC", `bytes?[ _-]*swap(ped)?|swap(ped)?[ _-]*bytes?`),
			word("CDAB", "CDAB", `(words?|registers?)[ _-]*swap(ped)?|swap(ped)?[ _-]*(words?|registers?)|low[ _-]*word[ _-]*first|ls[wr][ _-]*first|\blo[ /_-]*hi\b|low[ /_-]*high|low[ _-]*word[ _-]*high`+
				`|低字在前|低字优先|字交换|字互换|niederwertiges wort zuerst|low[ -]wort zuerst`),
			word("ABCD", "ABCD", `big[ _-]*endian|high[ _-]*word[ _-]*first|ms[wr][ _-]*first|\bhi[ /_-]*lo\b|high[ /_-]*low|大端|高字在前|高字优先|höherwertiges wort zuerst|high[ -]wort zuerst|motorola`),
			word("", "CDAB", `little[ _-]*endian|小端|低位在前|intel`),
			word("", "ABCD", `高位在前`),
			word("CDAB", "CDAB", `\bswap(ped)?\b|交换`),
			word("", "", `\binvers(e|ed)?\b|\binverted\b|\breversed?\b|反序|逆序|ms[b][ _-]*first|ls[b][ _-]*first|高字节在前|低字节在前`),
		},
	}
}

// read looks for an order in a folded text. unclear is what was written when it can mean several; rest is the text without it.
// wordwise says that the text is about words only, so that "little endian" means the low word first.
func (o orderReader) read(text string, wordwise bool) (order, unclear, rest string) {
	if m := o.behind.FindStringSubmatch(text); m != nil {
		order = map[string]string{"be": "ABCD", "sw": "CDAB", "sb": "BADC"}[m[2]]
		if order == "" {
			unclear = m[2]
		}
		return order, unclear, m[1]
	}
	if named := o.spelled(text); len(named) > 1 {
		return "", clip(text), text
	}
	for _, w := range o.words {
		at := w.pattern.FindStringIndex(text)
		if at == nil {
			continue
		}
		if order = w.bytes; wordwise {
			order = w.word
		}
		if order == "" {
			unclear = text[at[0]:at[1]]
		}
		return order, unclear, text[:at[0]] + " " + text[at[1]:]
	}
	return "", "", text
}

// spelled are the orders that a text spells in letters or digits.
func (o orderReader) spelled(text string) (names []string) {
	for _, w := range o.words[:4] {
		if w.pattern.MatchString(text) {
			names = append(names, w.bytes)
		}
	}
	return names
}
