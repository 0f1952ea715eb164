package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"capd/internal/mcpserver"
)

// withPort gives a recorded request the address that it came in on.
func withPort(r *http.Request, address string) *http.Request {
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		panic(err)
	}
	return r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(a)))
}

// session opens a session of an older revision.
func (s *site) session(token, revision string) map[string]string {
	s.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`, revision)
	r := s.do(http.MethodPost, "/mcp", token, body, nil)
	var result struct {
		ProtocolVersion string
		Instructions    string
		Capabilities    struct{ Tools struct{ ListChanged bool } }
		ServerInfo      struct{ Name, Version string }
	}
	s.decode(r, &result)
	if result.ProtocolVersion != revision || !strings.Contains(result.Instructions, "not a safety function") || !result.Capabilities.Tools.ListChanged ||
		result.ServerInfo.Name != "capd" || result.ServerInfo.Version != "test" {
		s.t.Errorf("%s: %+v", revision, result)
	}
	header := map[string]string{"Mcp-Session-Id": r.header.Get("Mcp-Session-Id")}
	if revision >= "2025-06-18" {
		header["Mcp-Protocol-Version"] = revision
	}
	if r := s.do(http.MethodPost, "/mcp", token, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, header); r.status != http.StatusAccepted {
		s.t.Errorf("%s: initialized: HTTP %d %s", revision, r.status, r.body)
	}
	return header
}

const listBody = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

func TestOlderRevisionsAreServedOnTheSameEndpoint(t *testing.T) {
	s := newSite(t, siteFiles())
	for _, revision := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		header := s.session("operator", revision)
		var l listing
		s.decode(s.do(http.MethodPost, "/mcp", "operator", listBody, header), &l)
		if !slices.Equal(l.names(), s.list("operator").names()) {
			t.Errorf("%s lists %v", revision, l.names())
		}
		var r toolResult
		s.decode(s.do(http.MethodPost, "/mcp", "operator", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"valve_status","arguments":{}}}`, header), &r)
		if r.answer(t).Verdict != "observed" {
			t.Errorf("%s: %s", revision, r.Structured)
		}
		missing := s.do(http.MethodPost, "/mcp", "operator", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"valve_statsu"}}`, header)
		if a := missing.rpc(t); missing.status != http.StatusOK || a.Error == nil || !strings.Contains(a.Error.Message, `did you mean "valve_status"`) {
			t.Errorf("%s: unknown tool: HTTP %d %s", revision, missing.status, missing.body)
		}
		if r := s.do(http.MethodDelete, "/mcp", "operator", "", header); r.status != http.StatusOK {
			t.Errorf("%s: DELETE: HTTP %d", revision, r.status)
		}
		if r := s.do(http.MethodPost, "/mcp", "operator", listBody, header); r.status != http.StatusNotFound || r.rpc(t).Error.Data.Reason != "session" {
			t.Errorf("%s: an ended session: HTTP %d %s", revision, r.status, r.body)
		}
	}
}

func TestTheNewRevisionNeedsNoHandshake(t *testing.T) {
	s := newSite(t, siteFiles())
	var d struct {
		SupportedVersions []string
		Instructions      string
		CacheScope        string
		Capabilities      struct{ Tools struct{ ListChanged bool } }
	}
	r := s.ask("viewer", "server/discover", nil)
	s.decode(r, &d)
	if d.SupportedVersions[0] != modern || d.Instructions == "" || d.CacheScope != "private" || !d.Capabilities.Tools.ListChanged {
		t.Errorf("%+v", d)
	}
	if r.header.Get("Mcp-Session-Id") != "" {
		t.Error("a session was opened")
	}
	body, header := modernBody(1, "tools/list", nil)
	delete(header, "Mcp-Protocol-Version")
	if r := s.do(http.MethodPost, "/mcp", "viewer", body, header); r.status != http.StatusBadRequest || r.rpc(t).Error == nil {
		t.Errorf("without its header: HTTP %d %s", r.status, r.body)
	}
}

func TestASessionBelongsToItsOwner(t *testing.T) {
	s := newSite(t, siteFiles())
	header := s.session("operator", "2025-11-25")
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		if r := s.do(method, "/mcp", "viewer", listBody, header); r.status != http.StatusNotFound {
			t.Errorf("%s with the session of another: HTTP %d %s", method, r.status, r.body)
		}
	}
	if r := s.do(http.MethodPost, "/mcp", "operator", listBody, header); r.status != http.StatusOK {
		t.Errorf("the owner: HTTP %d %s", r.status, r.body)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	s := newSite(t, siteFiles(), func(d *mcpserver.Deps) { d.Config.SessionsEach, d.Config.MaxSessions = 3, 4 })
	alive := func(token string, header map[string]string) bool {
		return s.do(http.MethodPost, "/mcp", token, listBody, header).status == http.StatusOK
	}
	first := s.session("operator", "2025-11-25")
	second := s.session("operator", "2025-11-25")
	s.session("operator", "2025-11-25")
	if !alive("operator", first) {
		t.Error("the first session ended too early")
	}
	s.session("operator", "2025-11-25")
	if !alive("operator", first) || alive("operator", second) {
		t.Error("the session used least lately should have ended, and no other")
	}
	s.session("viewer", "2025-11-25")
	s.session("viewer", "2025-11-25")
	if !alive("operator", first) {
		t.Error("the session used last should be open")
	}
}

func TestCancellingOverHTTPDoesNotReachAnotherCaller(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteFiles())
	s.machine.stick()
	done := make(chan toolResult, 1)
	go func() {
		body, header := modernBody(77, "tools/call", map[string]any{"name": "set_valve", "arguments": map[string]any{"opening": 60}})
		var r toolResult
		s.decode(s.do(http.MethodPost, "/mcp", "operator", body, header), &r)
		done <- r
	}()
	s.until("the valve to be written", func() bool { return s.machine.written() == 1 })
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	if r := s.do(http.MethodPost, "/mcp", "viewer", cancel, map[string]string{"Mcp-Protocol-Version": modern}); r.status != http.StatusAccepted {
		t.Errorf("HTTP %d %s", r.status, r.body)
	}
	if a := (<-done).answer(t); a.Verdict == "pending" {
		t.Errorf("the call of the operator ended %v", a)
	}
}

// until polls a condition.
func (s *site) until(what string, ok func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// events opens an event stream and gives the methods of its messages.
func (s *site) events(method, token, body string, header map[string]string) <-chan string {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, method, s.http.URL+"/mcp", strings.NewReader(body))
	must(s.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+token)
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := s.http.Client().Do(req)
	must(s.t, err)
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("HTTP %d", resp.StatusCode)
	}
	out := make(chan string, 16)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(out)
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var m struct{ Method string }
			if json.Unmarshal([]byte(data), &m) == nil {
				out <- m.Method
			}
		}
	})
	s.t.Cleanup(func() {
		cancel()
		reading.Wait()
		resp.Body.Close()
	})
	return out
}

// next waits for a message of a stream.
func (s *site) next(events <-chan string) string {
	s.t.Helper()
	select {
	case method, open := <-events:
		if !open {
			return "the end"
		}
		return method
	case <-time.After(10 * time.Second):
		s.t.Fatal("no message came")
		return ""
	}
}

const changed = "notifications/tools/list_changed"

func listenBody(id int) (string, map[string]string) {
	return modernBody(id, "subscriptions/listen", map[string]any{"notifications": map[string]any{"toolsListChanged": true}})
}

func TestOnlyThoseWhoseListChangedHearOfAPublish(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteFiles())
	body, header := listenBody(9)
	operator := s.events(http.MethodPost, "operator", body, header)
	other := s.events(http.MethodPost, "ps09", body, header)
	older := s.events(http.MethodGet, "operator", "", s.session("operator", "2025-11-25"))
	for name, events := range map[string]<-chan string{"operator": operator, "ps09": other} {
		if got := s.next(events); got != "notifications/subscriptions/acknowledged" {
			t.Fatalf("%s: %s comes first", name, got)
		}
	}
	files := siteFiles()
	files["hours.yaml"] = hoursFile
	s.publish(files)
	if got := s.list("operator").names(); !slices.Contains(got, "read_hours") || s.call("operator", "read_hours", nil).answer(t).Verdict != "observed" {
		t.Errorf("after the publish: %v", got)
	}
	for name, events := range map[string]<-chan string{"of the new revision": operator, "of an older revision": older} {
		if got := s.next(events); got != changed {
			t.Errorf("the operator's stream %s: %s", name, got)
		}
	}
	files["pump.yaml"] = strings.NewReplacer("Reads the speed", "Reads the present speed", "version: 1.0.0", "version: 1.0.1").Replace(pumpFile)
	s.publish(files)
	if got := s.next(other); got != changed {
		t.Errorf("ps09: %s", got)
	}
	s.server.Close()
	for name, events := range map[string]<-chan string{"operator": operator, "ps09": other, "older": older} {
		for got := s.next(events); got != "the end"; got = s.next(events) {
			if got == changed {
				t.Errorf("%s hears of a publish that did not change its list", name)
			}
		}
	}
}

func TestAStopLetsWaitingCallersGo(t *testing.T) {
	t.Parallel()
	files := siteFiles()
	files["valve.yaml"] = strings.ReplaceAll(valveFile, "within: 1500ms", "within: 20s")
	s := newSite(t, files)
	s.machine.stick()
	l := s.list("operator")
	schema := compile(t, l.Tools[slices.Index(l.names(), "set_valve")].OutputSchema)
	done := make(chan toolResult, 1)
	go func() { done <- s.tryCall("operator", "set_valve", map[string]any{"opening": 60}) }()
	s.until("the valve to be written", func() bool { return s.machine.written() == 1 })
	s.server.Close()
	select {
	case r := <-done:
		if a := r.answer(t); a.Verdict != "pending" || r.IsError || a.Invocation == "" {
			t.Errorf("%v", a)
		}
		valid(t, schema, r.Structured)
	case <-time.After(5 * time.Second):
		t.Fatal("the caller still waits")
	}
	if r := s.ask("operator", "tools/list", nil); r.status != http.StatusServiceUnavailable {
		t.Errorf("after the stop: HTTP %d", r.status)
	}
}

func TestManyCallersAtOnce(t *testing.T) {
	s := newSite(t, siteFiles())
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 10 {
				token := []string{"operator", "viewer", "commander"}[(i+j)%3]
				var l listing
				s.decode(s.ask(token, "tools/list", nil), &l)
				if slices.Contains(l.names(), "set_valve") == (token == "viewer") {
					t.Errorf("%s sees %v", token, l.names())
				}
				if a := s.tryCall(token, "valve_status", nil).answer(t); a.Verdict != "observed" {
					t.Errorf("%v", a)
				}
			}
		})
	}
	all.Go(func() {
		for range 5 {
			s.server.Publish(s.snapshot)
		}
	})
	all.Wait()
}
