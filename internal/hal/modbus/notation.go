package modbus

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// modiconNotation recognises numbers such as 10001, 30001, 40001 and 400001, whose first digit names the table and whose rest
// counts from 1. Those of coils (00001) cannot be told from zero-based addresses.
func modiconNotation(n int64) (t table, zeroBased int64, is bool) {
	for _, base := range []int64{10000, 100000} {
		digit, rest := n/base, n%base
		if t, known := tableOfDigit(digit); known && digit > 0 && rest >= 1 && rest <= 65536 {
			return t, rest - 1, true
		}
	}
	return 0, 0, false
}

// tableOfDigit is the table that a leading digit names in notations such as 40001 and 4x0001.
func tableOfDigit(digit int64) (t table, known bool) {
	t, known = map[int64]table{0: coil, 1: discreteInput, 3: inputRegister, 4: holdingRegister}[digit]
	return t, known
}

// The notations of addresses that plants use and the inventory does not.
var (
	withX     = regexp.MustCompile(`^([0134])x+[-_ ]?0*(\d{1,6})$`)
	withWord  = regexp.MustCompile(`^(hr|ir|di|co|coil|%mw|%m)[-_ ]?(\d{1,5})$`)
	withH     = regexp.MustCompile(`^([0-9a-f]{1,4})h$`)
	bitBehind = regexp.MustCompile(`^(\d{1,6})[.:](\d{1,2})$`)
	onlyCount = regexp.MustCompile(`^\d{1,6}$`)
)

const addressHint = "write the zero-based address, such as 100, and bit: 0 to 15 for a single bit"

// addressProposal says how an address that is no whole number is to be written.
func addressProposal(text string, quoted bool) string {
	text = strings.ToLower(strings.TrimSpace(text))
	if m := withX.FindStringSubmatch(text); m != nil {
		t, _ := tableOfDigit(decimal(m[1]))
		return placeProposal(t, decimal(m[2])-1)
	}
	if m := withWord.FindStringSubmatch(text); m != nil {
		return wordProposal(m[1], decimal(m[2]))
	}
	if m := withH.FindStringSubmatch(text); m != nil {
		return "write address: 0x" + m[1]
	}
	if m := bitBehind.FindStringSubmatch(text); m != nil && decimal(m[2]) <= 15 {
		if m[2] == "0" { // spreadsheets put it behind whole numbers
			return numberProposal(decimal(m[1])) + ", and bit: 0 only if a single bit is meant"
		}
		return numberProposal(decimal(m[1])) + ", bit: " + strconv.FormatInt(decimal(m[2]), 10)
	}
	if !onlyCount.MatchString(text) {
		return addressHint
	}
	n := decimal(text)
	_, _, modicon := modiconNotation(n)
	switch {
	case len(text) >= 5 && text[0] == '0' && n > 0:
		return fmt.Sprintf("write address: %d; if it is coil %d in the notation that counts from 00001, %s", n, n, placeProposal(coil, n-1))
	case quoted && !modicon:
		return numberProposal(n) + ", without quotes"
	default:
		return numberProposal(n)
	}
}

// wordProposal is for notations whose words name the table. Those of controllers count from 0, lists of devices often from 1.
func wordProposal(word string, n int64) string {
	t := map[string]table{"hr": holdingRegister, "ir": inputRegister, "di": discreteInput, "%mw": holdingRegister}[word]
	if t == 0 {
		t = coil
	}
	text := placeProposal(t, n)
	if word[0] != '%' && n > 0 {
		text += fmt.Sprintf(", or %d if the list counts from 1", n-1)
	}
	return text
}

// numberProposal is for numbers that may be of the notation 40001.
func numberProposal(n int64) string {
	if t, zeroBased, is := modiconNotation(n); is {
		return placeProposal(t, zeroBased)
	}
	return fmt.Sprintf("write address: %d", n)
}

func placeProposal(t table, zeroBased int64) string {
	if zeroBased < 0 {
		return addressHint
	}
	return fmt.Sprintf("write table: %s, address: %d", t, zeroBased)
}

// decimal reads digits that a pattern has bounded.
func decimal(digits string) int64 {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// tableProposal is the table that a foreign word means; "" when it is not known.
func tableProposal(word string) string {
	word = strings.ToLower(word)
	if len(word) > 1 && word[1] == 'x' {
		if t, known := tableOfDigit(int64(word[0]) - '0'); known {
			return "write " + t.String()
		}
	}
	for _, t := range tableNames() {
		if len(word) > 3 && strings.HasPrefix(t, strings.TrimSuffix(word, "s")) {
			return fmt.Sprintf("did you mean %q?", t)
		}
	}
	return map[string]string{"hr": "write holding_register", "ir": "write input_register", "di": "write discrete_input", "co": "write coil"}[word]
}

// typeProposal is the type that a word of controllers and programming languages mostly means; "" when it is not known.
func typeProposal(word string) string {
	word = strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "").Replace(word))
	for name, words := range map[string]string{
		"uint16": "word uint u16 ushort unsigned unsignedint unsignedshort", "int16": "int i16 s16 short sint16 integer signed",
		"uint32": "dword udint u32 ulong unsignedlong", "int32": "dint i32 s32 long sint32",
		"uint64": "lword qword ulint u64 ulonglong", "int64": "lint i64 s64 longlong",
		"float32": "float real f32 single", "float64": "double lreal f64", "float16": "half f16",
		"uint8": "byte u8 usint", "int8": "sint i8 s8", "string": "text char ascii", "bcd16": "bcd",
	} {
		for w := range strings.FieldsSeq(words) {
			if w == word {
				return "write " + name
			}
		}
	}
	if word == "bool" || word == "boolean" {
		return "leave type out and write bit: 0 to 15"
	}
	return ""
}

// orderProposal says how an order is to be written for a type of so many bytes.
func orderProposal(word string, size int) string {
	word = strings.ToUpper(word)
	if size <= 2 {
		switch word {
		case "ABCD", "CDAB", "ABCDEFGH", "GHEFCDAB":
			return "16 bits have two bytes: leave byte_order out"
		case "BADC", "DCBA", "BADCFEHG", "HGFEDCBA":
			return "16 bits have two bytes: write BA"
		}
		return "write AB (the usual one, or leave it out) or BA"
	}
	four := map[string]string{"ABCDEFGH": "ABCD", "GHEFCDAB": "CDAB", "BADCFEHG": "BADC", "HGFEDCBA": "DCBA"}[word]
	if four != "" {
		return "write " + four + ", which stands for the same pattern over all registers"
	}
	return "write ABCD (high word first), CDAB (low word first), BADC or DCBA, as the manual says"
}
