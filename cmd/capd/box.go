package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"capd/internal/access"
	"capd/internal/localapi"
	"capd/internal/sim"
	"capd/internal/standing"
)

// box is the demo's capd: a child of this process, so that its end leaves the plant alive.
type box struct {
	config, dir string
	log         io.Writer
	child       *child

	url, socket, token, viewer, tokenFile string
}

// child is one life of the daemon.
type child struct {
	cmd    *exec.Cmd
	tail   *tail
	exited chan struct{}
	err    error // after exited
}

// demoReady is the demo's ready file.
type demoReady struct {
	MCPURL      string `json:"mcp_url"`
	Token       string `json:"token"`
	ViewerToken string `json:"viewer_token"`
	Socket      string `json:"socket"`
	Modbus      string `json:"modbus"` // host:port of the plant's gateway, for other Modbus clients
	Serial      string `json:"serial"` // device of the plant's RTU line, of which capd is the client
}

func (b *box) ready(plant *sim.Plant) demoReady {
	return demoReady{b.url, b.token, b.viewer, b.socket, plant.ModbusAddr(), plant.SerialPath()}
}

// startBox starts the daemon and makes the two tokens.
func startBox(ctx context.Context, config, dir string, log io.Writer) (*box, error) {
	b := &box{config: config, dir: dir, log: log, tokenFile: filepath.Join(dir, "token")}
	if err := b.Restart(ctx); err != nil {
		return nil, err
	}
	for _, t := range []struct {
		to   *string
		role string
	}{{&b.token, "operator"}, {&b.viewer, "viewer"}} {
		token, err := b.client().CreateToken(ctx, access.TokenSpec{Name: "demo-" + t.role, Roles: []string{t.role}, Scopes: []string{"site:ps07"}, TTL: 24 * time.Hour})
		if err != nil {
			return nil, errors.Join(err, b.stop())
		}
		*t.to = token.Secret
	}
	if err := os.WriteFile(b.tokenFile, []byte(b.token+"\n"), 0o600); err != nil {
		return nil, errors.Join(err, b.stop())
	}
	return b, nil
}

func (b *box) client() *localapi.Client { return localapi.NewClient(b.socket) }

// MCPURL, Token and ViewerToken are how an agent reaches the box.
func (b *box) MCPURL() string { return b.url }

// Token is the operator's.
func (b *box) Token() string { return b.token }

// ViewerToken is the viewer's.
func (b *box) ViewerToken() string { return b.viewer }

// startTime is how long the daemon may take to become ready.
const startTime = 20 * time.Second

// Restart starts a new life of the daemon and waits until it is ready. The address of the first life is kept.
func (b *box) Restart(ctx context.Context) error {
	readyFile := filepath.Join(b.dir, "ready.json")
	if err := os.Remove(readyFile); err != nil && !os.IsNotExist(err) {
		return err
	}
	c, err := startChild(b.config, readyFile, b.log)
	if err != nil {
		return err
	}
	b.child = c
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		if raw, err := os.ReadFile(readyFile); err == nil {
			var r demoReady
			if err := json.Unmarshal(raw, &r); err != nil {
				return errors.Join(fmt.Errorf("ready file: %w", err), b.stop())
			}
			b.url, b.socket = r.MCPURL, r.Socket
			return nil
		}
		select {
		case <-c.exited:
			return fmt.Errorf("capd did not start: %w\n%s", c.err, c.tail)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("capd was not ready within %s\n%s", startTime, c.tail), b.stop())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func startChild(config, readyFile string, log io.Writer) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{tail: &tail{}, exited: make(chan struct{})}
	c.cmd = exec.Command(self, "run", "--config", config, "--ready-file", readyFile, "--own-user-is-technician")
	c.cmd.Stderr = c.tail
	if log != nil {
		c.cmd.Stderr = io.MultiWriter(c.tail, log)
	}
	// The child ends with its parent, and a Ctrl-C at the terminal reaches the parent alone.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.cmd.Env = withoutSystemd(os.Environ())
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("capd cannot be started: %w", err)
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.exited)
	}()
	return c, nil
}

// withoutSystemd keeps a service manager's variables of this process from the child.
func withoutSystemd(env []string) []string {
	var out []string
	for _, e := range env {
		if !strings.HasPrefix(e, "NOTIFY_SOCKET=") && !strings.HasPrefix(e, "LISTEN_") && !strings.HasPrefix(e, "WATCHDOG_") {
			out = append(out, e)
		}
	}
	return out
}

// tail keeps the end of a log.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// Write keeps the last 4 kB.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - 4096; over > 0 {
		t.buf = t.buf[over:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}

func (b *box) ended() <-chan struct{} { return b.child.exited }

func (b *box) waitErr() error { return b.child.err }

// Kill ends the daemon at once.
func (b *box) Kill() error {
	if err := b.child.cmd.Process.Kill(); err != nil {
		return err
	}
	<-b.child.exited
	return nil
}

// stop asks the daemon to end, and waits for it.
func (b *box) stop() error {
	if b.child == nil {
		return nil
	}
	select {
	case <-b.child.exited:
		return nil
	default:
	}
	if err := b.child.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-b.child.exited:
		return b.child.err
	case <-time.After(startTime):
		return errors.Join(fmt.Errorf("capd did not stop within %s and was killed", startTime), b.Kill())
	}
}

// Lock and Unlock act as a technician.
func (b *box) Lock(ctx context.Context, asset, reason string) error {
	_, err := b.client().Lock(ctx, asset, reason)
	return err
}

// Unlock lifts the lockout.
func (b *box) Unlock(ctx context.Context, asset string) error {
	_, err := b.client().Unlock(ctx, asset, "")
	return err
}

// Arm consents to one call of a critical tool.
func (b *box) Arm(ctx context.Context, tool, reason string) error {
	_, err := b.client().Arm(ctx, tool, standing.DefaultArm, reason)
	return err
}

// Restore takes every tool back into service, settles every asset and clears every alarm.
func (b *box) Restore(ctx context.Context) error {
	c := b.client()
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	for _, d := range status.Degraded {
		if d.Degraded {
			if _, err := c.Restore(ctx, d.Action, "start of a step"); err != nil {
				return err
			}
		}
	}
	for _, m := range status.Unsettled {
		if _, err := c.Settle(ctx, m.Asset, "start of a step"); err != nil {
			return err
		}
	}
	alarms, err := c.Alarms(ctx)
	if err != nil {
		return err
	}
	for _, a := range alarms {
		if _, err := c.ClearAlarm(ctx, a.Key); err != nil {
			return err
		}
	}
	return nil
}
