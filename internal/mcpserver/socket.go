package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"capd/internal/access"
)

// NewHTTPServer makes the http.Server that a door needs: header and idle time-outs, and small headers. Bodies are bounded in size and time by
// the door; answers may take as long as a verdict takes.
func NewHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
}

// stopTime is how long answers under way may take when the socket closes.
const stopTime = 3 * time.Second

// ServeSocket serves the unix socket ln until ctx ends; then it closes the door, lets the answers under way out, and returns. A
// caller without a token is the user whom the kernel names, through Deps.Local.
func (s *Server) ServeSocket(ctx context.Context, ln net.Listener) error {
	srv := NewHTTPServer(s.socketHandler(), s.deps.Log)
	srv.ConnContext = withPeer
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	select {
	case err := <-ended:
		return fmt.Errorf("mcpserver: the socket %s broke: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	s.Close()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	err := srv.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close() // whoever still waits has been waiting for longer than a stop may take
	}
	<-ended
	return err
}

// socketHandler needs connections that went through withPeer.
func (s *Server) socketHandler() http.Handler {
	return s.door(func(ctx context.Context) (access.Subject, error) {
		peer, ok := ctx.Value(peerKey{}).(peer)
		switch {
		case s.deps.Local == nil:
			return access.Subject{}, errors.New("this socket needs a token, and the request has no Authorization header")
		case !ok || peer.err != nil:
			return access.Subject{}, fmt.Errorf("the kernel does not say who calls: %w", peer.err)
		}
		return s.deps.Local(ctx, peer.uid)
	})
}

type peerKey struct{}

// peer is the user at the other end of a unix socket.
type peer struct {
	uid uint32
	err error
}

// withPeer notes who is at the other end of a new connection (unix(7), SO_PEERCRED).
func withPeer(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, peerOf(c))
}

func peerOf(c net.Conn) peer {
	unix, ok := c.(*net.UnixConn)
	if !ok {
		return peer{err: fmt.Errorf("a connection of type %T is no unix socket", c)}
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return peer{err: err}
	}
	var p peer
	err = raw.Control(func(fd uintptr) {
		cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
		if err != nil {
			p.err = err
			return
		}
		p.uid = cred.Uid
	})
	return peer{uid: p.uid, err: errors.Join(p.err, err)}
}
