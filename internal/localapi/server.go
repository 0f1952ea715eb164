package localapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// Time-outs of the door. Answers are written under writeTime; how long a handler may wait is its own.
const (
	headerTime = 5 * time.Second
	readTime   = 10 * time.Second
	idleTime   = 2 * time.Minute
	stopTime   = 5 * time.Second
)

// serverName is the Server header by which the client knows that it talks to capd.
const serverName = "capd"

// Server answers the status socket. It is safe for concurrent use.
type Server struct {
	Deps
	people  people
	started time.Time
	handler http.Handler
	search  searcher
}

// New makes a server; what is missing of the Deps is an error.
func New(d Deps) (*Server, error) {
	for _, need := range []struct {
		name    string
		missing bool
	}{{"Log", d.Log == nil}, {"Corridor", d.Corridor == nil}, {"Snapshots", d.Snapshots == nil}, {"Machine", d.Machine == nil},
		{"Journal", d.Journal == nil}, {"Standing", d.Standing == nil}, {"Breakers", d.Breakers == nil}, {"Alarms", d.Alarms == nil},
		{"Tokens", d.Tokens == nil}, {"Reload", d.Reload == nil}} {
		if need.missing {
			return nil, fmt.Errorf("localapi: Deps.%s is missing", need.name)
		}
	}
	s := &Server{Deps: d, started: time.Now(), people: people{group: d.Technicians, own: uint32(os.Geteuid()), ownMayDo: d.OwnUIDIsTechnician}}
	s.handler = s.mux()
	for _, p := range s.people.doubts() {
		s.Log.Warn("setup", "file", p.File, "key", p.Path, "problem", p.Message, "next", p.Hint)
	}
	return s, nil
}

// Serve answers on a unix listener until ctx ends, and closes it. Then calls that wait for a verdict are answered with what is known,
// and Serve returns nil once all are answered.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           s.handler,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       s.introduce,
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       readTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("localapi: %w", errors.Join(err, server.Close()))
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err := server.Shutdown(stopping)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.Join(err, server.Close())
	}
	<-failed
	if err != nil {
		return fmt.Errorf("localapi: stop: %w", err)
	}
	return nil
}

func (s *Server) introduce(ctx context.Context, conn net.Conn) context.Context {
	p, err := s.people.peerOf(conn)
	if err != nil {
		s.Log.Error("caller of the status socket not known", "error", err)
	}
	return withPeer(ctx, p, err)
}

// call is one request with who makes it.
type call struct {
	*http.Request
	who peer
}

// route is one endpoint.
type route struct {
	method, path string
	change       bool // only technicians
	do           func(call) (any, error)
}

func (s *Server) routes() []route {
	return []route{
		{"GET", "/v1/status", false, s.status},
		{"GET", "/v1/recent", false, s.recent},
		{"GET", "/v1/assets", false, s.assets},
		{"GET", "/v1/assets/{id}", false, s.asset},
		{"GET", "/v1/points/{ref}", false, s.points},
		{"GET", "/v1/tools", false, s.tools},
		{"GET", "/v1/tools/find", false, s.find},
		{"POST", "/v1/tools/{name}/degrade", true, s.degrade},
		{"POST", "/v1/tools/{name}/restore", true, s.restore},
		{"POST", "/v1/call", false, s.call},
		{"GET", "/v1/explain/{id}", false, s.explain},
		{"GET", "/v1/alarms", false, s.alarms},
		{"POST", "/v1/alarms/clear", true, s.clearAlarm},
		{"POST", "/v1/lock", true, s.lock},
		{"POST", "/v1/unlock", true, s.unlock},
		{"POST", "/v1/arm", true, s.arm},
		{"POST", "/v1/disarm", true, s.disarm},
		{"POST", "/v1/mode", true, s.mode},
		{"POST", "/v1/settle", true, s.settle},
		{"GET", "/v1/tokens", false, s.tokens},
		{"POST", "/v1/tokens", true, s.createToken},
		{"POST", "/v1/tokens/revoke", true, s.revokeToken},
		{"POST", "/v1/reload", true, s.reload},
	}
}

func (s *Server) mux() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range s.routes() {
		mux.Handle(r.method+" "+r.path, s.endpoint(r))
		methods[r.path] = append(methods[r.path], r.method)
	}
	for path, allowed := range methods {
		mux.Handle(path, s.endpoint(route{do: func(c call) (any, error) {
			return nil, problem(NoMethod, "use "+strings.Join(allowed, " or "), "%s is not possible on %s", clip(c.Method), path)
		}}))
	}
	mux.Handle("/", s.endpoint(route{do: func(c call) (any, error) { return nil, s.noPath(c.URL.Path) }}))
	return mux
}

func (s *Server) noPath(path string) error {
	var paths []string
	for _, r := range s.routes() {
		if !slices.Contains(paths, r.path) {
			paths = append(paths, r.path)
		}
	}
	return unknown("path", clip(path), paths, "GET /v1/status is a start")
}

// endpoint is everything around a route: the shape of the request, who asks, whether that person may, and the answer.
func (s *Server) endpoint(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		req.Body = bounded(w, req)
		answer, err := s.judge(r, req)
		if err != nil {
			s.fail(w, req, asError(err))
			return
		}
		s.write(w, req, http.StatusOK, answer)
	})
}

func (s *Server) judge(r route, req *http.Request) (any, error) {
	if e := checkShape(req); e != nil {
		return nil, e
	}
	who, err := peerFrom(req.Context())
	if err != nil {
		return nil, problem(Forbidden, "", "the kernel does not say who calls: %v", err)
	}
	if r.change && !who.technician {
		s.Log.Warn("change at the box refused", "by", who.name, "uid", who.uid, "path", req.URL.Path)
		return nil, s.notTechnician(who)
	}
	return r.do(call{req, who})
}

func (s *Server) notTechnician(who peer) *Error {
	return problem(Forbidden, s.becomeTechnician(), "%s may only look", who.name)
}

// becomeTechnician is the next step for somebody who may not change things.
func (s *Server) becomeTechnician() string {
	if s.Technicians == "" {
		return "only root may change things here"
	}
	return fmt.Sprintf("only root and members of the group %s may change things here: usermod -aG %s USER, then log in again", s.Technicians, s.Technicians)
}

func (s *Server) fail(w http.ResponseWriter, req *http.Request, e *Error) {
	if e.Code == Internal || e.Code == Unavailable {
		s.Log.Error("status socket", "path", req.URL.Path, "error", e.Message)
	}
	s.write(w, req, e.Code.Status(), map[string]*Error{"error": e})
}

func (s *Server) write(w http.ResponseWriter, req *http.Request, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		s.Log.Error("status socket: answer cannot be written as JSON", "path", req.URL.Path, "error", err)
		status, raw = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"the answer cannot be written as JSON; the log says more"}}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("Server", serverName)
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		s.Log.Debug("status socket: no write deadline", "error", err)
	}
	w.WriteHeader(status)
	if _, err := w.Write(append(raw, '\n')); err != nil {
		s.Log.Debug("status socket: the caller left", "path", req.URL.Path, "error", err)
	}
}
