package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"capd/internal/access"
	"capd/internal/document"
	"capd/internal/inventory"
)

// Paths of the endpoint.
const (
	pathMCP      = "/mcp"
	pathProfiles = "/mcp/p/"
)

// bodyTime is how long a caller may take to send a body.
const bodyTime = 15 * time.Second

// door is everything in front of MCP, from the first header to a well-formed message of a known caller.
func (s *Server) door(local func(context.Context) (access.Subject, error)) http.Handler {
	guarded := Guard(GuardConfig{AllowedOrigins: s.config.AllowedOrigins, AllowedHosts: s.config.AllowedHosts, Authenticate: s.deps.Authenticate,
		Local: local, Log: s.deps.Log}, http.HandlerFunc(s.admit))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := profileOf(r.URL.Path); !ok {
			(&failure{status: http.StatusNotFound, code: codeRefused, reason: "path", message: fmt.Sprintf("there is nothing at %q", clip(r.URL.Path)),
				next: "MCP is at /mcp, and a profile's view at /mcp/p/PROFILE"}).write(w, nil)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// profileOf is the profile that a path names, "" for none.
func profileOf(path string) (profile string, ok bool) {
	if path == pathMCP {
		return "", true
	}
	profile, ok = strings.CutPrefix(path, pathProfiles)
	return profile, ok && profile != "" && !strings.Contains(profile, "/")
}

// admit takes a request of a known subject: its limits, its view, then its message.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) {
	subject, _ := SubjectOf(r.Context())
	leave, f := s.limits.enter(subject.ID, time.Now())
	if f != nil {
		f.write(w, nil)
		return
	}
	defer leave()
	if s.waits.isClosed() {
		(&failure{status: http.StatusServiceUnavailable, code: codeRefused, reason: "stopping", message: "capd is stopping", next: "call again in a few seconds",
			retry: 5 * time.Second}).write(w, nil)
		return
	}
	named, _ := profileOf(r.URL.Path)
	c, f := s.caller(subject, named)
	if f != nil {
		f.write(w, nil)
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
	switch r.Method {
	case http.MethodPost:
		s.post(w, r, c)
	case http.MethodGet, http.MethodDelete:
		s.getOrDelete(w, r, c)
	default:
		(&failure{status: http.StatusMethodNotAllowed, code: codeRefused, reason: "method", message: clip(r.Method) + " means nothing here",
			next: "send JSON-RPC messages with POST", header: http.Header{"Allow": {"POST, GET, DELETE"}}}).write(w, nil)
	}
}

// caller finds the view of a subject at a URL. A profile narrows and never grants, so that a token without one may name any; a token
// with one is held to it.
func (s *Server) caller(subject access.Subject, named string) (*caller, *failure) {
	state := s.state.Load()
	name := subject.Profile
	if name == "" {
		name = named
	}
	if named != "" && named != name {
		return nil, forbidden("profile", fmt.Sprintf("this token belongs to the profile %q, not %q", name, clip(named)), "use /mcp, or a token of that profile")
	}
	if name == "" {
		return &caller{subject: subject, view: state.viewOf(subject, nil)}, nil
	}
	profile := state.snapshot.Profiles[name]
	if profile == nil {
		next := "ask the engineer; profiles are the files in profiles.d"
		if near := document.Suggest(name, inventory.SortedKeys(state.snapshot.Profiles)); near != "" && subject.Profile == "" {
			next = fmt.Sprintf("did you mean %q?", near)
		}
		return nil, forbidden("profile", fmt.Sprintf("the profile %q is not in force", clip(name)), next)
	}
	return &caller{subject: subject, view: state.viewOf(subject, profile)}, nil
}

func forbidden(reason, text, next string) *failure {
	return &failure{status: http.StatusForbidden, code: codeRefused, reason: reason, message: text, next: next}
}

// post takes one JSON-RPC message.
func (s *Server) post(w http.ResponseWriter, r *http.Request, c *caller) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		(&failure{status: http.StatusUnsupportedMediaType, code: codeInvalidRequest, reason: "content_type",
			message: fmt.Sprintf("the Content-Type %q is not JSON", clip(r.Header.Get("Content-Type"))), next: `send "Content-Type: application/json"`}).write(w, nil)
		return
	}
	body, f := s.readBody(w, r)
	if f != nil {
		f.write(w, nil)
		return
	}
	m, f := parseMessage(r.Header, body)
	var huge []span
	if f == nil {
		huge, f = strictly(body)
	}
	if f == nil {
		f = s.check(r, c, m)
	}
	if f != nil {
		f.write(w, m.id)
		return
	}
	if m.modern && m.id == nil && m.method == "notifications/cancelled" {
		// mcp-go keys running calls by request id alone here, so that one client would end another's waiting. A client of this revision
		// ends a call by closing its request.
		w.WriteHeader(http.StatusAccepted)
		return
	}
	r, body = readable(r, body, huge)
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	switch mcp.MCPMethod(m.method) {
	case mcp.MethodInitialize:
		s.makeRoom(r, c)
		c.view.state.http.ServeHTTP(w, r)
	case mcp.MethodToolsList:
		c.view.state.lists.ServeHTTP(w, r)
	case mcp.MethodSubscriptionsListen:
		s.listen(w, r, c)
	default:
		c.view.state.http.ServeHTTP(w, r)
	}
}

// readBody reads a bounded body in bounded time.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, *failure) {
	if r.ContentLength > s.config.BodyLimit {
		return nil, s.tooLarge()
	}
	control := http.NewResponseController(w)
	timed := control.SetReadDeadline(time.Now().Add(bodyTime)) == nil // a recorder in a test has no deadlines
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.config.BodyLimit))
	if timed {
		if err := control.SetReadDeadline(time.Time{}); err != nil {
			return nil, badMessage(codeParse, "body", "the connection broke: "+err.Error(), "send it again")
		}
	}
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, s.tooLarge()
	}
	if err != nil {
		return nil, badMessage(codeParse, "body", fmt.Sprintf("the body broke off after %d bytes: %v", len(body), err), "send it again")
	}
	return body, nil
}

func (s *Server) tooLarge() *failure {
	return &failure{status: http.StatusRequestEntityTooLarge, code: codeRefused, reason: "body_size",
		message: fmt.Sprintf("the body is larger than %d bytes", s.config.BodyLimit), next: "send less in one message"}
}

// check looks at what mcp-go would answer without the next step, or not look at: the session's owner, and the tool's name.
func (s *Server) check(r *http.Request, c *caller, m message) *failure {
	if !m.modern {
		if f := checkRevision(r.Header.Get(mcp.HeaderProtocolVersion)); f != nil {
			return f
		}
	}
	if !m.modern && m.method != string(mcp.MethodInitialize) {
		if f := s.checkSession(r, c); f != nil {
			return f
		}
	}
	if m.method == string(mcp.MethodToolsCall) && m.id != nil {
		return c.checkTool(m)
	}
	return nil
}

// checkRevision refuses a header with a revision that nobody has published.
func checkRevision(revision string) *failure {
	if revision == "" || slices.Contains(mcp.ValidProtocolVersions, revision) {
		return nil
	}
	return badMessage(codeInvalidRequest, "revision", fmt.Sprintf("the Mcp-Protocol-Version %q is not known", clip(revision)),
		"send one of "+strings.Join(mcp.ValidProtocolVersions, ", "))
}

func (s *Server) checkSession(r *http.Request, c *caller) *failure {
	id := r.Header.Get(server.HeaderKeySessionID)
	if id == "" {
		return badMessage(codeInvalidRequest, "session_missing", "the request has neither a session nor revision 2026-07-28",
			"send initialize first and its Mcp-Session-Id after it, or the Mcp-Protocol-Version header and _meta of 2026-07-28")
	}
	if !s.sessions.owns(c.subject.ID, id) {
		return &failure{status: http.StatusNotFound, code: codeRefused, reason: "session", message: "this session is not open",
			next: "send initialize again; sessions end when they idle and when capd restarts"}
	}
	return nil
}

// checkTool refuses names that the caller cannot call; a hidden tool is as unknown as one that does not exist.
func (c *caller) checkTool(m message) *failure {
	if c.view.callable(m.name) {
		return nil
	}
	text, next := fmt.Sprintf("there is no tool %q", clip(m.name)), "search with find_tools"
	if near := c.view.suggestTool(m.name); near != "" {
		next = fmt.Sprintf("did you mean %q?", near)
	}
	f := badMessage(codeInvalidParams, "unknown_tool", text, next)
	if !m.modern {
		f.status = http.StatusOK // the older revisions answer a request with 200, whatever it says
	}
	return f
}

// getOrDelete takes the event stream and the end of a session of the older revisions.
func (s *Server) getOrDelete(w http.ResponseWriter, r *http.Request, c *caller) {
	if mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) {
		c.view.state.http.ServeHTTP(w, r) // says that this revision has neither
		return
	}
	if f := s.checkSession(r, c); f != nil {
		f.write(w, nil)
		return
	}
	if r.Method == http.MethodDelete {
		c.view.state.http.ServeHTTP(w, r)
		return
	}
	id := r.Header.Get(server.HeaderKeySessionID)
	defer s.sessions.listen(id)()
	one := s.streams.open(c, func() {
		if err := c.view.state.mcp.SendNotificationToSpecificClient(id, mcp.MethodNotificationToolsListChanged, nil); err != nil {
			s.deps.Log.Debug("a caller was not told that its tools changed", "subject", c.subject.ID, "error", err)
		}
	})
	defer s.streams.close(one)
	s.serveStream(w, r, one)
}

// listen takes subscriptions/listen of revision 2026-07-28.
func (s *Server) listen(w http.ResponseWriter, r *http.Request, c *caller) {
	one := s.streams.open(c, nil)
	defer s.streams.close(one)
	r = r.WithContext(context.WithValue(r.Context(), streamKey{}, one))
	s.serveStream(w, r, one)
}

// serveStream serves an event stream that ends with the door. Once it is open, its caller hears of a change that came in between.
func (s *Server) serveStream(w http.ResponseWriter, r *http.Request, one *stream) {
	ctx, done := s.waits.with(r.Context())
	defer done()
	opened := newFirstWrite(w, func() { one.acknowledged(s.state.Load().viewAgain(one.caller).print) })
	one.caller.view.state.http.ServeHTTP(opened, r.WithContext(ctx))
}

// makeRoom ends sessions that must go before this caller opens one more.
func (s *Server) makeRoom(r *http.Request, c *caller) {
	for _, id := range s.sessions.surplus(c.subject.ID, time.Now()) {
		c.view.state.http.Handle(nowhere{}, &server.HTTPRequest{Method: http.MethodDelete, Header: http.Header{server.HeaderKeySessionID: {id}},
			Context: context.WithoutCancel(context.WithValue(r.Context(), callerKey{}, nil))})
	}
}

// nowhere takes an answer that nobody reads.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) WriteHeader(int)             {}
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) Flush()                      {}
func (nowhere) CanStream() bool             { return false }
