package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// BridgeTarget is the running daemon that a bridge talks to: over its socket with Dial, or else at URL.
type BridgeTarget struct {
	Dial  func(context.Context) (net.Conn, error)
	URL   string // of the endpoint; with Dial it may be empty, or http://capd/mcp/p/PROFILE
	Token string // may be empty with Dial
	Log   *slog.Logger
}

// maxLine bounds one message from the client, in bytes; the daemon's own bound is lower and tells the client.
const maxLine = 1 << 20

// mostPosts bounds the requests that a bridge has open at once.
const mostPosts = 48

// bridge carries messages between a client on standard input and output and the daemon.
type bridge struct {
	target BridgeTarget
	client *http.Client
	slots  chan struct{}

	outMu sync.Mutex
	out   io.Writer
	fail  context.CancelCauseFunc // the client is gone

	work    sync.WaitGroup // requests under way
	streams sync.WaitGroup // event streams

	mu       sync.Mutex
	calls    map[string]context.CancelFunc // requests of revision 2026-07-28 by id
	session  string                        // of an older revision
	revision string                        // that initialize agreed on
	opening  []byte                        // the initialize message
	listener context.CancelFunc
	renewing sync.Mutex
}

// Bridge reads one JSON-RPC message per line from in, brings each to the daemon, and writes what comes back to out, one message per
// line. It returns nil when in has ended and every request is answered; when ctx ends it returns at once. A daemon that does not
// answer is told to the client, request by request, so that the client goes on when the daemon is back. The goroutine that reads in
// ends with in.
func Bridge(ctx context.Context, in io.Reader, out io.Writer, target BridgeTarget) error {
	if target.URL == "" {
		target.URL = "http://capd" + pathMCP
	}
	if target.Log == nil {
		target.Log = slog.New(slog.DiscardHandler)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 4}
	if target.Dial != nil {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return target.Dial(ctx) }
	}
	defer transport.CloseIdleConnections()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	streaming, ends := context.WithCancel(ctx)
	b := &bridge{target: target, client: &http.Client{Transport: transport}, slots: make(chan struct{}, mostPosts), out: out, fail: fail,
		calls: map[string]context.CancelFunc{}}
	err := b.run(ctx, streaming, readLines(ctx, in))
	ends()
	b.streams.Wait()
	if err != nil {
		fail(err)
	}
	b.work.Wait()
	return err
}

// line is one line of the client, or why there are no more.
type line struct {
	text []byte
	long bool
	err  error
}

// readLines reads lines until the input ends.
func readLines(ctx context.Context, in io.Reader) <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		r := bufio.NewReaderSize(in, 64<<10)
		for {
			l := readLine(r)
			select {
			case lines <- l:
			case <-ctx.Done():
				return
			}
			if l.err != nil {
				return
			}
		}
	}()
	return lines
}

// readLine reads one line; of a line that is too long nothing is kept.
func readLine(r *bufio.Reader) line {
	var l line
	for {
		part, err := r.ReadSlice('\n')
		if l.long = l.long || len(l.text)+len(part) > maxLine; l.long {
			l.text = nil
		} else {
			l.text = append(l.text, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		l.err = err
		return l
	}
}

// run takes the client's lines until they end.
func (b *bridge) run(ctx, streaming context.Context, lines <-chan line) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case l := <-lines:
			if l.long {
				b.answer(badMessage(codeInvalidRequest, "line", fmt.Sprintf("a line is longer than %d bytes", maxLine), "send less in one message"), nil)
			} else if text := bytes.TrimSpace(l.text); len(text) > 0 {
				b.take(ctx, streaming, text)
			}
			if errors.Is(l.err, io.EOF) {
				return nil
			}
			if l.err != nil {
				return fmt.Errorf("the client's messages cannot be read: %w", l.err)
			}
		}
	}
}

// take brings one message on its way. What must stay in order is waited for: a handshake and notifications.
func (b *bridge) take(ctx, streaming context.Context, text []byte) {
	m, f := parseMessage(http.Header{}, text)
	if f != nil {
		b.answer(f, m.id)
		return
	}
	switch {
	case m.method == string(mcp.MethodInitialize) && m.id != nil:
		b.initialize(ctx, streaming, text, m)
	case m.method == string(mcp.MethodNotificationCancelled) && m.id == nil:
		if !b.cancel(text) {
			b.notify(ctx, text, m)
		}
	case m.id == nil || m.method == "":
		b.notify(ctx, text, m)
	case m.method == string(mcp.MethodSubscriptionsListen):
		ctx, done := b.register(streaming, m)
		b.streams.Go(func() {
			defer done()
			b.exchange(ctx, text, m)
		})
	default:
		b.request(ctx, text, m)
	}
}

// request brings a request on its way as soon as there is room.
func (b *bridge) request(ctx context.Context, text []byte, m message) {
	select {
	case b.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	ctx, done := b.register(ctx, m)
	b.work.Go(func() {
		defer func() { <-b.slots }()
		defer done()
		b.exchange(ctx, text, m)
	})
}

// register makes a request of revision 2026-07-28 one that the client can cancel.
func (b *bridge) register(ctx context.Context, m message) (context.Context, func()) {
	if !m.modern {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls[string(m.id)] = cancel
	return ctx, func() {
		b.mu.Lock()
		delete(b.calls, string(m.id))
		b.mu.Unlock()
		cancel()
	}
}

// cancel ends the waiting for a request of revision 2026-07-28, which over HTTP means to close it. False: there is none.
func (b *bridge) cancel(text []byte) bool {
	var n struct {
		Params struct {
			RequestID json.RawMessage `json:"requestId"`
		} `json:"params"`
	}
	if err := json.Unmarshal(text, &n); err != nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	cancel := b.calls[string(bytes.TrimSpace(n.Params.RequestID))]
	if cancel == nil {
		return false
	}
	cancel()
	return true
}

// exchange sends a request and writes everything that comes back.
func (b *bridge) exchange(ctx context.Context, text []byte, m message) {
	if f := b.send(ctx, text, m, b.write); f != nil && ctx.Err() == nil {
		b.answer(f, m.id)
	}
}

// notify sends what has no answer.
func (b *bridge) notify(ctx context.Context, text []byte, m message) {
	if f := b.send(ctx, text, m, b.write); f != nil {
		b.target.Log.Warn("a message without an answer did not arrive", "method", m.method, "error", f.message)
	}
}

func (b *bridge) answer(f *failure, id json.RawMessage) {
	raw, err := json.Marshal(f.body(id))
	if err != nil {
		b.fail(err)
		return
	}
	b.write(raw)
}

// write gives the client one message on one line.
func (b *bridge) write(raw []byte) {
	var flat bytes.Buffer
	if err := json.Compact(&flat, raw); err != nil {
		b.target.Log.Warn("capd sent something that is not JSON", "error", err)
		return
	}
	flat.WriteByte('\n')
	b.outMu.Lock()
	defer b.outMu.Unlock()
	if _, err := b.out.Write(flat.Bytes()); err != nil {
		b.fail(fmt.Errorf("the client cannot be written to: %w", err))
	}
}
