package mcpserver_test

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"capd/internal/access"
	"capd/internal/mcpserver"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestTheGuardAsksWhoCallsFromWhere(t *testing.T) {
	s := newSite(t, siteFiles(), func(d *mcpserver.Deps) {
		d.Config.AllowedOrigins = []string{"https://console.plant.example"}
		d.Config.AllowedHosts = []string{"gateway.plant.example", "10.1.2.3:7420"}
	})
	_, port, err := net.SplitHostPort(s.http.Listener.Addr().String())
	must(t, err)
	body, header := modernBody(1, "tools/list", nil)
	for name, c := range map[string]struct {
		token  string
		header map[string]string
		status int
		reason string
	}{
		"a good token":             {"viewer", nil, 200, ""},
		"no token":                 {"", nil, 401, "token_missing"},
		"an unknown token":         {"guess", nil, 401, "token_unknown"},
		"an expired token":         {"expired", nil, 401, "token_expired"},
		"a revoked token":          {"revoked", nil, 401, "token_revoked"},
		"a mutilated token":        {"broken", nil, 401, "token_malformed"},
		"a password":               {"", map[string]string{"Authorization": "Basic dTpw"}, 401, "scheme"},
		"a bearer without a token": {"", map[string]string{"Authorization": "Bearer"}, 401, "token_unknown"},
		"lower case scheme":        {"", map[string]string{"Authorization": "bearer viewer"}, 200, ""},
		"a rebound name":           {"viewer", map[string]string{"Host": "evil.example:" + port}, 403, "host"},
		"another port":             {"viewer", map[string]string{"Host": "127.0.0.1:1"}, 403, "host"},
		"no port":                  {"viewer", map[string]string{"Host": "localhost"}, 403, "host"},
		"localhost":                {"viewer", map[string]string{"Host": "LocalHost:" + port}, 200, ""},
		"loopback of IPv6":         {"viewer", map[string]string{"Host": "[::1]:" + port}, 200, ""},
		"an allowed name":          {"viewer", map[string]string{"Host": "Gateway.plant.example"}, 200, ""},
		"an allowed name and port": {"viewer", map[string]string{"Host": "10.1.2.3:7420"}, 200, ""},
		"its other port":           {"viewer", map[string]string{"Host": "10.1.2.3:7421"}, 403, "host"},
		"a foreign page":           {"viewer", map[string]string{"Origin": "https://evil.example"}, 403, "origin"},
		"a page from a file":       {"viewer", map[string]string{"Origin": "null"}, 403, "origin"},
		"a page of this computer":  {"viewer", map[string]string{"Origin": "http://localhost:6274"}, 200, ""},
		"an allowed page":          {"viewer", map[string]string{"Origin": "https://console.plant.example"}, 200, ""},
		"a local page elsewhere":   {"viewer", map[string]string{"Origin": "http://localhost:6274", "Host": "gateway.plant.example"}, 403, "origin"},
	} {
		all := map[string]string{}
		for _, m := range []map[string]string{header, c.header} {
			for k, v := range m {
				all[k] = v
			}
		}
		r := s.do(http.MethodPost, "/mcp", c.token, body, all)
		if r.status != c.status {
			t.Errorf("%s: HTTP %d, not %d: %s", name, r.status, c.status, r.body)
			continue
		}
		if a := r.rpc(t); c.status != 200 && (a.Error == nil || a.Error.Data.Reason != c.reason || a.Error.Data.Next == "" || a.Error.Message == "") {
			t.Errorf("%s: %s", name, r.body)
		}
		if challenge := r.header.Get("WWW-Authenticate"); (c.status == 401) != strings.HasPrefix(challenge, `Bearer realm="capd"`) {
			t.Errorf("%s: challenge %q", name, challenge)
		}
	}
}

func TestARefusalNamesTheNextStepAndNoSecret(t *testing.T) {
	s := newSite(t, siteFiles())
	r := s.do(http.MethodPost, "/mcp", "capd_secret", ping, nil)
	if text := string(r.body); !strings.Contains(text, "capd token create") || strings.Contains(text, "capd_secret") {
		t.Errorf("%s", text)
	}
}

func TestAnAllowedPageMayAskWhatItMaySend(t *testing.T) {
	s := newSite(t, siteFiles())
	r := s.do(http.MethodOptions, "/mcp", "", "", map[string]string{"Origin": "http://localhost:6274", "Access-Control-Request-Method": "POST"})
	if r.status != http.StatusNoContent || r.header.Get("Access-Control-Allow-Origin") != "http://localhost:6274" ||
		!strings.Contains(r.header.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("HTTP %d %v", r.status, r.header)
	}
	if r := s.do(http.MethodOptions, "/mcp", "", "", map[string]string{"Origin": "https://evil.example"}); r.status != http.StatusForbidden || r.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a foreign page: HTTP %d %v", r.status, r.header)
	}
}

func TestABrokenMessageIsToldWhereItIsBroken(t *testing.T) {
	s := newSite(t, siteFiles())
	for name, c := range map[string]struct {
		body   string
		status int
		code   int
		says   string
	}{
		"cut off":             {`{"jsonrpc":"2.0","id":1,` + "\n" + ` "method":"ping"`, 400, -32700, "line 2"},
		"a stray word":        {"{\n  \"jsonrpc\": 2.0x\n}", 400, -32700, "line 2, column 17"},
		"nothing":             {"", 400, -32700, "empty"},
		"blanks":              {" \n\t ", 400, -32700, "empty"},
		"no UTF-8":            {"{\"jsonrpc\":\"\xff\"}", 400, -32700, "UTF-8"},
		"a batch":             {"[" + ping + "]", 400, -32600, "batches"},
		"a number":            {"5", 400, -32600, "number"},
		"two documents":       {ping + ping, 400, -32700, "line 1"},
		"another version":     {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, 400, -32600, "jsonrpc"},
		"no version":          {`{"id":1,"method":"ping"}`, 400, -32600, "jsonrpc"},
		"no method":           {`{"jsonrpc":"2.0","id":1}`, 400, -32600, "method"},
		"a method of numbers": {`{"jsonrpc":"2.0","id":1,"method":5}`, 400, -32600, "method"},
		"an object as id":     {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, 400, -32600, "id"},
		"params as a list":    {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}`, 400, -32602, "params"},
		"a name of numbers":   {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`, 400, -32602, "name"},
		"no session":          {ping, 400, -32600, "initialize"},
	} {
		r := s.do(http.MethodPost, "/mcp", "operator", c.body, nil)
		a := r.rpc(t)
		if r.status != c.status || a.Error == nil || a.Error.Code != c.code || !strings.Contains(a.Error.Message, c.says) {
			t.Errorf("%s: HTTP %d: %s", name, r.status, r.body)
		}
	}
	if r := s.do(http.MethodPost, "/mcp", "operator", `{"jsonrpc":"2.0","id":"seven","method":5}`, nil); string(r.rpc(t).ID) != `"seven"` {
		t.Errorf("the error has lost the id: %s", r.body)
	}
	body, header := modernBody(3, "tools/dance", nil)
	if r := s.do(http.MethodPost, "/mcp", "operator", body, header); r.status != http.StatusNotFound || r.rpc(t).Error.Code != -32601 {
		t.Errorf("an unknown method: HTTP %d %s", r.status, r.body)
	}
}

func TestAnOversizedBodyIsRefused(t *testing.T) {
	s := newSite(t, siteFiles())
	big := `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 256<<10) + `"}`
	r := s.do(http.MethodPost, "/mcp", "operator", big, nil)
	if r.status != http.StatusRequestEntityTooLarge || !strings.Contains(r.rpc(t).Error.Message, "262144 bytes") {
		t.Errorf("HTTP %d: %s", r.status, r.body)
	}
	req, err := http.NewRequest(http.MethodPost, s.http.URL+"/mcp", struct{ *strings.Reader }{strings.NewReader(big)}) // no length is announced
	must(t, err)
	req.Header.Set("Authorization", "Bearer operator")
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.http.Client().Do(req)
	must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("without a length: HTTP %d", resp.StatusCode)
	}
}

func TestABodyMustSayThatItIsJSON(t *testing.T) {
	s := newSite(t, siteFiles())
	for _, kind := range []string{"text/plain", "", "application/x-www-form-urlencoded", ";"} {
		if r := s.do(http.MethodPost, "/mcp", "operator", ping, map[string]string{"Content-Type": kind}); r.status != http.StatusUnsupportedMediaType || r.rpc(t).Error == nil {
			t.Errorf("%q: HTTP %d %s", kind, r.status, r.body)
		}
	}
}

func TestOtherPathsAndMethodsAreToldWhereMCPIs(t *testing.T) {
	s := newSite(t, siteFiles())
	for _, path := range []string{"/", "/mcp/", "/mcp/p/", "/mcp/p/a/b", "/v1/status"} {
		if r := s.do(http.MethodPost, path, "operator", ping, nil); r.status != http.StatusNotFound || !strings.Contains(string(r.body), "/mcp") {
			t.Errorf("%s: HTTP %d %s", path, r.status, r.body)
		}
	}
	for _, method := range []string{http.MethodPut, http.MethodPatch, "BREW"} {
		if r := s.do(method, "/mcp", "operator", ping, nil); r.status != http.StatusMethodNotAllowed || r.header.Get("Allow") != "POST, GET, DELETE" {
			t.Errorf("%s: HTTP %d %v", method, r.status, r.header)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		if r := s.do(method, "/mcp", "operator", "", map[string]string{"Mcp-Protocol-Version": modern}); r.status != http.StatusMethodNotAllowed {
			t.Errorf("%s of revision %s: HTTP %d", method, modern, r.status)
		}
		if r := s.do(method, "/mcp", "operator", "", nil); r.status != http.StatusBadRequest || r.rpc(t).Error.Data.Reason != "session_missing" {
			t.Errorf("%s without a session: HTTP %d %s", method, r.status, r.body)
		}
	}
}

func TestOneCallerCannotDrownTheOthers(t *testing.T) {
	s := newSite(t, siteFiles(), func(d *mcpserver.Deps) { d.Config.Rate, d.Config.Burst = 0.001, 3 })
	var last reply
	for range 4 {
		last = s.ask("operator", "tools/list", nil)
	}
	if last.status != http.StatusTooManyRequests || last.header.Get("Retry-After") == "" || last.rpc(t).Error.Data.Reason != "rate" {
		t.Errorf("HTTP %d %v %s", last.status, last.header, last.body)
	}
	if r := s.ask("viewer", "tools/list", nil); r.status != http.StatusOK {
		t.Errorf("another caller: HTTP %d", r.status)
	}
}

func TestTheDoorNeverMakesATechnician(t *testing.T) {
	seen := make(chan access.Subject, 1)
	h := mcpserver.Guard(mcpserver.GuardConfig{Log: quiet(), AllowedHosts: []string{"example.com"}, Authenticate: func(string) (access.Subject, error) {
		return access.Subject{ID: "token:x", Technician: true, Local: true}, nil
	}}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s, _ := mcpserver.SubjectOf(r.Context())
		seen <- s
	}))
	r := httptest.NewRequest(http.MethodPost, "http://example.com/mcp", nil)
	r.Header.Set("Authorization", "Bearer x")
	h.ServeHTTP(httptest.NewRecorder(), r)
	if s := <-seen; s.Technician || s.ID != "token:x" {
		t.Errorf("%+v", s)
	}
}

func TestADoorIsNotBuiltWithHalfOfItsParts(t *testing.T) {
	if _, err := mcpserver.New(mcpserver.Deps{Log: quiet()}); err == nil || !strings.Contains(err.Error(), "Corridor, Snapshots, Alarms, Authenticate") {
		t.Error(err)
	}
}

func TestAnErrorOfTheTokenStoreIsShown(t *testing.T) {
	s := newSite(t, siteFiles(), func(d *mcpserver.Deps) {
		d.Authenticate = func(string) (access.Subject, error) { return access.Subject{}, errors.New("the token store is closed") }
	})
	r := s.do(http.MethodPost, "/mcp", "x", ping, nil)
	if r.status != http.StatusUnauthorized || !strings.Contains(r.rpc(t).Error.Message, "closed") {
		t.Errorf("HTTP %d %s", r.status, r.body)
	}
}

func FuzzTheDoor(f *testing.F) {
	s := newSite(f, siteFiles())
	list, _ := modernBody(1, "tools/list", nil)
	call, _ := modernBody(2, "tools/call", map[string]any{"name": "valve_status", "arguments": map[string]any{}})
	find, _ := modernBody(3, "tools/call", map[string]any{"name": "find_tools", "arguments": map[string]any{"query": "阀"}})
	for _, body := range []string{list, call, find, ping, "[]", "{", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`} {
		f.Add(body, modern, "tools/call", "valve_status")
		f.Add(body, "2025-11-25", "", "")
	}
	f.Fuzz(func(t *testing.T, body, revision, method, name string) {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
		r = r.WithContext(t.Context())
		if strings.Contains(body, "subscriptions/listen") {
			return // stays open as it should
		}
		r.Host = "127.0.0.1"
		for key, value := range map[string]string{"Authorization": "Bearer operator", "Content-Type": "application/json", "Mcp-Protocol-Version": revision, "Mcp-Method": method, "Mcp-Name": name} {
			r.Header.Set(key, value)
		}
		w := httptest.NewRecorder()
		s.server.Handler().ServeHTTP(w, withPort(r, "127.0.0.1:80"))
		if w.Code >= 500 {
			t.Errorf("HTTP %d for %q: %s", w.Code, body, w.Body)
		}
		if w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("not JSON: %q", w.Body)
		}
	})
}
