package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// maxAnswer bounds one message of the daemon, in bytes.
const maxAnswer = 16 << 20

// send posts one message and gives each message that comes back to each. A failure is what the client must be told instead.
func (b *bridge) send(ctx context.Context, text []byte, m message, each func([]byte)) *failure {
	status, f := b.post(ctx, text, m, each)
	if sessionLost(status, m) && b.renew(ctx) {
		_, f = b.post(ctx, text, m, each)
	}
	return f
}

// sessionLost reports that the daemon does not know the session of an older revision.
func sessionLost(status int, m message) bool {
	return status == http.StatusNotFound && !m.modern && m.method != string(mcp.MethodInitialize)
}

// post sends one message once.
func (b *bridge) post(ctx context.Context, text []byte, m message, each func([]byte)) (status int, f *failure) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.target.URL, bytes.NewReader(text))
	if err != nil {
		return 0, &failure{code: codeRefused, reason: "url", message: err.Error(), next: "give the URL that capd prints"}
	}
	b.head(req, text, m)
	resp, err := b.client.Do(req)
	if err != nil {
		return 0, b.unreachable(err)
	}
	defer closeBody(resp)
	if m.method == string(mcp.MethodInitialize) && resp.StatusCode == http.StatusOK {
		b.mu.Lock()
		b.session = resp.Header.Get(server.HeaderKeySessionID)
		b.mu.Unlock()
	}
	return resp.StatusCode, b.receive(resp, m, each)
}

// closeBody ends a response. What it says too much is of no interest.
func closeBody(resp *http.Response) { _ = resp.Body.Close() }

// head sets what each revision wants in the header.
func (b *bridge) head(req *http.Request, text []byte, m message) {
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	if b.target.Token != "" {
		h.Set("Authorization", "Bearer "+b.target.Token)
	}
	if !m.modern {
		b.mu.Lock()
		defer b.mu.Unlock()
		if m.method != string(mcp.MethodInitialize) {
			setIf(h, server.HeaderKeySessionID, b.session)
			setIf(h, mcp.HeaderProtocolVersion, b.revision)
		}
		return
	}
	var e struct {
		Params json.RawMessage `json:"params"`
	}
	var p params
	if json.Unmarshal(text, &e) != nil || json.Unmarshal(e.Params, &p) != nil {
		return // not a message: it was refused before
	}
	setIf(h, mcp.HeaderProtocolVersion, metaRevision(p.Meta))
	setIf(h, mcp.HeaderMethod, m.method)
	if name, ok := mcp.ExtractHeaderName(mcp.MCPMethod(m.method), e.Params); ok {
		if safe, ok := mcp.EncodeHeaderValue(name); ok {
			setIf(h, mcp.HeaderName, safe)
		}
	}
}

func setIf(h http.Header, name, value string) {
	if value != "" {
		h.Set(name, value)
	}
}

// receive reads the answer to a message in any of its forms.
func (b *bridge) receive(resp *http.Response, m message, each func([]byte)) *failure {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	switch {
	case resp.StatusCode == http.StatusAccepted:
		return nil
	case kind == "text/event-stream":
		if err := readEvents(resp.Body, each); err != nil {
			return b.unreachable(err)
		}
		return nil
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return b.unreachable(err)
	}
	if len(raw) > maxAnswer {
		return &failure{code: codeInternal, reason: "answer_size", message: fmt.Sprintf("capd's answer is larger than %d bytes", maxAnswer)}
	}
	if sessionLost(resp.StatusCode, m) {
		return &failure{code: codeRefused, reason: "session", message: "capd does not know this session any more", next: "send initialize again"}
	}
	if kind == "application/json" && m.id != nil {
		each(withID(raw, m.id))
		return nil
	}
	return &failure{status: resp.StatusCode, code: codeRefused, reason: "http", message: fmt.Sprintf("capd answered HTTP %d: %s", resp.StatusCode, clip(strings.TrimSpace(string(raw))))}
}

// withID puts the id of a request into an error that came without one.
func withID(raw []byte, id json.RawMessage) []byte {
	var e map[string]json.RawMessage
	if json.Unmarshal(raw, &e) != nil || e["error"] == nil || string(e["id"]) != "null" {
		return raw
	}
	e["id"] = id
	if out, err := json.Marshal(e); err == nil {
		return out
	}
	return raw
}

// unreachable says why there is no answer.
func (b *bridge) unreachable(err error) *failure {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return &failure{code: codeRefused, reason: "not_running", message: "capd is not running: " + op.Error(), next: "start it with: systemctl start capd (or capd run)"}
	}
	return &failure{code: codeRefused, reason: "connection", message: "the connection to capd broke before the answer came: " + err.Error(),
		next: "a call may have been carried out: read the state before anything else, or repeat it with its request_id"}
}

// readEvents gives the data of every event of a stream (html.spec.whatwg.org, server-sent events, section 9.2.6).
func readEvents(r io.Reader, each func([]byte)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxAnswer)
	var data []byte
	for lines.Scan() {
		text := lines.Bytes()
		if len(text) == 0 {
			if len(data) > 0 {
				each(data)
			}
			data = nil
			continue
		}
		if value, ok := bytes.CutPrefix(text, []byte("data:")); ok {
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
		}
	}
	return lines.Err()
}

// initialize opens a session of an older revision and listens to it.
func (b *bridge) initialize(ctx, streaming context.Context, text []byte, m message) {
	b.mu.Lock()
	b.opening = bytes.Clone(text)
	b.mu.Unlock()
	f := b.send(ctx, text, m, func(raw []byte) {
		b.agree(raw)
		b.write(raw)
	})
	if f != nil {
		b.answer(f, m.id)
		return
	}
	b.listen(streaming)
}

// agree notes the revision that the daemon chose.
func (b *bridge) agree(raw []byte) {
	var answer struct {
		Result struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"result"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.revision = answer.Result.ProtocolVersion
}

// renew opens a new session in place of one that the daemon no longer knows, as after its restart: the client keeps its own.
func (b *bridge) renew(ctx context.Context) bool {
	b.mu.Lock()
	stale, opening := b.session, b.opening
	b.mu.Unlock()
	if opening == nil {
		return false
	}
	b.renewing.Lock()
	defer b.renewing.Unlock()
	b.mu.Lock()
	fresh := b.session != stale
	b.mu.Unlock()
	if fresh {
		return true // another request has renewed it meanwhile
	}
	hello := message{id: json.RawMessage("0"), method: string(mcp.MethodInitialize)}
	if status, f := b.post(ctx, opening, hello, b.agree); f != nil || status != http.StatusOK {
		return false
	}
	ready := []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if _, f := b.post(ctx, ready, message{method: "notifications/initialized"}, b.agree); f != nil {
		b.target.Log.Warn("the renewed session was not confirmed", "error", f.message)
	}
	b.write([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)) // it may have; nobody could say so in between
	return true
}

// Pauses between attempts to listen again.
const (
	shortPause = time.Second
	longPause  = 30 * time.Second
)

// listen forwards the notifications of a session until streaming ends. It takes the place of an earlier listener.
func (b *bridge) listen(streaming context.Context) {
	ctx, cancel := context.WithCancel(streaming)
	b.mu.Lock()
	if b.listener != nil {
		b.listener()
	}
	b.listener = cancel
	b.mu.Unlock()
	b.streams.Go(func() {
		defer cancel()
		for pause := shortPause; ctx.Err() == nil; pause = min(2*pause, longPause) {
			switch b.hear(ctx) {
			case http.StatusMethodNotAllowed:
				return
			case http.StatusNotFound:
				b.renew(ctx)
			}
			wait := time.NewTimer(pause)
			select {
			case <-wait.C:
			case <-ctx.Done():
				wait.Stop()
			}
		}
	})
}

// hear opens the event stream once and forwards it until it breaks. It gives the HTTP status, 0 without one.
func (b *bridge) hear(ctx context.Context) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.target.URL, nil)
	if err != nil {
		return 0
	}
	b.head(req, nil, message{})
	req.Header.Set("Accept", "text/event-stream")
	resp, err := b.client.Do(req)
	if err != nil {
		return 0
	}
	defer closeBody(resp)
	if resp.StatusCode == http.StatusOK {
		if err := readEvents(resp.Body, b.write); err != nil && ctx.Err() == nil {
			b.target.Log.Debug("the event stream broke", "error", err)
		}
	}
	return resp.StatusCode
}
