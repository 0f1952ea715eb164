package document

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// yaml reads one YAML document. What the parser below is known to misread is refused before it sees it, and its work is
// bounded by the checks of characters and tokens.
func (p *parse) yaml(src string) *Node {
	if !p.checkCharacters(src) {
		return nil
	}
	if !strings.HasSuffix(src, "\n") {
		src += "\n" // the lexer drops a tag at the very end
	}
	lines := newSource(src)
	body, ok := p.parseBody(src, lines)
	if !ok {
		return nil
	}
	if body == nil {
		return p.newNode(Pos{File: p.file, Line: 1, Column: 1}, nil, "")
	}
	y := &yamlReader{parse: p, source: lines}
	return y.node(body, nil, "", level{})
}

// parseBody runs the parser; the body is nil for an empty document. A panic of the parser is reported as a problem of the
// file, because one bad file may not stop a daemon.
func (p *parse) parseBody(src string, lines *source) (body ast.Node, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			p.refuse(Pos{File: p.file}, refusal{RuleSyntax, fmt.Sprintf("the YAML parser failed: %v", r), syntaxHint})
			body, ok = nil, false
		}
	}()
	tokens := lexer.Tokenize(src)
	if !p.checkTokens(tokens, lines) {
		return nil, false
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		p.syntax(err)
		return nil, false
	}
	for _, doc := range file.Docs {
		if doc.Body != nil {
			return doc.Body, true
		}
	}
	return nil, true
}

const syntaxHint = `check the indentation, and quote a text that contains ": " or " #" or begins with one of - ? : , [ ] { } # & * ! | > % @`

// syntax reports what the parser says at the token it says it of.
func (p *parse) syntax(err error) {
	var at interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if !errors.As(err, &at) || at.GetToken() == nil {
		p.refuse(Pos{File: p.file}, refusal{RuleSyntax, err.Error(), syntaxHint})
		return
	}
	p.refuse(p.tokenPos(at.GetToken()), refusal{RuleSyntax, at.GetMessage(), syntaxHint})
}

func (p *parse) tokenPos(t *token.Token) Pos {
	return Pos{File: p.file, Line: t.Position.Line, Column: t.Position.Column}
}
