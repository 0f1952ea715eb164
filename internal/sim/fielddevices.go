package sim

import "math"

const (
	controlRun   = 1 << 0
	controlReset = 1 << 3
	maxSpeed     = 5000 // 50 Hz in 0.01 Hz
	rampHz       = 10.0 // per second
	busSilence   = 5.0  // s without traffic after which the VFD stops

	overcurrent  = 7          // the fault code of the trip
	meterInvalid = 0x7FC00000 // PM-08 has no value
)

// Bits of the VFD's status register.
const (
	vfdReady = 1 << iota
	vfdRunning
	vfdFault
	vfdAtSpeed
	vfdRemote
)

// drive is the VFD of P-01.
type drive struct {
	started bool    // a start was accepted and nothing has stopped it since
	hz      float64 // output
	fault   uint16  // code, 0 is none
	heard   float64 // plant time of the last request to the unit
}

// ready tells whether the start permits hold.
func (m *model) ready() bool {
	return m.p01.fault == 0 && m.mayRun() && m.level > 0.8 && m.fcv.position >= 10
}

// mayRun tells whether a running drive may go on.
func (m *model) mayRun() bool { return m.selector == ModeRemote && !m.estop && m.sealWater }

// runP01 moves the drive by one step. On silence of the bus it stops and drops its run bit, so that only a new run command starts it.
func (m *model) runP01() {
	d, u := &m.p01, m.units[unitVFD]
	if d.started && m.now()-d.heard > busSilence {
		d.started = false
		u.set(tagVFDControl, u.get(tagVFDControl)&^controlRun)
	}
	if d.fault != 0 || !m.mayRun() {
		d.started = false
	}
	target := 0.0
	if d.started {
		target = float64(u.get(tagVFDSpeed)) / 100
	}
	d.hz = approach(d.hz, target, rampHz*stepSeconds)
	if m.estop || d.fault != 0 {
		d.hz = 0 // torque off
	}
}

// command obeys a new control word. The drive starts on a rising run bit while the start permits hold; a refused start stays refused until
// the bit rises again.
func (m *model) command(old, word uint16) {
	rising := word &^ old
	if rising&controlReset != 0 {
		m.p01.fault = 0
		m.faults.clear(vfdTripped)
	}
	switch {
	case word&controlRun == 0:
		m.p01.started = false
	case rising&controlRun != 0 && m.ready():
		m.p01.started = true
	}
}

// fieldDevices updates what the devices beside the PLC show.
func (m *model) fieldDevices() {
	m.showVFD()
	m.showMeter()
	relays := m.units[unitRelays]
	relays.set(tagBeaconCurrent, relays.get(tagBeacon))
	relays.set(tagSirenCurrent, relays.get(tagSiren)*bits(!m.faults.on(sirenContactDead)))
}

func (m *model) showVFD() {
	d, u := m.p01, m.units[unitVFD]
	running := d.started || d.hz > 0
	setpoint := float64(u.get(tagVFDSpeed)) / 100
	atSpeed := d.started && math.Abs(d.hz-setpoint) < 0.05
	u.set(tagVFDStatus, bits(m.ready(), running, d.fault != 0, atSpeed, m.selector == ModeRemote))
	u.set(tagVFDOutput, uint16(math.Round(d.hz*100)))
	u.set(tagVFDFault, d.fault)
	current := 0.0
	if d.hz > 0 {
		magnetising, active := 5.0, m.kW/(math.Sqrt(3)*0.4)
		current = math.Hypot(magnetising, active) + m.noise(0.1)
	}
	u.set(tagVFDCurrent, uint16(math.Round(current*10)))
}

func (m *model) showMeter() {
	u := m.units[unitMeter]
	if m.faults.on(meterFailed) {
		for _, tag := range []string{tagKW, tagKWh, tagV} {
			u.set(tag, meterInvalid>>16, meterInvalid&0xFFFF)
		}
		return
	}
	standby := 0.05
	u.set(tagKW, highFirst(m.kW+standby+m.noise(0.01+0.005*m.kW))...)
	u.set(tagKWh, highFirst(m.kWh)...)
	u.set(tagV, highFirst(400+m.noise(1))...)
}
