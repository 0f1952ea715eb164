package localtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"capd/internal/field"
	"capd/internal/hal"
	"capd/internal/physical"
)

// Machine is a control valve in memory: what is written to its setpoint becomes its position, unless it is stuck.
type Machine struct {
	mu     sync.Mutex
	values map[string]physical.Value
	bad    map[string]string
	writes int
	stuck  bool
	held   chan struct{} // writes wait for its end
}

// Points of the machine.
const (
	Setpoint = "PS07-FCV-04.setpoint"
	Position = "PS07-FCV-04.position"
	Selector = "PS07-PLC-01.mode"
	EStop    = "PS07-PLC-01.e_stop_ok"
)

func newMachine() *Machine {
	return &Machine{bad: map[string]string{}, values: map[string]physical.Value{Setpoint: physical.IntOf(45), Position: physical.IntOf(45),
		Selector: physical.TextOf("remote"), EStop: physical.FlagOf(true)}}
}

// Set sets the value of a point.
func (m *Machine) Set(ref string, v physical.Value) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values[ref] = v
}

// Break makes every reading of a point bad, for a reason.
func (m *Machine) Break(ref, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bad[ref] = why
}

// Stick lets the valve take its setpoint and stand still.
func (m *Machine) Stick() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stuck = true
}

// Hold makes writes wait until Release.
func (m *Machine) Hold() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = make(chan struct{})
}

// Release lets writes go on.
func (m *Machine) Release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held != nil {
		close(m.held)
		m.held = nil
	}
}

// Writes counts the writes so far.
func (m *Machine) Writes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes
}

// Read reads points.
func (m *Machine) Read(_ context.Context, refs []string) map[string]physical.Reading {
	out := map[string]physical.Reading{}
	for _, ref := range refs {
		out[ref], _ = m.Last(ref)
	}
	return out
}

// ReadCached reads points; nothing is kept.
func (m *Machine) ReadCached(ctx context.Context, refs []string, _ time.Duration) map[string]physical.Reading {
	return m.Read(ctx, refs)
}

// Last reads a point.
func (m *Machine) Last(ref string) (physical.Reading, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	v, ok := m.values[ref]
	if !ok || m.bad[ref] != "" {
		return physical.BadReading(physical.CauseWire, m.bad[ref], now, now), ok
	}
	r := physical.Reading{Value: v, Quality: physical.Good, Started: now, At: now, Raw: []byte(v.String())}
	if ref == Setpoint || ref == Position {
		r.Unit = "%"
	}
	return r, true
}

// Write takes a setpoint.
func (m *Machine) Write(ctx context.Context, ref string, v physical.Value) (hal.Ack, error) {
	m.mu.Lock()
	held := m.held
	m.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return hal.Ack{}, &hal.Error{Kind: hal.Timeout, Device: "PS07-PLC", Op: "write " + ref, Err: ctx.Err()}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	m.values[ref] = v
	if ref == Setpoint && !m.stuck {
		m.values[Position] = v
	}
	now := time.Now()
	return hal.Ack{Raw: []byte(v.String()), Started: now, At: now}, nil
}

// Encode is the text of a value.
func (m *Machine) Encode(_ string, v physical.Value) ([]byte, error) { return []byte(v.String()), nil }

// Preview names the write.
func (m *Machine) Preview(ref string, v physical.Value) (string, error) {
	return fmt.Sprintf("write %s = %s", ref, v), nil
}

// Stats is one healthy link.
func (m *Machine) Stats() []field.LinkStatus {
	now := time.Now()
	return []field.LinkStatus{{ID: "PLC-NET", Transport: "modbus_tcp", Open: true,
		Stats: hal.LinkStats{Transactions: 120, Failed: 1, Errors: map[hal.ErrorKind]uint64{hal.Timeout: 1}, LastOK: now, Latency: 2 * time.Millisecond,
			MaxLatency: 9 * time.Millisecond},
		Devices: []field.DeviceStatus{{ID: "PS07-PLC", Points: 4, Polled: 3, LastGood: now}}}}
}
