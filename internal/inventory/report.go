package inventory

import "capd/internal/document"

func report(ps *document.Problems, pos document.Pos, path, rule, message, hint string) {
	ps.Add(document.Problem{Pos: pos, Path: path, Rule: rule, Message: message, Hint: hint})
}
