package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"capd/internal/access"
	"capd/internal/mcpserver"
)

// client is an MCP client on the other side of a bridge.
type client struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
	ended chan error
}

// bridged starts a bridge.
func bridged(t *testing.T, target mcpserver.BridgeTarget) *client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &client{t: t, in: inW, lines: make(chan string, 64), ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		err := mcpserver.Bridge(ctx, inR, outW, target)
		outW.Close()
		c.ended <- err
	}()
	go func() {
		defer close(c.lines)
		for lines := bufio.NewScanner(outR); lines.Scan(); {
			c.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		cancel()
		inW.Close()
		outR.Close()
		for range c.lines {
		}
	})
	return c
}

func (c *client) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// receive waits for a line.
func (c *client) receive() (message struct {
	rpcAnswer
	Method string
}) {
	c.t.Helper()
	select {
	case line, open := <-c.lines:
		if !open {
			c.t.Fatal("the bridge has ended")
		}
		if err := json.Unmarshal([]byte(line), &message); err != nil {
			c.t.Fatalf("not one JSON message per line: %v: %q", err, line)
		}
	case <-time.After(10 * time.Second):
		c.t.Fatal("nothing came")
	}
	return message
}

func (s *site) socket(t *testing.T, local func(context.Context, uint32) (access.Subject, error)) (path string, dial func(context.Context) (net.Conn, error)) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "mcp.sock")
	ln, err := net.Listen("unix", path)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.server.ServeSocket(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the socket ended with %v", err)
		}
	})
	return path, func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
}

func localOperator(_ context.Context, _ uint32) (access.Subject, error) {
	return access.Subject{ID: "uid:0", Name: "root", Roles: []string{"operator"}, Local: true, Technician: true}, nil
}

func TestTheBridgeCarriesTheNewRevision(t *testing.T) {
	s := newSite(t, siteFiles(), func(d *mcpserver.Deps) { d.Local = localOperator })
	_, dial := s.socket(t, localOperator)
	c := bridged(t, mcpserver.BridgeTarget{Dial: dial})
	list, _ := modernBody(5, "tools/list", nil)
	c.send(list)
	var l listing
	answer := c.receive()
	must(t, json.Unmarshal(answer.Result, &l))
	if string(answer.ID) != "5" || !slices.Contains(l.names(), "set_valve") {
		t.Errorf("id %s: %v", answer.ID, l.names())
	}
	call, _ := modernBody(6, "tools/call", map[string]any{"name": "valve_status", "arguments": map[string]any{}})
	c.send(call)
	var r toolResult
	must(t, json.Unmarshal(c.receive().Result, &r))
	if r.answer(t).Verdict != "observed" {
		t.Errorf("%s", r.Structured)
	}
	for _, bad := range []string{"{", "[]", `{"jsonrpc":"2.0","id":8,"method":5}`} {
		c.send(bad)
		if a := c.receive(); a.Error == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
	c.send(`{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	if a := c.receive(); a.Error == nil || string(a.ID) != "9" {
		t.Errorf("a malformed request: id %s %+v", a.ID, a.Error)
	}
	c.in.Close()
	if err := <-c.ended; err != nil {
		t.Errorf("the bridge ended with %v", err)
	}
}

func TestTheBridgeForwardsNotificationsAndCancels(t *testing.T) {
	s := newSite(t, siteFiles(), func(d *mcpserver.Deps) { d.Local = localOperator })
	_, dial := s.socket(t, localOperator)
	c := bridged(t, mcpserver.BridgeTarget{Dial: dial})
	listen, _ := listenBody(1)
	c.send(listen)
	if got := c.receive().Method; got != "notifications/subscriptions/acknowledged" {
		t.Fatalf("%s comes first", got)
	}
	files := siteFiles()
	files["hours.yaml"] = hoursFile
	s.publish(files)
	if got := c.receive().Method; got != changed {
		t.Errorf("after a publish: %s", got)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	list, _ := modernBody(2, "tools/list", nil)
	c.send(list)
	if a := c.receive(); string(a.ID) != "2" {
		t.Errorf("after a cancel: %+v", a)
	}
}

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

func TestTheBridgeKeepsASessionAcrossARestart(t *testing.T) {
	s := newSite(t, siteFiles())
	c := bridged(t, mcpserver.BridgeTarget{URL: s.http.URL + "/mcp", Token: "operator"})
	c.send(hello)
	if a := c.receive(); a.Error != nil || string(a.ID) != "0" {
		t.Fatalf("%+v", a)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.send(listBody)
	if a := c.receive(); a.Error != nil {
		t.Errorf("%+v", a.Error)
	}
	again := newSite(t, siteFiles())
	s.http.Config.Handler = again.server.Handler() // the same address, a new life: its sessions are gone
	c.send(listBody)
	if got := c.receive().Method; got != changed {
		t.Errorf("after the restart comes %q", got)
	}
	a := c.receive()
	var l listing
	must(t, json.Unmarshal(a.Result, &l))
	if len(l.Tools) == 0 {
		t.Errorf("after the restart: %+v", a)
	}
}

func TestTheBridgeSaysThatTheDaemonIsNotRunning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.sock")
	c := bridged(t, mcpserver.BridgeTarget{Dial: func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}})
	list, _ := modernBody(5, "tools/list", nil)
	for _, line := range []string{list, hello, listBody} {
		c.send(line)
		a := c.receive()
		if a.Error == nil || a.Error.Data.Reason != "not_running" || !strings.Contains(a.Error.Message, "systemctl start capd") || !strings.Contains(a.Error.Message, path) {
			t.Errorf("%+v", a)
		}
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`) // has no answer, not even now
	c.in.Close()
	if err := <-c.ended; err != nil {
		t.Error(err)
	}
}

func TestTheBridgeSaysThatACallMayHaveBeenCarriedOut(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			http.ReadRequest(bufio.NewReader(conn))
			conn.Close()
		}
	}()
	c := bridged(t, mcpserver.BridgeTarget{URL: "http://" + ln.Addr().String() + "/mcp", Token: "operator"})
	call, _ := modernBody(6, "tools/call", map[string]any{"name": "set_valve", "arguments": map[string]any{"opening": 60}})
	c.send(call)
	if a := c.receive(); a.Error == nil || a.Error.Data.Reason != "connection" || !strings.Contains(a.Error.Message, "may have been carried out") {
		t.Errorf("%+v", a)
	}
}

func TestTheBridgeTellsABadTokenAndALongLine(t *testing.T) {
	s := newSite(t, siteFiles())
	c := bridged(t, mcpserver.BridgeTarget{URL: s.http.URL + "/mcp", Token: "expired"})
	list, _ := modernBody(5, "tools/list", nil)
	c.send(list)
	if a := c.receive(); a.Error == nil || a.Error.Data.Reason != "token_expired" || string(a.ID) != "5" {
		t.Errorf("%+v", a)
	}
	c.send(strings.Repeat("x", 2<<20))
	if a := c.receive(); a.Error == nil || a.Error.Data.Reason != "line" {
		t.Errorf("%+v", a)
	}
	c.send(list)
	if a := c.receive(); string(a.ID) != "5" {
		t.Errorf("after a long line: %+v", a)
	}
}

// brokenPipe is an output whose reader has gone.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestTheBridgeEndsWithItsClient(t *testing.T) {
	s := newSite(t, siteFiles())
	inR, inW := io.Pipe()
	defer inW.Close()
	ended := make(chan error, 1)
	go func() {
		ended <- mcpserver.Bridge(context.Background(), inR, brokenPipe{}, mcpserver.BridgeTarget{URL: s.http.URL + "/mcp", Token: "operator"})
	}()
	list, _ := modernBody(5, "tools/list", nil)
	if _, err := io.WriteString(inW, list+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

func TestTheSocketKnowsItsCallersAndMakesNoTechnicians(t *testing.T) {
	var asked uint32 = 4711
	local := func(_ context.Context, uid uint32) (access.Subject, error) {
		asked = uid
		return access.Subject{ID: "uid:x", Name: "x", Local: true, Technician: true}, nil
	}
	s := newSite(t, siteFiles(), func(d *mcpserver.Deps) { d.Local = local })
	_, dial := s.socket(t, local)
	http1 := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}}
	defer http1.CloseIdleConnections()
	post := func(token string, header map[string]string) (int, rpcAnswer) {
		body, all := modernBody(1, "tools/list", nil)
		req, err := http.NewRequest(http.MethodPost, "http://capd/mcp", strings.NewReader(body))
		must(t, err)
		req.Header.Set("Content-Type", "application/json")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		for _, m := range []map[string]string{all, header} {
			for name, value := range m {
				req.Header.Set(name, value)
			}
		}
		if host := header["Host"]; host != "" {
			req.Host = host
		}
		resp, err := http1.Do(req)
		must(t, err)
		defer resp.Body.Close()
		var a rpcAnswer
		must(t, json.NewDecoder(resp.Body).Decode(&a))
		return resp.StatusCode, a
	}
	names := func(a rpcAnswer) []string {
		var l listing
		must(t, json.Unmarshal(a.Result, &l))
		return l.names()
	}
	if status, a := post("", nil); status != http.StatusOK || slices.Contains(names(a), "set_valve") {
		t.Errorf("a user without roles, though the door was told a technician: HTTP %d %v", status, names(a))
	}
	if asked == 4711 {
		t.Error("nobody asked for the user")
	}
	if status, a := post("operator", nil); status != http.StatusOK || !slices.Contains(names(a), "set_valve") {
		t.Errorf("a token counts more than the user: HTTP %d", status)
	}
	if status, _ := post("guess", nil); status != http.StatusUnauthorized {
		t.Errorf("a bad token: HTTP %d", status)
	}
	if status, _ := post("", map[string]string{"Origin": "http://localhost:1"}); status != http.StatusForbidden {
		t.Errorf("a web page: HTTP %d", status)
	}
	if status, _ := post("", map[string]string{"Host": "evil.example"}); status != http.StatusForbidden {
		t.Errorf("a foreign Host: HTTP %d", status)
	}
}

func TestASocketWithoutLocalUsersNeedsAToken(t *testing.T) {
	s := newSite(t, siteFiles())
	_, dial := s.socket(t, nil)
	c := bridged(t, mcpserver.BridgeTarget{Dial: dial})
	list, _ := modernBody(5, "tools/list", nil)
	c.send(list)
	if a := c.receive(); a.Error == nil || !strings.Contains(a.Error.Message, "needs a token") {
		t.Errorf("%+v", a)
	}
}
