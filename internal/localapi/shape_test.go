package localapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"capd/internal/localapi"
	"capd/internal/localapi/localtest"
)

// send makes a raw request over the socket and gives the status and the reason.
func send(t *testing.T, b *localtest.Box, method, path, body string, change func(*http.Request)) (int, *localapi.Error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://capd"+path, strings.NewReader(body))
	must(t, err)
	if change != nil {
		change(req)
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix",
			b.Socket)
	}}
	answer, err := transport.RoundTrip(req)
	must(t, err)
	raw, err := io.ReadAll(answer.Body)
	must(t, errors.Join(err, answer.Body.Close()))
	var doc struct{ Error *localapi.Error }
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatalf("%s %s answers no JSON: %s", method, path, raw)
	}
	if answer.Header.Get("Content-Type") != "application/json" || answer.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("header %v", answer.Header)
	}
	return answer.StatusCode, doc.Error
}

func TestWhatABrowserCouldSendIsRefused(t *testing.T) {
	b := localtest.Start(t)
	for name, c := range map[string]struct {
		change func(*http.Request)
		status int
	}{
		"plain":        {nil, 200},
		"localhost":    {func(r *http.Request) { r.Host = "localhost:80" }, 200},
		"origin":       {func(r *http.Request) { r.Header.Set("Origin", "http://localhost") }, 403},
		"empty origin": {func(r *http.Request) { r.Header["Origin"] = []string{""} }, 403},
		"rebinding":    {func(r *http.Request) { r.Host = "evil.example" }, 403},
		"dotted":       {func(r *http.Request) { r.Host = "capd.evil.example" }, 403},
	} {
		status, e := send(t, b, "GET", "/v1/status", "", c.change)
		if status != c.status || status == 403 && (e == nil || e.Code != localapi.Forbidden || e.Next == "") {
			t.Errorf("%s: %d %v", name, status, e)
		}
	}
}

func TestMalformedRequestsNameThePlaceAndTheNextStep(t *testing.T) {
	b := localtest.Start(t)
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"POST", "/v1/lock", `{"target": "PS07-FCV-04", "reson": "x"}`, 400, `did you mean "reason"?`},
		{"POST", "/v1/lock", `{"target": "PS07-FCV-04"}`, 400, "reason"},
		{"POST", "/v1/lock", `{"target": "PS07-FCV-04", "reason": "a", "reason": "b"}`, 400, "line 1"},
		{"POST", "/v1/lock", `{"target": 7, "reason": "x"}`, 400, "target: found number 7"},
		{"POST", "/v1/lock", `{"target": "PS07-FCV-04", "reason": "x"} {}`, 400, "invalid JSON"},
		{"POST", "/v1/lock", `target: PS07-FCV-04`, 400, "invalid JSON"},
		{"POST", "/v1/lock", `["PS07-FCV-04"]`, 400, "a list"},
		{"POST", "/v1/lock", ``, 400, "the body is empty"},
		{"POST", "/v1/reload", `{"x": 1}`, 400, "x"},
		{"POST", "/v1/call", `{"action": "valve_status", "args": []}`, 400, "args"},
		{"POST", "/v1/call", `{"action": "valve_status", "dry_run": "yes"}`, 400, "dry_run"},
		{"POST", "/v1/unlock", `{"reason": "x"}`, 400, "target"},
		{"POST", "/v1/tokens", `{"name": "x", "roles": ["viewer"], "ttl": "30 days"}`, 400, "720h"},
		{"POST", "/v1/tokens", `{"name": "x", "roles": "viewer"}`, 400, "roles"},
		{"GET", "/v1/explain/x?wait_s=-1", "", 400, "from 0 to 60"},
		{"GET", "/v1/explain/x?wait=1", "", 400, "wait_s"},
		{"GET", "/v1/status?verbose=1", "", 400, "verbose"},
		{"GET", "/v1/recent?limit=1&limit=2", "", 400, "once"},
		{"GET", "/v1/alarms?all=maybe", "", 400, "1 or 0"},
		{"GET", "/v1/statu", "", 404, "did you mean /v1/status?"},
		{"GET", "/", "", 404, "/v1/status"},
		{"DELETE", "/v1/tokens", "", 405, "GET or POST"},
		{"GET", "/v1/lock", "", 405, "POST"},
		{"POST", "/v1/lock", `{"target": "` + strings.Repeat("x", localapi.MaxBody) + `"}`, 413, "262144 bytes"},
	} {
		status, e := send(t, b, c.method, c.path, c.body, nil)
		if status != c.status || e == nil || !contains(e.Error(), c.says) {
			t.Errorf("%s %s %.60s: %d %v; want %d %s", c.method, c.path, c.body, status, e, c.status, c.says)
		}
	}
	if len(b.Standing.Lockouts()) != 0 || len(b.Tokens.List()) != 0 {
		t.Error("a malformed request changed something")
	}
}

func FuzzBodies(f *testing.F) {
	paths := []string{"/v1/call", "/v1/lock", "/v1/unlock", "/v1/mode", "/v1/settle", "/v1/tokens", "/v1/tokens/revoke", "/v1/alarms/clear",
		"/v1/reload",
		"/v1/tools/set_discharge_valve/degrade", "/v1/tools/x/restore"}
	f.Add(0, `{"action": "set_discharge_valve", "args": {"opening": 60}, "request_id": "a", "dry_run": true}`)
	f.Add(1, `{"target": "plant/ps07", "reason": "why"}`)
	f.Add(2, `{"target": "PS07-FCV-04", "force": "wang"}`)
	f.Add(3, `{"mode": "shadow", "reason": "x"}`)
	f.Add(5, `{"name": "a", "roles": ["viewer"], "scopes": ["*"], "ttl": "1h", "no_expiry": false}`)
	f.Add(8, `{}`)
	f.Add(9, `{"reason": "\ud800"}`)
	f.Add(0, `{"action": "valve_status", "args": {"a": [1e400, null, {"b": "`+"\x00"+`"}]}}`)
	b := localtest.Start(f)
	f.Fuzz(func(t *testing.T, which int, body string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "http://capd"+paths[uint(which)%uint(len(paths))], strings.NewReader(body))
		b.Server.ServeAs(1000, which%2 == 0, w, r)
		if !json.Valid(w.Body.Bytes()) {
			t.Fatalf("no JSON: %s", w.Body)
		}
		switch w.Code {
		case 200, 400, 403, 404, 409, 413:
		default:
			t.Fatalf("status %d for %q: %s", w.Code, body, w.Body)
		}
		if which%2 != 0 && w.Code == 200 && uint(which)%uint(len(paths)) != 0 {
			t.Fatalf("somebody who is no technician changed something with %q: %s", body, w.Body)
		}
	})
}

func TestListenReplacesOnlyADeadSocket(t *testing.T) {
	b := localtest.Start(t)
	_, err := localapi.Listen(b.Socket)
	busy, ok := errors.AsType[*localapi.InUseError](err)
	if !ok || busy.PID != int32(os.Getpid()) || !contains(err.Error(), "folders.run") {
		t.Errorf("a living socket: %v", err)
	}
	dead := filepath.Join(filepath.Dir(b.Socket), "new", "dead.sock")
	for range 2 {
		l, err := localapi.Listen(dead)
		must(t, err)
		info, err := os.Stat(dead)
		must(t, err)
		if info.Mode() != fs.ModeSocket|0o666 {
			t.Errorf("mode %v", info.Mode())
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		must(t, l.Close())
	}
	file := filepath.Join(filepath.Dir(b.Socket), "file")
	must(t, os.WriteFile(file, []byte("mine"), 0o600))
	if _, err := localapi.Listen(file); err == nil || !contains(err.Error(), "is no socket") {
		t.Errorf("a file: %v", err)
	}
	if raw, err := os.ReadFile(file); err != nil || string(raw) != "mine" {
		t.Errorf("the file is gone: %v %q", err, raw)
	}
	if _, err := localapi.Listen(filepath.Join(file, "x.sock")); err == nil {
		t.Error("listened below a file")
	}
	if _, err := localapi.Listen(filepath.Join(filepath.Dir(b.Socket), strings.Repeat("x", 120))); err == nil {
		t.Error("listened on a path that is too long for a socket")
	}
}

func wantReach(t *testing.T, err error, reach localapi.Reach, says string) {
	t.Helper()
	e, ok := errors.AsType[*localapi.ReachError](err)
	if !ok || e.Reach != reach || !contains(e.Error(), says) {
		t.Errorf("error %v, want %s: %s", err, reach, says)
	}
}

func TestAClientSaysWhyTheDaemonIsNotReached(t *testing.T) {
	dir, err := os.MkdirTemp("", "capd")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	ask := func(name string) error {
		c := localapi.NewClient(filepath.Join(dir, name))
		defer c.Close()
		return second(c.Status(t.Context()))
	}
	wantReach(t, ask("none"), localapi.NotRunning, "no socket at "+dir)
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	wantReach(t, ask("file"), localapi.Foreign, "is not capd")
	wantReach(t, ask("file/below"), localapi.NotRunning, "nobody listens")
	wantReach(t, ask(strings.Repeat("x", 200)), localapi.NotRunning, "nobody listens")
	wantReach(t, second(localapi.NewClient("").Status(t.Context())), localapi.NotRunning, "--socket")
	dead, err := localapi.Listen(filepath.Join(dir, "dead"))
	must(t, err)
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	must(t, dead.Close())
	wantReach(t, ask("dead"), localapi.NotRunning, "systemctl start capd")

	other(t, filepath.Join(dir, "web"), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
	wantReach(t, ask("web"), localapi.Foreign, "is not capd")
	other(t, filepath.Join(dir, "ssh"), "SSH-2.0-OpenSSH_9.9\r\n")
	wantReach(t, ask("ssh"), localapi.Foreign, "is not capd")
	other(t, filepath.Join(dir, "cut"), "HTTP/1.1 200 OK\r\nServer: capd\r\nContent-Length: 200\r\n\r\n{}")
	wantReach(t, ask("cut"), localapi.Silent, "did not answer to the end")
	other(t, filepath.Join(dir, "mute"), "")
	wantReach(t, ask("mute"), localapi.Silent, "did not answer to the end")
	other(t, filepath.Join(dir, "odd"), "HTTP/1.1 500 Oops\r\nServer: capd\r\nContent-Length: 2\r\n\r\n{}")
	wantReach(t, ask("odd"), localapi.Foreign, "is not capd")
}

// other is a listener that answers every request with the same bytes and hangs up.
func other(t *testing.T, path, answer string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(conn).ReadString('\n')
			_, _ = io.WriteString(conn, answer)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		must(t, l.Close())
		<-done
	})
}

func TestServeAnswersWaitingCallersWhenItStops(t *testing.T) {
	b := localtest.Start(t)
	b.Machine.Hold()
	dir, err := os.MkdirTemp("", "capd")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	l, err := localapi.Listen(filepath.Join(dir, "second.sock"))
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- b.Server.Serve(ctx, l) }()
	c := localapi.NewClient(filepath.Join(dir, "second.sock"))
	defer c.Close()
	answered := make(chan string, 1)
	go func() {
		a, err := c.Call(t.Context(), opening(60))
		if err != nil {
			answered <- err.Error()
			return
		}
		answered <- string(a.Verdict)
	}()
	waitRunning(t, b)
	stop()
	if got := <-answered; got != "pending" {
		t.Errorf("the waiting caller got %s", got)
	}
	must(t, <-served)
	if _, err := os.Stat(filepath.Join(dir, "second.sock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

func TestOnlyUnixSocketsAreServed(t *testing.T) {
	b := localtest.Start(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- b.Server.Serve(ctx, l) }()
	client := &http.Client{Timeout: 10 * time.Second}
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+l.Addr().String()+"/v1/status", nil)
	must(t, err)
	req.Host = "localhost"
	answer, err := client.Do(req)
	must(t, err)
	must(t, answer.Body.Close())
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("status %d", answer.StatusCode)
	}
	client.CloseIdleConnections()
	stop()
	must(t, <-served)
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	if _, err := localapi.New(localapi.Deps{}); err == nil || !contains(err.Error(), "Deps.Log") {
		t.Errorf("error %v", err)
	}
}

func TestABodyThatIsAnnouncedTooLargeIsRefusedBeforeItComes(t *testing.T) {
	b := localtest.Start(t)
	conn, err := net.Dial("unix", b.Socket)
	must(t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "POST /v1/lock HTTP/1.1\r\nHost: capd\r\nContent-Length: 1000000\r\n\r\n")
	must(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("%s", answer.Status)
	}
}

func TestASocketPathThatIsTooLongNamesTheLimit(t *testing.T) {
	_, err := localapi.Listen(filepath.Join(t.TempDir(), strings.Repeat("x", 107), "capd.sock"))
	if err == nil || !contains(err.Error(), "at most 107") || !contains(err.Error(), "folders.run") {
		t.Errorf("got %v", err)
	}
}
