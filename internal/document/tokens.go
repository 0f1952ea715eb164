package document

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

// tokenCheck refuses constructs that are not part of the format, and bounds the depth and width of what the recursive
// parser is given.
type tokenCheck struct {
	*parse
	source  *source
	flow    []token.Type // open { and [
	columns []int        // of open block collections
	keys    []int        // counted in each of them
	absent  int          // block entries without a value
	started bool         // the document has begun
	ended   bool         // and ended
}

func (p *parse) checkTokens(tokens token.Tokens, src *source) bool {
	c := &tokenCheck{parse: p, source: src}
	for i, t := range tokens {
		if t.Type == token.InvalidType {
			p.refuse(p.tokenPos(t), refusal{RuleSyntax, t.Error, syntaxHint})
			return false
		}
		var next *token.Token
		if i+1 < len(tokens) {
			next = tokens[i+1]
		}
		if r := refuseToken(t); r != nil {
			p.refuse(p.tokenPos(t), *r)
		}
		if c.document(t) || !c.shape(t, next) {
			return false
		}
	}
	return p.problems.Err() == nil
}

func refuseToken(t *token.Token) *refusal {
	quote := "; quote it if text is meant"
	switch t.Type {
	case token.AnchorType:
		return &refusal{RuleReference, "anchors (&name) are not accepted", "write the value out where it is used" + quote}
	case token.AliasType:
		return &refusal{RuleReference, "aliases (*name) are not accepted", "write the value out" + quote}
	case token.TagType:
		return &refusal{RuleReference, "tags (!name) are not accepted", "leave the tag out" + quote}
	case token.MergeKeyType:
		return &refusal{RuleReference, "merge keys (<<) are not accepted", "write the keys out"}
	case token.DirectiveType:
		return &refusal{RuleSyntax, "directives (%NAME) are not accepted", "leave it out" + quote}
	case token.MappingKeyType:
		return &refusal{RuleSyntax, "complex keys (? key) are not accepted", `write "key: value"`}
	}
	return nil
}

// document follows the document markers; it reports the start of a second document.
func (c *tokenCheck) document(t *token.Token) (second bool) {
	switch t.Type {
	case token.CommentType:
		return false
	case token.DocumentEndType:
		c.ended = c.started
		return c.trailing(t)
	case token.DocumentHeaderType:
		second, c.started = c.started, true
	default:
		second, c.started = c.ended, true
	}
	if second {
		c.refuse(c.tokenPos(t), refusal{RuleDocuments, "a second document begins here", "one file holds one document; move it to a file of its own"})
	}
	return second
}

// trailing reports text behind the end marker "...", which the lexer drops.
func (c *tokenCheck) trailing(end *token.Token) bool {
	at := c.tokenPos(end)
	rest := strings.TrimPrefix(c.source.from(at), "...")
	if rest == "" || strings.HasPrefix(rest, " ") {
		return false
	}
	c.refuse(at, refusal{RuleSyntax, `an unquoted text may not begin with "..." at the start of a line`, "quote it"})
	return true
}

// shape counts nesting, keys and absent values. It may count a level twice, so its limit is twice the real one, which is
// checked later.
func (c *tokenCheck) shape(t, next *token.Token) bool {
	switch t.Type {
	case token.MappingStartType, token.SequenceStartType:
		c.flow = append(c.flow, t.Type)
	case token.MappingEndType, token.SequenceEndType:
		c.flow = c.flow[:max(0, len(c.flow)-1)]
	}
	isKey := next != nil && next.Type == token.MappingValueType
	if isKey && utf8.RuneCountInString(t.Value) > MaxKeyLength {
		return c.stop(t, longKey(t.Value))
	}
	if c.tooDeep(c.tokenPos(t), (len(c.flow)+len(c.columns))/2) {
		return false
	}
	if len(c.flow) > 0 {
		return c.flowValue(t, next)
	}
	if isKey || t.Type == token.SequenceEntryType {
		c.enter(t.Position.Column, isKey)
	}
	return c.blockWidth(t, next)
}

func (c *tokenCheck) stop(t *token.Token, r refusal) bool {
	c.refuse(c.tokenPos(t), r)
	return false
}

// flowValue refuses an entry without a value in { }, which more often is a list in the wrong brackets.
func (c *tokenCheck) flowValue(t, next *token.Token) bool {
	if c.flow[len(c.flow)-1] != token.MappingStartType || next == nil || next.Type != token.CollectEntryType && next.Type != token.MappingEndType {
		return true
	}
	switch before := t.PreviousType(); {
	case t.Type == token.MappingValueType:
		return c.stop(t, refusal{RuleSyntax, "a value is missing", "write null if none is meant"})
	case isScalar(t) && (before == token.MappingStartType || before == token.CollectEntryType):
		return c.stop(t, refusal{RuleSyntax, fmt.Sprintf("key %q has no value", clip(t.Value)), "write {key: value}, or [ ] for a list"})
	}
	return true
}

func isScalar(t *token.Token) bool {
	return t.CharacterType == token.CharacterTypeMiscellaneous || isQuoted(t)
}

// blockWidth bounds what the parser does in quadratic time: the keys of one block map, and absent values.
func (c *tokenCheck) blockWidth(t, next *token.Token) bool {
	top := len(c.columns) - 1
	if top >= 0 && c.keys[top] > MaxKeys {
		return c.stop(t, refusal{RuleLimit, fmt.Sprintf("more than %d keys in one map", MaxKeys), "split the file"})
	}
	if t.Type != token.MappingValueType && t.Type != token.SequenceEntryType {
		return true
	}
	if c.isAbsent(t, next, c.columns[top]) {
		c.absent++
	}
	if c.absent > MaxAbsent {
		return c.stop(t, refusal{RuleLimit, fmt.Sprintf("more than %d values are absent", MaxAbsent), "fill them in, or leave their keys out"})
	}
	return true
}

// isAbsent says whether nothing stands behind the ":" or "-" of an entry at a column; a list may stand under its key.
func (c *tokenCheck) isAbsent(t, next *token.Token, column int) bool {
	if next == nil {
		return true
	}
	listUnderKey := t.Type == token.MappingValueType && next.Type == token.SequenceEntryType && next.Position.Column == column
	return next.Position.Line > t.Position.Line && next.Position.Column <= column && !listUnderKey
}

// enter notes an entry of the block collection at a column, which ends the deeper ones.
func (c *tokenCheck) enter(column int, isKey bool) {
	top := len(c.columns) - 1
	for top >= 0 && c.columns[top] > column {
		top--
	}
	c.columns, c.keys = c.columns[:top+1], c.keys[:top+1]
	if top < 0 || c.columns[top] < column {
		c.columns, c.keys = append(c.columns, column), append(c.keys, 0)
		top++
	}
	if isKey {
		c.keys[top]++
	}
}
