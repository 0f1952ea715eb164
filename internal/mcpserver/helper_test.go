package mcpserver_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"capd/internal/access"
	"capd/internal/hal"
	"capd/internal/hal/modbus"
	"capd/internal/health"
	"capd/internal/invoke"
	"capd/internal/journal"
	"capd/internal/mcpserver"
	"capd/internal/physical"
	"capd/internal/registry"
	"capd/internal/standing"
	"capd/internal/store"
)

// The site of these tests: a valve with a critical and two ordinary actions, and a station PLC.
const assetsFile = `
inventory: capd/v1
links: {NET: {transport: modbus_tcp, endpoint: "127.0.0.1:1"}}
devices: {PLC: {link: NET, unit_id: 1}}
assets:
  PS07-PLC-01:
    title: Station PLC
    location: plant/ps07/control
    device: PLC
    points:
      mode: {at: {table: input_register, address: 1, type: uint16}, labels: {0: off, 1: local, 2: remote}, role: status, update: 20ms}
      hours: {at: {table: input_register, address: 9, type: uint16}, unit: h, role: status}
  PS07-FCV-04:
    title: Discharge control valve
    class: control_valve
    location: plant/ps07/discharge
    aliases: ["出口阀", "discharge valve"]
    device: PLC
    points:
      setpoint: {at: {table: holding_register, address: 100, type: uint16}, scale: 0.1, unit: "%", role: setpoint, access: read_write, envelope: {min: 0, max: 100, max_step: 20}}
      position: {at: {table: input_register, address: 14, type: uint16}, scale: 0.1, unit: "%", role: feedback, update: 20ms}
  PS09-P-01:
    title: Pump in another station
    location: plant/ps09/pumps
    device: PLC
    points:
      speed: {at: {table: input_register, address: 20, type: uint16}, unit: Hz, role: status}
`

const valveFile = `
contract: capd/v1
tool: ps07-fcv-04
version: 1.0.0
title: Discharge control valve FCV-04
asset: PS07-FCV-04
tags: [valve, flow]
points: {setpoint: PS07-FCV-04.setpoint, position: PS07-FCV-04.position, mode: PS07-PLC-01.mode}
actions:
  status:
    name: valve_status
    effect: read
    title: Valve status
    description: Reads how far the discharge valve is open.
    intents: ["how far is the discharge valve open", "出口阀开度是多少"]
    returns: [position, setpoint]
    security: {permissions: [valve:read]}
  set_opening:
    name: set_valve
    effect: actuate
    risk: high
    title: Set the discharge valve
    description: Moves the discharge valve to an opening.
    intents: ["open the discharge valve to 60 %", "把出口阀开到60%"]
    parameters:
      type: object
      additionalProperties: false
      required: [opening]
      properties: {opening: {type: number, minimum: 0, maximum: 100, x-unit: "%", description: Opening of the valve}}
    security: {permissions: [valve:write]}
    permits: [{id: remote, when: 'mode == "remote"', max_age: 1500ms, code: LOCAL_MODE, reason: The PLC selector is not in remote}]
    execute: [{write: setpoint, value: opening}]
    verify: {min_level: E4, within: 1500ms, poll: 10ms, settle: 50ms, expect: [{point: position, near: opening, tolerance: 1.5}]}
  purge:
    name: purge_valve
    effect: actuate
    risk: critical
    description: Opens the discharge valve fully and empties the line.
    security: {permissions: [valve:write]}
    permits: [{id: remote, when: 'mode == "remote"', max_age: 1500ms, code: LOCAL_MODE, reason: The PLC selector is not in remote}]
    execute: [{write: setpoint, value: 100}]
    verify: {min_level: E4, within: 1500ms, poll: 10ms, settle: 50ms, expect: [{point: position, near: 100, tolerance: 1.5}]}
`

const pumpFile = `
contract: capd/v1
tool: ps09-p-01
version: 1.0.0
title: Pump of PS-09
asset: PS09-P-01
points: {speed: PS09-P-01.speed}
actions:
  speed:
    name: read_pump_speed
    effect: read
    description: Reads the speed of the pump.
    returns: [speed]
    security: {permissions: [pump:read], scopes: ["site:ps09"]}
`

// hoursFile is a contract that comes later.
const hoursFile = `
contract: capd/v1
tool: ps07-plc-01
version: 1.0.0
title: Station PLC
asset: PS07-PLC-01
points: {hours: PS07-PLC-01.hours}
actions:
  hours: {name: read_hours, effect: read, description: Reads the hours that the station has run., returns: [hours], security: {permissions: [station:read]}}
`

const readerProfile = `
profile: capd/v1
name: reader
title: Reads only
tools: ["*_status", "read_*"]
`

func siteFiles() map[string]string {
	return map[string]string{"assets.yaml": assetsFile, "valve.yaml": valveFile, "pump.yaml": pumpFile, "reader.yaml": readerProfile}
}

func candidate(files map[string]string) registry.Candidate {
	var c registry.Candidate
	for _, path := range slices.Sorted(maps.Keys(files)) {
		kind := registry.KindContract
		switch {
		case strings.HasPrefix(path, "assets"):
			kind = registry.KindInventory
		case strings.HasPrefix(path, "reader"):
			kind = registry.KindProfile
		}
		c.Files = append(c.Files, registry.File{Path: path, Kind: kind, Source: []byte(files[path])})
	}
	return c
}

// machine is a plant that obeys: what is written to the valve's setpoint is its position at once, unless it is stuck.
type machine struct {
	mu     sync.Mutex
	values map[string]physical.Value
	stuck  bool
	writes int
	hold   chan struct{} // reads wait for it, when it is set
}

func newMachine() *machine {
	return &machine{values: map[string]physical.Value{"PS07-FCV-04.setpoint": physical.IntOf(45), "PS07-FCV-04.position": physical.IntOf(45),
		"PS07-PLC-01.mode": physical.TextOf("remote"), "PS07-PLC-01.hours": physical.IntOf(1200), "PS09-P-01.speed": physical.IntOf(30)}}
}

func (m *machine) set(ref string, v physical.Value) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values[ref] = v
}

func (m *machine) stick() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stuck = true
}

func (m *machine) written() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes
}

func (m *machine) Read(_ context.Context, refs []string) map[string]physical.Reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]physical.Reading{}
	for _, ref := range refs {
		now := time.Now()
		out[ref] = physical.Reading{Value: m.values[ref], Unit: unitOf(ref), Started: now, At: now, Quality: physical.Good, Raw: []byte(m.values[ref].String())}
	}
	return out
}

func unitOf(ref string) physical.Unit {
	if strings.HasPrefix(ref, "PS07-FCV-04") {
		return "%"
	}
	return ""
}

func (m *machine) ReadCached(ctx context.Context, refs []string, _ time.Duration) map[string]physical.Reading {
	return m.Read(ctx, refs)
}

func (m *machine) Write(_ context.Context, ref string, v physical.Value) (hal.Ack, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	started := time.Now()
	m.values[ref] = v
	if ref == "PS07-FCV-04.setpoint" && !m.stuck {
		m.values["PS07-FCV-04.position"] = v
	}
	return hal.Ack{Raw: []byte(v.String()), Started: started, At: time.Now()}, nil
}

func (m *machine) Encode(_ string, v physical.Value) ([]byte, error) { return []byte(v.String()), nil }

func (m *machine) Preview(ref string, v physical.Value) (string, error) {
	return "write " + v.String() + " to " + ref, nil
}

// site is the door with everything behind it.
type site struct {
	t        testing.TB
	machine  *machine
	registry *registry.Registry
	standing *standing.Standing
	alarms   *health.Alarms
	corridor *invoke.Corridor
	server   *mcpserver.Server
	http     *httptest.Server
	snapshot *registry.Snapshot
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func policy() access.Policy {
	return access.NewPolicy(map[string][]string{"operator": {"*:read", "valve:write"}, "viewer": {"*:read"}, "commander": {"*:read", "*:write", "see:critical"}})
}

// subjects are the callers of these tests, by the secret of their token.
func subjects() map[string]access.Subject {
	return map[string]access.Subject{
		"operator":  {ID: "token:op", Name: "operator", Roles: []string{"operator"}},
		"viewer":    {ID: "token:view", Name: "viewer", Roles: []string{"viewer"}},
		"commander": {ID: "token:cmd", Name: "commander", Roles: []string{"commander"}},
		"reader":    {ID: "token:read", Name: "reader", Roles: []string{"operator"}, Profile: "reader"},
		"ps09":      {ID: "token:ps09", Name: "ps09", Roles: []string{"viewer"}, Scopes: []string{"site:ps09"}},
		"stranger":  {ID: "token:none", Name: "stranger"},
	}
}

func authenticate(secret string) (access.Subject, error) {
	if s, ok := subjects()[secret]; ok {
		return s, nil
	}
	for text, err := range map[string]error{"expired": access.ErrExpired, "revoked": access.ErrRevoked, "broken": access.ErrMalformed} {
		if secret == text {
			return access.Subject{}, &access.TokenError{Err: err}
		}
	}
	return access.Subject{}, &access.TokenError{Err: access.ErrUnknown}
}

func newSite(t testing.TB, files map[string]string, change ...func(*mcpserver.Deps)) *site {
	t.Helper()
	s := &site{t: t, machine: newMachine()}
	dir := t.TempDir()
	db, err := store.Open(filepath.Join(dir, "registry.db"), store.Options{Format: 1})
	must(t, err)
	diary, err := journal.Open(context.Background(), filepath.Join(dir, "journal"), journal.Options{})
	must(t, err)
	s.standing, err = standing.Open(db, standing.Active, time.Now)
	must(t, err)
	breakers, err := health.OpenBreakers(db, time.Now)
	must(t, err)
	s.alarms, err = health.OpenAlarms(db, time.Now)
	must(t, err)
	s.registry = registry.New(db, []hal.Driver{modbus.New()}, quiet(), func(snap *registry.Snapshot) {
		if s.server != nil {
			s.server.Publish(snap)
		}
	})
	s.publish(files)
	s.corridor = invoke.New(context.Background(), invoke.Deps{Snapshots: s.registry, Machine: s.machine, Journal: diary, Policy: policy(),
		Standing: s.standing, Breakers: breakers, Alarms: s.alarms, Log: quiet()})
	deps := mcpserver.Deps{Corridor: s.corridor, Snapshots: s.registry, Policy: policy(), Alarms: s.alarms, Authenticate: authenticate, Log: quiet(),
		Config: mcpserver.Config{Version: "test", Rate: 1e6, Burst: 1e6}}
	for _, f := range change {
		f(&deps)
	}
	s.server, err = mcpserver.New(deps)
	must(t, err)
	s.http = httptest.NewUnstartedServer(s.server.Handler())
	s.http.Config = mcpserver.NewHTTPServer(s.server.Handler(), quiet())
	s.http.Start()
	t.Cleanup(func() {
		s.server.Close()
		s.http.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		must(t, errors.Join(s.corridor.Close(ctx), diary.Close(), db.Close()))
	})
	return s
}

func (s *site) publish(files map[string]string) {
	s.t.Helper()
	snap, err := s.registry.Publish(context.Background(), candidate(files))
	must(s.t, err)
	for _, r := range snap.Rejected {
		s.t.Fatalf("%s: %v", r.File, r.Problems)
	}
	s.snapshot = snap
}
