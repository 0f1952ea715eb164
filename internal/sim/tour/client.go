package tour

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// protocol is the MCP revision that the tour speaks: one request, one answer, no session.
const protocol = "2026-07-28"

// client is a small MCP client over HTTP, written from the specification so that it shares nothing with the server it looks at.
type client struct {
	url, token string
	http       *http.Client
	next       int
}

func newClient(url, token string) *client {
	return &client{url: url, token: token, http: &http.Client{Timeout: 2 * time.Minute}}
}

// toolResult is the part of a tools/call result that the tour reads.
type toolResult struct {
	IsError bool `json:"isError"`
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
}

func (r toolResult) text() string {
	var parts []string
	for _, c := range r.Content {
		parts = append(parts, c.Text)
	}
	return strings.Join(parts, "\n")
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("JSON-RPC error %d: %s", e.Code, e.Message) }

// call sends one JSON-RPC request and decodes its result.
func (c *client) call(ctx context.Context, method, name string, params map[string]any, result any) error {
	c.next++
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    protocol,
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "capd-tour", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.next, "method": method, "params": params})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Mcp-Protocol-Version", protocol)
	req.Header.Set("Mcp-Method", method)
	if name != "" {
		req.Header.Set("Mcp-Name", name)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err != nil {
		return err
	}
	return decodeAnswer(raw, resp.StatusCode, result)
}

// decodeAnswer reads a JSON body, or the last event of an event stream.
func decodeAnswer(raw []byte, status int, result any) error {
	if i := bytes.LastIndex(raw, []byte("\ndata:")); i >= 0 || bytes.HasPrefix(raw, []byte("data:")) {
		line := raw[max(i, 0):]
		line = line[bytes.Index(line, []byte("data:"))+len("data:"):]
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line = line[:end]
		}
		raw = line
	}
	var envelope struct {
		Result json.RawMessage `json:"result"`
		Error  *rpcError       `json:"error"`
	}
	if err := json.Unmarshal(raw, &envelope); err != nil {
		return fmt.Errorf("HTTP %d with a body that is no JSON-RPC answer: %.200s", status, raw)
	}
	if envelope.Error != nil {
		return envelope.Error
	}
	return json.Unmarshal(envelope.Result, result)
}

// listTools gives the names of tools/list.
func (c *client) listTools(ctx context.Context) ([]string, error) {
	var result struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := c.call(ctx, "tools/list", "", map[string]any{}, &result); err != nil {
		return nil, err
	}
	names := make([]string, len(result.Tools))
	for i, t := range result.Tools {
		names[i] = t.Name
	}
	return names, nil
}

// tool calls one tool.
func (c *client) tool(ctx context.Context, name string, args map[string]any) (toolResult, error) {
	var result toolResult
	err := c.call(ctx, "tools/call", name, map[string]any{"name": name, "arguments": args}, &result)
	return result, err
}
