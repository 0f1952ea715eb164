package sim

import (
	"math"
	"math/rand/v2"
	"time"
)

const (
	scanPeriod   = 50 * time.Millisecond
	scansPerStep = 2 // physics step 100 ms
	stepSeconds  = 0.1
)

// Mode is the position of the station's selector switch, with the values of the PLC's mode register.
type Mode uint16

// The selector's positions.
const (
	ModeOff Mode = iota
	ModeLocal
	ModeRemote
	ModeMaintenance
)

// model is the whole plant at one instant. It knows no clock and no socket: tick moves it on by one PLC scan. The plant's
// mutex guards it.
type model struct {
	rng    *rand.Rand
	ticks  uint64
	faults faults
	units  map[byte]*unit

	selector  Mode
	estop     bool // pressed
	sealWater bool
	level     float64 // m
	flow      float64 // discharge, m3/h
	pressure  float64 // manifold, bar
	fcv       modulatingValve
	xv        float64 // position of XV-03, 0 closed to 1 open
	lsh       bool
	p01       drive
	p02       float64 // speed of P-02, 0 to 1
	kW, kWh   float64 // feeder of P-01
	sensors   sensors
	plc       plc
}

// modulatingValve is FCV-04; all in percent open.
type modulatingValve struct {
	stem     float64 // where the actuator stands
	position float64 // where the valve is: the stem and, if it hunts, the swing around it
}

// sensors are the analog signals as they leave the transmitters, with noise.
type sensors struct {
	level    float64 // m, NaN on a sensor fault
	flow     float64 // m3/h
	pressure float64 // bar
	position float64 // %
}

// newModel returns the plant in the start state of the fault list.
func newModel(rng *rand.Rand) *model {
	m := &model{
		rng:       rng,
		faults:    newFaults(),
		units:     map[byte]*unit{},
		selector:  ModeRemote,
		sealWater: true,
		level:     2.3,
		fcv:       modulatingValve{stem: 45, position: 45},
		kWh:       1234.5,
	}
	for _, u := range []*unit{newPLCUnit(), newVFDUnit(), newMeterUnit(), newRelayUnit()} {
		m.units[u.id] = u
	}
	u := m.units[unitPLC]
	u.set(tagFCVSetpoint, 450)
	u.set(tagLevelSetpoint, lowFirst(2.0)...)
	m.units[unitVFD].set(tagVFDSpeed, 4000)
	m.plc = plc{running: true, fcvOut: 45}
	m.physics()
	m.refresh()
	return m
}

// restart returns the plant to its start state; clock, heartbeat and energy go on.
func (m *model) restart() {
	fresh := newModel(m.rng)
	fresh.ticks, fresh.kWh = m.ticks, m.kWh
	fresh.units[unitPLC].set(tagHeartbeat, m.units[unitPLC].get(tagHeartbeat))
	fresh.p01.heard = m.now()
	*m = *fresh
}

// now is the plant's time in seconds.
func (m *model) now() float64 { return float64(m.ticks) * scanPeriod.Seconds() }

// tick moves the plant on by one PLC scan, and by one physics step every second scan.
func (m *model) tick() {
	m.ticks++
	if m.ticks%scansPerStep == 0 {
		m.physics()
		m.measure()
		m.fieldDevices()
	}
	m.faultsDue()
	m.scan()
}

// refresh lets every device see the present state at once, without time passing.
func (m *model) refresh() {
	m.measure()
	m.fieldDevices()
	if m.plc.running {
		m.image()
	}
}

// physics moves the machines by one step.
func (m *model) physics() {
	m.moveFCV()
	m.moveXV()
	m.runP01()
	m.p02 = approach(m.p02, unity(m.contactor()), stepSeconds) // one second to full speed
	m.moveWater()
	m.lsh = m.level > 4.8 || m.lsh && m.level > 4.75
}

func (m *model) moveFCV() {
	if !m.estop {
		from, to := m.fcv.stem, approach(m.fcv.stem, m.plc.fcvOut, 5*stepSeconds)
		if m.faults.on(dischargeSticks) && (from-stickingPoint)*(to-stickingPoint) <= 0 {
			to = stickingPoint
		}
		m.fcv.stem = to
	}
	m.fcv.position = m.fcv.stem
	if m.faults.on(dischargeHunts) {
		m.fcv.position = clamp(m.fcv.stem+4*math.Sin(2*math.Pi*m.now()/3), 0, 100)
	}
}

func (m *model) moveXV() {
	if !m.estop && !m.faults.on(inletStuck) {
		m.xv = approach(m.xv, unity(m.plc.xvOut), stepSeconds/8)
	}
}

// contactor tells whether P-02's contactor is in: the PLC's output through the hard-wired e-stop and protection.
func (m *model) contactor() bool {
	return m.plc.p02Out && !m.estop && !m.faults.on(p02Tripped) && !m.faults.on(phaseLost)
}

func (m *model) moveWater() {
	p01 := m.p01.hz / 50
	coupled := !m.faults.on(couplingBroken)
	speeds := [2]float64{p01 * unity(coupled), m.p02}
	head, flows := hydraulics(speeds, m.fcv.position/100, m.level)
	m.flow += (flows[0] + flows[1] - m.flow) * stepSeconds // the water column follows within a second
	if m.flow < 0.01 {
		m.flow = 0
	}
	m.pressure = head / metresPerBar
	m.kW = motorPower(p01, flows[0], head, coupled)
	m.kWh += m.kW * stepSeconds / 3600
	m.level = clamp(m.level+(inletFlow*m.xv-m.flow)/3600/wellArea*stepSeconds, 0, wellDepth)
}

// measure samples the transmitters. Every sample carries noise, as real ones do.
func (m *model) measure() {
	s := &m.sensors
	level := clamp(m.level+m.noise(0.025), 0, wellDepth)
	switch {
	case m.faults.on(levelFailed):
		s.level = math.NaN()
	case !m.faults.on(levelFrozen):
		s.level = level
	}
	drift := 1.0
	if m.faults.on(flowDrifts) {
		drift += 0.002 * (m.now() - m.faults.driftFrom) / 60
	}
	spread := 0.1
	if m.flow > 1 {
		spread = 0.3
	}
	s.flow = math.Max(0, m.flow*drift+m.noise(spread))
	s.pressure = m.pressure + m.noise(0.02)
	s.position = clamp(m.fcv.position+m.noise(0.2), 0, 100)
}

// noise returns a random value within plus and minus the spread.
func (m *model) noise(spread float64) float64 { return (2*m.rng.Float64() - 1) * spread }

func clamp(v, low, high float64) float64 { return math.Max(low, math.Min(high, v)) }

func unity(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
