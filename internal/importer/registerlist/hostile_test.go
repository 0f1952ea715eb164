package registerlist

import (
	"fmt"
	"strings"
	"testing"
)

// point reads a list whose first point it describes: place, type and order, scale and unit.
func firstPoint(t *testing.T, text string) (described, problems string) {
	t.Helper()
	l, ps := readText(text, Options{})
	if len(l.Points) == 0 {
		t.Fatalf("%s\n%v", text, ps)
	}
	p := l.Points[0]
	return strings.TrimSpace(fmt.Sprintf("%s %d %s %s scale=%s %s", p.Table, p.Address, p.Type, p.Order, p.Scale, p.Unit)), ps.Error()
}

func TestTheMeaningOfAListIsNotGuessedWrong(t *testing.T) {
	for name, c := range map[string]struct{ text, want, problem string }{
		"INT16U is unsigned":       {"Address,Type\n5,INT16U", "holding_register 5 uint16  scale=", ""},
		"INT32U is unsigned":       {"Address,Type\n5,INT32U", "holding_register 5 uint32  scale=", ""},
		"INT8U is unsigned":        {"Address,Type\n5,INT8U", "holding_register 5 uint8  scale=", ""},
		"INT_U is unsigned":        {"Address,Type\n5,INT_U", "holding_register 5 uint16  scale=", ""},
		"S16 is signed":            {"Address,Type\n5,S16", "holding_register 5 int16  scale=", ""},
		"a start and a count":      {"Tag,Start,Registers,Type\nA,100,2,float32", "holding_register 100 float32  scale=", ""},
		"a title above the header": {"Input registers\nTag,Address,Type\nA,0,uint16", "input_register 0 uint16  scale=", ""},
		"titles above the header":  {"Holding registers\n\nInput registers (read only)\nTag,Address,Type\nA,0,uint16", "input_register 0 uint16  scale=", ""},
		"a title of two tables":    {"Input registers and holding registers\nTag,Address,Type\nA,0,uint16", "holding_register 0 uint16  scale=", ""},
		"a title and a notation":   {"Input registers\nTag,Address,Type\nA,40001,uint16", "holding_register 0 uint16  scale=", ""},
		"a title of something":     {"Analog input module 7\nTag,Address,Type\nA,0,uint16", "holding_register 0 uint16  scale=", ""},
		"a power of ten, said so":  {"Tag,Address,Type,Scale factor (10^n),Unit\nA,5,int16,-2,V", "holding_register 5 int16  scale=0.01 V", ""},
		"an exponent of zero":      {"Tag,Address,Type,Exponent,Unit\nA,5,int16,0,V", "holding_register 5 int16  scale= V", ""},
		"a negative whole scale":   {"Tag,Address,Type,Scale,Unit\nA,5,int16,-2,V", "holding_register 5 int16  scale=", "-2 may be a power of ten or a factor; write 0.01 or -2.0"},
		"a negative factor":        {"Tag,Address,Type,Scale,Unit\nA,5,int16,-0.1,V", "holding_register 5 int16  scale=-0.1 V", ""},
		"an inverted value":        {"Tag,Address,Type,Scale,Unit\nA,5,int16,-1.0,V", "holding_register 5 int16  scale=-1 V", ""},
		"a factor and a divisor":   {"Tag,Address,Type,Multiplier,Divisor\nA,5,uint16,1,100", "holding_register 5 uint16  scale=0.01", ""},
		"both of them the same":    {"Tag,Address,Type,Multiplier,Divisor\nA,5,uint16,10,10", "holding_register 5 uint16  scale=", ""},
		"a divisor that is none":   {"Tag,Address,Type,Multiplier,Divisor,Unit\nA,5,uint16,10,x,V", "holding_register 5 uint16  scale=", `"x" is no scale`},
		"a function of no table":   {"Tag,Address,Type,Function\nA,5,uint16,43", "holding_register 5 uint16  scale=", `"43" is no function that reads a table; write 1, 2, 3 or 4`},
		"a digit for a table":      {"Tag,Table,Address,Type\nA,3,5,uint16", "holding_register 5 uint16  scale=", `"3" may be function 3 (holding_register) or the 3 of 30001 (input_register)`},
		"two orders":               {"Tag,Address,Type,Byte Order\nA,5,float32,CDAB / ABCD", "holding_register 5 float32  scale=", ""},
		"an order in digits":       {"Tag,Address,Type,Byte Order\nA,5,float32,3-4-1-2", "holding_register 5 float32 CDAB scale=", ""},
		"an order of 64 bits":      {"Tag,Address,Type,Byte Order\nA,5,uint64,GHEFCDAB", "holding_register 5 uint64 CDAB scale=", ""},
		"bytes of 64 bits":         {"Tag,Address,Type,Byte Order\nA,5,uint64,BADCFEHG", "holding_register 5 uint64 BADC scale=", ""},
	} {
		got, problems := firstPoint(t, c.text)
		if got != c.want || (c.problem == "") != (problems == "") || !strings.Contains(problems, c.problem) {
			t.Errorf("%s\n got %s, %q\nwant %s, %q", name, got, problems, c.want, c.problem)
		}
	}
}

func TestAWorkbookIsToldFromAList(t *testing.T) {
	for data, want := range map[string]string{
		"PK\x03\x04\x14\x00\x06\x00":       "is a workbook of Excel; save it there as \"CSV UTF-8\"",
		"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1": "is a workbook of Excel",
		"%PDF-1.4\nAddress;Type\n1;uint16": "is a PDF",
	} {
		l, ps := readText(data, Options{})
		if len(l.Points) != 0 || !strings.Contains(ps.Error(), want) {
			t.Errorf("%q: %v", data, ps)
		}
	}
}
