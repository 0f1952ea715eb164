package registerlist

import (
	"fmt"
	"slices"
	"strings"

	"capd/internal/document"
)

// Read reads a list. name is what problems and the output call the file. The list holds what could be read, whatever the problems
// are: one that is no warning says that something of the list is missing or has to be corrected.
func Read(name string, data []byte, o Options) (List, document.Problems) {
	r := &reader{list: List{Name: name}, options: o}
	if !r.begin(data) {
		return r.list, r.ps.Sorted()
	}
	r.survey()
	r.rows()
	r.place()
	r.compare()
	if r.lost > 0 {
		r.ps.Add(document.Problem{Pos: document.Pos{File: name}, Rule: document.RuleLimit, Message: fmt.Sprintf("%d more problems are not shown", r.lost),
			Hint: "correct those above and import again"})
	}
	return r.list, r.ps.Sorted()
}

// reader is the state of one Read.
type reader struct {
	list    List
	options Options
	ps      document.Problems
	lost    int // problems beyond MaxProblems
	text    string
	head    header
	address addressReader
	types   typeReader
	mark    mark
	fill    fillDown
	found   []candidate
	drafts  []draftPoint // of found, index by index
}

// draftPoint is a point before its address is known.
type draftPoint struct {
	Point
	typ       valueType
	typeText  string
	registers int    // that the row gives, 0 when it gives none
	own       string // table that the row names besides its address
	section   bool   // own comes from a title above
	at        cell
	typeAt    cell
}

// begin decodes the text and finds the header.
func (r *reader) begin(data []byte) bool {
	if len(data) > MaxBytes {
		r.fail(0, document.RuleLimit, "split it", "the list has %d bytes; the limit is %d", len(data), MaxBytes)
		return false
	}
	if kind, next := binaryKind(data); kind != "" {
		r.fail(0, document.RuleEncoding, next, "the file is %s", kind)
		return false
	}
	text, used, err := decode(data, strings.ToLower(r.options.Encoding))
	if r.list.Encoding = used; err != nil {
		r.fail(0, document.RuleEncoding, "save it as UTF-8", "%v", err)
		return false
	}
	if bad := r.options.check(); bad != "" {
		r.fail(0, document.RuleValue, "", "%s", bad)
		return false
	}
	r.text = text
	r.head, r.list.Separator = findTable(text, r.options.Separator)
	if r.head.line == 0 {
		r.fail(0, ruleHeader, "name the columns in one row, at least the address and one more, such as: Tag; Address; Type; Scale; Unit; R/W",
			"no header row was found in the first %d rows", headerRows)
		return false
	}
	r.list.Header, r.list.Unused = r.head.line, r.head.unused()
	r.address = addressReader{hex: r.head.hex, tables: r.head.match.tables}
	r.types = newTypeReader()
	if r.head.at[colType] < 0 {
		p := r.problemAt(document.Pos{File: r.list.Name, Line: r.head.line, Column: 1}, ruleType, "add a column with the types, or write them into the draft", "the list has no column for the type, so registers have none")
		r.add(warning(p))
	}
	return true
}

// check says what is wrong with the options.
func (o Options) check() string {
	switch {
	case !slices.Contains([]Base{Auto, Zero, One, Modicon}, o.Base):
		return fmt.Sprintf("base %q is not known; use %s, %s or %s", o.Base, Zero, One, Modicon)
	case !slices.Contains([]string{"", coil, discreteInput, inputRegister, holdingRegister}, o.Table):
		return fmt.Sprintf("table %q is not known; use %s, %s, %s or %s", o.Table, coil, discreteInput, inputRegister, holdingRegister)
	case !slices.Contains([]rune{0, ';', ',', '\t', '|'}, o.Separator):
		return fmt.Sprintf("separator %q is not known; use a semicolon, a comma, a tab or |", o.Separator)
	}
	return ""
}

// survey looks at the whole list for what single cells cannot tell: the decimal mark, hexadecimal addresses without a mark, and what
// titles say about the base.
func (r *reader) survey() {
	commas, points, letters, others := 0, 0, 0, 0
	rows, row := newRows(r.text, r.list.Separator), row{}
	for n := 0; n < MaxRows && rows.next(&row); {
		if row.blank() {
			continue
		}
		n++
		if row.line < r.head.line {
			r.head.says(plain(clipBytes(row.text(r.text), 500)))
			if row.filled() == 1 {
				r.titleAbove(&row)
			}
			continue
		}
		for _, c := range []column{colScale, colOffset, colGain, colUnit} {
			switch sureMark(row.cell(r.head.at[c]).text) {
			case ',':
				commas++
			case '.':
				points++
			}
		}
		switch text := fold(row.cell(r.head.at[colAddress]).text); {
		case len(text) == 4 && bareHex.MatchString(text) && strings.ContainsAny(text, "abcdef"):
			letters++
		case row.line > r.head.line && text != "" && !(len(text) == 4 && bareHex.MatchString(text)):
			others++
		}
	}
	r.address.hex = r.address.hex || letters > 0 && letters > 4*others
	switch {
	case commas != points:
		r.mark = map[bool]mark{true: ',', false: '.'}[commas > points]
	case r.list.Separator == ';':
		r.mark = ','
	default:
		r.mark = '.'
	}
}

// rows reads the rows below the header.
func (r *reader) rows() {
	rows, row := newRows(r.text, r.list.Separator), row{}
	for rows.next(&row) {
		if row.line <= r.head.line || row.blank() {
			continue
		}
		if r.list.Rows++; r.list.Rows > MaxRows {
			r.list.Rows--
			r.fail(row.line, document.RuleLimit, "split the list", "the list has more than %d rows; this one and those below were not read", MaxRows)
			return
		}
		r.row(&row)
	}
	if r.list.Rows == 0 {
		r.fail(r.head.line, ruleHeader, "put the points below it", "there is no row below the header")
	}
}

// place decides what the list counts from and gives every draft its address.
func (r *reader) place() {
	e := gather(r.found)
	n := decide(e, r.head.base, r.options.Base)
	n.How = n.explain(e)
	r.list.Numbering = n
	names := map[int]*namer{}
	for i := range r.drafts {
		d := &r.drafts[i]
		table, address, err := n.place(r.found[i].w, e, d.own)
		if err != nil {
			r.skip(d.Line, d.Source, r.atCell(d.at, colAddress, ruleAddress, "correct it, or force the base", "%s: %v", d.Written, err))
			continue
		}
		if d.Address = address; !r.table(d, table) || !r.fit(d, r.found[i].w) {
			continue
		}
		if names[d.UnitID] == nil {
			names[d.UnitID] = &namer{lines: map[string]int{}}
		}
		r.name(d, names[d.UnitID])
		r.list.Points = append(r.list.Points, d.Point)
	}
	if len(r.list.Points) > MaxPoints {
		r.fail(0, document.RuleLimit, "split the list by device or by area", "the list has %d points; one inventory file holds at most %d", len(r.list.Points), MaxPoints)
	}
	slices.SortStableFunc(r.list.Skipped, func(a, b Skipped) int { return a.Line - b.Line })
	r.drafts, r.found = nil, nil
}

// fail reports a problem of a line, or of the list as a whole.
func (r *reader) fail(line int, rule, hint, format string, args ...any) {
	p := document.Pos{File: r.list.Name, Line: line, Column: min(line, 1)}
	r.add(r.problemAt(p, rule, hint, format, args...))
}

func (r *reader) problemAt(at document.Pos, rule, hint, format string, args ...any) document.Problem {
	return document.Problem{Pos: at, Rule: rule, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

// atCell makes a problem of one cell, named by its heading.
func (r *reader) atCell(c cell, of column, rule, hint, format string, args ...any) document.Problem {
	p := r.problemAt(pos(r.list.Name, r.text, c), rule, hint, format, args...)
	p.Path = clip(strings.Join(strings.Fields(r.head.name(of)), " "))
	return p
}

func (r *reader) add(p document.Problem) {
	if len(r.ps) >= MaxProblems {
		r.lost++
		return
	}
	r.ps.Add(p)
}

// skip reports a row that became no point.
func (r *reader) skip(line int, source string, p document.Problem) {
	r.add(p)
	r.list.Skipped = append(r.list.Skipped, Skipped{Line: line, Text: source, Why: p.Message})
}

func clipBytes(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}
