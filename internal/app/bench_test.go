package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"capd/internal/document"
)

// contractText is a small actuating contract of its own asset, of the size that engineers write.
func contractText(i int) (inventory, contract string) {
	inventory = fmt.Sprintf(`  V-%04d:
    title: Valve %d
    location: plant/ps07/line%d
    device: PS07-PLC
    points:
      setpoint: {at: {table: holding_register, address: %d, type: uint16}, scale: 0.1, unit: "%%", role: setpoint, access: read_write, envelope: {min: 0, max: 100, max_step: 20}}
      position: {at: {table: input_register, address: %d, type: uint16}, scale: 0.1, unit: "%%", role: feedback}
`, i, i, i%20, 1000+i, 1000+i)
	contract = fmt.Sprintf(`contract: capd/v1
tool: v-%04d
version: 1.0.0
title: Valve %d
asset: V-%04d
tags: [valve, line%d]
points: {setpoint: V-%04d.setpoint, position: V-%04d.position, mode: PS07-PLC-01.mode}
actions:
  set_opening:
    effect: actuate
    risk: high
    description: Moves valve %d to an opening and waits until its position agrees.
    intents: ["open valve %d", "set valve %d to 40 %%"]
    parameters:
      type: object
      additionalProperties: false
      required: [opening]
      properties: {opening: {type: number, minimum: 0, maximum: 100, x-unit: "%%", description: Opening of the valve}}
    security: {permissions: [valve:write], scopes: ["site:ps07"]}
    limits: {max_concurrent: 1, rate: 10/minute}
    permits:
      - {id: remote, when: 'mode == "remote"', max_age: 1500ms, code: LOCAL_MODE, reason: The PLC selector is not in remote}
    execute: [{write: setpoint, value: opening}]
    verify: {min_level: E4, within: 15s, poll: 250ms, settle: 2s, expect: [{point: position, near: opening, tolerance: 1.5}]}
`, i, i, i, i%20, i, i, i, i, i)
	return inventory, contract
}

// writeContracts writes contracts and their assets, as YAML or as JSON.
func writeContracts(t testing.TB, dir string, n int, kind string) {
	t.Helper()
	write := func(folder, name, text string) {
		t.Helper()
		raw := []byte(text)
		if kind == "json" {
			node, problems := document.Parse(name+".yaml", raw)
			if err := problems.Err(); err != nil {
				t.Fatal(err)
			}
			var err error
			if raw, err = node.JSON(); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, folder, name+"."+kind), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := "inventory: capd/v1\nassets:\n"
	for i := range n {
		inventory, contract := contractText(i)
		all += inventory
		write("contracts.d", fmt.Sprintf("v-%04d", i), contract)
	}
	write("assets.d", "valves", all)
}

// BenchmarkStartToReady is the start of a daemon until its doors are open, with the demo's contracts and 1,000 more. "again" is a start
// from a state folder that has seen them, as every start but the first is.
func BenchmarkStartToReady(b *testing.B) {
	for _, c := range []struct {
		name      string
		contracts int
		again     bool
		kind      string
	}{{"contracts=6/again", 0, true, "yaml"}, {"contracts=1000/yaml/first", 1000, false, "yaml"}, {"contracts=1000/yaml/again", 1000, true, "yaml"},
		{"contracts=1000/json/again", 1000, true, "json"}} {
		b.Run(c.name, func(b *testing.B) {
			dir, config := plantSite(b, "127.0.0.1:0")
			writeContracts(b, dir, c.contracts, c.kind)
			if c.again {
				d, err := start(b, dir, config)
				if err != nil {
					b.Fatal(err)
				}
				if err := d.stop(); err != nil {
					b.Fatal(err)
				}
			}
			var total time.Duration
			for b.Loop() {
				if !c.again {
					if err := os.RemoveAll(filepath.Join(dir, "state")); err != nil {
						b.Fatal(err)
					}
				}
				began := time.Now()
				d, err := start(b, dir, config)
				if err != nil {
					b.Fatal(err)
				}
				total += time.Since(began)
				if err := d.stop(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(total.Milliseconds())/float64(b.N), "ms/start")
		})
	}
}
