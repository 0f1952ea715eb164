package registerlist

import (
	"strings"
	"unicode/utf8"

	"capd/internal/document"
)

// Bounds of a quoted cell. A quote that is not closed within them is an inch sign or a slip, and stands for itself.
const (
	maxCellLines = 64
	maxCellBytes = 16 << 10
)

// cell is one cell and where it begins.
type cell struct {
	text string // without quotes and without blanks around it
	at   int    // offset in the text
	line int
}

// row is one row of the list. Its cells are valid until the next one is read.
type row struct {
	cells    []cell
	from, to int  // of the text
	line     int  // of its first character
	open     bool // a quote in it is never closed
	cut      bool // it has more than MaxColumns cells
}

// text is the row as written.
func (r *row) text(all string) string { return all[r.from:r.to] }

func (r *row) blank() bool { return r.filled() == 0 }

// filled counts the cells that are not empty.
func (r *row) filled() (n int) {
	for _, c := range r.cells {
		if c.text != "" {
			n++
		}
	}
	return n
}

// cell gives a column's cell, an empty one where the row is too short or the column is -1.
func (r *row) cell(column int) cell {
	if column < 0 || column >= len(r.cells) {
		return cell{at: r.from, line: r.line}
	}
	return r.cells[column]
}

// rows reads a text row by row.
type rows struct {
	text string
	sep  byte
	at   int
	line int
}

// newRows takes one of the separators ; , tab and |.
func newRows(text string, sep rune) *rows { return &rows{text: text, sep: byte(sep), line: 1} }

// next reads one row into r; it is false at the end.
func (s *rows) next(r *row) bool {
	if s.at >= len(s.text) {
		return false
	}
	*r = row{cells: r.cells[:0], from: s.at, line: s.line}
	for s.cell(r) {
	}
	r.to = s.at
	s.lineBreak()
	return true
}

// cell reads one cell; it is false at the end of the row.
func (s *rows) cell(r *row) bool {
	if len(r.cells) >= MaxColumns {
		r.cut = true
		s.skipLine()
		return false
	}
	c := cell{at: s.at, line: s.line}
	if text, ok := s.quoted(r); ok {
		c.text = text
	} else {
		end := s.cellEnd(s.at)
		c.text = s.text[s.at:end]
		s.at = end
	}
	c.text = strings.TrimSpace(strings.ReplaceAll(c.text, "\u00A0", " "))
	r.cells = append(r.cells, c)
	if s.at < len(s.text) && s.text[s.at] == s.sep {
		s.at++
		return true
	}
	return false
}

// cellEnd is the offset of the separator or line break that ends an unquoted cell.
func (s *rows) cellEnd(at int) int {
	for at < len(s.text) && s.text[at] != s.sep && s.text[at] != '\n' && s.text[at] != '\r' {
		at++
	}
	return at
}

func (s *rows) skipLine() {
	if end := strings.IndexAny(s.text[s.at:], "\r\n"); end >= 0 {
		s.at += end
		return
	}
	s.at = len(s.text)
}

func (s *rows) lineBreak() {
	if strings.HasPrefix(s.text[s.at:], "\r\n") {
		s.at += 2
	} else if s.at < len(s.text) {
		s.at++
	}
	s.line++
}

// quoted reads a cell in quotes. A quote ends it only before a separator, a line break or the end, so that "Pump "A" flow" keeps
// its quotes; "" is a quote. After one that is never closed, the quotes of the rest of the row stand for themselves.
func (s *rows) quoted(r *row) (string, bool) {
	from := s.skipBlanks(s.at)
	if r.open || from == len(s.text) || s.text[from] != '"' {
		return "", false
	}
	from++
	limit := min(len(s.text), from+maxCellBytes)
	for i, lines := from, 0; i < limit && lines <= maxCellLines; i++ {
		switch {
		case s.text[i] == '\n':
			lines++
		case s.text[i] != '"':
		case strings.HasPrefix(s.text[i+1:], `"`):
			i++
		default:
			end := s.skipBlanks(i + 1)
			if !s.ends(end) {
				continue
			}
			s.at, s.line = end, s.line+lineBreaks(s.text[from:i])
			return strings.ReplaceAll(s.text[from:i], `""`, `"`), true
		}
	}
	r.open = true
	return "", false
}

func (s *rows) skipBlanks(at int) int {
	for at < len(s.text) && s.text[at] == ' ' {
		at++
	}
	return at
}

// ends says whether a cell may end at an offset.
func (s *rows) ends(at int) bool {
	return at == len(s.text) || s.text[at] == '\r' || s.text[at] == '\n' || s.text[at] == s.sep
}

func lineBreaks(text string) int {
	return strings.Count(text, "\n") + strings.Count(text, "\r") - strings.Count(text, "\r\n")
}

// pos is the place of a cell in the file.
func pos(name, text string, c cell) document.Pos {
	start := strings.LastIndexAny(text[:c.at], "\r\n") + 1
	return document.Pos{File: name, Line: c.line, Column: utf8.RuneCountInString(text[start:c.at]) + 1}
}
