package resolve

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func texts(tokens []token) string {
	var out []string
	for _, t := range tokens {
		if !t.stop {
			out = append(out, t.text)
		}
	}
	return strings.Join(out, " ")
}

func TestTokens(t *testing.T) {
	for src, want := range map[string]string{
		"":                            "",
		"XV-03":                       "xv 3 xv3",
		"xv_003":                      "xv 3 xv3",
		"ＸＶ－０３":                       "xv 3 xv3",
		"PS07-FCV-04":                 "ps 7 fcv 4 ps7fcv4",
		"set_discharge_valve":         "set discharg valv setdischargevalv",
		"getHTTPServerURLs":           "get http server url gethttpserverurl",
		"kW, mA and pH":               "kw ma ph",
		"21.5 °C at 60%":              "21.5 ° c 60 %",
		"６０％":                         "60 %",
		"21.5℃":                       "21.5 ° c",
		"120 m³/h":                    "120 m3 h m3h",
		"2023-05-10":                  "2023 5 10 2023510",
		"opens, opened; opening":      "open open open",
		"the pump's valve isn't":      "pump valv isn",
		"can the CAN bus do it":       "can bus",
		"Öffne Füllstände":            "offn oeffn fullstand fuellstaend",
		"Straße, Überdruck":           "strass uberdruck ueberdruck",
		"café naïve Ørsted":           "cafe naiv orst",
		"cafe\u0301":                  "cafe",
		"把出口阀开到60%":                   "出口 口阀 阀开 开到 60 %",
		"阀":                           "阀",
		"请启动3号泵":                      "启动 3 号泵",
		"CAN总线":                       "can 总线",
		"ポンプを停止":                      "ポン ンプ プを を停 停止",
		"valve\xff\xfepump":           "valv pump",
		"a/b/c/d/e/f/g/h/i":           "a b c d e f g h i",
		"- _ . / : ' \" {\"x\":null}": "x null",
	} {
		var tk tokenizer
		tk.tokenize(src)
		if got := texts(tk.tokens); got != want {
			t.Errorf("%q: got %q, want %q", src, got, want)
		}
	}
}

// TestStem takes its pairs from the vocabulary published with the algorithm.
func TestStem(t *testing.T) {
	for word, want := range map[string]string{
		"consign": "consign", "consigned": "consign", "consistency": "consist", "consolation": "consol",
		"knightly": "knight", "knocked": "knock", "knowledge": "knowledg", "generate": "generat", "generic": "generic",
		"communication": "communic", "hopping": "hop", "hoping": "hope", "luxuriated": "luxuri", "ties": "tie",
		"cries": "cri", "gas": "gas", "gaps": "gap", "kiwis": "kiwi", "by": "by", "say": "say", "cry": "cri", "bodily": "bodili",
		"skies": "sky", "news": "news", "proceed": "proceed", "succeeding": "succeed", "agreed": "agre",
		"relational": "relat", "conditional": "condit", "rational": "ration", "analogy": "analog", "differently": "differ",
		"electrical": "electr", "goodness": "good", "formative": "format", "adjustment": "adjust", "adoption": "adopt",
		"humidity": "humid", "controlling": "control", "rate": "rate", "cease": "ceas", "youth": "youth", "eye": "eye",
		"ab": "ab", "naïve": "naïve", "rpm3": "rpm3",
	} {
		if got := stem(word); got != want {
			t.Errorf("stem(%q) = %q, want %q", word, got, want)
		}
	}
}

func FuzzTokenize(f *testing.F) {
	for _, s := range []string{"XV-03 öffnen", "把出口阀开到60%", "\u0301-\u0308", "İSTANBUL_ventil", "x'll'", "１．５", "\xe9\x98"} {
		f.Add(s)
	}
	th := newThesaurus(synonymTable)
	f.Fuzz(func(t *testing.T, src string) {
		tokens := slices.Clone(th.analyze(&tokenizer{}, src))
		for _, tok := range tokens {
			if tok.start < 0 || tok.end > len(src) || tok.start >= tok.end {
				t.Fatalf("token %+v lies outside of %q", tok, src)
			}
			if tok.text == "" || !utf8.ValidString(tok.text) {
				t.Fatalf("token %+v has no valid text", tok)
			}
		}
		var used tokenizer
		used.tokenize("something_else before, 阀门")
		if again := th.analyze(&used, src); !slices.Equal(tokens, again) {
			t.Fatalf("a used tokenizer cuts %q another way", src)
		}
	})
}

func FuzzStem(f *testing.F) {
	f.Add("yyyingly")
	f.Add("sses")
	f.Fuzz(func(t *testing.T, word string) {
		if got := stem(word); len(got) > len(word)+1 || word != "" && got == "" {
			t.Errorf("stem(%q) = %q", word, got)
		}
	})
}
