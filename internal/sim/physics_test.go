package sim

import (
	"math"
	"testing"
	"time"
)

func TestDischargeValveRampsToItsSetpoint(t *testing.T) {
	p := standing()
	p.want(t, unitPLC, "06 0064 0258", "06 0064 0258")
	p.want(t, unitPLC, "03 0064 0001", "03 02 0258") // reads back at once
	p.pass(time.Second)
	if v := p.State().FCVPosition; !near(v, 50, 0.6) {
		t.Errorf("after 1 s at %v %%, want 50", v)
	}
	p.pass(2500 * time.Millisecond)
	if v := p.position(t); !near(v, 60, 0.25) {
		t.Errorf("after 3.5 s at %v %%, want 60", v)
	}
}

func TestSignalsCarryNoiseOfTheirSize(t *testing.T) {
	p := standing()
	p.startP01(t, 30*time.Second)
	positions, levels, flows := map[uint16]bool{}, map[float64]bool{}, map[uint16]bool{}
	for range 50 {
		p.pass(100 * time.Millisecond)
		positions[p.input(t, 14)], levels[p.levelShown(t)], flows[p.input(t, 12)] = true, true, true
	}
	if len(positions) < 3 || len(positions) > 5 {
		t.Errorf("position takes %d values, want 3 to 5", len(positions))
	}
	if len(levels) < 2 || len(flows) < 4 {
		t.Errorf("level takes %d values, flow %d", len(levels), len(flows))
	}
}

func TestHeartbeatCountsHalfSecondsAndStandsInStop(t *testing.T) {
	p := standing()
	before := p.input(t, 0)
	p.pass(5 * time.Second)
	if got := p.input(t, 0) - before; got != 10 {
		t.Errorf("heartbeat moved by %d in 5 s, want 10", got)
	}
	p.StopPLC()
	before, position := p.input(t, 0), p.input(t, 14)
	p.want(t, unitPLC, "06 0064 0258", "06 0064 0258") // still acknowledged
	p.want(t, unitPLC, "03 0064 0001", "03 02 0258")
	p.pass(5 * time.Second)
	if p.input(t, 0) != before || p.input(t, 14) != position {
		t.Error("the image of a stopped PLC moved")
	}
	if v := p.State().FCVPosition; v != 45 {
		t.Errorf("a stopped PLC moved the valve to %v", v)
	}
	p.RunPLC()
	p.pass(5 * time.Second)
	if v := p.position(t); !near(v, 60, 0.25) {
		t.Errorf("back in RUN: position %v, want 60", v)
	}
}

func TestInletValveTravelsEightSeconds(t *testing.T) {
	p := standing()
	p.want(t, unitPLC, "05 0000 FF00", "05 0000 FF00")
	p.pass(200 * time.Millisecond)
	p.want(t, unitPLC, "02 0000 0002", "02 01 00") // neither limit switch
	p.pass(7500 * time.Millisecond)
	p.want(t, unitPLC, "02 0000 0002", "02 01 00")
	p.pass(500 * time.Millisecond)
	p.want(t, unitPLC, "02 0000 0002", "02 01 01")
	level := p.State().Level
	p.pass(time.Minute)
	if got := p.State().Level - level; !near(got, 40.0/60/wellArea, 0.002) {
		t.Errorf("level rose %v m in a minute", got)
	}
	p.want(t, unitPLC, "05 0000 0000", "05 0000 0000")
	p.pass(9 * time.Second)
	p.want(t, unitPLC, "02 0000 0002", "02 01 02")
}

func TestPumpOneMovesWaterAndShowsItEverywhere(t *testing.T) {
	p := standing()
	p.startP01(t, 20*time.Second)
	s := p.State()
	if s.Flow < 40 || s.Flow > 60 || s.PowerKW < 3 || s.PowerKW > 8 || s.Level >= 2.3 {
		t.Errorf("at 40 Hz: %+v", s)
	}
	p.want(t, unitVFD, "04 0000 0002", "04 04 001B 0FA0") // ready, running, at speed, remote; 40 Hz
	if v := float64(p.input(t, 12)) / 10; !near(v, s.Flow, 0.5) {
		t.Errorf("FIT-07 shows %v, flow is %v", v, s.Flow)
	}
	if v := p.power(t); !near(v, s.PowerKW+0.05, 0.1) {
		t.Errorf("PM-08 shows %v kW, the motor takes %v", v, s.PowerKW)
	}
	p.want(t, unitPLC, "06 0064 0320", "06 0064 0320") // valve to 80 %
	p.startP01(t, 15*time.Second)
	if wide := p.State().Flow; wide < s.Flow+5 {
		t.Errorf("flow %v at 45 %%, %v at 80 %%", s.Flow, wide)
	}
	p.want(t, unitVFD, "06 0000 0000", "06 0000 0000")
	p.pass(15 * time.Second)
	p.want(t, unitVFD, "04 0000 0003", "04 06 0011 0000 0000")
	if s := p.State(); s.Flow != 0 || s.P01Running {
		t.Errorf("stopped: %+v", s)
	}
}

func TestPumpOneStopsWithoutTraffic(t *testing.T) {
	p := standing()
	p.startP01(t, 10*time.Second)
	p.pass(4900 * time.Millisecond)
	if !p.State().P01Running {
		t.Fatal("stopped before 5 s of silence")
	}
	p.pass(10 * time.Second)
	if p.State().P01Running {
		t.Fatal("still running after 5 s of silence")
	}
	p.want(t, unitVFD, "03 0000 0001", "03 02 0000")
	p.startP01(t, 5*time.Second)
	if !p.State().P01Running {
		t.Error("a new run command did not start it")
	}
}

func TestPumpOneStartsOnlyWithItsPermits(t *testing.T) {
	for name, deny := range map[string]func(p *Plant){
		"local":      func(p *Plant) { p.SetSelector(ModeLocal) },
		"e-stop":     func(p *Plant) { p.SetEStop(true) },
		"seal water": func(p *Plant) { p.SetFault("X3") },
		"low level":  func(p *Plant) { p.model.level = 0.79 },
		"valve shut": func(p *Plant) { p.model.fcv = modulatingValve{9.9, 9.9}; p.model.plc.fcvOut = 9.9; p.StopPLC() },
		"tripped":    func(p *Plant) { p.SetFault("X4") },
	} {
		t.Run(name, func(t *testing.T) {
			p := standing()
			deny(p)
			p.model.refresh()
			if w := p.words(t, unitVFD, 4, 0, 1)[0]; w&vfdReady != 0 {
				t.Errorf("status %04X says ready", w)
			}
			p.startP01(t, 5*time.Second)
			if p.State().P01Running {
				t.Error("it started")
			}
		})
	}
}

func TestRefusedStartDoesNotHappenLater(t *testing.T) {
	p := standing()
	p.SetEStop(true)
	p.startP01(t, 2*time.Second)
	p.SetEStop(false)
	p.startP01(t, 5*time.Second)
	if p.State().P01Running {
		t.Error("the pump started when the e-stop was released, without a new command")
	}
	p.want(t, unitVFD, "06 0000 0000", "06 0000 0000")
	p.startP01(t, 5*time.Second)
	if !p.State().P01Running {
		t.Error("the new command did not start it")
	}
}

func TestTrippedDriveIsResetOnlyByItsBit(t *testing.T) {
	p := standing()
	p.startP01(t, 5*time.Second)
	p.SetFault("X4")
	p.pass(time.Second)
	p.want(t, unitVFD, "04 0000 0004", "04 08 0014 0000 0000 0007")
	p.want(t, unitVFD, "06 0000 0000", "06 0000 0000")
	p.want(t, unitVFD, "06 0000 0008", "06 0000 0008")
	p.pass(time.Second)
	p.want(t, unitVFD, "04 0000 0004", "04 08 0011 0000 0000 0000")
}

func TestPumpTwoRunsFromItsCoil(t *testing.T) {
	p := standing()
	p.want(t, unitPLC, "05 0001 FF00", "05 0001 FF00")
	p.pass(10 * time.Second)
	p.want(t, unitPLC, "02 0003 0001", "02 01 01")
	if s := p.State(); s.Flow < 50 || s.PowerKW != 0 {
		t.Errorf("P-02 on: %+v", s)
	}
	p.SetEStop(true)
	p.pass(10 * time.Second)
	if s := p.State(); s.P02Running || s.Flow != 0 {
		t.Errorf("e-stop: %+v", s)
	}
	p.want(t, unitPLC, "04 0002 0001", "04 02 0002")
	p.SetEStop(false)
	p.pass(10 * time.Second)
	if p.State().P02Running {
		t.Error("P-02 started again by itself")
	}
}

func TestOutsideRemoteThePLCIgnoresTheBus(t *testing.T) {
	p := standing()
	p.SetSelector(ModeMaintenance)
	p.want(t, unitPLC, "04 0001 0001", "04 02 0003")
	p.want(t, unitPLC, "06 0064 0258", "06 0064 0258")
	p.want(t, unitPLC, "05 0001 FF00", "05 0001 FF00")
	p.pass(5 * time.Second)
	if s := p.State(); s.FCVPosition != 45 || s.P02Running {
		t.Errorf("in maintenance: %+v", s)
	}
}

func TestEchoFollowsTheTokenOneScanAfterTheSetpoints(t *testing.T) {
	p := standing()
	p.pass(scanPeriod)
	p.want(t, unitPLC, "06 0064 0258", "06 0064 0258")
	p.want(t, unitPLC, "06 0078 002A", "06 0078 002A")
	p.pass(scanPeriod)
	if s := p.State(); s.FCVOutput != 60 || p.input(t, 20) != 0 {
		t.Errorf("first scan: output %v, echo %d", s.FCVOutput, p.input(t, 20))
	}
	p.pass(scanPeriod)
	if got := p.input(t, 20); got != 42 {
		t.Errorf("second scan: echo %d, want 42", got)
	}
}

func TestWatchdogFallsToLocalUnlessRefreshed(t *testing.T) {
	p := standing()
	for range 4 {
		p.want(t, unitPLC, "06 0079 0002", "06 0079 0002")
		p.pass(1900 * time.Millisecond)
		p.want(t, unitPLC, "04 0001 0001", "04 02 0002")
	}
	p.pass(300 * time.Millisecond)
	p.want(t, unitPLC, "04 0001 0001", "04 02 0001")
	p.want(t, unitPLC, "06 0079 0000", "06 0079 0000")
	p.pass(time.Minute)
	p.want(t, unitPLC, "04 0001 0001", "04 02 0002")
}

func TestHighFloatSwitchHasHysteresis(t *testing.T) {
	p := standing()
	for _, x := range []struct {
		level float64
		want  string
	}{{4.79, "02 01 00"}, {4.81, "02 01 01"}, {4.77, "02 01 01"}, {4.74, "02 01 00"}} {
		p.model.level = x.level
		p.pass(100 * time.Millisecond)
		p.want(t, unitPLC, "02 0002 0001", x.want)
	}
}

func TestHydraulicsIsPhysical(t *testing.T) {
	last := -1.0
	for opening := 0.0; opening <= 1.001; opening += 0.05 {
		head, q := hydraulics([2]float64{1, 0}, opening, 2.3)
		if q[0] <= last && opening > 0 || q[1] != 0 || head > shutoffHead {
			t.Fatalf("opening %v: head %v, flows %v after %v", opening, head, q, last)
		}
		last = q[0]
	}
	_, one := hydraulics([2]float64{1, 0}, 1, 2.3)
	_, both := hydraulics([2]float64{1, 1}, 1, 2.3)
	if sum := both[0] + both[1]; sum <= one[0] || sum >= 2*one[0] || sum > 120 || math.Abs(both[0]-both[1]) > 1e-6 {
		t.Errorf("one pump %v, both %v", one, both)
	}
	if _, q := hydraulics([2]float64{0.3, 0}, 1, 2.3); q[0] != 0 {
		t.Errorf("a pump below the static head delivers %v", q)
	}
	if _, q := hydraulics([2]float64{1, 0}, 1, suctionLost); q[0] != 0 {
		t.Errorf("a dry pump delivers %v", q)
	}
	if full, idle := motorPower(1, 65, 27, true), motorPower(1, 0, 8, false); full < 5*idle {
		t.Errorf("power %v kW pumping, %v kW uncoupled", full, idle)
	}
}

func TestWellNeitherOverflowsNorGoesBelowItsFloor(t *testing.T) {
	p := standing()
	p.model.level, p.model.xv, p.model.plc.xvOut = 5.99, 1, true
	p.want(t, unitPLC, "05 0000 FF00", "05 0000 FF00")
	p.pass(time.Minute)
	if v := p.State().Level; v != wellDepth || !p.State().HighLevel {
		t.Errorf("full well at %v m", v)
	}
	p.want(t, unitPLC, "0F 0000 0002 01 02", "0F 0000 0002")
	p.model.level = 0.5
	p.pass(10 * time.Minute)
	if v := p.State().Level; v < 0.2 || v > suctionLost {
		t.Errorf("pumped down to %v m", v)
	}
}
