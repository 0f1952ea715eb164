package mcpserver_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// reply is an HTTP answer.
type reply struct {
	status int
	header http.Header
	body   []byte
}

type rpcAnswer struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    struct {
			Reason string `json:"reason"`
			Next   string `json:"next"`
		} `json:"data"`
	} `json:"error"`
}

// rpc decodes the JSON-RPC answer, from a plain body or from the last event of a stream.
func (r reply) rpc(t testing.TB) rpcAnswer {
	t.Helper()
	raw := r.body
	if strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") {
		lines := bufio.NewScanner(bytes.NewReader(r.body))
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				raw = []byte(data)
			}
		}
	}
	var a rpcAnswer
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatalf("HTTP %d: not a JSON-RPC answer: %v\n%s", r.status, err, r.body)
	}
	return a
}

// do sends any request.
func (s *site) do(method, path, token, body string, header map[string]string) reply {
	s.t.Helper()
	req, err := http.NewRequest(method, s.http.URL+path, strings.NewReader(body))
	must(s.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for name, value := range header {
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	resp, err := s.http.Client().Do(req)
	must(s.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	must(s.t, err)
	return reply{resp.StatusCode, resp.Header, raw}
}

const modern = "2026-07-28"

func modernBody(id int, method string, params map[string]any) (string, map[string]string) {
	all := map[string]any{"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": modern,
		"io.modelcontextprotocol/clientInfo": map[string]any{"name": "test", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": map[string]any{}}}
	maps.Copy(all, params)
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": all})
	if err != nil {
		panic(err)
	}
	header := map[string]string{"Mcp-Protocol-Version": modern, "Mcp-Method": method}
	if name, ok := params["name"].(string); ok {
		header["Mcp-Name"] = name
	}
	return string(raw), header
}

// ask sends one request of revision 2026-07-28.
func (s *site) ask(token, method string, params map[string]any) reply {
	s.t.Helper()
	body, header := modernBody(1, method, params)
	return s.do(http.MethodPost, "/mcp", token, body, header)
}

// listing is a tools/list result.
type listing struct {
	Tools []struct {
		Name         string          `json:"name"`
		Title        string          `json:"title"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema"`
		Annotations  map[string]any  `json:"annotations"`
	} `json:"tools"`
	CacheScope string `json:"cacheScope"`
	TTL        *int   `json:"ttlMs"`
}

func (l listing) names() []string {
	var names []string
	for _, t := range l.Tools {
		names = append(names, t.Name)
	}
	return names
}

func (s *site) list(token string) listing {
	s.t.Helper()
	return s.listAt("/mcp", token)
}

func (s *site) listAt(path, token string) listing {
	s.t.Helper()
	body, header := modernBody(1, "tools/list", nil)
	var l listing
	s.decode(s.do(http.MethodPost, path, token, body, header), &l)
	return l
}

func (s *site) decode(r reply, into any) {
	s.t.Helper()
	a := r.rpc(s.t)
	if a.Error != nil {
		s.t.Fatalf("HTTP %d, error %d: %s", r.status, a.Error.Code, a.Error.Message)
	}
	must(s.t, json.Unmarshal(a.Result, into))
}

// toolResult is a tools/call result.
type toolResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

func (r toolResult) text() string { return r.Content[0].Text }

// answer is the structured content of a call.
func (r toolResult) answer(t testing.TB) answer {
	t.Helper()
	var a answer
	must(t, json.Unmarshal(r.Structured, &a))
	return a
}

type answer struct {
	Verdict    string `json:"verdict"`
	Level      string `json:"level"`
	RefutedAt  string `json:"refuted_at"`
	Sent       bool   `json:"sent"`
	Invocation string `json:"invocation"`
	Repeated   bool   `json:"repeated"`
	Values     map[string]struct {
		Value   any    `json:"value"`
		Unit    string `json:"unit"`
		Quality string `json:"quality"`
		AgeMS   *int   `json:"age_ms"`
	} `json:"values"`
	Reason *struct {
		Code    string     `json:"code"`
		Message string     `json:"message"`
		Next    string     `json:"next"`
		Allowed [2]float64 `json:"allowed"`
	} `json:"reason"`
	DryRun *struct {
		Frames []string `json:"frames"`
	} `json:"dry_run"`
}

func (a answer) String() string {
	code := "-"
	if a.Reason != nil {
		code = a.Reason.Code
	}
	return fmt.Sprintf("%s %s %s", a.Verdict, a.Level, code)
}

// call calls a tool, and checks its structured content against the schema that the list or find_tools declares for it.
func (s *site) call(token, name string, args map[string]any) toolResult {
	s.t.Helper()
	r := s.tryCall(token, name, args)
	s.checkSchema(token, name, r)
	return r
}

func (s *site) tryCall(token, name string, args map[string]any) toolResult {
	s.t.Helper()
	var r toolResult
	s.decode(s.ask(token, "tools/call", map[string]any{"name": name, "arguments": args}), &r)
	return r
}

func (s *site) checkSchema(token, name string, r toolResult) {
	s.t.Helper()
	for _, t := range s.list(token).Tools {
		if t.Name != name {
			continue
		}
		valid(s.t, compile(s.t, t.OutputSchema), r.Structured)
		return
	}
}

func valid(t testing.TB, schema *jsonschema.Schema, raw json.RawMessage) {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	must(t, err)
	if err := schema.Validate(document); err != nil {
		t.Errorf("an answer that its outputSchema does not allow: %v\n%s", err, raw)
	}
}

func compile(t testing.TB, raw json.RawMessage) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	must(t, err)
	c := jsonschema.NewCompiler()
	must(t, c.AddResource("s.json", document))
	schema, err := c.Compile("s.json")
	must(t, err)
	return schema
}

func (s *site) into(r toolResult, v any) {
	s.t.Helper()
	must(s.t, json.Unmarshal(r.Structured, v))
}
