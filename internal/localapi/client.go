package localapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

// DefaultSocket is where a packaged capd has its status socket.
const DefaultSocket = "/run/capd/capd.sock"

// Time-outs of the client: to connect, to be answered where nothing is waited for, and on top of a wait for a verdict.
const (
	dialTime   = 5 * time.Second
	answerTime = 60 * time.Second
)

// maxAnswer bounds what the client reads of an answer, in bytes.
const maxAnswer = 32 << 20

// Reach is why a client cannot reach the daemon.
type Reach string

// The reasons.
const (
	NotRunning Reach = "not_running" // no socket, or nobody listens on it
	Denied     Reach = "denied"      // the socket may not be opened by this user
	Foreign    Reach = "foreign"     // something else than capd answers there
	Silent     Reach = "silent"      // capd does not answer in time, or broke off
)

// ReachError says that the daemon was not reached, or did not answer to the end.
type ReachError struct {
	Socket string
	Reach  Reach
	Err    error // the cause; may be nil
}

func (e *ReachError) Error() string {
	switch e.Reach {
	case NotRunning:
		why := "nobody listens at " + e.Socket
		if errors.Is(e.Err, fs.ErrNotExist) {
			why = "no socket at " + e.Socket
		}
		return fmt.Sprintf("capd is not running (%s); start it with systemctl start capd, or name its socket with --socket", why)
	case Denied:
		return fmt.Sprintf("permission denied on %s; ask the administrator of this box for access to the folder and the socket", e.Socket)
	case Foreign:
		return fmt.Sprintf("what answers at %s is not capd; name capd's socket with --socket", e.Socket)
	default:
		return fmt.Sprintf("capd at %s did not answer to the end: %v; capd status and journalctl -u capd tell more", e.Socket, e.Err)
	}
}

func (e *ReachError) Unwrap() error { return e.Err }

// Client talks to the status socket. It is safe for concurrent use.
type Client struct {
	socket string
	http   *http.Client
}

// NewClient makes a client of a socket. It does not connect yet.
func NewClient(socket string) *Client {
	dialer := net.Dialer{Timeout: dialTime}
	return &Client{socket: socket, http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		},
		DisableKeepAlives: true,
	}}}
}

// Close lets go of what the client holds open.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// get and post ask and read the answer into out. What the daemon refuses is an *Error, a daemon that is not reached a *ReachError.
func (c *Client) get(ctx context.Context, path string, wait time.Duration, out any) error {
	return c.do(ctx, http.MethodGet, path, nil, wait, out)
}

func (c *Client) post(ctx context.Context, path string, in, out any) error {
	return c.do(ctx, http.MethodPost, path, in, 0, out)
}

func (c *Client) do(ctx context.Context, method, path string, in any, wait time.Duration, out any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime+wait)
	defer cancel()
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("the request cannot be written as JSON: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://capd"+path, body)
	if err != nil {
		return fmt.Errorf("the request cannot be made: %w", err)
	}
	answer, err := c.http.Do(req)
	if err != nil {
		return c.unreached(err)
	}
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return &ReachError{c.socket, Silent, err}
	}
	if answer.Header.Get("Server") != serverName {
		return &ReachError{c.socket, Foreign, nil}
	}
	return c.read(answer.StatusCode, raw, out)
}

func (c *Client) read(status int, raw []byte, out any) error {
	if status != http.StatusOK {
		var refused struct {
			Error *Error `json:"error"`
		}
		if err := json.Unmarshal(raw, &refused); err != nil || refused.Error == nil {
			return &ReachError{c.socket, Foreign, fmt.Errorf("HTTP status %d without a reason", status)}
		}
		return refused.Error
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("the answer of capd at %s cannot be read, perhaps it is of another version: %w", c.socket, err)
	}
	return nil
}

// unreached sorts the errors of a connection.
func (c *Client) unreached(err error) error {
	reach := Foreign // it answered, but not in HTTP
	_, network := errors.AsType[*net.OpError](err)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, fs.ErrPermission):
		reach = Denied
	case isNowhere(err) || c.socket == "":
		reach = NotRunning
		if info, e := os.Stat(c.socket); e == nil && info.Mode().Type() != fs.ModeSocket {
			reach = Foreign
		}
	case network, errors.Is(err, context.DeadlineExceeded), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		reach = Silent
	}
	return &ReachError{c.socket, reach, err}
}

// isNowhere reports that no socket is there, that nobody listens on it, or that there can be none under such a name.
func isNowhere(err error) bool {
	for _, e := range []error{fs.ErrNotExist, syscall.ECONNREFUSED, syscall.ENOTDIR, syscall.EINVAL} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
