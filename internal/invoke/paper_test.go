package invoke_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"capd/internal/document"
	"capd/internal/hal"
	"capd/internal/journal"
	"capd/internal/physical"
)

// place is an address on paper: at: {n: 1, kind: number|bool}.
type place struct {
	n    int64
	kind physical.Kind
}

func (p place) String() string                          { return fmt.Sprint("place ", p.n) }
func (p place) Kind() physical.Kind                     { return p.kind }
func (p place) Integer() bool                           { return true }
func (p place) Encode(v physical.Value) ([]byte, error) { return []byte(v.String()), nil }
func (p place) Overlaps(hal.Address) bool               { return false }

// paper is a driver that checks and never opens anything: the machine below stands in for the field.
type paper struct{}

func (paper) Name() string                                               { return "paper" }
func (paper) Transports() []string                                       { return []string{"paper"} }
func (paper) CheckLink(hal.LinkSpec) document.Problems                   { return nil }
func (paper) CheckDevice(hal.LinkSpec, hal.DeviceSpec) document.Problems { return nil }
func (paper) Open(hal.LinkSpec, []hal.DeviceSpec) (hal.Conn, error) {
	return nil, errors.ErrUnsupported
}
func (paper) CheckPoint(_ hal.LinkSpec, _ hal.DeviceSpec, p hal.PointSpec) (hal.Address, document.Problems) {
	n, _ := p.At.Get("n").Int()
	return place{n, map[string]physical.Kind{"": physical.Number, "bool": physical.Bool}[p.At.Get("kind").Text()]}, nil
}

const paperPlant = `inventory: capd/v1
links: {NET: {transport: paper}}
devices: {PLC: {link: NET, liveness: {point: PLC.beat, within: 2s}}}
assets:
  PLC: {device: PLC, location: plant/x, points: {beat: {at: {n: 1}, role: status, update: 500ms}, remote: {at: {n: 2, kind: bool}, role: status}}}
  VALVE:
    device: PLC
    location: plant/x/valve
    points:
      setpoint: {at: {n: 10}, unit: "%", role: setpoint, access: read_write, envelope: {min: 0, max: 100, max_step: 60, lifetime_writes: 1000}}
      position: {at: {n: 20}, unit: "%", role: feedback, update: 250ms}
  PUMP:
    device: PLC
    location: plant/x/pump
    points:
      speed: {at: {n: 30}, unit: Hz, role: setpoint, access: read_write, envelope: {min: 0, max: 50}}
      run: {at: {n: 40, kind: bool}, role: setpoint, access: read_write, envelope: {min_interval: 100ms, starts_per_hour: 6}}
      runs: {at: {n: 50, kind: bool}, role: feedback, update: 250ms, witness_for: {VALVE: feedback}}
  LATCH:
    device: PLC
    location: plant/x/latch
    points:
      press: {at: {n: 60, kind: bool}, role: setpoint, access: read_write, envelope: {min_interval: 1s}}
      closed: {at: {n: 70, kind: bool}, role: feedback, update: 250ms}
      held: {at: {n: 90, kind: bool}, role: feedback, update: 250ms}
      angle: {at: {n: 100}, unit: deg, role: setpoint, access: read_write, envelope: {min: 0, max: 90}}
      token: {at: {n: 110}, role: setpoint, access: read_write, envelope: {min: 1, max: 9}}
      echo: {at: {n: 120}, role: status, update: 250ms}
      turned: {at: {n: 130}, unit: deg, role: feedback, update: 250ms}
      lamp: {at: {n: 80, kind: bool}, role: setpoint, access: read_write}
`

// paperLatch is a latch that closes when it was pressed for long enough.
const paperLatch = `contract: capd/v1
tool: l
version: 1.0.0
title: L
asset: LATCH
points: {press: LATCH.press, closed: LATCH.closed, held: LATCH.held, lamp: LATCH.lamp, angle: LATCH.angle, token: LATCH.token, echo: LATCH.echo, turned: LATCH.turned}
actions:
  latch: {name: close_latch, effect: actuate, description: Presses., security: {permissions: [latch:write]}, execute: [{pulse: {point: press, value: true, for: 2s, release: false}}],
    verify: {min_level: E4, within: 5s, poll: 250ms, settle: 1s, expect: [{point: closed, is: true}]}}
  signal: {name: signal_latch, effect: actuate, description: Presses and lights the lamp., security: {permissions: [latch:write]},
    execute: [{pulse: {point: press, value: true, for: 2s, release: false}}, {wait: {when: closed, within: 3s}}, {write: lamp, value: true}],
    verify: {min_level: E4, within: 5s, poll: 250ms, settle: 1s, expect: [{point: closed, is: true}]}}
  turn: {name: turn_latch, effect: actuate, description: Turns., security: {permissions: [latch:write]}, parameters: {type: object, additionalProperties: false, required: [to], properties: {to: {type: number, minimum: 0, maximum: 90, x-unit: deg, description: Angle}}},
    execute: [{write: angle, value: to}, {handshake: {token: token, echo: echo}}],
    verify: {min_level: E4, within: 5s, poll: 250ms, settle: 1s, expect: [{point: turned, near: to, tolerance: 1}]}}
  glow: {name: glow_latch, effect: actuate, description: Lights the lamp and presses., security: {permissions: [latch:write]},
    execute: [{write: lamp, value: true}, {pulse: {point: press, value: true, for: 2s, release: false}}],
    verify: {min_level: E4, within: 5s, poll: 250ms, settle: 1s, expect: [{point: closed, is: true}]}}
  grip: {name: grip_latch, effect: actuate, description: Presses until told otherwise., security: {permissions: [latch:write]}, execute: [{write: press, value: true}],
    verify: {min_level: E4, within: 5s, poll: 250ms, expect: [{point: held, is: true}]}}
  seal: {name: seal_latch, effect: actuate, risk: critical, description: Lights the lamp of a closed latch., security: {permissions: [latch:write]},
    execute: [{write: lamp, value: true}], on_fail: withdraw, withdraw: [{write: lamp, value: false}],
    verify: {min_level: E4, within: 5s, poll: 250ms, settle: 1s, expect: [{point: closed, is: true}]}}
  free: {name: free_latch, effect: actuate, to_safe: true, description: Lets go., security: {permissions: [latch:write]}, execute: [{write: press, value: false}],
    verify: {min_level: E4, within: 5s, poll: 250ms, expect: [{point: held, is: false}]}}
`

const paperTools = `contract: capd/v1
tool: t
version: 1.0.0
title: T
asset: VALVE
points: {setpoint: VALVE.setpoint, position: VALVE.position, speed: PUMP.speed, run: PUMP.run, runs: PUMP.runs, remote: PLC.remote}
actions:
  set: {name: set_valve, effect: actuate, description: Sets., parameters: {type: object, additionalProperties: false, required: [to], properties: {to: {type: number, minimum: 0, maximum: 100, x-unit: "%", description: Opening}}},
    security: {permissions: [valve:write]}, limits: {rate: 5/minute}, permits: [{id: remote, when: remote, max_age: 1500ms, code: LOCAL_MODE, reason: Not in remote}], execute: [{write: setpoint, value: to}],
    verify: {min_level: E4, within: 15s, poll: 250ms, settle: 2s, expect: [{point: position, near: to, tolerance: 1.5}], watch: {for: 60s, tolerance: 3}}}
  nudge: {name: nudge_valve, effect: actuate, description: Nudges., parameters: {type: object, additionalProperties: false, required: [to], properties: {to: {type: number, minimum: 0, maximum: 100, x-unit: "%", description: Opening}}}, security: {permissions: [valve:write]}, execute: [{write: setpoint, value: to}],
    verify: {min_level: E4, within: 15s, poll: 250ms, settle: 1s, expect: [{point: position, changes_by: to, tolerance: 1.5}]}}
  try: {name: try_valve, effect: actuate, description: Sets the valve and takes it back when that fails., parameters: {type: object, additionalProperties: false, required: [to], properties: {to: {type: number, minimum: 0, maximum: 100, x-unit: "%", description: Opening}}},
    security: {permissions: [valve:write]}, execute: [{write: setpoint, value: to}], on_fail: withdraw, withdraw: [{write: setpoint, value: 10}],
    verify: {min_level: E4, within: 5s, poll: 250ms, settle: 1s, expect: [{point: position, near: to, tolerance: 1.5}]}}
  close: {name: close_valve, effect: actuate, to_safe: true, description: Closes., security: {permissions: [valve:write]}, execute: [{write: setpoint, value: 0}],
    verify: {min_level: E4, within: 30s, poll: 250ms, settle: 1s, expect: [{point: position, near: 0, tolerance: 1.5}]}}
  fill: {name: fill, effect: actuate, description: Opens the valve and runs the pump., parameters: {type: object, additionalProperties: false, required: [to], properties: {to: {type: number, minimum: 0, maximum: 100, x-unit: "%", description: Opening}}}, security: {permissions: [valve:write]}, execute: [{write: setpoint, value: to}, {write: run, value: true}],
    verify: {min_level: E4, within: 15s, poll: 250ms, settle: 1s, expect: [{point: position, near: to, tolerance: 1.5}, {point: runs, is: true}]}}
  position: {name: read_position, effect: read, description: Reads., returns: [position, setpoint], security: {permissions: [valve:read]}}
`

const paperPump = `contract: capd/v1
tool: p
version: 1.0.0
title: P
asset: PUMP
points: {speed: PUMP.speed, run: PUMP.run, runs: PUMP.runs, remote: PLC.remote}
actions:
  start: {name: start_pump, effect: actuate, description: Starts., security: {permissions: [pump:write]}, execute: [{write: speed, value: 40}, {write: run, value: true}],
    verify: {min_level: E4, within: 10s, poll: 250ms, settle: 1s, expect: [{point: runs, is: true}]}}
  run_held: {name: run_held, effect: actuate, description: Starts and holds., security: {permissions: [pump:write]}, execute: [{write: speed, value: 40}, {write: run, value: true}],
    hold: {every: 1s, for: 1h, silence: stops},
    verify: {min_level: E4, within: 10s, poll: 250ms, settle: 1s, expect: [{point: runs, is: true}]}}
  run_guarded: {name: run_guarded, effect: actuate, description: Starts and holds while in remote., security: {permissions: [pump:write]}, execute: [{write: speed, value: 40}, {write: run, value: true}],
    hold: {points: [run], every: 1s, for: 1h, silence: stops, lapse: 4s, while: remote},
    verify: {min_level: E4, within: 10s, poll: 250ms, settle: 1s, expect: [{point: runs, is: true}]}}
  run_waiting: {name: run_waiting, effect: actuate, description: Starts and holds once in remote., security: {permissions: [pump:write]}, execute: [{write: speed, value: 40}, {wait: {when: remote, within: 2s}}, {write: run, value: true}],
    hold: {points: [run], every: 1s, for: 1h, silence: stops},
    verify: {min_level: E4, within: 10s, poll: 250ms, settle: 1s, expect: [{point: runs, is: true}]}}
  stop: {name: stop_pump, effect: actuate, to_safe: true, description: Stops., security: {permissions: [pump:write]}, execute: [{write: run, value: false}],
    verify: {min_level: E4, within: 10s, poll: 250ms, settle: 1s, expect: [{point: runs, is: false}]}}
`

func writePaper(t testing.TB, dir string) {
	t.Helper()
	for name, text := range map[string]string{"assets.d/plant.yaml": paperPlant, "contracts.d/t.yaml": paperTools, "contracts.d/p.yaml": paperPump, "contracts.d/l.yaml": paperLatch, "profiles.d/none.txt": ""} {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// machine is a valve and a pump in memory, with exact times. Its hooks run without its lock.
type machine struct {
	mu       sync.Mutex
	born     time.Time
	values   map[string]physical.Value // of what is written
	from     float64                   // the valve's position when its setpoint was written last
	since    time.Time
	stuck    bool
	speed    float64                   // of the valve, in % per second
	broken   bool                      // the pump does not run, and the latch does not close, whatever they are told
	deaf     bool                      // the machine does not look at tokens
	pressed  time.Time                 // since when the latch is pressed; zero while it is not
	refuses  bool                      // no value is taken
	scale    string                    // raw values begin with it, so that each scale has its own
	frozen   time.Time                 // when the PLC stopped; zero while it runs
	bad      map[string]physical.Cause // points that give nothing
	log      []string                  // what was written, in order
	reads    int
	readFor  time.Duration
	writeFor time.Duration
	onRead   func()
	onWrite  func(ref string) error // its error is what the write gives; the value is taken unless it surely was not sent
}

func newMachine() *machine {
	return &machine{born: time.Now(), since: time.Now(), from: 45, speed: 5, bad: map[string]physical.Cause{}, readFor: 5 * time.Millisecond, writeFor: 5 * time.Millisecond,
		values: map[string]physical.Value{"VALVE.setpoint": physical.IntOf(45), "PUMP.speed": physical.IntOf(0), "PUMP.run": physical.FlagOf(false), "PLC.remote": physical.FlagOf(true),
			"LATCH.press": physical.FlagOf(false), "LATCH.closed": physical.FlagOf(false), "LATCH.lamp": physical.FlagOf(false),
			"LATCH.angle": physical.IntOf(0), "LATCH.token": physical.IntOf(9), "LATCH.echo": physical.IntOf(9), "LATCH.turned": physical.IntOf(0)}}
}

func (m *machine) position(now time.Time) float64 {
	target := m.values["VALVE.setpoint"].Any().(float64)
	way := math.Min(math.Abs(target-m.from), m.speed*now.Sub(m.since).Seconds())
	if m.stuck {
		way = 0
	}
	return m.from + math.Copysign(way, target-m.from)
}

func (m *machine) value(ref string, now time.Time) physical.Value {
	if !m.frozen.IsZero() && now.After(m.frozen) {
		now = m.frozen
	}
	switch ref {
	case "PLC.beat":
		return physical.IntOf(int64(now.Sub(m.born) / (500 * time.Millisecond)))
	case "VALVE.position":
		return physical.FloatOf(math.Round(m.position(now)*100) / 100)
	case "PUMP.runs":
		on, _ := m.values["PUMP.run"].Bool()
		return physical.FlagOf(on && !m.broken)
	case "LATCH.held":
		return m.values["LATCH.press"]
	default:
		return m.values[ref]
	}
}

func (m *machine) Read(ctx context.Context, refs []string) map[string]physical.Reading {
	m.mu.Lock()
	m.reads++
	hook, took := m.onRead, m.readFor
	m.mu.Unlock()
	if hook != nil {
		hook()
	}
	started := time.Now()
	gone := false
	select {
	case <-time.After(took):
	case <-ctx.Done():
		gone = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]physical.Reading{}
	for _, ref := range refs {
		now := time.Now()
		switch v := m.value(ref, now); {
		case gone:
			out[ref] = physical.BadReading(physical.CauseOffline, "gave up", started, now)
		case m.bad[ref] != physical.CauseNone:
			out[ref] = physical.BadReading(m.bad[ref], "as told", started, now)
		default:
			out[ref] = physical.Reading{Value: v, Raw: []byte(m.scale + v.String()), Started: started, At: now, Quality: physical.Good}
		}
	}
	return out
}

func (m *machine) ReadCached(ctx context.Context, refs []string, _ time.Duration) map[string]physical.Reading {
	return m.Read(ctx, refs)
}

func (m *machine) Write(ctx context.Context, ref string, v physical.Value) (hal.Ack, error) {
	m.mu.Lock()
	hook, took := m.onWrite, m.writeFor
	m.mu.Unlock()
	var err error
	if hook != nil {
		err = hook(ref)
	}
	time.Sleep(took)
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := hal.AsError(err); err != nil && (e == nil || !e.MaySent) {
		return hal.Ack{}, err
	}
	if m.refuses {
		return hal.Ack{}, err
	}
	now := time.Now()
	m.log = append(m.log, ref+"="+v.String())
	if ref == "VALVE.setpoint" {
		m.from, m.since = m.position(now), now
	}
	if ref == "LATCH.press" {
		m.press(v, now)
	}
	m.values[ref] = v
	if ref == "LATCH.token" && !m.deaf { // the machine takes what was written before
		m.values["LATCH.echo"], m.values["LATCH.turned"] = v, m.values["LATCH.angle"]
	}
	return hal.Ack{At: now}, err
}

// press closes the latch when it was pressed for its time.
func (m *machine) press(v physical.Value, now time.Time) {
	const needed = 1900 * time.Millisecond
	switch on, _ := v.Bool(); {
	case on && m.pressed.IsZero():
		m.pressed = now
	case !on:
		if !m.pressed.IsZero() && now.Sub(m.pressed) >= needed && !m.broken {
			m.values["LATCH.closed"] = physical.FlagOf(true)
		}
		m.pressed = time.Time{}
	}
}

func (m *machine) Encode(_ string, v physical.Value) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return []byte(m.scale + v.String()), nil
}
func (m *machine) Preview(ref string, v physical.Value) (string, error) {
	return ref + "=" + v.String(), nil
}

// set changes the machine under its lock.
func (m *machine) set(change func(*machine)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

// hook puts a watch over the writes.
func (m *machine) hook(onWrite func(ref string) error) {
	m.set(func(m *machine) { m.onWrite = onWrite })
}

// presses reports whether the latch is pressed now.
func (m *machine) presses() (on bool) {
	m.set(func(m *machine) { on, _ = m.values["LATCH.press"].Bool() })
	return on
}

func (m *machine) written() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.log)
}

// memory is a journal in memory that outlives the corridors over it.
type memory struct {
	mu      sync.Mutex
	records []journal.Record
	needed  journal.Seq
	failed  error
	fails   map[journal.Kind]error
	hold    map[journal.Kind]chan struct{} // appends of this kind wait for it
}

func newMemory() *memory {
	return &memory{fails: map[journal.Kind]error{}, hold: map[journal.Kind]chan struct{}{}}
}

func (j *memory) Append(ctx context.Context, kind journal.Kind, payload any) (journal.Seq, error) {
	j.mu.Lock()
	wait := j.hold[kind]
	j.mu.Unlock()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return 0, errors.Join(journal.ErrUncertain, ctx.Err())
		}
	}
	data, err := json.Marshal(payload)
	if err != nil {
		return 0, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.fails[kind]; err != nil {
		return 0, err
	}
	j.records = append(j.records, journal.Record{Seq: journal.Seq(len(j.records) + 1), Kind: kind, Time: time.Now(), Payload: data})
	return journal.Seq(len(j.records)), nil
}

func (j *memory) AppendAdvisory(ctx context.Context, kind journal.Kind, payload any) (journal.Seq, error) {
	return j.Append(ctx, kind, payload)
}

func (j *memory) Replay(_ context.Context, each func(journal.Record) error) error {
	j.mu.Lock()
	records := slices.Clone(j.records)
	j.mu.Unlock()
	for _, r := range records {
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

func (j *memory) Stats() journal.Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	return journal.Stats{Failed: j.failed}
}

func (j *memory) Need(seq journal.Seq) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.needed = seq
}

// need is the record that is needed, 0 for none.
func (j *memory) need() journal.Seq {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.needed
}

// keep forgets the records that a test does not want on disk.
func (j *memory) keep(want func(journal.Record) bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records = slices.DeleteFunc(slices.Clone(j.records), func(r journal.Record) bool { return !want(r) })
}

// kinds counts the records of each kind.
func (j *memory) kinds() map[journal.Kind]int {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := map[journal.Kind]int{}
	for _, r := range j.records {
		out[r.Kind]++
	}
	return maps.Clone(out)
}
