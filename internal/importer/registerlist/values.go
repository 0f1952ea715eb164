package registerlist

import (
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// typ reads type, word order and length.
func (r *reader) typ(d *draftPoint, row *row, w written) {
	d.typeAt = row.cell(r.head.at[colType])
	d.typeText = r.said(row, colType)
	d.typ, _ = r.types.read(d.typeText)
	d.Order = d.typ.order
	unclear := d.typ.unclear
	if text := r.said(row, colOrder); text != "" {
		order, several, _ := r.types.orders.read(strings.ToLower(norm.NFKC.String(text)), r.head.wordwise)
		switch {
		case order == "" && several == "":
			r.add(warning(r.atCell(row.cell(r.head.at[colOrder]), colOrder, ruleOrder, "write ABCD (high word first), CDAB (low word first), BADC or DCBA", "%q is no word order", clip(text))))
		case order != "" && d.Order != "" && order != d.Order:
			r.add(r.atCell(row.cell(r.head.at[colOrder]), colOrder, ruleOrder, "correct one of them", "the word order %s contradicts the type %q", order, clip(d.typeText)))
			d.Order, unclear = "", ""
			d.note("the list names two byte orders")
		default:
			d.Order, unclear = order, several
		}
	}
	if d.Order == "" && unclear != "" {
		d.note("the list says %q, which can mean several byte orders", clip(unclear))
	}
	r.length(d, row, w)
}

// length reads how many registers the row takes, from its own column or from a range of addresses.
func (r *reader) length(d *draftPoint, row *row, w written) {
	if w.last > 0 {
		d.registers = w.last + 1
	}
	text := r.said(row, colLength)
	if text == "" {
		return
	}
	m := numberIn.FindStringSubmatch(strings.ToLower(text))
	if m == nil || m[0] == "" || number(m[1]) < 1 || number(m[1]) > 250 {
		r.add(warning(r.atCell(row.cell(r.head.at[colLength]), colLength, ruleType, "write the number of registers", "%q is no length", clip(text))))
		return
	}
	n := number(m[1])
	if r.head.bytes || strings.HasPrefix(m[2], "b") || m[2] == "字节" {
		if d.typ.kind == kindText && d.typ.bits == 0 {
			d.typ.bits = 8 * n
		}
		n = (n + 1) / 2
	}
	if d.registers == 0 {
		d.registers = n
	}
}

// unitWithFactor is a unit that holds the scale as well, such as "0.1 kWh"; 1/min is a unit alone.
var unitWithFactor = regexp.MustCompile(`^[x×*]?\s*(\d+(?:[.,]\d+)?)\s*([^\d\s/.,].*)$`)

// scale reads scale, offset and unit. When the factor cannot be read, the value stays raw and has no unit.
func (r *reader) scale(d *draftPoint, row *row) {
	d.Unit = strings.Join(strings.Fields(norm.NFKC.String(r.said(row, colUnit))), " ")
	s, c, err := r.factor(d, row)
	if m := unitWithFactor.FindStringSubmatch(d.Unit); m != nil && c < 0 && err == nil {
		c = colUnit
		if s, err = readFactor(m[1], r.mark); err == nil {
			d.Unit = m[2]
			d.note("the unit says %s %s", m[1], m[2])
		}
	}
	if text := r.said(row, colOffset); text != "" && err == nil {
		c = colOffset
		s.offset, err = r.mark.decimal(strings.ReplaceAll(norm.NFKC.String(text), " ", ""))
	}
	if err != nil {
		r.add(r.atCell(row.cell(r.head.at[c]), c, ruleScale, "", "%v", err))
		d.note("the scale could not be read: the value is raw, and its unit (%s) is left out", orNone(d.Unit))
		d.Unit = ""
		return
	}
	if d.Unit == "" {
		d.Unit = s.unit
	}
	if s.factor != "1" {
		d.Scale = s.factor
	}
	if s.offset != "0" {
		d.Offset = s.offset
	}
	if text := row.cell(r.head.at[colScale]).text; c == colScale && sureMark(text) == 0 && strings.ContainsAny(text, ".,") {
		d.note("the scale %s was read as %s", clip(text), s.factor)
	}
}

// factor reads the columns that give one; the column is -1 when none does.
func (r *reader) factor(d *draftPoint, row *row) (s scaling, c column, err error) {
	if s, c, err = r.firstFactor(d, row); c != colScale || err != nil {
		return s, c, err
	}
	if text := r.said(row, colDivisor); text != "" {
		below, err := readFactor(text, r.mark)
		if err != nil {
			return s, colDivisor, err
		}
		quotient, err := mark('.').ratio(s.factor, below.factor)
		if err != nil {
			return s, colDivisor, err
		}
		s.factor, err = exact(quotient)
		return s, colDivisor, err
	}
	if places := r.said(row, colDecimals); places != "" {
		if other, err := power(places); err == nil && other != s.factor && other != "1" {
			d.note("the list says %s decimal places besides; the scale was taken alone", clip(places))
		}
	}
	return s, c, nil
}

// firstFactor reads the first of the columns that give a factor.
func (r *reader) firstFactor(d *draftPoint, row *row) (s scaling, c column, err error) {
	for _, c = range []column{colScale, colDivisor, colGain, colDecimals} {
		text := r.said(row, c)
		if text == "" {
			continue
		}
		if c == colDecimals {
			s.factor, err = power(text)
			return s, c, err
		}
		if c == colScale && (r.head.exponent || negativeWhole.MatchString(text)) {
			s.factor, err = r.exponent(text)
			return s, c, err
		}
		s, err = readFactor(text, r.mark)
		if err == nil && (c == colDivisor || c == colGain && !strings.HasPrefix(strings.TrimPrefix(s.factor, "-"), "0")) {
			s.factor, err = inverse(s.factor)
		}
		if c == colGain && err == nil && s.factor != "1" {
			d.note("gain %s was read as: value = raw x %s", clip(text), s.factor)
		}
		return s, c, err
	}
	return s, -1, nil
}

// negativeWhole is a scale that is hardly ever a factor.
var negativeWhole = regexp.MustCompile(`^[-−]\d{1,2}$`)

// exponent reads a power of ten, where the heading says that scales are such.
func (r *reader) exponent(text string) (factor string, err error) {
	digits, negative := strings.CutPrefix(strings.TrimPrefix(strings.ReplaceAll(text, "−", "-"), "+"), "-")
	n := number(digits)
	if negative {
		n = -n
	}
	switch {
	case n < -18 || n > 18 || digits == "" || len(digits) > 2:
		return "", fmt.Errorf("%q is no power of ten; write a whole number such as -1", clip(text))
	case r.head.exponent:
		return exact(powerOfTen(n))
	}
	small, err := exact(powerOfTen(n))
	if err != nil {
		return "", err
	}
	return "", fmt.Errorf("%s may be a power of ten or a factor; write %s or -%s.0", text, small, digits)
}

// access notes what a draft, which is always read only, leaves out.
func (r *reader) access(d *draftPoint) {
	if text := plain(d.Access); text == "w" || text == "wo" || text == "write" || text == "write only" || text == "schreiben" || text == "只写" || text == "写" {
		d.note("write only in the list: it may not be readable")
	}
}
