package app_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"capd/internal/app"
	"capd/internal/localapi"
	"capd/internal/sim"
	"capd/internal/sim/site"
)

// daemon is a capd that runs inside the test, over a demo plant.
type daemon struct {
	dir   string
	ready app.Ready
	stop  func() error
	log   *lockedBuffer
}

// lockedBuffer is a log that a test may read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func plantSite(t testing.TB, listen string) (dir, config string) {
	t.Helper()
	plant, err := sim.Start(t.Context(), sim.Options{Speed: 10, Serial: true, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plant.Close(); err != nil {
			t.Error(err)
		}
	})
	dir = shortDir(t)
	config, err = site.Write(dir, site.Params{Modbus: plant.ModbusAddr(), Serial: plant.SerialPath(), Listen: listen, State: filepath.Join(dir, "state"), Run: filepath.Join(dir, "run"), Speed: 10})
	if err != nil {
		t.Fatal(err)
	}
	return dir, config
}

// shortDir is a temporary folder whose path leaves room for a socket's name (unix(7): 108 bytes).
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "capd-app-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// start runs capd and returns when it is ready, or fails with its error.
func start(t testing.TB, dir, config string) (*daemon, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	d := &daemon{dir: dir, log: &lockedBuffer{}}
	ready, ended := make(chan app.Ready, 1), make(chan error, 1)
	go func() {
		ended <- app.Run(ctx, app.Options{ConfigPath: config, Version: "test", Log: slog.New(slog.NewTextHandler(d.log, nil)), OwnUIDIsTechnician: true,
			Ready: func(r app.Ready) error { ready <- r; return nil }})
	}()
	var once sync.Once
	var end error
	d.stop = func() error {
		once.Do(func() { cancel(); end = <-ended })
		return end
	}
	select {
	case d.ready = <-ready:
		t.Cleanup(func() {
			if err := d.stop(); err != nil {
				t.Errorf("stop: %v", err)
			}
		})
		return d, nil
	case err := <-ended:
		cancel()
		return nil, err
	case <-time.After(20 * time.Second):
		cancel()
		t.Fatalf("not ready within 20 s\n%s", d.log)
		return nil, nil
	}
}

func mustStart(t testing.TB, listen string) *daemon {
	t.Helper()
	dir, config := plantSite(t, listen)
	d, err := start(t, dir, config)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestADaemonServesBothDoorsAndStopsCleanly(t *testing.T) {
	d := mustStart(t, "127.0.0.1:0")
	resp, err := http.Get(d.ready.MCPURL)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("MCP without a token: %s, %v", resp.Status, err)
	}
	status, err := localapi.NewClient(d.ready.Socket).Status(t.Context())
	if err != nil || status.Snapshot.Tools != 18 || len(status.Rejected) != 0 {
		t.Errorf("status: %v %+v", err, status.Snapshot)
	}
	if err := d.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if _, err := os.Stat(d.ready.Socket); err == nil {
		t.Error("the socket was left behind")
	}
}

func TestATakenPortSaysByWhom(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	dir, config := plantSite(t, l.Addr().String())
	_, err = start(t, dir, config)
	if err == nil || !strings.Contains(err.Error(), "already taken by") || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) ||
		!strings.Contains(err.Error(), "mcp.listen") {
		t.Errorf("got %v", err)
	}
}

func TestATakenStateFolderSaysByWhom(t *testing.T) {
	d := mustStart(t, "127.0.0.1:0")
	_, err := start(t, d.dir, filepath.Join(d.dir, "capd.yaml"))
	if err == nil || !strings.Contains(err.Error(), "registry.db") || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("got %v", err)
	}
}

func TestABadConfigurationNamesFileAndLine(t *testing.T) {
	dir := shortDir(t)
	config := filepath.Join(dir, "capd.yaml")
	if err := os.WriteFile(config, []byte("config: capd/v1\nmode: actve\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := start(t, dir, config)
	if err == nil || !strings.Contains(err.Error(), "capd.yaml:2:7") || !strings.Contains(err.Error(), "active") {
		t.Errorf("got %v", err)
	}
}

// await polls the status until it is as wanted.
func await(t *testing.T, d *daemon, what string, ok func(localapi.Status) bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute) // folders are looked at every ten seconds
	for {
		status, err := localapi.NewClient(d.ready.Socket).Status(t.Context())
		if err == nil && ok(status) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen: %v %+v %+v\n%s", what, err, status.Rejected, status.Snapshot, d.log)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

func TestABadFileIsToldAndTheLastGoodSetGoesOnServing(t *testing.T) {
	d := mustStart(t, "127.0.0.1:0")
	path := filepath.Join(d.dir, "contracts.d", "fcv-04.yaml")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(strings.Replace(string(good), "near: opening", "near: opning", 1))
	await(t, d, "the rejection", func(s localapi.Status) bool {
		return len(s.Rejected) == 1 && s.Snapshot.Tools == 18 && s.Rejected[0].Problems[0].Line > 0 && strings.Contains(s.Rejected[0].Serving, "last good")
	})
	write(string(good))
	await(t, d, "the repair", func(s localapi.Status) bool { return len(s.Rejected) == 0 && s.Snapshot.Tools == 18 })
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	await(t, d, "the removal", func(s localapi.Status) bool { return s.Snapshot.Tools == 16 })
}

func TestAFolderThatIsReplacedIsFollowedAndOneThatIsGoneIsTold(t *testing.T) {
	d := mustStart(t, "127.0.0.1:0")
	contracts, old := filepath.Join(d.dir, "contracts.d"), filepath.Join(d.dir, "old")
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	before, err := localapi.NewClient(d.ready.Socket).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tools := before.Snapshot.Tools
	move(contracts, old)
	await(t, d, "the missing folder", func(s localapi.Status) bool {
		return len(s.Rejected) == 1 && s.Rejected[0].File == contracts && s.Snapshot.Tools == tools
	})
	if err := os.CopyFS(contracts, os.DirFS(old)); err != nil {
		t.Fatal(err)
	}
	if _, err := localapi.NewClient(d.ready.Socket).Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, d, "the new folder", func(s localapi.Status) bool { return len(s.Rejected) == 0 })
	if err := os.Remove(filepath.Join(contracts, "fcv-04.yaml")); err != nil {
		t.Fatal(err)
	}
	await(t, d, "the removal in the new folder", func(s localapi.Status) bool { return s.Snapshot.Tools < tools })
	if n := strings.Count(d.log.String(), "reload failed"); n != 1 {
		t.Errorf("logged %d times", n)
	}
}
