package registerlist

import (
	"fmt"
	"strings"
)

// evidence is what the addresses of a list show together about what they count from.
type evidence struct {
	plain, five, six, x, named, fixed int // rows in each notation; fixed is hexadecimal and %MW
	zeroX                             int // rows as 0x0001
	fiveRound, sixRound, xRound       int // lines with 40000, 400000 and 4x0000, 0 when there is none
	zero                              int // line with the number 0
	smallest                          int // of plain and named numbers
	against                           int // line that shows that five digits are a plain number
	reason                            string
	doubted, doubt                    int // rows with five digits and a table that contradicts them, and the first line
	odd, even                         int // values of several registers that begin at odd and at even numbers
}

// candidate is a row with its address as read, before the base of the list is known.
type candidate struct {
	w        written
	table    string // that other columns or the rows above name
	line     int
	multiple bool // it surely takes several registers
}

// gather looks at all addresses of a list.
func gather(all []candidate) evidence {
	e := evidence{smallest: -1}
	for _, c := range all {
		e.count(c)
	}
	for _, c := range all {
		e.contradict(c)
	}
	return e
}

func (e *evidence) count(c candidate) {
	w := c.w
	switch w.form {
	case formPlain:
		e.plain++
		e.numbers(c)
	case formNamed:
		e.named++
		e.numbers(c)
	case formFive:
		e.five++
		note(&e.fiveRound, c.line, w.number == 0)
	case formSix:
		e.six++
		note(&e.sixRound, c.line, w.number == 0)
	case formX:
		e.x++
		note(&e.xRound, c.line, w.number == 0)
	default:
		e.fixed++
	}
	if w.zeroX {
		e.zeroX++
	}
}

func (e *evidence) numbers(c candidate) {
	n := c.w.number
	if e.smallest < 0 || n < e.smallest {
		e.smallest = n
	}
	note(&e.zero, c.line, n == 0)
	switch {
	case !c.multiple:
	case n%2 == 1:
		e.odd++
	default:
		e.even++
	}
}

// contradict looks for rows that could not stand in a list whose five-digit numbers name tables. Rows that name another table than
// their number does may be slips, as long as they are few.
func (e *evidence) contradict(c candidate) {
	w := c.w
	if w.form == formFive && c.table != "" && c.table != w.table {
		e.doubted++
		note(&e.doubt, c.line, true)
	}
	if e.against != 0 || e.five == 0 {
		return
	}
	switch {
	case w.form == formFive && w.number == 0:
		e.against, e.reason = c.line, fmt.Sprintf("%d would be the register before the first", w.whole)
	case w.form == formFive && 10*e.doubted > e.five:
		e.against, e.reason = e.doubt, "its row names another table than its number would"
	case w.form == formPlain && w.number > 9999:
		e.against, e.reason = c.line, fmt.Sprintf("%d does not name one", w.number)
	case w.form == formPlain && c.table != "" && c.table != coil:
		e.against, e.reason = c.line, fmt.Sprintf("%d is a %s and has no digit for its table", w.number, c.table)
	}
}

func note(line *int, here int, is bool) {
	if is && *line == 0 {
		*line = here
	}
}

// minPairs is how many values of several registers have to begin at numbers of one kind to say something.
const minPairs = 3

// decide makes one choice for the whole list.
func decide(e evidence, stated Base, forced Base) Numbering {
	tables := e.five > 0 && e.against == 0
	switch {
	case forced != Auto:
		return Numbering{Base: forced, Certain: true, Why: "it was asked for", forced: true}
	case tables && stated != Zero:
		return Numbering{Base: Modicon,
			Why: "numbers of five digits such as 40001 usually name their table by the first digit and count from 1, and no row contradicts that"}
	case stated != Auto:
		return Numbering{Base: stated, Certain: true, Why: "the list says so"}
	case e.plain+e.named+e.five == 0:
		return Numbering{Base: Zero, Certain: true, Why: "every address says by its notation what it counts from"}
	case e.zero != 0:
		return Numbering{Base: Zero, Certain: true, Why: fmt.Sprintf("line %d has the number 0", e.zero)}
	case e.against != 0:
		return Numbering{Base: Zero, Why: fmt.Sprintf("numbers of five digits do not name tables here: see line %d, where %s", e.against, e.reason)}
	case e.six+e.x > 0 && e.sixRound+e.xRound == 0:
		return Numbering{Base: One, Why: "the numbers with a digit for their table count from 1, and the others are taken to do the same"}
	case e.fixed > 0:
		return Numbering{Base: Zero, Why: "hexadecimal and %MW numbers count from 0, and the others are taken to do the same"}
	}
	return guess(e)
}

// guess chooses when the numbers alone have to do.
func guess(e evidence) Numbering {
	switch {
	case e.odd >= minPairs && e.even == 0:
		return Numbering{Base: One, Why: fmt.Sprintf("no row has the number 0, and all %d values of several registers begin at odd numbers", e.odd)}
	case e.even >= minPairs && e.odd == 0:
		return Numbering{Base: Zero, Why: fmt.Sprintf("all %d values of several registers begin at even numbers", e.even)}
	case e.smallest == 1:
		return Numbering{Base: One, Why: "the smallest number is 1, and no row has 0"}
	}
	return Numbering{Base: Zero, Why: "nothing in the list says otherwise"}
}

// place gives table ("" when it names none) and zero-based address of a row, and what is wrong with them.
func (n Numbering) place(w written, e evidence, own string) (table string, address int, err error) {
	table, first := w.table, 0
	address = w.number
	switch w.form {
	case formPlain, formNamed:
		if n.Base != Zero {
			first = 1
		}
		if w.form == formPlain && n.Base == Modicon && own == "" {
			table = coil // a spreadsheet has cut the zeros of 00001
		}
	case formFive:
		switch first = 1; n.Base {
		case Zero:
			table, address, first = "", w.whole, 0
		case One:
			table, address = "", w.whole
		}
	case formSix:
		first = n.digitFirst(e.sixRound)
	case formX:
		first = n.digitFirst(e.xRound)
	case formHex:
		if w.zeroX && e.x > 0 { // beside 4x0001, 0x0001 is a coil
			table, first = coil, n.digitFirst(e.xRound)
		} else if address = w.hex(); n.forced && n.Base == One {
			first = 1
		}
	}
	address -= first
	switch {
	case address < 0:
		return table, 0, fmt.Errorf("the number is 0, but the list counts from 1")
	case address+w.last > 65535:
		return table, 0, fmt.Errorf("address %d is beyond the last, 65535", address+w.last)
	}
	return table, address, nil
}

// digitFirst is what numbers behind the digit of a table begin with: 1 unless there is a row with 0, or it was asked for.
func (n Numbering) digitFirst(round int) int {
	if round != 0 || n.forced && n.Base == Zero {
		return 0
	}
	return 1
}

func (w written) hex() int {
	if w.zeroX {
		return w.whole
	}
	return w.number
}

// explain says in sentences how the addresses were taken.
func (n Numbering) explain(e evidence) string {
	var parts []string
	add := func(rows int, text string) {
		if rows > 0 {
			parts = append(parts, text)
		}
	}
	switch n.Base {
	case Modicon:
		add(e.five, "40001 is holding_register 0")
		add(e.plain, "1 is coil 0 where the row names no other table")
	case One:
		add(e.plain+e.five, "a plain number is one above the address (1 is address 0)")
	case Zero:
		add(e.plain+e.five, "a plain number is the address itself")
	}
	add(e.six, fmt.Sprintf("400001 is holding_register %d", 1-n.digitFirst(e.sixRound)))
	add(e.x, fmt.Sprintf("4x0001 is holding_register %d", 1-n.digitFirst(e.xRound)))
	if n.Base == Zero {
		add(e.named, "HR1 is holding_register 1")
	} else {
		add(e.named, "HR1 is holding_register 0")
	}
	if e.x > 0 { // 0x0001 is a coil then
		e.fixed -= e.zeroX
	}
	add(e.fixed, "hexadecimal and %MW numbers are addresses as they are")
	return strings.Join(parts, ", ")
}
