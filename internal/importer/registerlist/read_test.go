package registerlist

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"

	"capd/internal/document"
)

func readText(text string, o Options) (List, document.Problems) {
	return Read("list.csv", []byte(text), o)
}

func TestAddressesInEveryNotation(t *testing.T) {
	for _, c := range []struct{ written, want string }{
		{"100", "holding_register 100"},
		{"0x0064", "holding_register 100"}, {"0064h", "holding_register 100"}, {"&H64", "holding_register 100"}, {"16#64", "holding_register 100"}, {"$64", "holding_register 100"},
		{"400001", "holding_register 0"}, {"300014", "input_register 13"}, {"100003", "discrete_input 2"}, {"000005", "coil 4"},
		{"4x0001", "holding_register 0"}, {"4X 0001", "holding_register 0"}, {"3x14", "input_register 13"}, {"1x0003", "discrete_input 2"},
		{"HR100", "holding_register 100"}, {"IR 14", "input_register 14"}, {"DI3", "discrete_input 3"}, {"CO5", "coil 5"}, {"Holding Register 7", "holding_register 7"}, {"[HR-9]", "holding_register 9"},
		{"%MW100", "holding_register 100"}, {"%M10", "coil 10"},
		{"100.5", "holding_register 100 bit 5"}, {"100.10", "holding_register 100 bit 10"}, {"100,5", "holding_register 100 bit 5"}, {"100:5", "holding_register 100 bit 5"}, {"100 Bit 5", "holding_register 100 bit 5"},
		{"100.b5", "holding_register 100 bit 5"}, {"100/5", "holding_register 100 bit 5"}, {"100第5位", "holding_register 100 bit 5"}, {"HR100.0", "holding_register 100 bit 0"}, {"0x64.3", "holding_register 100 bit 3"},
		{"10-11", "holding_register 10 +1"}, {"10/11", "holding_register 10 +1"}, {"10,11", "holding_register 10 +1"}, {"100~101", "holding_register 100 +1"}, {"100至101", "holding_register 100 +1"}, {"100-01", "holding_register 100 +1"},
		{"0x10-0x11", "holding_register 16 +1"}, {"HR10-HR11", "holding_register 10 +1"},
		{"１００", "holding_register 100"}, {"'100", "holding_register 100"}, {"1.234", "holding_register 1234"},
		{"100.H", "holding_register 100 high"}, {"100 low byte", "holding_register 100 low"},
		{"", "error"}, {"abc", "error"}, {"100.16", "error"}, {"%MD5", "error"}, {"1e3", "error"}, {"70000", "error"}, {"-5", "error"}, {"D100", "error"}, {"12-9", "error"}, {"HR", "error"}, {"100.5.3", "error"},
	} {
		r := addressReader{tables: tableWords()}
		w, err := r.read(c.written)
		got := "error"
		if err == nil {
			if table, address, err := (Numbering{Base: Zero}).place(w, evidence{}, ""); err == nil {
				if table == "" {
					table = holdingRegister
				}
				got = fmt.Sprintf("%s %d", table, address)
				if w.bit >= 0 {
					got += fmt.Sprintf(" bit %d", w.bit)
				}
				if w.last > 0 {
					got += fmt.Sprintf(" +%d", w.last)
				}
				if w.half != "" {
					got += " " + w.half
				}
			}
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s (%v)", c.written, got, c.want, err)
		}
	}
}

func TestTheBaseIsGuessedForTheListAsAWhole(t *testing.T) {
	for _, c := range []struct {
		name, rows, first string
		certain           bool
	}{
		{"five digits", "40001,int16 40002,int16 30001,int16", "holding_register 0", false},
		{"five digits and a coil whose zeros a spreadsheet cut", "1,bool 10001,bool 40001,int16", "coil 0", false},
		{"five digits that would be below the first", "40000,int16 40001,int16", "holding_register 40000", false},
		{"five digits beside what they cannot be", "40001,int16 50001,int16", "holding_register 40001", false},
		{"a zero", "1,int16 0,int16", "holding_register 1", true},
		{"the smallest is one", "1,int16 2,int16", "holding_register 0", false},
		{"nothing", "5,int16 8,int16", "holding_register 5", false},
		{"pairs at odd numbers", "3,float 5,float 7,float", "holding_register 2", false},
		{"pairs at even numbers", "2,float 4,float 6,float 1,int16", "holding_register 2", false},
		{"beside six digits", "100,int16 400001,int16", "holding_register 99", false},
		{"six digits with a round one", "400000,int16 400001,int16", "holding_register 0", true},
		{"4x with a round one", "4x0000,int16 4x0001,int16", "holding_register 0", true},
		{"0x beside 4x is a coil", "0x0010,bool 4x0001,int16", "coil 9", true},
		{"0x alone is hexadecimal", "0x0010,int16 0x0012,int16", "holding_register 16", true},
		{"hexadecimal without a mark", "00E5,int16 00A1,int16 0100,int16", "holding_register 229", true},
		{"beside hexadecimal", "7,int16 0x0012,int16", "holding_register 7", false},
	} {
		l, ps := readText("Address,Type\n"+strings.ReplaceAll(c.rows, " ", "\n"), Options{})
		if len(l.Points) == 0 || ps.Err() != nil {
			t.Errorf("%s: %v", c.name, ps)
			continue
		}
		p := l.Points[0]
		if got := fmt.Sprintf("%s %d", p.Table, p.Address); got != c.first || l.Numbering.Certain != c.certain || l.Numbering.Why == "" {
			t.Errorf("%s: %s, want %s; %+v", c.name, got, c.first, l.Numbering)
		}
	}
}

func TestTheBaseCanBeForced(t *testing.T) {
	for _, c := range []struct {
		base          Base
		number, first string
	}{
		{Zero, "40001", "holding_register 40001"}, {One, "40002", "holding_register 40001"}, {Modicon, "40001", "holding_register 0"},
		{Zero, "1", "holding_register 1"}, {One, "1", "holding_register 0"}, {One, "0x10", "holding_register 15"}, {Zero, "400001", "holding_register 1"},
	} {
		l, ps := readText("Address,Type\n"+c.number+",int16", Options{Base: c.base})
		if len(l.Points) != 1 || len(ps) != 0 {
			t.Errorf("%s %s: %v", c.base, c.number, ps)
			continue
		}
		if p := l.Points[0]; fmt.Sprintf("%s %d", p.Table, p.Address) != c.first {
			t.Errorf("%s %s: %s %d, want %s", c.base, c.number, p.Table, p.Address, c.first)
		}
	}
}

// TestAFewContradictionsAreSlips keeps one mistaken row from turning the meaning of all others.
func TestAFewContradictionsAreSlips(t *testing.T) {
	rows := "Address,Type,FC\n"
	for i := range 20 {
		rows += fmt.Sprintf("4%04d,int16,3\n", i+1)
	}
	l, ps := readText(rows+"40021,int16,4\n", Options{})
	if len(l.Points) != 20 || len(ps) != 1 || ps[0].Pos.Line != 22 || l.Numbering.Base != Modicon {
		t.Errorf("%d points, base %s, %v", len(l.Points), l.Numbering.Base, ps)
	}
}

func TestEncodingsAreFoundOut(t *testing.T) {
	german, chinese := "Tag;Adresse;Einheit\nFüllstand Größe;1;°C\n", "标签;地址;单位\n出口压力;1;℃\n水泵运行频率;2;Hz\n"
	w1252, err := charmap.Windows1252.NewEncoder().String(german)
	if err != nil {
		t.Fatal(err)
	}
	gb, err := simplifiedchinese.GB18030.NewEncoder().String(chinese)
	if err != nil {
		t.Fatal(err)
	}
	utf16 := func(text string, high int) string {
		var b strings.Builder
		for _, r := range text {
			pair := [2]byte{byte(r), byte(r >> 8)}
			b.WriteByte(pair[high])
			b.WriteByte(pair[1-high])
		}
		return b.String()
	}
	for _, c := range []struct{ name, data, text, want string }{
		{"utf-8", german, german, utf8Name}, {"utf-8 with a mark", "\xEF\xBB\xBF" + chinese, chinese, utf8Name},
		{"windows-1252", w1252, german, windows1252}, {"gb18030", gb, chinese, gb18030},
		{"utf-16le with a mark", "\xFF\xFE" + utf16(chinese, 0), chinese, utf16LE}, {"utf-16be with a mark", "\xFE\xFF" + utf16(german, 1), german, utf16BE},
		{"utf-16le", utf16(german, 0), german, utf16LE}, {"utf-16be", utf16(german, 1), german, utf16BE},
	} {
		text, used, err := decode([]byte(c.data), "")
		if text != c.text || used != c.want || err != nil {
			t.Errorf("%s: %s %q %v", c.name, used, text, err)
		}
	}
	if _, ps := readText(german, Options{Encoding: "klingon"}); ps.Err() == nil {
		t.Error("an unknown encoding was accepted")
	}
	if _, ps := readText(german, Options{Base: "two"}); ps.Err() == nil {
		t.Error("an unknown base was accepted")
	}
}

// TestWhatCannotBeWrittenIsNeverEnabled tells an access of every kind; the drafts are checked to be read only.
func TestWhatCannotBeWrittenIsNeverEnabled(t *testing.T) {
	l, ps := readText("Name;Address;Type;R/W\nA;0;int16;R/W\nB;1;int16;W\nC;2;int16;读写\n", Options{})
	if len(ps) != 0 || len(l.Points) != 3 {
		t.Fatal(ps)
	}
	checkDraft(t, l, l.Inventory(target()))
	if len(l.Points[1].Notes) != 1 {
		t.Error(l.Points[1].Notes)
	}
}

func TestALinkWithoutEndpointIsLeftToTheEngineer(t *testing.T) {
	l, _ := readText("Name;Address;Type\nA;0;int16\n", Options{})
	target := target()
	target.Endpoint = ""
	if text := string(l.Inventory(target)); strings.Contains(text, "\nlinks:") || !strings.Contains(text, "# links: {PLC-NET:") {
		t.Error(text)
	}
}

func TestLimitsOfAList(t *testing.T) {
	if _, ps := Read("big.csv", make([]byte, MaxBytes+1), Options{}); len(ps) != 1 || ps[0].Rule != document.RuleLimit {
		t.Error(ps)
	}
	var b strings.Builder
	b.WriteString("Name;Address;Type;FC\n")
	for i := range MaxPoints + 1 {
		fmt.Fprintf(&b, "P%d;%d;bool;1\n", i, i)
	}
	b.WriteString(strings.Repeat("reserved;1\n", MaxRows-MaxPoints+4))
	l, ps := readText(b.String(), Options{})
	if l.Rows != MaxRows || len(l.Points) != MaxPoints+1 {
		t.Errorf("%d rows, %d points", l.Rows, len(l.Points))
	}
	limits := 0
	for _, p := range ps {
		if p.Rule == document.RuleLimit {
			limits++
		}
	}
	if limits != 2 || len(ps) != 2 { // rows and points
		t.Error(len(ps), ps.Sorted())
	}
	if _, ps := readText("Name;Address;Type\n"+strings.Repeat("A;x;int16\n", 2*MaxProblems), Options{}); len(ps) != MaxProblems+1 {
		t.Error(len(ps))
	}
	if l, ps := readText("Name;Address;Type\nA;1;int16"+strings.Repeat(";", MaxColumns)+"\n", Options{}); len(l.Points) != 1 || len(ps) != 1 {
		t.Error(ps)
	}
}

// TestAListThatFillsItsLimitIsADraft makes the largest file that one inventory can be, with texts of a usual length.
func TestAListThatFillsItsLimitIsADraft(t *testing.T) {
	var b strings.Builder
	b.WriteString("Name;Address;Type;Unit;Description\n")
	for i := range MaxPoints {
		fmt.Fprintf(&b, "AREA 12 / STATION 07 / MEASUREMENT %d;%d;float32 CDAB;m3/h;a description of a usual length\n", i, 2*i)
	}
	l, ps := readText(b.String(), Options{})
	if n := len(l.Inventory(target())); len(ps) != 0 || n > document.MaxBytes {
		t.Errorf("%d bytes, %v", n, ps)
	}
}

// TestHostileListsCostLittle bounds time and memory for shapes that could make a careless reader slow.
func TestHostileListsCostLittle(t *testing.T) {
	const size = 1 << 18
	header := "Name;Address;Type;Scale\n"
	for name, text := range map[string]string{
		"only separators":         header + strings.Repeat(";", size),
		"only line breaks":        header + strings.Repeat("\n", size),
		"quotes never closed":     header + strings.Repeat("\"a;\"a\n", size/6),
		"one long line of quotes": header + strings.Repeat("\"a;", size/3),
		"one long cell":           header + strings.Repeat("x", size),
		"the same address":        header + strings.Repeat("A;1;int32;1\n", 2_000),
		"no header":               strings.Repeat("name;of;nothing;that;is;known;or;so\n", 2_000),
		"headers only":            strings.Repeat(header, 2_000),
		"long digits":             header + strings.Repeat("A;1;int16;"+strings.Repeat("9", 60)+"e99\n", 2_000),
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := time.Now()
		l, ps := readText(text, Options{})
		took := time.Since(start)
		runtime.GC()
		runtime.ReadMemStats(&after)
		kept := int64(after.HeapAlloc) - int64(before.HeapAlloc)
		if took > 20*time.Second || kept > 30<<20 || len(ps) > MaxProblems+1 {
			t.Errorf("%s: %v, %d MB kept, %d problems", name, took, kept>>20, len(ps))
		}
		t.Logf("%s: %v, %d KB kept, %d points", name, took.Round(time.Millisecond), kept>>10, len(l.Points))
	}
}

// FuzzRead makes sure that whatever a list holds, the draft is a well-formed inventory that writes nothing.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"Tag;Address;Type;Scale;Unit;R/W;FC;Slave;Bit;Word order;Length\nA;40001;REAL;0,1;bar;RW;3;1;;CDAB;2\n",
		"标签,地址,数据类型,系数,单位,读写\n压力,4x0001,浮点,0.1,MPa,R\n", "Bezeichnung\tAdresse\n\"a\nb\"\t0x10-0x11\n", "Name;Register\n\"open;1\n;2\n",
		"\xFF\xFET\x00a\x00g\x00;\x00A\x00d\x00d\x00r\x00\n\x001\x00;\x002\x00", "Address|Gain|Decimals|Offset\n1|10|2|1/3\n", "sep=;\nAddress;Type\n100.10;BOOL\n100.H;BYTE\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, ps := Read("fuzz.csv", data, Options{})
		for _, p := range ps {
			if p.Message == "" || p.Rule == "" || p.Pos.File != "fuzz.csv" {
				t.Fatalf("%+v", p)
			}
		}
		for _, p := range l.Points {
			if p.Address < 0 || p.Address+p.Count > 65536 || p.Line <= l.Header || p.Table == "" {
				t.Fatalf("%+v", p)
			}
		}
		checkDraft(t, l, l.Inventory(target()))
	})
}

func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	text.WriteString("Tag;Address;Type;Scale;Unit;R/W;Description\n")
	for i := range MaxPoints {
		fmt.Fprintf(&text, "TAG-%d;%d;INT16;0,1;bar;R;Description of point %d\n", i, i, i)
	}
	data := []byte(text.String())
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		l, ps := Read("bench.csv", data, Options{})
		if len(ps) > 0 || len(l.Points) != MaxPoints {
			b.Fatal(ps)
		}
	}
}
