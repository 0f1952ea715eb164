package registerlist

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// kind is what a type holds.
type kind uint8

const (
	kindNone kind = iota
	kindBool
	kindUnsigned
	kindSigned
	kindFloat
	kindBCD
	kindText
)

// valueType is the type of a row as its cell says it.
type valueType struct {
	kind    kind
	bits    int  // width; of a text, 8 for every byte when the cell gives its length
	loose   bool // the width is only what the name means on most controllers: INT over two registers is 32 bits wide
	order   string
	unclear string // what was written about the order, when it can mean several
}

// typeNames are the short spellings, without blanks and punctuation. The rest is read by its words.
func typeNames() map[string]valueType {
	names := map[string]valueType{}
	add := func(t valueType, spellings ...string) {
		for _, s := range spellings {
			names[s] = t
		}
	}
	add(valueType{kind: kindBool, bits: 1}, "bool", "boolean", "bit", "bin", "binary", "digital", "flag", "x", "bo", "di", "do", "binär", "布尔", "布尔型", "布尔量", "位", "开关量", "数字量", "位变量", "开关")
	add(valueType{kind: kindSigned, bits: 16, loose: true}, "int", "integer", "signed", "short", "signedint", "signedinteger", "i", "sint", "整型", "整数", "整形", "有符号", "有符号整型", "有符号整数", "ganzzahl", "signedshort")
	add(valueType{kind: kindSigned, bits: 16}, "s16", "i16", "int16", "sint16", "短整型", "signed16", "int16t", "16bitint", "单字有符号")
	add(valueType{kind: kindUnsigned, bits: 16, loose: true}, "uint", "unsigned", "word", "ushort", "unsignedint", "unsignedinteger", "unsignedshort", "w", "ui", "enum", "enumeration", "bitfield", "bitmap", "bitmask", "bitmapped", "flags", "hex",
		"wort", "aufzählung", "无符号", "无符号整型", "无符号整数", "字", "单字", "枚举", "十六进制", "无符号短整型")
	add(valueType{kind: kindUnsigned, bits: 16}, "u16", "uint16", "ui16", "unsigned16", "uint16t", "enum16", "bitfield16", "word16", "16bit", "16bits", "acc16", "16位")
	add(valueType{kind: kindSigned, bits: 16}, "sunssf")
	add(valueType{kind: kindSigned, bits: 32}, "dint", "int32", "s32", "i32", "long", "longint", "signedlong", "sint32", "signed32", "int32t", "doubleint", "doubleinteger", "longinteger", "lang", "双整型", "长整型", "双字整型", "双整数", "长整数", "有符号长整型", "双字有符号")
	add(valueType{kind: kindUnsigned, bits: 32}, "udint", "uint32", "u32", "ui32", "ulong", "unsignedlong", "dword", "doubleword", "longword", "unsigned32", "uint32t", "enum32", "bitfield32", "acc32", "doppelwort", "32bit", "32bits", "双字", "无符号长整型", "无符号双整型", "32位", "双字无符号", "dw", "2word", "2words")
	add(valueType{kind: kindSigned, bits: 64}, "lint", "int64", "s64", "i64", "longlong", "sint64", "signed64", "int64t")
	add(valueType{kind: kindUnsigned, bits: 64}, "ulint", "uint64", "u64", "ui64", "lword", "qword", "ulonglong", "unsigned64", "uint64t", "acc64", "64bit", "四字", "64位")
	add(valueType{kind: kindSigned, bits: 8}, "int8", "s8", "i8", "sint8", "signed8", "int8t", "signedbyte", "signedchar")
	add(valueType{kind: kindUnsigned, bits: 8}, "usint", "uint8", "u8", "ui8", "byte", "unsigned8", "uint8t", "unsignedbyte", "unsignedchar", "字节", "8bit", "8位")
	add(valueType{kind: kindFloat, bits: 32, loose: true}, "float", "floatingpoint", "浮点", "浮点数", "浮点型", "浮点值", "ieee754", "ieee", "fliesskomma", "fließkomma", "gleitkomma", "f", "flt", "实数", "realzahl", "浮点类型")
	add(valueType{kind: kindFloat, bits: 32}, "real", "float32", "f32", "single", "real32", "real4", "float4", "ieee754float", "单精度", "单精度浮点", "单精度浮点数", "32位浮点", "32位浮点数", "float32t", "singlefloat", "ieee32")
	add(valueType{kind: kindFloat, bits: 64}, "lreal", "double", "float64", "f64", "real64", "doublefloat", "双精度", "双精度浮点", "双精度浮点数", "real8", "64位浮点数", "longreal")
	add(valueType{kind: kindFloat, bits: 16}, "float16", "f16", "half", "halffloat", "半精度")
	add(valueType{kind: kindBCD, bits: 16, loose: true}, "bcd", "bcd码")
	add(valueType{kind: kindBCD, bits: 16}, "bcd16", "bcd4")
	add(valueType{kind: kindBCD, bits: 32}, "bcd32", "bcd8", "dbcd")
	add(valueType{kind: kindText}, "string", "str", "text", "char", "chars", "ascii", "utf8", "varchar", "character", "characters", "zeichenkette", "zeichen", "字符串", "字符", "字符型", "octetstring", "visiblestring", "asciistring")
	return names
}

// typeReader reads the types of one list.
type typeReader struct {
	names  map[string]valueType
	orders orderReader
}

func newTypeReader() typeReader { return typeReader{names: typeNames(), orders: newOrderReader()} }

var (
	numberIn  = regexp.MustCompile(`(\d+)\s*(bytes?|字节|registers?|regs?|words?|寄存器)?`)
	lengthIn  = regexp.MustCompile(`[\[( *]\s*(\d{1,3})\s*(bytes?|chars?|zeichen|字节|字符|registers?|reg|words?|寄存器)?\s*[\])]?$`)
	blanks    = regexp.MustCompile(`[^\p{L}\p{N}]+`)
	unsigned  = regexp.MustCompile(`unsigned|\bu(int|dint|sint|lint|long|short)|\bu\d|\bui\d|\bint[ _]?\d*[ _]?u\b|无符号|vorzeichenlos|ohne vorzeichen`)
	signed    = regexp.MustCompile(`signed|int|有符号|vorzeichen|long|整|\b[si]\d`)
	wordlike  = regexp.MustCompile(`word|wort|字|enum|bitfield|bitmap|bitmask|flags|hex|\bbits?\b|位`)
	floating  = regexp.MustCompile(`float|real|floating|gleitkomma|fließkomma|fliesskomma|浮点|ieee|实数`)
	doubling  = regexp.MustCompile(`double|lreal|双精度|\blong real`)
	dwordlike = regexp.MustCompile(`double ?(word|int)|dword|dint|\blong\b|双字|双整|长整|doppelwort`)
	texting   = regexp.MustCompile(`string|char|ascii|text|utf-?8|字符|zeichenkette|(^|[^v] )zeichen`)
	booling   = regexp.MustCompile(`bool|布尔|开关量`)
)

// read reads a type; ok is false when it is unknown.
func (r typeReader) read(text string) (t valueType, ok bool) {
	folded := strings.ToLower(strings.TrimSpace(norm.NFKC.String(text)))
	if folded == "" || len(folded) > 100 {
		return t, false
	}
	if t, ok = r.names[blanks.ReplaceAllString(folded, "")]; ok {
		return t, true
	}
	order, unclear, rest := r.orders.read(folded, false)
	if t, ok = r.words(rest); !ok {
		return t, false
	}
	t.order, t.unclear = order, unclear
	return t, true
}

// words reads a type that is no short spelling, such as "32 bit unsigned", "STRING[20]" or "浮点数 (32位)".
func (r typeReader) words(text string) (valueType, bool) {
	short := blanks.ReplaceAllString(text, "")
	if t, ok := r.names[short]; ok {
		return t, true
	}
	if texting.MatchString(text) {
		return valueType{kind: kindText, bits: textBits(text)}, true
	}
	t := valueType{bits: 16, loose: true}
	switch {
	case booling.MatchString(text):
		return valueType{kind: kindBool, bits: 1}, true
	case strings.Contains(text, "bcd"):
		t.kind = kindBCD
	case floating.MatchString(text) || doubling.MatchString(text) && !dwordlike.MatchString(text):
		if t.kind, t.bits = kindFloat, 32; doubling.MatchString(text) {
			t.bits, t.loose = 64, false
		}
	case unsigned.MatchString(text):
		t.kind = kindUnsigned
	case signed.MatchString(text) && !strings.Contains(text, "unsigned"):
		t.kind = kindSigned
	case wordlike.MatchString(text):
		t.kind = kindUnsigned
	default:
		return t, false
	}
	if bits := widthIn(text); bits != 0 {
		t.bits, t.loose = bits, false
	} else if t.kind != kindFloat && dwordlike.MatchString(text) {
		t.bits, t.loose = 32, false
	}
	return t, t.name() != ""
}

// widthIn is the width that the first number of a text gives, 0 when there is none.
func widthIn(text string) int {
	m := numberIn.FindStringSubmatch(strings.ReplaceAll(text, "754", ""))
	switch {
	case m == nil:
		return 0
	case strings.HasPrefix(m[2], "b") || m[2] == "字节":
		return 8 * number(m[1])
	case m[2] != "":
		return 16 * number(m[1])
	}
	return number(m[1])
}

// textBits is the length of a text that its type gives, as "STRING[20]" or "ASCII 8 registers" do; 0 when it gives none.
func textBits(text string) int {
	m := lengthIn.FindStringSubmatch(text)
	switch {
	case m == nil:
		return 0
	case strings.HasPrefix(m[2], "reg") || strings.HasPrefix(m[2], "word") || m[2] == "寄存器":
		return 16 * number(m[1])
	}
	return 8 * number(m[1])
}

// name is the type as the inventory names it; "" when it has none of that width.
func (t valueType) name() string {
	prefix := map[kind]string{kindUnsigned: "uint", kindSigned: "int", kindFloat: "float", kindBCD: "bcd"}[t.kind]
	switch t.kind {
	case kindNone:
		return ""
	case kindBool:
		return "bit"
	case kindText:
		return "string"
	}
	widths := map[kind][]int{kindUnsigned: {8, 16, 32, 64}, kindSigned: {8, 16, 32, 64}, kindFloat: {16, 32, 64}, kindBCD: {16, 32}}[t.kind]
	if !slices.Contains(widths, t.bits) {
		return ""
	}
	return fmt.Sprintf("%s%d", prefix, t.bits)
}

// over fits the type to the registers that the row gives, 0 when it gives none.
func (t valueType) over(registers int) (valueType, string, error) {
	need := max(1, (t.bits+15)/16)
	switch {
	case registers == 0 || t.kind == kindNone:
		return t, "", nil
	case t.kind == kindText:
		if t.bits == 0 || t.bits > 16*registers {
			t.bits = 16 * registers
		}
		return t, "", nil
	case t.kind == kindBool && registers == 1 || registers == need:
		return t, "", nil
	case t.loose && (registers == 2 || registers == 4):
		was := t.name()
		if t.bits = 16 * registers; t.name() == "" {
			break
		}
		return t, fmt.Sprintf("the list gives %d registers, so %s was taken instead of %s", registers, t.name(), was), nil
	}
	return t, "", fmt.Errorf("the type takes %d registers, but the row gives %d; correct one of them", need, registers)
}
