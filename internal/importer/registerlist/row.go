package registerlist

import (
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"

	"capd/internal/document"
	"capd/internal/importer/draft"
)

// fillDown keeps what rows above said, for the empty cells that merged cells of a spreadsheet leave.
type fillDown struct {
	section  string // table that a row of its own has named
	function filled
	table    filled
	unitID   filled
}

// filled is a cell's meaning and the line it was written on.
type filled struct {
	text  string
	value int
	line  int
}

// longestSource is how much of a row its point carries along.
const longestSource = 160

// row reads one row below the header.
func (r *reader) row(row *row) {
	source := draft.OneLine(clipBytes(row.text(r.text), 4*longestSource), longestSource)
	if row.cut {
		r.fail(row.line, document.RuleLimit, "remove the cells that are not needed", "the row has more than %d cells; those behind were not read", MaxColumns)
	}
	if row.open {
		r.add(warning(r.atCell(row.cells[0], colTag, ruleQuote, "close it, or write it twice", "a quote in this row is never closed, so quotes stand for themselves")))
	}
	at := row.cell(r.head.at[colAddress])
	w, err := r.address.read(at.text)
	switch {
	case err != nil && r.head.repeated(row):
		return
	case err != nil && row.filled() == 1:
		r.title(row, source)
		return
	case r.reserved(row):
		r.list.Skipped = append(r.list.Skipped, Skipped{row.line, source, "reserved"})
		return
	case err != nil:
		r.skip(row.line, source, r.atCell(at, colAddress, ruleAddress, "", "%v", err))
		return
	}
	d := draftPoint{at: at, Point: Point{Line: row.line, Source: source, Written: draft.OneLine(at.text, 60), Bit: -1, UnitID: -1,
		Tag: r.text1(row, colTag), Title: r.text1(row, colDescription), Access: r.text1(row, colAccess)}}
	if !r.unitID(&d, row, source) || !r.bit(&d, row, &w, source) {
		return
	}
	d.own = r.ownTable(&d, row)
	r.typ(&d, row, w)
	r.scale(&d, row)
	r.access(&d)
	multiple := d.typ.bits >= 32 && d.typ.kind != kindText || d.registers > 1
	r.drafts = append(r.drafts, d)
	r.found = append(r.found, candidate{w: w, table: d.own, line: d.Line, name: d.Tag, multiple: multiple})
}

// text1 is a cell on one line, "" for what stands for nothing.
func (r *reader) text1(row *row, c column) string {
	text := draft.OneLine(row.cell(r.head.at[c]).text, 200)
	if nothing(text) {
		return ""
	}
	return text
}

// title takes a row of one cell as a title; one that names a table holds for the rows below it.
func (r *reader) title(row *row, source string) {
	why := "taken as a title"
	for _, c := range row.cells {
		if table := r.head.match.table(c.text); table != "" {
			r.fill = fillDown{section: table}
			why = "taken as a title: the rows below are " + table
		}
	}
	r.list.Skipped = append(r.list.Skipped, Skipped{row.line, source, why})
}

var reservedWords = regexp.MustCompile(`^(reserved?|spare|unused|not used|nc|free|reserviert|frei|nicht belegt|nicht verwendet|预留|保留|备用|未用|未使用)( \d+)?$`)

func (r *reader) reserved(row *row) bool {
	text := r.text1(row, colTag)
	if text == "" {
		text = r.text1(row, colDescription)
	}
	return reservedWords.MatchString(plain(text))
}

// carried gives a cell's text, or that of the row above which it was merged with.
func (r *reader) carried(row *row, c column, last *filled, note func(string, ...any)) string {
	text := r.text1(row, c)
	if text != "" {
		*last = filled{text: text, line: row.line}
		return text
	}
	if last.text != "" {
		note("%s is empty here and was taken from line %d", draft.OneLine(r.head.name(c), 40), last.line)
	}
	return last.text
}

func (d *draftPoint) note(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}

func (r *reader) unitID(d *draftPoint, row *row, source string) bool {
	text := r.carried(row, colUnitID, &r.fill.unitID, d.note)
	if text == "" {
		return true
	}
	c := row.cell(r.head.at[colUnitID])
	folded := strings.TrimSuffix(strings.TrimSuffix(fold(text), ".0"), ",0")
	id := number(folded)
	if m := zeroXHex.FindStringSubmatch(folded); m != nil {
		id = hexNumber(m[1])
	}
	if id < 0 || id > 255 {
		r.skip(row.line, source, r.atCell(c, colUnitID, ruleUnitID, "write a number from 0 to 255", "%q is no unit id", clip(text)))
		return false
	}
	d.UnitID = id
	return true
}

// bit reads a column for bits.
func (r *reader) bit(d *draftPoint, row *row, w *written, source string) bool {
	text := r.text1(row, colBit)
	if text == "" {
		return true
	}
	c, n := row.cell(r.head.at[colBit]), number(strings.TrimPrefix(plain(text), "bit "))
	if n < 0 || n > 15 || w.bit >= 0 && w.bit != n && !w.point0 {
		r.skip(row.line, source, r.atCell(c, colBit, ruleAddress, "write one bit from 0 to 15, or several rows", "%q is not the bit of %s", clip(text), d.Written))
		return false
	}
	w.bit, w.point0 = n, false
	return true
}

// ownTable is the table that the row names besides its address; "" when it names none.
func (r *reader) ownTable(d *draftPoint, row *row) string {
	var noted []string
	note := func(format string, args ...any) { noted = append(noted, fmt.Sprintf(format, args...)) }
	function, both := r.function(r.carried(row, colFunction, &r.fill.function, note))
	kind := r.head.match.table(r.carried(row, colTable, &r.fill.table, note))
	for _, table := range []string{function, kind, r.head.match.tables[plain(r.text1(row, colType))]} {
		if table == "" {
			continue
		}
		if both && table == function {
			note("the list names functions 3 and 4; holding_register was taken")
		}
		d.Notes = append(d.Notes, noted...)
		return table
	}
	d.section = r.fill.section != ""
	return r.fill.section
}

var functionCode = regexp.MustCompile(`0x([0-9a-f]{1,2})|(\d{1,2})`)

// function is the table that function codes belong to, those that read first. both says that 3 and 4 are named.
func (r *reader) function(text string) (table string, both bool) {
	if text == "" {
		return "", false
	}
	if table = r.head.match.table(text); table != "" {
		return table, false
	}
	named := map[int]bool{}
	for _, m := range functionCode.FindAllStringSubmatch(strings.ToLower(text), 12) {
		if m[1] != "" {
			named[hexNumber(m[1])] = true
		} else {
			named[number(m[2])] = true
		}
	}
	for _, f := range []struct {
		code  int
		table string
	}{{3, holdingRegister}, {4, inputRegister}, {1, coil}, {2, discreteInput}, {6, holdingRegister}, {16, holdingRegister}, {22, holdingRegister}, {23, holdingRegister}, {5, coil}, {15, coil}} {
		if named[f.code] {
			return f.table, named[3] && named[4]
		}
	}
	return "", false
}

// typ reads type, word order and length.
func (r *reader) typ(d *draftPoint, row *row, w written) {
	d.typeAt = row.cell(r.head.at[colType])
	d.typeText = r.text1(row, colType)
	d.typ, _ = r.types.read(d.typeText)
	d.Order = d.typ.order
	unclear := d.typ.orders
	if text := r.text1(row, colOrder); text != "" {
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
	text := r.text1(row, colLength)
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
	d.Unit = strings.Join(strings.Fields(norm.NFKC.String(r.text1(row, colUnit))), " ")
	s, c, err := r.factor(d, row)
	if m := unitWithFactor.FindStringSubmatch(d.Unit); m != nil && c < 0 && err == nil {
		c = colUnit
		if s, err = readFactor(m[1], r.mark); err == nil {
			d.Unit = m[2]
			d.note("the unit says %s %s", m[1], m[2])
		}
	}
	if text := r.text1(row, colOffset); text != "" && err == nil {
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

// factor reads the first of the columns that give one; the column is -1 when none does.
func (r *reader) factor(d *draftPoint, row *row) (s scaling, c column, err error) {
	for _, c = range []column{colScale, colDivisor, colGain, colDecimals} {
		text := r.text1(row, c)
		if text == "" {
			continue
		}
		if c == colDecimals {
			s.factor, err = power(text)
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

// access notes what a draft, which is always read only, leaves out.
func (r *reader) access(d *draftPoint) {
	if text := plain(d.Access); text == "w" || text == "wo" || text == "write" || text == "write only" || text == "schreiben" || text == "只写" || text == "写" {
		d.note("write only in the list: it may not be readable")
	}
}
