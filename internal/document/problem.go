package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a file. Line and Column count from 1; columns count characters, not bytes. The zero line means the
// file as a whole.
type Pos struct {
	File   string
	Line   int
	Column int
}

// String gives "file:line:col", or the file alone when no line is known.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	place := fmt.Sprintf("%d:%d", p.Line, p.Column)
	if p.File == "" {
		return place
	}
	return p.File + ":" + place
}

// Rules that this package reports. Packages that read documents add their own.
const (
	RuleSyntax       = "syntax"        // the bytes are not YAML or JSON, or a construct is refused
	RuleEncoding     = "encoding"      // not UTF-8, or a control character
	RuleLimit        = "limit"         // size, depth, number of keys, length of a key or number
	RuleTab          = "tab"           // a tab in a YAML file
	RuleDocuments    = "documents"     // a second document in one file
	RuleDuplicateKey = "duplicate_key" // one key twice in a map
	RuleReference    = "reference"     // anchor, alias, merge key or tag
	RuleAmbiguous    = "ambiguous"     // a scalar or key that YAML readers disagree about
	RuleType         = "type"          // a value of the wrong kind
	RuleUnknownKey   = "unknown_key"   // a key nobody asked for
	RuleMissingKey   = "missing_key"   // a required key that is absent
	RuleValue        = "value"         // right kind, wrong value
)

// Problem is one finding about a file, addressed to the person who wrote it.
type Problem struct {
	Pos     Pos
	Path    string // where in the document, like "assets.PS07-FCV-04.points.setpoint.at"; empty for the root
	Rule    string // a short stable name of the rule, like "unknown_key"
	Message string
	Hint    string // what to write instead; may be empty
	Warning bool   // a warning does not make the file unusable
}

// Error gives "file:line:col: path: message; hint", leaving out what is empty.
func (p Problem) Error() string {
	var b strings.Builder
	for _, part := range []string{p.Pos.String(), p.Path} {
		if part != "" {
			b.WriteString(part + ": ")
		}
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	return b.String()
}

// Problems collects findings. As an error it names them all, one per line.
type Problems []Problem

// Add appends problems.
func (ps *Problems) Add(p ...Problem) { *ps = append(*ps, p...) }

// maxShown bounds the text of Error; the slice itself holds every problem.
const maxShown = 50

// Error lists the problems, one per line.
func (ps Problems) Error() string {
	var lines []string
	for i, p := range ps {
		if i == maxShown {
			lines = append(lines, fmt.Sprintf("and %d more", len(ps)-maxShown))
			break
		}
		lines = append(lines, p.Error())
	}
	return strings.Join(lines, "\n")
}

// Err is nil when every problem is a warning, else all the problems as one error.
func (ps Problems) Err() error {
	for _, p := range ps {
		if !p.Warning {
			return ps
		}
	}
	return nil
}

// Sorted gives a copy in the order of file, line and column; problems of one place keep their order.
func (ps Problems) Sorted() Problems {
	sorted := slices.Clone(ps)
	slices.SortStableFunc(sorted, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return sorted
}
