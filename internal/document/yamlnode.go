package document

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// yamlReader turns the parser's tree into nodes, and holds every node against the text it was read from.
type yamlReader struct {
	*parse
	source *source
}

// level is where a node stands among the others.
type level struct {
	depth int
	flow  bool // inside { } or [ ]
}

func (y *yamlReader) node(from ast.Node, parent *Node, step string, at level) *Node {
	n := y.newNode(y.tokenPos(from.GetToken()), parent, step)
	switch from := from.(type) {
	case *ast.MappingNode:
		if text, ok := y.colonText(from, at); ok {
			n.kind, n.text, n.place = String, text, placeOf(y.tokenPos(from.Values[0].Key.GetToken()))
			return n
		}
		if at.flow && !from.IsFlowStyle {
			y.refuseNode(n, refusal{RuleSyntax, "a key inside [ ] needs its own map", "write [{key: value}], or quote the text"})
		}
		y.mapping(n, from, at)
	case *ast.SequenceNode:
		if at.flow && !from.IsFlowStyle {
			y.refuseNode(n, refusal{RuleSyntax, "a dash does not begin an item inside { } or [ ]", "write [item, item]"})
		}
		y.list(n, from, at)
	case *ast.LiteralNode:
		y.block(n, from, at)
	case ast.ScalarNode:
		y.scalar(n, from.GetToken(), at)
	default:
		y.refuseNode(n, refusal{RuleSyntax, fmt.Sprintf("%s is not accepted here", from.Type()), syntaxHint})
	}
	return n
}

// colonText gives back the plain text that the parser splits at a colon inside a list inside { }, such as valve:write: without a
// space behind it a colon is part of the text (YAML 1.2, 7.3.3).
func (y *yamlReader) colonText(from *ast.MappingNode, at level) (string, bool) {
	if !at.flow || from.IsFlowStyle || len(from.Values) != 1 {
		return "", false
	}
	key := from.Values[0].Key.GetToken()
	rest := y.source.from(y.tokenPos(key))
	behind, ok := strings.CutPrefix(rest, key.Value+":")
	if !ok || isQuoted(key) || behind == "" || strings.ContainsAny(behind[:1], " \t\r\n,[]{}") {
		return "", false
	}
	text := rest
	if end := strings.IndexAny(rest, ",[]{}\r\n"); end >= 0 {
		text = rest[:end]
	}
	text = strings.TrimRight(text, " ")
	return text, !strings.Contains(text, ": ") && !strings.Contains(text, " #") && !strings.HasSuffix(text, ":")
}

func (y *yamlReader) refuseNode(n *Node, r refusal) { y.refuseAt(n.Pos(), n.Path(), r) }

func (y *yamlReader) mapping(n *Node, from *ast.MappingNode, at level) {
	n.kind = Mapping
	if !from.IsFlowStyle && len(from.Values) > 0 {
		n.place = placeOf(y.tokenPos(from.Values[0].Key.GetToken()))
	}
	at = level{at.depth + 1, at.flow || from.IsFlowStyle}
	if y.tooDeep(n.Pos(), at.depth) {
		return
	}
	for _, entry := range from.Values {
		key := entry.Key.GetToken()
		pos := y.tokenPos(key)
		y.checkKey(n, key, at)
		y.checkColon(n, entry, at)
		value := y.node(entry.Value, n, key.Value, at)
		if !at.flow && pos.Column != n.Pos().Column {
			y.refuseAt(pos, n.Path(), refusal{RuleSyntax, fmt.Sprintf("key %q does not stand under the first key of its map", clip(key.Value)), syntaxHint})
		}
		if sequence, ok := entry.Value.(*ast.SequenceNode); !at.flow && !isAbsent(entry.Value) {
			y.checkIndent(value, pos, ok && !sequence.IsFlowStyle)
		}
		y.addKey(n, key.Value, pos, value)
	}
}

func (y *yamlReader) list(n *Node, from *ast.SequenceNode, at level) {
	n.kind = List
	at = level{at.depth + 1, at.flow || from.IsFlowStyle}
	if y.tooDeep(n.Pos(), at.depth) {
		return
	}
	for i, item := range from.Values {
		value := y.node(item, n, strconv.Itoa(i), at)
		if !at.flow && !isAbsent(item) {
			y.checkIndent(value, n.Pos(), false)
		}
		n.addItem(value)
	}
}

func (y *yamlReader) scalar(n *Node, t *token.Token, at level) {
	if t.Type == token.ImplicitNullType {
		return
	}
	if bad := y.checkToken(t, at); bad != nil {
		y.refuseNode(n, *bad)
		return
	}
	if isQuoted(t) {
		n.kind, n.quoted, n.text = String, true, t.Value
		return
	}
	kind, bad := classify(t.Value)
	if bad != nil {
		y.refuseNode(n, *bad)
	}
	if n.kind = kind; kind != Null {
		n.text = t.Value
	}
}

func (y *yamlReader) block(n *Node, from *ast.LiteralNode, at level) {
	n.kind, n.quoted, n.text = String, true, from.Value.Value
	switch header := from.Start.Value; {
	case at.flow || at.depth == 0:
		y.refuseNode(n, refusal{RuleSyntax, "a block text stands only below a key or dash", "use double quotes"})
	case header != "|" && header != "|-" && header != ">" && header != ">-":
		y.refuseNode(n, refusal{RuleSyntax, fmt.Sprintf("block header %q is not accepted", clip(header)), "write | or > to keep the last line end, |- or >- to drop it"})
	}
}

func isQuoted(t *token.Token) bool {
	return t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType
}

// isAbsent is true for the null of "key:" with nothing behind it.
func isAbsent(n ast.Node) bool {
	t := n.GetToken()
	return t != nil && t.Type == token.ImplicitNullType
}

// checkKey refuses a key that is no plain name.
func (y *yamlReader) checkKey(m *Node, key *token.Token, at level) {
	bad := y.checkToken(key, at)
	if bad == nil && !isQuoted(key) {
		bad = classifyKey(key.Value)
	}
	if bad != nil {
		y.refuseAt(y.tokenPos(key), m.Path(), *bad)
	}
}

// checkColon refuses a colon on another line than its key, and {a:1}, where YAML has one key "a:1" and people mean two.
func (y *yamlReader) checkColon(m *Node, entry *ast.MappingValueNode, at level) {
	pos := y.tokenPos(entry.Start)
	if pos.Line != entry.Key.GetToken().Position.Line {
		y.refuseAt(pos, m.Path(), refusal{RuleSyntax, `this ":" stands on another line than its key`, syntaxHint})
	}
	rest := y.source.from(pos)
	if at.flow && !isQuoted(entry.Key.GetToken()) && strings.HasPrefix(rest, ":") && len(rest) > 1 && rest[1] != ' ' {
		y.refuseAt(pos, m.Path(), refusal{RuleSyntax, `a space is missing after ":"`, fmt.Sprintf("write %s: value, or quote the whole if it is one text", clip(entry.Key.GetToken().Value))})
	}
}

// checkIndent refuses a value below its key or dash that is not further to the right; a list may stand under its key.
func (y *yamlReader) checkIndent(value *Node, above Pos, isBlockList bool) {
	if column := value.Pos().Column; column > above.Column || isBlockList && column == above.Column {
		return
	}
	y.refuseNode(value, refusal{RuleSyntax, fmt.Sprintf("this value belongs to %s and must stand further to the right", above), syntaxHint})
}

// checkToken holds a scalar against the text of the file. The parser joins lines that a person did not mean to join, and
// it accepts unquoted texts that YAML does not.
func (y *yamlReader) checkToken(t *token.Token, at level) *refusal {
	rest := y.source.from(y.tokenPos(t))
	switch {
	case t.Type == token.SingleQuoteType && strings.HasPrefix(rest, "'"):
		return refuseQuotesOverLines(t)
	case t.Type == token.DoubleQuoteType && strings.HasPrefix(rest, `"`):
		return y.source.checkEscapes(y.tokenPos(t))
	case isQuoted(t):
	case strings.ContainsRune(t.Value, '\n') || strings.Contains(t.Value, ": ") || strings.HasSuffix(t.Value, ":") || strings.Contains(t.Value, " #"):
	case at.flow && strings.ContainsAny(t.Value, ",[]{}"):
	default:
		word, _, _ := strings.Cut(t.Value, " ")
		if strings.HasPrefix(rest, word) {
			return nil
		}
	}
	return &refusal{RuleSyntax, fmt.Sprintf("the unquoted text %q is not clear", clip(t.Value)), syntaxHint}
}

// refuseQuotesOverLines: the lexer joins lines wrongly when one of them begins with a doubled quote.
func refuseQuotesOverLines(t *token.Token) *refusal {
	if strings.Contains(t.Value, "'") && strings.Contains(strings.TrimSpace(t.Origin), "\n") {
		return &refusal{RuleSyntax, "a single-quoted text over several lines may not hold a single quote", "use double quotes, or a block text with |"}
	}
	return nil
}
