package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// members are the names that mcp-go looks for in a message and in its params. encoding/json takes them in any case of letters, other
// readers of the same message do not.
var (
	membersOfMessage = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	membersOfParams  = []string{"name", "arguments", "_meta"}
)

// strictly refuses a message that two readers could understand differently: a key that is there twice, or one of the members above in
// other letters. The last of two keys would win in silence, and a dry run would move a machine. huge are the places of numbers in params
// that are no float64. The body is a JSON object already.
func strictly(body []byte) (huge []span, f *failure) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var open []*level // of the objects and lists around a token
	for {
		token, err := d.Token()
		if err != nil {
			return huge, nil // the end; a syntax error was told before
		}
		end := d.InputOffset()
		var inside *level
		if len(open) > 0 {
			inside = open[len(open)-1]
		}
		if key, ok := token.(string); ok && inside.expectsKey() {
			if why := inside.take(key, open); why != "" {
				return nil, badMessage(codeInvalidRequest, "key", fmt.Sprintf("%s, before %s", why, place(body, end+1)), "send each key once, spelled as MCP does")
			}
			continue
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '}' || t == ']' {
				open = open[:len(open)-1]
				continue
			}
			open = append(open, &level{object: t == '{'})
		case json.Number:
			if _, err := strconv.ParseFloat(t.String(), 64); err != nil && open[0].key == "params" {
				huge = append(huge, span{end - int64(len(t)), end})
			}
		}
		inside.valueBegan()
	}
}

// span is a part of a body, from its first byte to the one after its last.
type span struct{ from, to int64 }

// level is one object or list that is open.
type level struct {
	object bool
	keys   map[string]bool
	key    string // whose value comes next, or is open
	due    bool   // a value is due
}

func (l *level) expectsKey() bool { return l != nil && l.object && !l.due }

func (l *level) valueBegan() {
	if l != nil {
		l.due = false
	}
}

// take notes a key of the innermost of the open levels, and says what is wrong with it.
func (l *level) take(key string, open []*level) string {
	if l.keys[key] {
		return fmt.Sprintf("the key %q is there twice", clip(key))
	}
	if l.keys == nil {
		l.keys = map[string]bool{}
	}
	l.keys[key], l.key, l.due = true, key, true
	var known []string
	switch {
	case len(open) == 1:
		known = membersOfMessage
	case len(open) == 2 && open[0].key == "params":
		known = membersOfParams
	}
	for _, name := range known {
		if key != name && strings.EqualFold(key, name) {
			return fmt.Sprintf("the key %q is not %q", clip(key), name)
		}
	}
	return ""
}

type argumentsKey struct{}

// readable gives mcp-go a body that it can read, with 0 for each number that is no float64, and keeps the arguments of a call as they
// were sent, so that such a number is held against the limits of its parameter like any other.
func readable(r *http.Request, body []byte, huge []span) (*http.Request, []byte) {
	if len(huge) == 0 {
		return r, body
	}
	var sent struct {
		Params struct {
			Arguments json.RawMessage `json:"arguments"`
		} `json:"params"`
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		return r, body // mcp-go says what is wrong with it
	}
	var plain []byte
	at := int64(0)
	for _, h := range huge {
		plain = append(append(plain, body[at:h.from]...), '0')
		at = h.to
	}
	return r.WithContext(context.WithValue(r.Context(), argumentsKey{}, sent.Params.Arguments)), append(plain, body[at:]...)
}

// sentArguments are the arguments of a call as they were sent; asRead is what mcp-go took for them.
func sentArguments(ctx context.Context, asRead json.RawMessage) json.RawMessage {
	if sent, ok := ctx.Value(argumentsKey{}).(json.RawMessage); ok {
		return sent
	}
	return asRead
}
