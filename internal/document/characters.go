package document

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// longestRun bounds a run of "<", on which the lexer spends quadratic time.
const longestRun = 64

// checkCharacters refuses what must not stand anywhere in a YAML file.
func (p *parse) checkCharacters(src string) bool {
	for number, line := range strings.Split(src, "\n") {
		column := 0
		for _, r := range line {
			column++
			if r >= ' ' && r != 0x7F && r != '\uFEFF' {
				continue
			}
			p.refuse(Pos{File: p.file, Line: number + 1, Column: column}, refuseCharacter(r))
			break
		}
		if strings.HasPrefix(line, "<<<<<<<") || strings.HasPrefix(line, ">>>>>>>") {
			p.refuse(Pos{File: p.file, Line: number + 1, Column: 1}, refusal{RuleSyntax, "a merge conflict marker", "resolve the conflict first"})
		} else if at := strings.Index(line, strings.Repeat("<", longestRun)); at >= 0 {
			column := utf8.RuneCountInString(line[:at]) + 1
			p.refuse(Pos{File: p.file, Line: number + 1, Column: column}, refusal{RuleLimit, fmt.Sprintf(`more than %d "<" in a row`, longestRun-1), ""})
		}
	}
	return p.problems.Err() == nil
}

func refuseCharacter(r rune) refusal {
	switch r {
	case '\t':
		return refusal{RuleTab, "a tab is not accepted in a YAML file", `use spaces, or \t inside double quotes`}
	case '\r':
		return refusal{RuleEncoding, "a carriage return without a line feed", "save the file with line feeds as line ends"}
	}
	return refusal{RuleEncoding, fmt.Sprintf("control character %U is not accepted", r), "remove it, or write it as an escape inside double quotes"}
}
