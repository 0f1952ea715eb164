// Package document reads the files people write: one strict YAML 1.2 or JSON document becomes a tree of nodes that know
// where they stand in the file.
//
// The promise: a file means one thing, or it is refused with file, line, column and what to write instead. Every problem
// of a file is collected, not only the first. Nodes never change after Parse and may be shared between goroutines.
//
// What is text, number and truth:
//   - only true and false are bools; on, off, yes, no, y and n are texts; True and TRUE are refused as ambiguous
//   - null, ~ and an absent value are null; Null and NULL are refused
//   - a number is written as in JSON, or as hexadecimal 0x8000 without a sign; it stays text, so nothing is rounded
//   - refused, because readers disagree about them: 0123, 1_000, +5, .5, 5., 0o17, 0b11, 0X1F, .inf, .nan
//   - dates, times and versions such as 2026-07-28, 12:30 and 1.0.0 are texts
//   - a map key is text; an unquoted whole number or bool is accepted as the text it is written with (labels: {0: off})
//
// Refused as well: anchors, aliases, merge keys, tags, directives, complex keys, tabs outside JSON, duplicate keys, a
// second document, and everything beyond the limits below. Of YAML's spellings, those are refused that the parser below is
// known to misread or that readers differ in: block headers other than | |- > >-, an unquoted text with a blank line in it,
// {a:1} without its space, {a, b} without values, [a: b] without braces, and values that do not stand to the right of their
// key or dash. A YAML file is read as if it ended with a line feed.
//
// The package never opens files, never resolves references or variables, and never guesses a value that is absent.
package document

// Limits of one file. They bound the work of a parse, whatever the bytes are.
const (
	MaxBytes     = 4 << 20 // size of one file
	MaxDepth     = 64      // nested maps and lists
	MaxKeys      = 10_000  // keys of one YAML map
	MaxAbsent    = 1_000   // keys and dashes of one YAML file with nothing behind them
	MaxKeyLength = 256     // characters of one key
	MaxDigits    = 64      // characters of one number
)
