// Package registerlist reads a Modbus register list as plants keep it, a table from Excel saved as CSV, and proposes an
// inventory of its points.
//
// Its promise: every row either becomes a point that carries the line it came from, or is reported with its line and what to do; a
// bad row never costs another one. What the list does not say (which table, which word order, whether it counts from zero)
// is never filled in silently: it is left out, or it is a guess that the output explains together with a way to check it by one read.
// Nothing it proposes can write.
//
// What it understands:
//   - UTF-8, UTF-16 and GB18030 or Windows-1252 text; cells between ; , tab or |, quoted or not; title rows before the header
//   - columns in any order, named in English, German or Chinese; columns it does not know are named in the output
//   - addresses as 100, 40001, 400001, 4x0001, 0x64, 64h, HR100, IR 14, DI3, %MW100, ranges as 40010-40011, bits as 40003.5
//   - rows that hold nothing but the name of a table, such as "Input registers", for the rows below them
//
// The package does no I/O and keeps no state.
package registerlist

// Limits of one list. They bound the work and the memory of Read, whatever the bytes are.
const (
	MaxBytes    = 10 << 20 // of the file
	MaxRows     = 50_000   // that are not blank
	MaxColumns  = 256      // of one row; further cells are not read
	MaxProblems = 1_000    // that are kept
	// MaxPoints is how many points one inventory file can hold within the limits of package document.
	MaxPoints = 10_000
)
