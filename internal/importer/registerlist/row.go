package registerlist

import (
	"fmt"
	"regexp"
	"strings"

	"capd/internal/document"
	"capd/internal/importer/draft"
)

// fillDown keeps what rows above said, for the empty cells that merged cells of a spreadsheet leave.
type fillDown struct {
	section  string // table that a row of its own has named
	above    bool   // that row stands above the header, so it may be the title of something else
	function above
	table    above
	unitID   above
}

// above is what a cell said, and on which line.
type above struct {
	text string
	line int
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
		Tag: r.said(row, colTag), Title: r.said(row, colDescription), Access: r.said(row, colAccess)}}
	if !r.unitID(&d, row, source) || !r.bit(&d, row, &w, source) {
		return
	}
	d.own = r.ownTable(&d, row)
	r.typ(&d, row, w)
	r.scale(&d, row)
	r.access(&d)
	multiple := d.typ.bits >= 32 && d.typ.kind != kindText || d.registers > 1
	r.drafts = append(r.drafts, d)
	c := candidate{w: w, table: d.own, line: d.Line, multiple: multiple}
	if d.section && r.fill.above {
		c.table = ""
	}
	r.found = append(r.found, c)
}

// said is what a cell says, on one line, "" for what stands for nothing.
func (r *reader) said(row *row, c column) string {
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
			r.fill = fillDown{section: table, unitID: r.fill.unitID}
			why = "taken as a title: the rows below are " + table
		}
	}
	r.list.Skipped = append(r.list.Skipped, Skipped{row.line, source, why})
}

// titleAbove takes a title above the header that names one table, and no other, for the rows below it.
func (r *reader) titleAbove(row *row) {
	for _, c := range row.cells {
		if tables := r.head.match.tablesIn(c.text); len(tables) == 1 {
			r.fill.section, r.fill.above = tables[0], true
		}
	}
}

var reservedWords = regexp.MustCompile(`^(reserved?|spare|unused|not used|nc|free|reserviert|frei|nicht belegt|nicht verwendet|预留|保留|备用|未用|未使用)( \d+)?$`)

func (r *reader) reserved(row *row) bool {
	text := r.said(row, colTag)
	if text == "" {
		text = r.said(row, colDescription)
	}
	return reservedWords.MatchString(plain(text))
}

// carried gives a cell's text, or that of the row above which it was merged with.
func (r *reader) carried(row *row, c column, last *above, note func(string, ...any)) string {
	text := r.said(row, c)
	if text != "" {
		*last = above{text: text, line: row.line}
		return text
	}
	if last.text != "" {
		note("%s is empty here and was taken from line %d", draft.OneLine(r.head.name(c), 40), last.line)
	}
	return last.text
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
	text := r.said(row, colBit)
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
	called := r.carried(row, colFunction, &r.fill.function, note)
	function, both := r.function(called)
	if functionCode.MatchString(called) && function == "" {
		r.add(r.atCell(row.cell(r.head.at[colFunction]), colFunction, ruleTable, "write 1, 2, 3 or 4", "%q is no function that reads a table", clip(called)))
		d.note("function %s reads no table", clip(called))
	}
	written := r.carried(row, colTable, &r.fill.table, note)
	kind := r.head.match.table(written)
	if kind == "" && function == "" {
		r.digit(d, row, written)
	}
	if function != "" && kind != "" && function != kind {
		note("the row names %s by its function and %s by its table; the first was taken", function, kind)
	}
	for _, table := range []string{function, kind, r.head.match.tables[plain(r.said(row, colType))]} {
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

// digit reports a table that is one digit: lists mean functions by it, or what stands before their numbers.
func (r *reader) digit(d *draftPoint, row *row, written string) {
	function := map[string]string{"1": coil, "2": discreteInput, "3": holdingRegister, "4": inputRegister}[written]
	prefix := map[string]string{"0": coil, "1": discreteInput, "3": inputRegister, "4": holdingRegister}[written]
	if function == "" || prefix == "" {
		return
	}
	r.add(r.atCell(row.cell(r.head.at[colTable]), colTable, ruleTable, "write the table's name", "%q may be function %s (%s) or the %s of %s0001 (%s)", written, written, function, written, written, prefix))
	d.note("table %s: %s or %s?", written, function, prefix)
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
