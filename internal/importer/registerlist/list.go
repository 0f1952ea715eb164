package registerlist

import (
	"fmt"

	"capd/internal/document"
)

// Base says what the numbers of a list count from.
type Base string

// The bases. Auto looks at the list as a whole and explains its choice.
const (
	Auto    Base = ""
	Zero    Base = "zero"    // every plain number is the address on the wire, 40001 as well
	One     Base = "one"     // every plain number is one above the address on the wire
	Modicon Base = "modicon" // the first digit of five names the table (0 coil, 1 discrete input, 3 input and 4 holding register), and the rest counts from one
)

// Options are what the caller knows better than the list. The zero Options let Read find everything out.
type Options struct {
	Encoding  string // "utf-8", "utf-16le", "utf-16be", "windows-1252" or "gb18030"; found out when empty
	Separator rune   // ';', ',', '\t' or '|'; found out when 0
	Base      Base
	Table     string // the table of rows that name none; holding_register when empty
}

// List is a register list that was read. Treat it as read-only.
type List struct {
	Name      string // of the file, as given
	Encoding  string
	Separator rune
	Header    int      // line of the header row, from 1; 0 when there is none
	Unused    []string // headings of the columns that no point is made of
	Rows      int      // rows below the header that are not blank
	Numbering Numbering
	Points    []Point // in the order of the list
	Skipped   []Skipped
}

// Numbering is how the addresses of a list were understood.
type Numbering struct {
	Base    Base // of plain numbers: Zero, One or Modicon
	Certain bool // false for a guess
	Why     string
	How     string // what became of the notations of this list, such as "40001 is holding_register 0"
	forced  bool
}

// Skipped is a row that became no point, and why.
type Skipped struct {
	Line int
	Text string
	Why  string
}

// Point is one row of the list as a point of an inventory. Empty fields are what the list does not say.
type Point struct {
	Line    int
	Source  string // the row as written, on one line
	Name    string // as the inventory names it, unique in the list
	Tag     string // as the list names it
	Title   string
	Unit    string
	Type    string // of the inventory, such as "uint16"; "" when unknown or of a bit table
	Order   string // byte_order
	Scale   string // exact decimal; "" for 1
	Offset  string // exact decimal; "" for 0
	Access  string // as written
	Notes   []string
	Table   string // coil, discrete_input, input_register or holding_register
	Default bool   // the list does not name the table, so the one of the options was taken
	Written string // the address as written
	Address int    // zero-based
	Count   int    // registers it takes; 1 in a bit table, and when the type is unknown
	Bit     int    // of a register, -1 when it is none
	Byte    string // "high" or "low" half of the register; "" for the whole
	Length  int    // bytes of a string, 0 when unknown or no string
	UnitID  int    // -1 when the list names none
}

// bits reports whether the point is in a table of single bits.
func (p *Point) bits() bool { return p.Table == coil || p.Table == discreteInput }

// wide reports whether the point needs a byte order.
func (p *Point) wide() bool {
	return !p.bits() && p.Bit < 0 && p.Type != "" && p.Type != "string" && p.Count > 1
}

// maxNotes is how many notes a point keeps.
const maxNotes = 8

// note adds what an engineer has to know of the point.
func (p *Point) note(format string, args ...any) {
	if len(p.Notes) < maxNotes {
		p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
	}
}

// The tables, as the inventory names them.
const (
	coil            = "coil"
	discreteInput   = "discrete_input"
	inputRegister   = "input_register"
	holdingRegister = "holding_register"
)

// The rules of this package's problems.
const (
	ruleHeader    = "header"            // no header row, or a column that is needed
	ruleRow       = "row"               // a row that cannot become a point
	ruleQuote     = "quote"             // a quote that is never closed
	ruleAddress   = "address"           // an address that cannot be read, or a table that contradicts it
	ruleTable     = "table"             // a table that can mean two, or a function of none
	ruleType      = "type"              // an unknown type, or one that does not fit the registers
	ruleOrder     = "byte_order"        // a word order that cannot be read
	ruleScale     = "scale"             // a scale or offset that is no exact number
	ruleUnitID    = "unit_id"           // a unit id that is none
	ruleTwice     = "duplicate_tag"     // one tag on two rows
	ruleSamePlace = "duplicate_address" // one place on two rows
	ruleOverlap   = "overlap"           // values that share registers
)

func warning(p document.Problem) document.Problem {
	p.Warning = true
	return p
}
