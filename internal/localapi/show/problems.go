package show

import (
	"fmt"
	"slices"

	"capd/internal/document"
	"capd/internal/localapi"
)

// maxProblems is how many findings of one file are shown.
const maxProblems = 5

func (p *page) rejected(files []localapi.RejectedFile) {
	if len(files) == 0 {
		return
	}
	p.title("FILES NOT IN FORCE (correct them; capd reads them again by itself)")
	for _, f := range files {
		p.line(2, "%s (%s; serving: %s)", f.File, f.Kind, f.Serving)
		p.problems(4, f.Problems)
	}
}

func isSetup(f localapi.Problem) bool { return f.Rule == localapi.RuleSetup }

// setup shows what may be wrong with the box itself.
func (p *page) setup(warnings []localapi.Problem) {
	doubts := slices.DeleteFunc(slices.Clone(warnings), func(f localapi.Problem) bool { return !isSetup(f) })
	if len(doubts) > 0 {
		p.title("SETUP")
		p.problems(2, doubts)
	}
}

// problems writes the findings about a file as file:line:column, so that an editor can jump there; errors come before warnings, and keys
// nobody knows first of all, because the ones that are missing often are those misspelt.
func (p *page) problems(indent int, all []localapi.Problem) {
	all = slices.SortedStableFunc(slices.Values(all), func(a, b localapi.Problem) int { return weight(a) - weight(b) })
	for i, f := range all {
		if i == maxProblems {
			p.line(indent, "and %d more: capd status --json", len(all)-maxProblems)
			return
		}
		place := f.File
		if f.Line > 0 {
			place = fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
		}
		if f.Path != "" {
			place += " " + f.Path
		}
		p.line(indent, "%s", place)
		kind := f.Rule
		if f.Warning {
			kind = "warning, " + kind
		}
		p.line(indent+2, "%s: %s", kind, f.Message)
		if f.Hint != "" {
			p.line(indent+2, "-> %s", f.Hint)
		}
	}
}

// weight is the place of a finding among the others of its file.
func weight(p localapi.Problem) int {
	switch {
	case p.Warning:
		return 2
	case p.Rule == document.RuleUnknownKey:
		return 0
	default:
		return 1
	}
}
