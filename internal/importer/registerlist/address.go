package registerlist

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// form is the notation of an address.
type form uint8

const (
	formPlain form = iota + 1 // 100: counts from what the list as a whole counts from
	formFive                  // 40001: table and one-based number, or a plain number after all
	formSix                   // 400001
	formX                     // 4x0001
	formNamed                 // HR100
	formHex                   // 0x64: the address on the wire
	formWord                  // %MW100: the register's own number, on the controllers that call it so
)

// written is an address as read, before it is known what the list counts from.
type written struct {
	form   form
	table  string // that the notation names, "" when it names none
	number int    // as written, without the digit of the table
	whole  int    // of formFive: the five digits as one number
	zeroX  bool   // 0x0001, which may be coil 1 or a hexadecimal number; number is the decimal reading, whole the other
	last   int    // registers behind the first, of a range
	bit    int    // -1 when there is none
	half   string // "high" or "low" byte
	point0 bool   // the bit may be the ".0" that spreadsheets put behind whole numbers
}

var (
	bitWord    = regexp.MustCompile(`^(.*?)[\s.,:;/_-]*(?:bit|\.b|:x|位|第)\s*[:.#=]?\s*(\d{1,2})\s*位?$`)
	byteWord   = regexp.MustCompile(`^(.*?)(?:[.:_]([hl])|[\s.,:;/_]*(hb|lb|hi|lo|high|low|hbyte|lbyte|high byte|low byte|msb|lsb|高字节|低字节))$`)
	bitSuffix  = regexp.MustCompile(`^(.*[0-9a-f])\s*[.:,/]\s*(\d{1,2})$`)
	thousands  = regexp.MustCompile(`^[1-9]\d{0,2}(?:[.,' ]\d{3})$`)
	scientific = regexp.MustCompile(`^\d+([.,]\d+)?e[+-]?\d+$`)
	rangeSplit = regexp.MustCompile(`^(.+?)\s*(?:-|–|—|−|~|\.\.+|…|\bto\b|\bbis\b|至|到|\+|&|,|/)\s*(.+)$`)

	digits   = regexp.MustCompile(`^\d{1,6}$`)
	hexMarks = regexp.MustCompile(`^(?:&h|16#|\$|#)([0-9a-f]{1,4})$|^([0-9a-f]{1,5})h$`)
	zeroXHex = regexp.MustCompile(`^0x([0-9a-f]{1,5})$`)
	bareHex  = regexp.MustCompile(`^[0-9a-f]{1,4}$`)
	tableX   = regexp.MustCompile(`^([0134])x{1,5}[\s:_-]*(\d{1,6})$`)
	schneid  = regexp.MustCompile(`^%(m|mw|mx)(\d{1,5})$`)
	named    = regexp.MustCompile(`^([a-z][a-z ]*?)[\s:_#.-]*(\d{1,6})$`)
	percent  = regexp.MustCompile(`^%[a-z]`)
)

// fold brings an address into one form of writing: lower case, half-width, without quotes and brackets around it.
func fold(text string) string {
	text = strings.ToLower(strings.TrimSpace(norm.NFKC.String(text)))
	return strings.Join(strings.Fields(strings.Trim(text, `'"[]()<>`)), " ")
}

// addressReader reads the addresses of one list.
type addressReader struct {
	hex    bool              // numbers without a mark are hexadecimal
	tables map[string]string // words for tables
}

// read reads one cell.
func (a addressReader) read(text string) (written, error) {
	t := fold(text)
	switch {
	case t == "":
		return written{}, fmt.Errorf("the row has no address")
	case len(t) > 60:
		return written{}, fmt.Errorf("%q is too long for an address", clip(t))
	case !a.hex && scientific.MatchString(t):
		return written{}, fmt.Errorf("%s was shortened by the spreadsheet; format the column as text and export again", t)
	}
	bit, half := -1, ""
	if m := bitWord.FindStringSubmatch(t); m != nil {
		t, bit = m[1], number(m[2])
	} else if m := byteWord.FindStringSubmatch(t); m != nil {
		t, half = m[1], halfOf(m[2]+m[3])
	}
	w, err := a.places(t)
	if err != nil {
		return w, err
	}
	if bit >= 0 {
		w.bit, w.point0 = bit, false
	}
	w.half = half
	if w.bit > 15 {
		return w, fmt.Errorf("a register has the bits 0 to 15, not %d; give the register that holds the bit", w.bit)
	}
	return w, nil
}

func halfOf(word string) string {
	if strings.HasPrefix(word, "h") || strings.HasPrefix(word, "m") || strings.HasPrefix(word, "高") {
		return "high"
	}
	return "low"
}

// places reads one number, one with a bit behind it, or a range.
func (a addressReader) places(t string) (written, error) {
	if thousands.MatchString(t) { // 40.001: three digits are no bit
		t = strings.NewReplacer(".", "", ",", "", "'", "", " ", "").Replace(t)
	}
	if w, ok := a.number(t); ok {
		return w, nil
	}
	if m := bitSuffix.FindStringSubmatch(t); m != nil {
		if w, ok := a.number(m[1]); ok && !follows(w, m[2], t) {
			w.bit, w.point0 = number(m[2]), m[2] == "0" && !strings.HasSuffix(t, ":0")
			return w, nil
		}
	}
	if m := rangeSplit.FindStringSubmatch(t); m != nil {
		if w, err, ok := a.span(m[1], m[2]); ok {
			return w, err
		}
	}
	if percent.MatchString(t) {
		return written{}, fmt.Errorf("where %s lies depends on the controller; write the Modbus register, such as HR100 (of %%MW and %%M the number is the register)", t)
	}
	return written{}, fmt.Errorf("%q is no address that can be read; write it as 100, 40001, 0x64, HR100 or %%MW100", clip(t))
}

// follows reports whether what looks like a bit is the next register of a short list such as "10,11" or "10/11".
func follows(w written, behind, t string) bool {
	return w.number+1 == number(behind) && strings.ContainsAny(t, ",/")
}

// span reads "40010-40011" and "40010-11".
func (a addressReader) span(first, last string) (w written, err error, ok bool) {
	w, ok = a.number(strings.TrimSpace(first))
	if !ok {
		return w, nil, false
	}
	last = strings.TrimSpace(last)
	end, ok := a.number(last)
	if !ok {
		return w, nil, false
	}
	from, to := w.compare(), end.compare()
	if to < from && from >= 100 && digits.MatchString(last) { // the last digits alone: 40010-11
		scale := 1
		for range last {
			scale *= 10
		}
		to += from / scale * scale
	}
	if to < from || to-from >= 128 {
		return w, fmt.Errorf("the range %s to %s is not one of 1 to 128 registers; give the first and the last register of one value", first, last), true
	}
	w.last = to - from
	return w, nil, true
}

// compare is the number by which addresses of one notation stand in order.
func (w written) compare() int {
	if w.form == formFive {
		return w.whole
	}
	return w.number
}

// number reads one number in any notation.
func (a addressReader) number(t string) (written, bool) {
	w := written{bit: -1}
	if m := tableX.FindStringSubmatch(t); m != nil && (m[1] != "0" || len(m[2]) > 5) {
		w.form, w.table, w.number = formX, tableOf(m[1][0]), number(m[2])
		return w, true
	}
	if m := zeroXHex.FindStringSubmatch(t); m != nil {
		w.form, w.whole = formHex, hexNumber(m[1])
		w.number = w.whole
		if digits.MatchString(m[1]) {
			w.zeroX, w.number = true, number(m[1])
		}
		return w, true
	}
	if m := hexMarks.FindStringSubmatch(t); m != nil {
		w.form, w.number = formHex, hexNumber(m[1]+m[2])
		return w, true
	}
	if a.hex && bareHex.MatchString(t) {
		w.form, w.number = formHex, hexNumber(t)
		return w, true
	}
	if digits.MatchString(t) {
		return readDigits(t), true
	}
	if m := schneid.FindStringSubmatch(t); m != nil {
		w.form, w.table, w.number = formWord, coil, number(m[2])
		if m[1] == "mw" {
			w.table = holdingRegister
		}
		return w, m[1] != "mx"
	}
	if m := named.FindStringSubmatch(t); m != nil {
		w.form, w.number = formNamed, number(m[2])
		w.table = a.named(m[1])
		return w, w.table != ""
	}
	return w, false
}

// readDigits reads a number without any mark. Five digits beginning with 1, 3, 4 (or a written 0) and six of them may name a table.
func readDigits(t string) written {
	n := number(t)
	w := written{form: formPlain, number: n, whole: n, bit: -1}
	table := tableOf(t[0])
	switch {
	case len(t) == 6 && table != "" && n%100000 <= 65536:
		w.form, w.table, w.number = formSix, table, n%100000
	case len(t) == 5 && table != "":
		w.form, w.table, w.number = formFive, table, n%10000
	}
	return w
}

func tableOf(digit byte) string {
	return map[byte]string{'0': coil, '1': discreteInput, '3': inputRegister, '4': holdingRegister}[digit]
}

// named is the table of a word before a number, as in "HR100" and "input register 14".
func (a addressReader) named(word string) string {
	if word == "c" {
		return coil
	}
	return a.tables[strings.TrimSpace(word)]
}

// number reads digits that a pattern has bounded.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

func hexNumber(text string) int {
	n, err := strconv.ParseInt(text, 16, 32)
	if err != nil {
		return -1
	}
	return int(n)
}

func clip(text string) string {
	if r := []rune(text); len(r) > 40 {
		return string(r[:40]) + "..."
	}
	return text
}
