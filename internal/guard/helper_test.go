package guard_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"capd/internal/contract"
	"capd/internal/document"
	"capd/internal/field"
	"capd/internal/guard"
	"capd/internal/hal"
	"capd/internal/inventory"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/registry"
	"capd/internal/standing"
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

// paper is a driver that checks and never opens anything.
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

// plant is a valve whose setpoint has the envelope %s, and a pump whose command has the envelope %s.
const plant = `inventory: capd/v1
links: {NET: {transport: paper}}
devices: {PLC: {link: NET, liveness: {point: PLC.beat, within: 2s}}, METER: {link: NET, liveness: {point: METER.beat, within: 2s}}}
assets:
  PLC: {device: PLC, points: {beat: {at: {n: 1}, role: status, update: 500ms}, mode: {at: {n: 2}, role: status, labels: {0: local, 1: remote}}, stop: {at: {n: 3, kind: bool}, role: status}}}
  METER: {device: METER, points: {beat: {at: {n: 1}, role: status, update: 500ms}, flow: {at: {n: 2}, unit: m3/h, role: process, witness_for: {VALVE: process}}}}
  VALVE:
    device: PLC
    location: plant/x
    points:
      setpoint: {at: {n: 10}, scale: 0.1, unit: "%%", role: setpoint, access: read_write, envelope: {%s}}
      position: {at: {n: 20}, scale: 0.01, unit: "%%", role: feedback}
      second: {at: {n: 30}, scale: 0.1, unit: "%%", role: setpoint, access: read_write, envelope: {min: 0, max: 100, max_step: 10}}
      place: {at: {n: 40}, scale: 0.01, unit: "%%", role: feedback}
  PUMP:
    device: PLC
    location: plant/x
    points: {run: {at: {n: 50, kind: bool}, role: setpoint, access: read_write, envelope: {%s}}, runs: {at: {n: 51, kind: bool}, role: feedback}}
`

const tools = `contract: capd/v1
tool: t
version: 1.0.0
title: T
asset: %s
points: {setpoint: VALVE.setpoint, position: VALVE.position, second: VALVE.second, place: VALVE.place, flow: METER.flow, mode: PLC.mode, stop: PLC.stop, run: PUMP.run, runs: PUMP.runs}
actions:
  act:
    effect: actuate
    description: Acts.
    parameters: {type: object, additionalProperties: false, required: [to, other, on], properties: {to: {type: number}, other: {type: number}, on: {type: boolean}}}
    limits: {max_concurrent: 2, rate: 3/minute}
%s
`

const setValve = `    execute: [{write: setpoint, value: to}]
    verify: {min_level: E4, within: 15s, expect: [{point: position, near: to, tolerance: 1.5}]}`

const switchPump = `    execute: [{write: run, value: on}]
    verify: {min_level: E4, within: 15s, expect: [{point: runs, is: on}]}`

// action compiles one action of an asset: the rest of its YAML, and the envelopes of setpoint and run.
func action(t testing.TB, asset, rest, setpoint, run string) *registry.Action {
	t.Helper()
	check := func(what string, ps document.Problems) {
		t.Helper()
		if err := ps.Err(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	n, ps := document.Parse("plant.yaml", fmt.Appendf(nil, plant, setpoint, run))
	check("inventory", ps)
	inv, ps := inventory.Parse(n)
	check("inventory", ps)
	binding, ps := field.Bind(inv, []hal.Driver{paper{}})
	check("binding", ps)
	n, ps = document.Parse("tool.yaml", fmt.Appendf(nil, tools, asset, rest))
	check("contract", ps)
	c, ps := contract.Parse(n, "")
	check("contract", ps)
	actions, ps := registry.Compile(c, inv, binding)
	check("contract", ps)
	return actions[0]
}

func now() time.Time { return time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC) }

func dec(s string) physical.Decimal {
	d, err := physical.ParseDecimal(s)
	if err != nil {
		panic(err)
	}
	return d
}

func good(v physical.Value) physical.Reading {
	return physical.Reading{Value: v, Started: now().Add(-20 * time.Millisecond), At: now().Add(-10 * time.Millisecond), Quality: physical.Good, Raw: []byte(v.String())}
}

func num(s string) physical.Reading { return good(physical.NumberOf(dec(s))) }

// fresh is a plant at rest: remote, stop not pressed, the valve at 45, the pump off; everything is read and alive.
func fresh(t testing.TB, a *registry.Action, params map[string]any) guard.Fresh {
	t.Helper()
	f := guard.Fresh{Now: now(), Action: a, Params: params, Mode: standing.Active, Usage: map[string]standing.Usage{}, Alive: map[string]bool{"PLC": true, "METER": true},
		Readings: map[string]physical.Reading{"PLC.mode": good(physical.TextOf("remote")), "PLC.stop": good(physical.FlagOf(false)), "VALVE.setpoint": num("45"),
			"VALVE.position": num("45.3"), "VALVE.second": num("10"), "VALVE.place": num("10"), "METER.flow": num("30"), "PUMP.run": good(physical.FlagOf(false)),
			"PUMP.runs": good(physical.FlagOf(false))}}
	for _, s := range a.Steps {
		v, err := s.Value.Value(params)
		if err != nil {
			t.Fatal(err)
		}
		f.Values = append(f.Values, guard.Write{Step: s, Value: v})
	}
	return f
}

// code is the code of a refusal, OK for none.
func code(r *outcome.Refusal) outcome.Code {
	if r == nil {
		return outcome.OK
	}
	return r.Code
}

func ago(d time.Duration) time.Time { return now().Add(-d) }
