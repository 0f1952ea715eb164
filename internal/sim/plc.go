package sim

import "math"

const (
	secondsPerScan    = 0.05
	scansPerHeartbeat = 10     // 500 ms
	wireBreak         = 0x8000 // what the PLC shows for a current below 4 mA
)

// Bits of the PLC's status register.
const (
	statusEStopHealthy = 1 << iota
	statusSealWater
	statusPhaseFault
	statusP02Trip
)

// plc is the controller's own state; what clients see is in the memory of unit 1. In STOP the input image stands still and the
// outputs keep their last state, while the Modbus server goes on answering.
type plc struct {
	running bool
	scans   uint64
	fcvOut  float64 // analog output to FCV-04, %
	xvOut   bool
	p02Out  bool
	token   uint16 // taken together with the setpoints of the last scan

	watchdogLeft float64 // s
	watchdogOut  bool    // expired: the PLC has fallen to local
}

// scan is one PLC cycle: input image, setpoints, outputs.
func (m *model) scan() {
	if !m.plc.running {
		return
	}
	u := m.units[unitPLC]
	m.runWatchdog(u)
	m.image()
	u.set(tagEcho, m.plc.token)
	m.take()
	m.plc.scans++
	if m.plc.scans%scansPerHeartbeat == 0 {
		u.set(tagHeartbeat, u.get(tagHeartbeat)+1)
	}
}

// image copies the inputs into the memory that clients read.
func (m *model) image() {
	u, s := m.units[unitPLC], m.sensors
	u.set(tagMode, uint16(m.mode()))
	u.set(tagStatus, bits(!m.estop, m.sealWater, m.faults.on(phaseLost), m.faults.on(p02Tripped)))
	u.set(tagLevel, levelWords(s.level)...)
	u.set(tagFlow, uint16(int16(math.Round(s.flow*10))))
	u.set(tagPressure, uint16(math.Round(s.pressure*100)))
	u.set(tagFCVPosition, uint16(math.Round(s.position*10)))
	if m.faults.on(positionWireBreak) {
		u.set(tagFCVPosition, wireBreak)
	}
	u.set(tagZSO, bits(m.xv >= 1))
	u.set(tagZSC, bits(m.xv <= 0 || m.faults.on(closedSwitchStuck)))
	u.set(tagLSH, bits(m.lsh))
	u.set(tagP02Aux, bits(m.contactor()))
}

// take carries the setpoints of the bus to the outputs. Outside remote the PLC does not listen to the bus: valves stay and P-02 stops, for its
// local start is not pressed.
func (m *model) take() {
	u := m.units[unitPLC]
	if m.estop {
		u.set(tagP02, 0) // no restart by itself when the e-stop is released
	}
	if m.mode() != ModeRemote {
		m.plc.p02Out = false
		return
	}
	m.plc.fcvOut = math.Min(100, float64(u.get(tagFCVSetpoint))/10)
	m.plc.xvOut = u.get(tagXV) == 1
	m.plc.p02Out = u.get(tagP02) == 1
	m.plc.token = u.get(tagToken)
}

// mode is what the PLC obeys: the selector, unless the watchdog has expired.
func (m *model) mode() Mode {
	if m.plc.watchdogOut && m.selector == ModeRemote {
		return ModeLocal
	}
	return m.selector
}

func (m *model) runWatchdog(u *unit) {
	if u.get(tagWatchdog) == 0 || m.plc.watchdogOut {
		return
	}
	m.plc.watchdogLeft -= secondsPerScan
	m.plc.watchdogOut = m.plc.watchdogLeft <= 0
}

// refreshWatchdog starts the watchdog anew after a write of its register; 0 switches it off.
func (m *model) refreshWatchdog() {
	m.plc.watchdogOut = false
	m.plc.watchdogLeft = float64(m.units[unitPLC].get(tagWatchdog))
}

// levelWords gives the level as the transmitter's card delivers it: a float32 of which only the upper word carries
// digits (steps of 16 mm around 2 m), low word first. Read in the wrong word order it is about 2e-41.
func levelWords(level float64) []uint16 {
	if math.IsNaN(level) {
		return []uint16{0, 0x7FC0}
	}
	b := math.Float32bits(float32(level))
	return []uint16{0, uint16((uint64(b) + 0x8000) >> 16)}
}

// lowFirst encodes a float32 with the low word first (CDAB).
func lowFirst(v float64) []uint16 {
	b := math.Float32bits(float32(v))
	return []uint16{uint16(b), uint16(b >> 16)}
}

// highFirst encodes a float32 with the high word first (ABCD).
func highFirst(v float64) []uint16 {
	b := math.Float32bits(float32(v))
	return []uint16{uint16(b >> 16), uint16(b)}
}

// bits packs flags, the first one into bit 0.
func bits(flags ...bool) uint16 {
	var v uint16
	for i, f := range flags {
		if f {
			v |= 1 << i
		}
	}
	return v
}
