// Package show writes the documents of the status socket as text for the people at the box.
//
// Its promise: what is wrong comes first; no line is wider than 100 columns; the text has no colours and no control characters,
// whatever a device or an agent put into a name or a message; the same document and time give the same text. It asks nobody and
// never hides that something is cut: it says how much more there is and where.
package show

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Width is the widest line, in columns of a terminal.
const Width = 100

// page collects lines.
type page struct{ b strings.Builder }

// text is the page without spaces at the ends of lines, with one newline at its end.
func (p *page) text() string {
	lines := strings.Split(strings.TrimRight(p.b.String(), "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// blank separates sections.
func (p *page) blank() { p.b.WriteString("\n") }

// line writes a text as one line, wrapped at words where it must be; further lines are indented by two more.
func (p *page) line(indent int, format string, args ...any) {
	p.wrap(indent, indent+2, clean(fmt.Sprintf(format, args...)))
}

// wrap breaks a text at words into lines of at most Width columns; a word that is longer is cut.
func (p *page) wrap(first, rest int, text string) {
	p.b.WriteString(strings.Repeat(" ", first))
	column, begun := first, false
	for _, word := range strings.Split(text, " ") {
		if begun && column+1+columns(word) > Width {
			p.b.WriteString("\n" + strings.Repeat(" ", rest))
			column, begun = rest, false
		}
		if begun {
			p.b.WriteByte(' ')
			column++
		}
		for column+columns(word) > Width {
			head := fit(word, Width-column)
			p.b.WriteString(head + "\n" + strings.Repeat(" ", rest))
			word, column = word[len(head):], rest
		}
		p.b.WriteString(word)
		column += columns(word)
		begun = true
	}
	p.b.WriteByte('\n')
}

// rows writes cells under each other. A row that would be too wide is wrapped like a line instead.
func (p *page) rows(indent int, rows [][]string) {
	var widest []int
	for _, row := range rows {
		for i, cell := range row {
			row[i] = clean(cell)
			if i == len(widest) {
				widest = append(widest, 0)
			}
			if i < len(row)-1 {
				widest[i] = max(widest[i], min(columns(row[i]), widestCell))
			}
		}
	}
	for _, row := range rows {
		text := ""
		for i, cell := range row {
			text += cell
			if i < len(row)-1 {
				text += strings.Repeat(" ", max(0, widest[i]-columns(cell))+2)
			}
		}
		p.wrap(indent, indent+4, strings.TrimRight(text, " "))
	}
}

// widestCell bounds how far one long cell pushes the others to the right.
const widestCell = 40

// title heads a section.
func (p *page) title(format string, args ...any) {
	p.blank()
	p.line(0, format, args...)
}

// clean makes a text safe for a terminal: one line, printable characters only.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

// columns is how wide a clean text is on a terminal: East Asian wide characters take two columns, combining marks none.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r >= 0x1100 && (r <= 0x115F || r >= 0x2E80 && r <= 0xA4CF || r >= 0xAC00 && r <= 0xD7A3 || r >= 0xF900 && r <= 0xFAFF ||
		r >= 0xFE30 && r <= 0xFE6F || r >= 0xFF00 && r <= 0xFF60 || r >= 0xFFE0 && r <= 0xFFE6 || r >= 0x1F300 && r <= 0x1FAFF || r >= 0x20000):
		return 2
	}
	return 1
}

// fit is the beginning of a text that is at most so wide, and at least one character.
func fit(text string, width int) string {
	at := 0
	for i, r := range text {
		if width -= runeColumns(r); width < 0 && i > 0 {
			break
		}
		at = i + len(string(r))
	}
	return text[:at]
}

// ago is how long ago something was, or how far ahead it lies, in one unit.
func ago(at, now time.Time) string {
	switch d := now.Sub(at); {
	case at.IsZero():
		return "never"
	case d < 0:
		return "in " + span(-d)
	default:
		return span(d) + " ago"
	}
}

// span is a duration in one unit that a person reads at a glance.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
}

// clock is a time of day, with the date when it is not today.
func clock(at, now time.Time) string {
	if at.IsZero() {
		return "-"
	}
	at = at.In(now.Location())
	if y, m, d := at.Date(); y == now.Year() && m == now.Month() && d == now.Day() {
		return at.Format("15:04:05")
	}
	return at.Format("2006-01-02 15:04")
}

// size is a number of bytes in one unit.
func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	default:
		return fmt.Sprintf("%d MB", n/1_000_000)
	}
}

// count is a number with its noun.
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
