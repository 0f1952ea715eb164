package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

// message is what the door must know of a JSON-RPC message before MCP sees it.
type message struct {
	id     json.RawMessage // nil: a notification, or a response
	method string          // "": a response
	name   string          // params.name
	modern bool            // revision 2026-07-28 or later: no sessions
}

// envelope mirrors the members that mcp-go reads, with the same library, so that both see the same message.
type envelope struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  json.RawMessage `json:"method"`
	Params  params          `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

type params struct {
	Name json.RawMessage `json:"name"`
	Meta json.RawMessage `json:"_meta"`
}

// parseMessage reads one JSON-RPC message. A failure comes with the id as far as it could be read.
func parseMessage(h http.Header, body []byte) (message, *failure) {
	m := message{modern: mcp.IsModernProtocol(h.Get(mcp.HeaderProtocolVersion))}
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	switch {
	case len(trimmed) == 0:
		return m, badMessage(codeParse, "parse", "the body is empty", "send one JSON-RPC 2.0 message")
	case trimmed[0] == '[':
		return m, badMessage(codeInvalidRequest, "batch", "batches are not taken", "send each JSON-RPC message in a request of its own")
	case !utf8.Valid(body):
		return m, badMessage(codeParse, "parse", "the body is not UTF-8 text", "send JSON in UTF-8")
	}
	var e envelope
	err := json.Unmarshal(body, &e)
	hasID := m.takeID(e.ID)
	if err != nil {
		return m, notJSON(body, err)
	}
	if f := m.identify(e, hasID); f != nil {
		return m, f
	}
	return m, m.readParams(e.Params)
}

// takeID takes the id of a request, if it may be one, and reports whether there is any.
func (m *message) takeID(raw json.RawMessage) bool {
	id := bytes.TrimSpace(raw)
	if len(id) == 0 || bytes.Equal(id, []byte("null")) {
		return false
	}
	if id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9' {
		m.id = id
	}
	return true
}

// identify takes the method, and refuses what is neither request, notification nor response.
func (m *message) identify(e envelope, hasID bool) *failure {
	if hasID && m.id == nil {
		return badMessage(codeInvalidRequest, "id", "the id is neither text nor a number", "give each request an id of its own")
	}
	if e.JSONRPC != "2.0" {
		return badMessage(codeInvalidRequest, "version", fmt.Sprintf(`jsonrpc is %q, not "2.0"`, clip(e.JSONRPC)), `send "jsonrpc": "2.0"`)
	}
	if len(e.Method) > 0 {
		if err := json.Unmarshal(e.Method, &m.method); err != nil || m.method == "" {
			return badMessage(codeInvalidRequest, "method", "method is not a text", `name a method, such as "tools/list"`)
		}
		return nil
	}
	if hasID && (len(e.Result) > 0 || len(e.Error) > 0) {
		return nil // a response to a request of ours
	}
	return badMessage(codeInvalidRequest, "method", "there is no method", `name a method, such as "tools/list"`)
}

// readParams takes the name and the revision.
func (m *message) readParams(p params) *failure {
	if len(p.Name) > 0 {
		if err := json.Unmarshal(p.Name, &m.name); err != nil {
			return badMessage(codeInvalidParams, "name", "params.name is not a text", "use a name of tools/list or find_tools")
		}
	}
	m.modern = m.modern || mcp.IsModernProtocol(metaRevision(p.Meta))
	return nil
}

// metaRevision is the revision that a request states in its _meta, "" when there is none.
func metaRevision(meta json.RawMessage) string {
	if !bytes.Contains(meta, []byte(mcp.MetaKeyProtocolVersion)) {
		return ""
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(meta, &all); err != nil {
		return ""
	}
	var revision string
	if err := json.Unmarshal(all[mcp.MetaKeyProtocolVersion], &revision); err != nil {
		return ""
	}
	return revision
}

// notJSON says what is wrong with a body, and where.
func notJSON(body []byte, err error) *failure {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		what, code := wrong.Field, codeInvalidRequest
		if what == "params" {
			code = codeInvalidParams
		}
		if what == "" {
			what = "the body"
		}
		return badMessage(code, "shape", fmt.Sprintf("%s is of type %s at %s", what, wrong.Value, place(body, wrong.Offset)), "send one JSON-RPC 2.0 message")
	}
	offset := int64(len(body))
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset
	}
	return badMessage(codeParse, "parse", fmt.Sprintf("the body is not JSON at %s: %v", place(body, offset), err), "send one JSON-RPC 2.0 message")
}

// place is line and column of a byte, counted from one.
func place(body []byte, offset int64) string {
	before := body[:max(0, min(offset-1, int64(len(body))))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}

func badMessage(code int, reason, text, next string) *failure {
	return &failure{status: http.StatusBadRequest, code: code, reason: reason, message: text, next: next}
}
