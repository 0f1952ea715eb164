package mcpserver

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// JSON-RPC error codes (JSON-RPC 2.0, section 5.1). codeRefused is of the range left to servers: the request was understood and
// turned away before MCP saw it.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeRefused        = -32000
)

// failure is an answer that MCP never sees: an HTTP status with a JSON-RPC error as its body.
type failure struct {
	status  int
	code    int
	reason  string // one word, for programs
	message string // one sentence, for people
	next    string // what to do
	retry   time.Duration
	header  http.Header
}

func (f *failure) Error() string { return f.message }

// failureBody is a JSON-RPC error response.
type failureBody struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   failureError    `json:"error"`
}

type failureError struct {
	Code    int         `json:"code"`
	Message string      `json:"message"`
	Data    failureData `json:"data"`
}

type failureData struct {
	Status int    `json:"status"`
	Reason string `json:"reason"`
	Next   string `json:"next,omitempty"`
}

// body is the failure as the answer to a request; without an id it answers nothing in particular.
func (f *failure) body(id json.RawMessage) failureBody {
	message := f.message
	if f.next != "" {
		message += "; " + f.next
	}
	if id == nil {
		id = json.RawMessage("null")
	}
	return failureBody{JSONRPC: "2.0", ID: id, Error: failureError{Code: f.code, Message: message,
		Data: failureData{Status: f.status, Reason: f.reason, Next: f.next}}}
}

// write answers a request. What cannot be written has no reader any more.
func (f *failure) write(w http.ResponseWriter, id json.RawMessage) {
	h := w.Header()
	for name, values := range f.header {
		h[name] = values
	}
	if f.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int((f.retry+time.Second-1)/time.Second)))
	}
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(f.status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(f.body(id)) // the caller is gone: there is nobody to tell
}
