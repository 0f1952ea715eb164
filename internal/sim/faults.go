package sim

import (
	"fmt"
	"maps"
	"strings"
)

// faultID is a fault's name in the plant's fault list.
type faultID string

const (
	inletStuck       faultID = "F1"
	dischargeSticks  faultID = "F2"
	replyLost        faultID = "F3"
	writeLost        faultID = "F4"
	couplingBroken   faultID = "F5"
	levelFailed      faultID = "F6a"
	levelFrozen      faultID = "F6b"
	selectorLocal    faultID = "F8"
	busDead          faultID = "F9"
	setpointReverted faultID = "F11"
	sirenContactDead faultID = "F12"
	flowDrifts       faultID = "F16"
	plcSlow          faultID = "F17"
	startVanishes    faultID = "F20"
	plcStopped       faultID = "F21a"
	plcStopsOnWrite  faultID = "F21b"
	replyLostOnStop  faultID = "F22"
	dischargeHunts   faultID = "F24"

	positionWireBreak faultID = "X1"
	meterFailed       faultID = "X2"
	sealWaterLost     faultID = "X3"
	vfdTripped        faultID = "X4"
	p02Tripped        faultID = "X5"
	phaseLost         faultID = "X6"
	closedSwitchStuck faultID = "X7"
)

const (
	stickingPoint   = 37.0 // % where FCV-04 sticks
	slowSeconds     = 0.9  // of the slow PLC
	revertSeconds   = 30.0 // until the other client comes
	revertedOpening = 450  // what it writes, 0.1 %
)

// FaultInfo describes one fault of the plant.
type FaultInfo struct {
	ID     string // as in the fault list, e.g. "F1"
	Title  string
	What   string // what the plant does
	Active bool   // switched on and, if it strikes only once, still to strike
}

// fault is one entry of the list. Most faults are only looked at by the model; change switches what must be switched at once.
type fault struct {
	id     faultID
	title  string
	what   string
	change func(m *model, on bool)
}

const noPart = "needs no fault of the plant; accepted so that the list can be played through"

// faultList is every fault that the Modbus part of the plant has. Those named X are beyond the fault list, for markers and bits of the register map.
func faultList() []fault {
	return []fault{
		{inletStuck, "inlet valve stuck", "XV-03 does not leave its place, whatever the PLC commands", nil},
		{dischargeSticks, "discharge valve sticks at 37 %", "FCV-04 moves and stays at 37 % once it gets there", nil},
		{replyLost, "reply lost", "the PLC takes the next fcv_setpoint write, its reply is lost; strikes once", nil},
		{writeLost, "write lost", "the next write to the PLC is lost before it: not executed, not counted, no reply; strikes once", nil},
		{couplingBroken, "coupling of P-01 broken", "the motor runs with little power, the pump stands", nil},
		{levelFailed, "level sensor fault", "LIT-05 gives NaN", nil},
		{levelFrozen, "level frozen", "LIT-05 repeats its last value: no noise, no change", nil},
		{"F7", "inventory wrong", noPart, nil},
		{selectorLocal, "selector in local", "somebody turns the station to local; clearing turns it to remote", setSelectorLocal},
		{busDead, "RS-485 dead", "units 11, 21 and 31 never answer", nil},
		{setpointReverted, "another client", "30 s after the next fcv_setpoint write another client writes 45 %; strikes once", cancelRevert},
		{sirenContactDead, "siren dead", "the siren's coil switches, no current flows", nil},
		{"F15", "daemon killed", noPart, nil},
		{flowDrifts, "flow drifts", "FIT-07 reads 0.2 % more with every minute", startDrift},
		{plcSlow, "PLC slow", "unit 1 answers after 900 ms", nil},
		{"F18", "same setpoint 200 times", noPart, nil},
		{"F19a", "setpoint out of range", noPart, nil},
		{"F19b", "step too large", noPart, nil},
		{startVanishes, "start of P-01 vanishes", "the VFD takes the next control word, its reply is lost and the RS-485 is dead from then on (F9)", nil},
		{plcStopped, "PLC in STOP", "the input image stands still, reads and writes are answered", setStopped},
		{plcStopsOnWrite, "PLC stops after a write", "the PLC takes the next fcv_setpoint write and goes to STOP: the valve moves, the image does not", runOnClear},
		{replyLostOnStop, "reply lost, stop wanted", "as F3; strikes once", nil},
		{"F23", "already there", noPart, nil},
		{dischargeHunts, "discharge valve hunts", "FCV-04 swings by 4 % around its place, with a period of 3 s", nil},
		{positionWireBreak, "position wire broken", "fcv_position reads 0x8000", nil},
		{meterFailed, "power meter without values", "PM-08 gives 0x7FC00000", nil},
		{sealWaterLost, "seal water lost", "status bit 1 falls, P-01 stops", setSealWater},
		{vfdTripped, "VFD tripped", "P-01's VFD is in fault 7 (overcurrent) until it is reset", setTripped},
		{p02Tripped, "P-02 tripped", "the motor protection holds P-02 off, status bit 3", nil},
		{closedSwitchStuck, "closed limit switch stuck", "ZSC of XV-03 stays on, wherever the valve is", nil},
		{phaseLost, "phase fault", "a phase is missing, P-02 is held off, status bit 2", nil},
	}
}

func setSelectorLocal(m *model, on bool) {
	m.selector = ModeRemote
	if on {
		m.selector = ModeLocal
	}
}

func cancelRevert(m *model, on bool) { m.faults.revertAt = 0 }

func startDrift(m *model, on bool) { m.faults.driftFrom = m.now() }

func setStopped(m *model, on bool) { m.plc.running = !on }

func runOnClear(m *model, on bool) {
	if !on {
		m.plc.running = true
	}
}

func setSealWater(m *model, on bool) { m.sealWater = !on }

func setTripped(m *model, on bool) { m.p01.fault = overcurrent * bits(on) }

// faults are the faults now switched on.
type faults struct {
	active    map[faultID]bool
	revertAt  float64 // plant time at which the other client writes, 0 is never
	driftFrom float64 // plant time at which the drift began
}

func newFaults() faults { return faults{active: map[faultID]bool{}} }

func (f *faults) on(id faultID) bool { return f.active[id] }

func (f *faults) clear(id faultID) { delete(f.active, id) }

// strike uses up a fault that strikes once and tells whether it was on.
func (f *faults) strike(id faultID) bool {
	on := f.active[id]
	f.clear(id)
	return on
}

// setFault switches a fault on.
func (m *model) setFault(id string) error {
	list := faultList()
	known := make([]string, 0, len(list))
	for _, f := range list {
		known = append(known, string(f.id))
		if string(f.id) != id {
			continue
		}
		m.faults.active[f.id] = true
		if f.change != nil {
			f.change(m, true)
		}
		m.refresh()
		return nil
	}
	return fmt.Errorf("sim: fault %q is not one of the plant's: %s", id, strings.Join(known, " "))
}

// clearFaults switches all faults off and undoes what they hold.
func (m *model) clearFaults() {
	active := maps.Clone(m.faults.active)
	clear(m.faults.active)
	for _, f := range faultList() {
		if active[f.id] && f.change != nil {
			f.change(m, false)
		}
	}
	m.refresh()
}

// faultsDue does what a fault has set a time for.
func (m *model) faultsDue() {
	if at := m.faults.revertAt; at > 0 && m.now() >= at {
		m.faults.revertAt = 0
		m.faults.clear(setpointReverted)
		m.units[unitPLC].set(tagFCVSetpoint, revertedOpening)
	}
}

// swallows tells whether a request is lost on its way to the unit.
func (m *model) swallows(unit byte, writes bool) bool {
	if unit != unitPLC {
		return m.faults.on(busDead)
	}
	return writes && m.faults.strike(writeLost)
}

// written lets the devices act on an executed write and tells whether its reply is lost.
func (m *model) written(e WriteEvent) (lost bool) {
	switch e.Tag {
	case tagWatchdog:
		m.refreshWatchdog()
	case tagVFDControl:
		m.command(e.old, e.Values[0])
		if m.faults.strike(startVanishes) {
			m.faults.active[busDead] = true
			return true
		}
	case tagFCVSetpoint:
		if m.faults.on(setpointReverted) && m.faults.revertAt == 0 {
			m.faults.revertAt = m.now() + revertSeconds
		}
		if m.faults.on(plcStopsOnWrite) && m.plc.running {
			m.take()
			m.plc.running = false
		}
		first, second := m.faults.strike(replyLost), m.faults.strike(replyLostOnStop)
		return first || second
	}
	return false
}
