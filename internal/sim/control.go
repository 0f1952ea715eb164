package sim

import (
	"context"
	"maps"

	"capd/internal/sim/modbusd"
)

// Counters tell what has reached the plant's devices.
type Counters struct {
	Requests int            // every request that a unit got, well-formed or not
	Writes   int            // requests that changed registers
	WritesTo map[string]int // by tag, e.g. "fcv_setpoint"; a request that spans two registers counts for both
}

// WriteEvent is one executed write of one register or coil.
type WriteEvent struct {
	Tag     string // e.g. "fcv_setpoint", "p02_cmd", "vfd_control"
	Unit    byte
	Table   modbusd.Table
	Address uint16   // zero-based, of the first value
	Values  []uint16 // raw; coils as 0 and 1

	old uint16 // what stood at Address before
}

// State is the physical truth of the plant, without noise and without what sensors or the PLC make of it.
type State struct {
	Time float64 // plant time since start, s

	Level        float64 // m
	Flow         float64 // discharge, m3/h
	Pressure     float64 // manifold, bar
	PowerKW      float64 // motor of P-01
	FCVPosition  float64 // %
	FCVOutput    float64 // what the PLC asks of the valve, %
	FCVSetpoint  float64 // what stands in the holding register, %
	XVPosition   float64 // %
	ZSO, ZSC     bool
	HighLevel    bool
	P01Running   bool // the motor turns
	P01Frequency float64
	P02Running   bool // the contactor is in
	Beacon       bool // its coil
	Siren        bool // its coil

	LevelSetpoint float64 // m
	Selector      Mode
	EStopPressed  bool
	PLCRunning    bool
	Heartbeat     uint16
}

// State returns the present state.
func (p *Plant) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.model.state()
}

func (m *model) state() State {
	u, relays := m.units[unitPLC], m.units[unitRelays]
	return State{
		Time:          m.now(),
		Level:         m.level,
		Flow:          m.flow,
		Pressure:      m.pressure,
		PowerKW:       m.kW,
		FCVPosition:   m.fcv.position,
		FCVOutput:     m.plc.fcvOut,
		FCVSetpoint:   float64(u.get(tagFCVSetpoint)) / 10,
		XVPosition:    m.xv * 100,
		ZSO:           m.xv >= 1,
		ZSC:           m.xv <= 0,
		HighLevel:     m.lsh,
		P01Running:    m.p01.started || m.p01.hz > 0,
		P01Frequency:  m.p01.hz,
		P02Running:    m.contactor(),
		Beacon:        relays.get(tagBeacon) == 1,
		Siren:         relays.get(tagSiren) == 1,
		LevelSetpoint: u.float(tagLevelSetpoint),
		Selector:      m.selector,
		EStopPressed:  m.estop,
		PLCRunning:    m.plc.running,
		Heartbeat:     u.get(tagHeartbeat),
	}
}

// Await waits until the plant's state satisfies cond, which is asked after every move of the plant. It returns ctx's error otherwise.
func (p *Plant) Await(ctx context.Context, cond func(State) bool) error {
	for {
		p.mu.Lock()
		state, moved := p.model.state(), p.moved
		p.mu.Unlock()
		if cond(state) {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// change does something at the plant as a person standing there would.
func (p *Plant) change(what string, do func(*model)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do(p.model)
	p.model.refresh()
	p.log.Info("plant", "event", what)
}

// SetFault switches a fault of the list on. An unknown id is an error that names the known ones.
func (p *Plant) SetFault(id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.model.setFault(id); err != nil {
		return err
	}
	p.log.Info("plant", "event", "fault "+id)
	return nil
}

// ClearFaults switches all faults off: a fault's selector goes to remote, a PLC that it stopped to RUN.
func (p *Plant) ClearFaults() { p.change("faults cleared", (*model).clearFaults) }

// Faults returns the fault list in its order.
func (p *Plant) Faults() []FaultInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	var infos []FaultInfo
	for _, f := range faultList() {
		infos = append(infos, FaultInfo{string(f.id), f.title, f.what, p.model.faults.on(f.id)})
	}
	return infos
}

// Reset returns the plant to its start state, faults cleared: PLC remote and running, level 2.3 m, FCV-04 and its setpoint at 45 %,
// XV-03 closed, pumps off, level_setpoint 2.0 m, VFD speed 40 Hz. Counters, plant time, energy and heartbeat go on.
func (p *Plant) Reset() { p.change("reset", (*model).restart) }

// Counters returns what was counted since the start or the last ResetCounters.
func (p *Plant) Counters() Counters {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.counters
	c.WritesTo = maps.Clone(c.WritesTo)
	return c
}

// ResetCounters sets all counters to zero.
func (p *Plant) ResetCounters() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counters = Counters{WritesTo: map[string]int{}}
}

// OnWrite has fn called for every counted write after its execution and before its reply leaves, from the goroutine that serves the client.
// fn may use the plant; while it runs, only the writing client waits. nil calls nothing.
func (p *Plant) OnWrite(fn func(WriteEvent)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onWrite = fn
}

// SetSelector turns the station's selector switch.
func (p *Plant) SetSelector(mode Mode) {
	p.change("selector "+mode.String(), func(m *model) { m.selector = mode })
}

// SetEStop presses or releases the emergency stop. Pressed, pumps stop and valves stand; released, nothing starts by itself.
func (p *Plant) SetEStop(pressed bool) {
	what := "e-stop released"
	if pressed {
		what = "e-stop pressed"
	}
	p.change(what, func(m *model) { m.estop = pressed })
}

// StopPLC puts the PLC into STOP: inputs freeze, outputs hold, requests are still answered.
func (p *Plant) StopPLC() { p.change("PLC stop", func(m *model) { m.plc.running = false }) }

// RunPLC puts the PLC into RUN.
func (p *Plant) RunPLC() { p.change("PLC run", func(m *model) { m.plc.running = true }) }

// String returns the label that inventories use.
func (m Mode) String() string {
	if m > ModeMaintenance {
		return "unknown"
	}
	return [...]string{"off", "local", "remote", "maintenance"}[m]
}
