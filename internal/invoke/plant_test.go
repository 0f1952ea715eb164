package invoke_test

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"capd/internal/access"
	"capd/internal/field"
	"capd/internal/hal"
	"capd/internal/hal/modbus"
	"capd/internal/health"
	"capd/internal/invoke"
	"capd/internal/journal"
	"capd/internal/registry"
	"capd/internal/sim"
	"capd/internal/sim/site"
	"capd/internal/standing"
	"capd/internal/store"
)

// speed makes the demo plant faster than life; its contracts scale with it.
const speed = 5

// station is a demo plant with everything of capd behind the doors.
type station struct {
	plant    *sim.Plant
	dir      string
	journal  *journal.Journal
	db       *store.DB
	standing *standing.Standing
	breakers *health.Breakers
	alarms   *health.Alarms
	field    *field.Field
	registry *registry.Registry
	corridor *invoke.Corridor
}

func newStation(t testing.TB) *station {
	t.Helper()
	return newStationWith(t, func(string) {})
}

// newStationWith lets a test change the configuration before it is read.
func newStationWith(t testing.TB, change func(dir string)) *station {
	t.Helper()
	if testing.Short() {
		t.Skip("plays with a plant in real time, which an emulated processor cannot keep")
	}
	plant, err := sim.Start(t.Context(), sim.Options{Speed: speed, Log: quiet(), Seed: 7, Serial: true})
	must(t, err)
	t.Cleanup(func() { must(t, plant.Close()) })
	s := &station{plant: plant, dir: t.TempDir()}
	_, err = site.Write(s.dir, site.Params{Modbus: plant.ModbusAddr(), Serial: plant.SerialPath(), Listen: "127.0.0.1:0", State: "state", Run: "run", Speed: speed})
	must(t, err)
	change(s.dir)
	s.open(t)
	t.Cleanup(func() { s.close(t) })
	return s
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *station) open(t testing.TB) {
	t.Helper()
	var err error
	s.db, err = store.Open(filepath.Join(s.dir, "registry.db"), store.Options{Format: 1})
	must(t, err)
	s.journal, err = journal.Open(t.Context(), filepath.Join(s.dir, "journal"), journal.Options{})
	must(t, err)
	s.standing, err = standing.Open(s.db, standing.Active, time.Now)
	must(t, err)
	s.breakers, err = health.OpenBreakers(s.db, time.Now)
	must(t, err)
	s.alarms, err = health.OpenAlarms(s.db, time.Now)
	must(t, err)
	s.field = field.New(quiet(), field.Options{Poll: true})
	s.registry = registry.New(s.db, []hal.Driver{modbus.New()}, quiet(), func(snap *registry.Snapshot) { must(t, s.field.Apply(context.Background(), snap.Binding)) })
	candidate, err := registry.ReadFolders(registry.Folders{Assets: filepath.Join(s.dir, "assets.d"), Contracts: filepath.Join(s.dir, "contracts.d"),
		Profiles: filepath.Join(s.dir, "profiles.d")})
	must(t, err)
	snap, err := s.registry.Publish(t.Context(), candidate)
	must(t, err)
	for _, r := range snap.Rejected {
		t.Fatalf("%s: %v", r.File, r.Problems)
	}
	s.corridor = invoke.New(context.Background(), invoke.Deps{Snapshots: s.registry, Machine: s.field, Journal: s.journal,
		Policy: access.NewPolicy(map[string][]string{"operator": {"*:read", "*:write"}}), Standing: s.standing, Breakers: s.breakers, Alarms: s.alarms, Log: quiet()})
	must(t, s.corridor.Recover(t.Context()))
}

func (s *station) close(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	must(t, s.corridor.Close(ctx))
	must(t, s.field.Close(ctx))
	must(t, s.journal.Close())
	must(t, s.db.Close())
}

func operator() access.Subject {
	return access.Subject{ID: "token:test", Name: "agent", Roles: []string{"operator"}, Scopes: []string{"site:ps07"}}
}

// call makes one call as an operator.
func (s *station) call(t testing.TB, action string, args map[string]any) invoke.Answer {
	t.Helper()
	return s.corridor.Call(t.Context(), invoke.Request{Subject: operator(), Action: action, Args: args})
}
