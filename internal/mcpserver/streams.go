package mcpserver

import (
	"context"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// streams are the open event streams over which a caller wants to hear that its list of tools has changed: a GET of the older
// revisions, a subscriptions/listen of the newer.
type streams struct {
	mu  sync.Mutex
	all map[*stream]struct{}
}

// stream is one of them.
type stream struct {
	caller *caller

	mu     sync.Mutex
	ready  bool   // what is sent now arrives after the acknowledgement
	seen   uint64 // fingerprint of the list that the caller knows of
	notify func()
}

func newStreams() *streams { return &streams{all: map[*stream]struct{}{}} }

func (s *streams) open(c *caller, notify func()) *stream {
	one := &stream{caller: c, seen: c.view.print, notify: notify}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[one] = struct{}{}
	return one
}

func (s *streams) close(one *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, one)
}

func (s *streams) list() []*stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*stream, 0, len(s.all))
	for one := range s.all {
		out = append(out, one)
	}
	return out
}

// tell lets the caller know if its list is another one now.
func (one *stream) tell(print uint64) {
	one.mu.Lock()
	defer one.mu.Unlock()
	if !one.ready || one.notify == nil || one.seen == print {
		return
	}
	one.seen = print
	one.notify()
}

// acknowledged lets notifications through from now on.
func (one *stream) acknowledged(print uint64) {
	one.mu.Lock()
	one.ready = true
	one.mu.Unlock()
	one.tell(print)
}

type streamKey struct{}

// bind gives the stream of a subscriptions/listen request its session, which only mcp-go knows.
func (s *streams) bind(ctx context.Context, wanted bool) {
	one, _ := ctx.Value(streamKey{}).(*stream)
	session := server.ClientSessionFromContext(ctx)
	if one == nil || session == nil || !wanted {
		return
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	one.notify = func() {
		select {
		case session.NotificationChannel() <- listChanged():
		default: // a hundred messages wait for this reader already, and one of them says the same
		}
	}
}

func listChanged() mcp.JSONRPCNotification {
	return mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{Method: mcp.MethodNotificationToolsListChanged}}
}

// firstWrite calls a function once, right after the first bytes of a response went out.
type firstWrite struct {
	http.ResponseWriter
	once func()
}

func newFirstWrite(w http.ResponseWriter, f func()) *firstWrite {
	return &firstWrite{w, sync.OnceFunc(f)}
}

func (w *firstWrite) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.once()
	return n, err
}

// Flush makes the writer one that can stream.
func (w *firstWrite) Flush() {
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
		w.once()
	}
}

// Unwrap is for http.ResponseController.
func (w *firstWrite) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// waits are the things that a stop of the door ends: event streams and the waiting of calls.
type waits struct {
	mu     sync.Mutex
	closed bool
	all    map[*context.CancelFunc]struct{}
}

// with gives a context that ends with the door, too; done must be called.
func (w *waits) with(ctx context.Context) (bounded context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		cancel()
		return ctx, cancel
	}
	if w.all == nil {
		w.all = map[*context.CancelFunc]struct{}{}
	}
	w.all[&cancel] = struct{}{}
	return ctx, func() {
		w.mu.Lock()
		delete(w.all, &cancel)
		w.mu.Unlock()
		cancel()
	}
}

func (w *waits) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

func (w *waits) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for cancel := range w.all {
		(*cancel)()
	}
}
