// Package localtest starts a whole box behind a real status socket, over a machine that exists in memory only, for tests of the
// socket and of the commands that use it.
//
// Its promise: everything but the machine is the real thing, and all of it ends with the test. It is no part of the daemon.
package localtest

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"capd/internal/access"
	"capd/internal/hal"
	"capd/internal/hal/modbus"
	"capd/internal/health"
	"capd/internal/invoke"
	"capd/internal/journal"
	"capd/internal/localapi"
	"capd/internal/registry"
	"capd/internal/standing"
	"capd/internal/store"
)

// Box is a running status socket and what is behind it.
type Box struct {
	Socket   string
	Dir      string // with assets.d, contracts.d and profiles.d
	Server   *localapi.Server
	Client   *localapi.Client
	Machine  *Machine
	Standing *standing.Standing
	Breakers *health.Breakers
	Alarms   *health.Alarms
	Tokens   *access.Tokens
	Journal  *journal.Journal
	Registry *registry.Registry
	Corridor *invoke.Corridor
	Policy   access.Policy
}

// Start starts a box in active mode whose own user is a technician. Each change alters what the door is given.
func Start(t testing.TB, change ...func(*localapi.Deps)) *Box {
	t.Helper()
	b := &Box{Dir: t.TempDir(), Machine: newMachine()}
	b.write(t, "assets.d/station.yaml", inventoryFile)
	b.write(t, "contracts.d/fcv-04.yaml", contractFile)
	b.write(t, "profiles.d/reader.yaml", profileFile)
	b.open(t)
	b.serve(t, change)
	return b
}

// Write puts a file into one of the folders.
func (b *Box) Write(t testing.TB, name, text string) {
	t.Helper()
	b.write(t, name, text)
}

// WriteCritical adds a contract with a critical tool, which a reload takes in.
func (b *Box) WriteCritical(t testing.TB) {
	t.Helper()
	b.write(t, "contracts.d/stroke.yaml", criticalFile)
}

func (b *Box) write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(b.Dir, filepath.FromSlash(name))
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *Box) open(t testing.TB) {
	t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	db, err := store.Open(filepath.Join(b.Dir, "registry.db"), store.Options{Format: 1})
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	b.Journal, err = journal.Open(t.Context(), filepath.Join(b.Dir, "journal"), journal.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, b.Journal.Close()) })
	b.Standing, err = standing.Open(db, standing.Active, time.Now)
	must(t, err)
	b.Breakers, err = health.OpenBreakers(db, time.Now)
	must(t, err)
	b.Alarms, err = health.OpenAlarms(db, time.Now)
	must(t, err)
	b.Policy = access.NewPolicy(map[string][]string{"operator": {"*:read", "*:write"}, "viewer": {"*:read"}})
	b.Tokens, err = access.NewTokens(db, b.Policy, time.Now)
	must(t, err)
	b.Registry = registry.New(db, []hal.Driver{modbus.New()}, log)
	_, err = b.Reload(t.Context())
	must(t, err)
	for _, r := range b.Registry.Snapshot().Rejected {
		t.Fatalf("%s: %v", r.File, r.Problems)
	}
	b.Corridor = invoke.New(context.WithoutCancel(t.Context()), invoke.Deps{Snapshots: b.Registry, Machine: b.Machine, Journal: b.Journal,
		Policy:   b.Policy,
		Standing: b.Standing, Breakers: b.Breakers, Alarms: b.Alarms, Log: log})
	t.Cleanup(func() {
		b.Machine.Release()
		end, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		must(t, b.Corridor.Close(end))
	})
}

// Reload reads the folders again and publishes them.
func (b *Box) Reload(ctx context.Context) (*registry.Snapshot, error) {
	candidate, err := registry.ReadFolders(registry.Folders{Assets: filepath.Join(b.Dir, "assets.d"), Contracts: filepath.Join(b.Dir, "contracts.d"),
		Profiles: filepath.Join(b.Dir, "profiles.d")})
	if err != nil {
		return nil, err
	}
	return b.Registry.Publish(ctx, candidate)
}

func (b *Box) serve(t testing.TB, change []func(*localapi.Deps)) {
	t.Helper()
	deps := localapi.Deps{Version: "test", Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Corridor: b.Corridor, Snapshots: b.Registry,
		Machine: b.Machine,
		Journal: b.Journal, Standing: b.Standing, Breakers: b.Breakers, Alarms: b.Alarms, Policy: b.Policy, Tokens: b.Tokens, Reload: b.Reload,
		StoreSize: func() int64 { return 65536 }, MCPURL: "http://127.0.0.1:7420/mcp", Technicians: "capd-tech", OwnUIDIsTechnician: true}
	for _, c := range change {
		c(&deps)
	}
	var err error
	b.Server, err = localapi.New(deps)
	must(t, err)
	// Not below t.TempDir: a unix socket's path has at most 107 bytes, and other users must be able to reach it.
	dir, err := os.MkdirTemp("", "capd")
	must(t, err)
	must(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	b.Socket = filepath.Join(dir, "capd.sock")
	l, err := localapi.Listen(b.Socket)
	must(t, err)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- b.Server.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		must(t, <-done)
	})
	b.Client = localapi.NewClient(b.Socket)
	t.Cleanup(b.Client.Close)
}

// Edit changes a file of one of the folders.
func (b *Box) Edit(t testing.TB, name string, change func(string) string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.Dir, filepath.FromSlash(name)))
	must(t, err)
	b.write(t, name, change(string(raw)))
}
