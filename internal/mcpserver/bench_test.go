package mcpserver_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"capd/internal/mcpserver"
)

// plantOf is a site with n contracts of two actions each.
func plantOf(n int) map[string]string {
	var assets strings.Builder
	assets.WriteString("inventory: capd/v1\nlinks: {NET: {transport: modbus_tcp, endpoint: \"127.0.0.1:1\"}}\ndevices: {PLC: {link: NET, unit_id: 1}}\nassets:\n")
	files := map[string]string{}
	for i := range n {
		fmt.Fprintf(&assets, "  V-%04d: {title: Valve %d, location: plant/ps07/line%d, device: PLC, points: {setpoint: {at: {table: holding_register, address: %d, type: uint16}, unit: \"%%\", role: setpoint, access: read_write, envelope: {min: 0, max: 100}}, position: {at: {table: input_register, address: %d, type: uint16}, unit: \"%%\", role: feedback}}}\n",
			i, i, i%20, i, i)
		files[fmt.Sprintf("v%04d.yaml", i)] = strings.NewReplacer("ps07-fcv-04", fmt.Sprintf("v-%04d", i), "PS07-FCV-04", fmt.Sprintf("V-%04d", i)).Replace(`
contract: capd/v1
tool: ps07-fcv-04
version: 1.0.0
title: Discharge control valve
asset: PS07-FCV-04
tags: [valve, flow]
points: {setpoint: PS07-FCV-04.setpoint, position: PS07-FCV-04.position}
actions:
  status: {effect: read, description: Reads how far the valve is open., intents: ["how far is the valve open"], returns: [position, setpoint], security: {permissions: [valve:read]}}
  set:
    effect: actuate
    risk: high
    description: Moves the valve to an opening and waits until the position transmitter agrees.
    intents: ["open the valve to 60 %"]
    parameters: {type: object, additionalProperties: false, required: [opening], properties: {opening: {type: number, minimum: 0, maximum: 100, x-unit: "%", description: Opening of the valve}}}
    security: {permissions: [valve:write]}
    execute: [{write: setpoint, value: opening}]
    verify: {min_level: E4, within: 10s, expect: [{point: position, near: opening, tolerance: 1.5}]}
`)
	}
	files["assets.yaml"] = assets.String()
	return files
}

func TestAListOfAThousandContractsIsShortAndQuick(t *testing.T) {
	n := 1000
	if raced {
		n = 100
	}
	s := newSite(t, plantOf(n))
	s.list("operator")
	best := time.Hour
	for range 5 {
		started := time.Now()
		l := s.list("operator")
		best = min(best, time.Since(started))
		if len(l.Tools) != 6+12 {
			t.Fatalf("%d tools are listed", len(l.Tools))
		}
	}
	t.Logf("tools/list with %d contracts of two tools: %s at best", n, best)
	started := time.Now()
	s.server.Publish(s.snapshot)
	t.Logf("publish of %d contracts to the door: %s", n, time.Since(started))
	if a := s.tryCall("operator", "v_0099_status", nil).answer(t); a.Verdict == "not_executed" {
		t.Errorf("a tool that is not listed cannot be called: %v", a)
	}
}

func post(b *testing.B, url, token, body string, header map[string]string) {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK || !bytes.Contains(raw, []byte(`"result"`)) {
		b.Fatalf("HTTP %d %v %s", resp.StatusCode, err, raw)
	}
}

// bareServer is mcp-go with one empty tool and nothing around it.
func bareServer(b *testing.B) string {
	m := server.NewMCPServer("bare", "1")
	m.AddTool(mcp.NewTool("valve_status"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("ok"), nil
	})
	h := httptest.NewServer(server.NewStreamableHTTPServer(m))
	b.Cleanup(h.Close)
	return h.URL + "/mcp"
}

// BenchmarkCallOfARead compares a read through every part of capd with mcp-go alone: the ratio is bare over capd, 1 being equal.
func BenchmarkCallOfARead(b *testing.B) {
	s := newSite(b, siteFiles(), func(d *mcpserver.Deps) { d.Config.Rate, d.Config.Burst = 1e9, 1e9 })
	bare := bareServer(b)
	body, header := modernBody(1, "tools/call", map[string]any{"name": "valve_status", "arguments": map[string]any{}})
	post(b, bare, "operator", body, header)
	post(b, s.http.URL+"/mcp", "operator", body, header)
	var own, other time.Duration
	for b.Loop() {
		started := time.Now()
		post(b, s.http.URL+"/mcp", "operator", body, header)
		middle := time.Now()
		post(b, bare, "operator", body, header)
		own, other = own+middle.Sub(started), other+time.Since(middle)
	}
	b.ReportMetric(float64(own.Microseconds())/float64(b.N), "µs/capd")
	b.ReportMetric(float64(other.Microseconds())/float64(b.N), "µs/bare")
	b.ReportMetric(float64(other)/float64(own), "ratio")
}

func BenchmarkListWithAThousandContracts(b *testing.B) {
	s := newSite(b, plantOf(1000), func(d *mcpserver.Deps) { d.Config.Rate, d.Config.Burst = 1e9, 1e9 })
	body, header := modernBody(1, "tools/list", nil)
	post(b, s.http.URL+"/mcp", "operator", body, header)
	b.ReportAllocs()
	for b.Loop() {
		post(b, s.http.URL+"/mcp", "operator", body, header)
	}
}

func BenchmarkPublishOfAThousandContracts(b *testing.B) {
	s := newSite(b, plantOf(1000))
	for b.Loop() {
		s.server.Publish(s.snapshot)
	}
}
