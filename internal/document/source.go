package document

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// source gives the text at a place of a file. It keeps the offsets of the line it was asked for last, because a file may
// be one long line.
type source struct {
	lines   []string
	line    int
	offsets []int // of the characters of that line; nil when all are single bytes
}

func newSource(text string) *source { return &source{lines: strings.Split(text, "\n")} }

// from is the rest of the line from a place on, empty when there is no such place.
func (s *source) from(pos Pos) string {
	if pos.Line < 1 || pos.Line > len(s.lines) || pos.Column < 1 {
		return ""
	}
	line := s.lines[pos.Line-1]
	if s.line != pos.Line {
		s.line, s.offsets = pos.Line, offsets(line)
	}
	at := pos.Column - 1
	if s.offsets != nil {
		if at >= len(s.offsets) {
			return ""
		}
		at = s.offsets[at]
	}
	if at >= len(line) {
		return ""
	}
	return line[at:]
}

func offsets(line string) []int {
	if utf8.RuneCountInString(line) == len(line) {
		return nil
	}
	var all []int
	for at := range line {
		all = append(all, at)
	}
	return all
}

// checkEscapes refuses escapes of the double-quoted text at a place that the lexer turns into nonsense without a word.
func (s *source) checkEscapes(pos Pos) *refusal {
	rest := strings.TrimPrefix(s.from(pos), `"`)
	for number := pos.Line; ; number++ {
		closed, bad := checkLineEscapes(rest)
		if bad != "" {
			return &refusal{RuleEncoding, fmt.Sprintf("escape %s is not a character", bad), `write the character itself, or \uXXXX with four hexadecimal digits`}
		}
		if closed || number >= len(s.lines) {
			return nil
		}
		rest = s.lines[number]
	}
}

// checkLineEscapes looks at one line of a double-quoted text and says whether the text ends there.
func checkLineEscapes(line string) (closed bool, bad string) {
	for i := 0; i < len(line); i++ {
		if line[i] == '"' {
			return true, ""
		}
		if line[i] != '\\' || i+1 == len(line) {
			continue
		}
		i++
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[line[i]]
		if digits == 0 {
			continue
		}
		escape := line[i+1 : min(i+1+digits, len(line))]
		code, err := strconv.ParseUint(escape, 16, 32)
		high := code >= 0xD800 && code < 0xDC00 && digits == 4 // the lexer wants the low half behind it
		if len(escape) < digits || err != nil || !high && !utf8.ValidRune(rune(code)) {
			return false, line[i-1 : i+1+len(escape)]
		}
		if i += digits; high {
			i += len(`\uDC00`)
		}
	}
	return false, ""
}
