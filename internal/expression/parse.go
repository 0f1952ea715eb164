package expression

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/parser/lexer"
)

// ValidName says whether an expression can use a name: a letter or "_", then letters, digits and "_", and no word of the
// language.
func ValidName(name string) bool {
	tokens, err := lexer.Lex(file.NewSource(name))
	if err != nil || len(tokens) != 2 || !tokens[0].Is(lexer.Identifier, name) || strings.Contains(name, "$") {
		return false
	}
	return name != "true" && name != "false" && name != "nil"
}

// parse gives the syntax tree. Numbers are taken out of the source first: the parser holds whole numbers in an int, which
// is too narrow on 32-bit machines. In their place stands a 0 of the same width, so that all columns stay true.
func (c *compiler) parse() (ast.Node, error) {
	length := utf8.RuneCountInString(c.source)
	switch {
	case !utf8.ValidString(c.source):
		return nil, c.errorAt(-1, "", "the text is not UTF-8")
	case strings.TrimSpace(c.source) == "":
		return nil, c.errorAt(-1, "", "the expression is empty")
	case length > MaxLength:
		return nil, c.errorAt(-1, "", "the source has %d characters, the limit is %d", length, MaxLength)
	}
	tokens, err := lexer.Lex(file.NewSource(c.source))
	if err != nil {
		return nil, c.syntax(err)
	}
	blanked := []rune(c.source)
	c.literals = map[int]float64{}
	for i, t := range tokens {
		var next lexer.Token
		if i+1 < len(tokens) {
			next = tokens[i+1]
		}
		if err := c.token(t, next); err != nil {
			return nil, err
		}
		if t.Kind == lexer.Number {
			copy(blanked[t.From:t.To], []rune("0"+strings.Repeat(" ", t.To-t.From-1)))
		}
	}
	tree, err := parser.Parse(string(blanked))
	if err != nil {
		return nil, c.syntax(err)
	}
	return tree.Node, nil
}

// syntax puts an error of the parser into our form.
func (c *compiler) syntax(err error) error {
	var at *file.Error
	if errors.As(err, &at) {
		return c.errorAt(at.From, "", "%s", at.Message)
	}
	return c.errorAt(-1, "", "%v", err)
}

// errorAt makes an error at a character counted from 0; -1 means the whole source.
func (c *compiler) errorAt(from int, hint, format string, args ...any) error {
	return &Error{Source: c.source, Column: from + 1, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// token reads the numbers, and refuses what leaves no trace in the tree or no clear message from the parser.
func (c *compiler) token(t, next lexer.Token) error {
	switch {
	case t.Kind == lexer.Number:
		value, why := literal(t.Value)
		if why != "" {
			return c.errorAt(t.From, why, "%s is not accepted as a number", t.Value)
		}
		c.literals[t.From] = value
	case t.Kind == lexer.Operator && slices.Contains([]string{"=", "&", "|", ";", "::"}, t.Value):
		return c.errorAt(t.From, operatorHint(t.Value), "%q is not part of the language", t.Value)
	case t.Is(lexer.Operator, ",") && next.Is(lexer.Bracket, ")"):
		return c.errorAt(t.From, "", `a value is missing after ","`)
	}
	return nil
}

func operatorHint(op string) string {
	switch op {
	case "=":
		return "compare with =="
	case "&":
		return "write and"
	case "|":
		return "write or"
	}
	return ""
}

// numeral is a number as documents accept it.
var numeral = regexp.MustCompile(`^(0x[0-9a-fA-F]+|(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?)$`)

// exact is the largest whole number up to which a float64 holds every whole number.
const exact = 1 << 53

// literal reads a number, or says why not.
func literal(text string) (value float64, why string) {
	if !numeral.MatchString(text) {
		return 0, "write it as 1.5, 0.5, 1e3 or 0x1F"
	}
	if whole := !strings.ContainsAny(text, ".eE"); whole || strings.HasPrefix(text, "0x") {
		u, err := strconv.ParseUint(text, 0, 64)
		if err != nil || u > exact {
			return 0, "whole numbers are exact up to 9007199254740992"
		}
		return float64(u), ""
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(value, 0) {
		return 0, "it is too large"
	}
	return value, ""
}
