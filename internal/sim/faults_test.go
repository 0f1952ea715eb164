package sim

import (
	"math"
	"strings"
	"testing"
	"time"
)

const (
	ask60 = "06 0064 0258"
	ask30 = "06 0064 012C"
)

// faulty returns a standing plant with a fault on.
func faulty(t *testing.T, id string) *Plant {
	t.Helper()
	p := standing()
	p.set(t, id)
	return p
}

func (p *Plant) set(t *testing.T, id string) {
	t.Helper()
	if err := p.SetFault(id); err != nil {
		t.Fatal(err)
	}
}

func TestF1InletValveStaysShut(t *testing.T) {
	p := faulty(t, "F1")
	p.want(t, unitPLC, "05 0000 FF00", "05 0000 FF00")
	p.pass(20 * time.Second)
	p.want(t, unitPLC, "02 0000 0002", "02 01 02")
	p.ClearFaults()
	p.pass(9 * time.Second)
	p.want(t, unitPLC, "02 0000 0002", "02 01 01")
}

func TestF2DischargeValveSticksOnItsWay(t *testing.T) {
	p := faulty(t, "F2")
	p.want(t, unitPLC, ask60, ask60) // not by 37: free
	p.pass(5 * time.Second)
	if v := p.State().FCVPosition; v != 60 {
		t.Errorf("asked 60 it stands at %v", v)
	}
	for _, request := range []string{ask30, ask60} {
		p.want(t, unitPLC, request, request)
		p.pass(20 * time.Second)
		if v := p.position(t); !near(v, 37, 0.25) {
			t.Errorf("position %v, want stuck at 37", v)
		}
	}
	p.ClearFaults()
	p.pass(10 * time.Second)
	if v := p.State().FCVPosition; v != 60 {
		t.Errorf("freed it stands at %v, want 60", v)
	}
}

func TestF3ReplyIsLostAfterTheWrite(t *testing.T) {
	p := faulty(t, "F3")
	announced := 0
	p.OnWrite(func(WriteEvent) { announced++ })
	p.want(t, unitPLC, "03 0064 0001", "03 02 01C2") // reads go on
	p.want(t, unitPLC, "06 0078 0001", "06 0078 0001")
	p.want(t, unitPLC, ask60, "")
	p.want(t, unitPLC, "03 0064 0001", "03 02 0258")
	if n := p.Counters().WritesTo["fcv_setpoint"]; n != 1 || announced != 2 {
		t.Errorf("counted %d, announced %d", n, announced)
	}
	p.want(t, unitPLC, ask30, ask30) // it strikes once
	p.pass(10 * time.Second)
	if v := p.State().FCVPosition; v != 30 {
		t.Errorf("position %v", v)
	}
}

func TestF4WriteIsLostBeforeThePLC(t *testing.T) {
	p := faulty(t, "F4")
	p.OnWrite(func(e WriteEvent) { t.Errorf("announced %+v", e) })
	p.want(t, unitPLC, "03 0064 0001", "03 02 01C2")
	p.want(t, unitPLC, ask60, "")
	p.want(t, unitPLC, "03 0064 0001", "03 02 01C2")
	if c := p.Counters(); c.Writes != 0 || c.Requests != 2 {
		t.Errorf("counters %+v", c)
	}
	p.OnWrite(nil)
	p.want(t, unitPLC, ask60, ask60)
}

func TestF5BrokenCouplingRunsWithoutFlow(t *testing.T) {
	p := faulty(t, "F5")
	p.startP01(t, 20*time.Second)
	p.want(t, unitVFD, "04 0000 0002", "04 04 001B 0FA0")
	if flow, kW := p.input(t, 12), p.power(t); flow > 1 || kW > 1 || kW < 0.2 {
		t.Errorf("flow %d, power %v kW", flow, kW)
	}
}

func TestF6aLevelIsNaN(t *testing.T) {
	p := faulty(t, "F6a")
	if v := p.levelShown(t); !math.IsNaN(v) {
		t.Errorf("level %v", v)
	}
	p.ClearFaults()
	if v := p.levelShown(t); !near(v, 2.3, 0.04) {
		t.Errorf("cleared: level %v", v)
	}
}

func TestF6bLevelStandsStillWhileTheWellEmpties(t *testing.T) {
	p := faulty(t, "F6b")
	shown := p.levelShown(t)
	p.want(t, unitPLC, "05 0001 FF00", "05 0001 FF00")
	for range 60 {
		p.pass(5 * time.Second)
		if p.levelShown(t) != shown {
			t.Fatal("the frozen level moved")
		}
	}
	if v := p.State().Level; v > 2.1 {
		t.Errorf("the well is at %v m, want it pumped down", v)
	}
}

func TestF8SelectorIsInLocal(t *testing.T) {
	p := faulty(t, "F8")
	p.want(t, unitPLC, "04 0001 0001", "04 02 0001") // at once
	if p.State().Selector != ModeLocal {
		t.Error("selector not in local")
	}
	p.ClearFaults()
	p.want(t, unitPLC, "04 0001 0001", "04 02 0002")
}

func TestF9BusIsDeadAndThePumpStops(t *testing.T) {
	p := standing()
	p.startP01(t, 10*time.Second)
	p.set(t, "F9")
	for _, unit := range []byte{unitVFD, unitMeter, unitRelays} {
		p.want(t, unit, "04 0000 0001", "")
	}
	p.want(t, unitVFD, "06 0000 0001", "")
	p.want(t, unitPLC, "03 0064 0001", "03 02 01C2")
	p.pass(15 * time.Second)
	if p.State().P01Running {
		t.Error("P-01 runs on without its master")
	}
}

func TestF11AnotherClientComesAfterThirtySeconds(t *testing.T) {
	p := faulty(t, "F11")
	p.pass(time.Minute)
	p.want(t, unitPLC, ask60, ask60)
	p.pass(29 * time.Second)
	if v := p.State().FCVPosition; v != 60 {
		t.Errorf("before: position %v", v)
	}
	p.pass(5 * time.Second)
	p.want(t, unitPLC, "03 0064 0001", "03 02 01C2")
	if v := p.State().FCVPosition; v != 45 || p.Counters().Writes != 1 {
		t.Errorf("after: position %v, counters %+v", v, p.Counters())
	}
	p.want(t, unitPLC, ask60, ask60) // it strikes once
	p.pass(time.Minute)
	if v := p.State().FCVPosition; v != 60 {
		t.Errorf("it came again: position %v", v)
	}
}

func TestF11IsCancelledByClearing(t *testing.T) {
	p := faulty(t, "F11")
	p.want(t, unitPLC, ask60, ask60)
	p.ClearFaults()
	p.pass(time.Minute)
	if v := p.State().FCVSetpoint; v != 60 {
		t.Errorf("setpoint %v", v)
	}
}

func TestF12SirenHasNoCurrent(t *testing.T) {
	p := faulty(t, "F12")
	p.want(t, unitRelays, "0F 0000 0002 01 03", "0F 0000 0002")
	p.pass(time.Second)
	p.want(t, unitRelays, "01 0000 0008", "01 01 03")
	p.want(t, unitRelays, "02 0000 0008", "02 01 01")
}

func TestF16FlowDriftsAgainstPower(t *testing.T) {
	p := faulty(t, "F16")
	p.want(t, unitPLC, "05 0000 FF00", "05 0000 FF00") // inflow holds the level up
	p.startP01(t, 20*time.Minute)
	var sum float64
	for range 100 {
		p.ask(t, unitVFD, "06 0000 0001")
		p.pass(100 * time.Millisecond)
		sum += float64(p.input(t, 12)) / 10
	}
	if ratio := sum / 100 / p.State().Flow; !near(ratio, 1.04, 0.005) {
		t.Errorf("after 20 min FIT-07 shows %v of the flow, want 1.04", ratio)
	}
}

func TestF17PLCTakesItsTime(t *testing.T) {
	p := faulty(t, "F17")
	p.speed = 10
	start := time.Now()
	p.want(t, unitPLC, ask60, ask60)
	if d := time.Since(start); d < 90*time.Millisecond || d > time.Second {
		t.Errorf("answered after %v, want 900 ms by 10", d)
	}
	start = time.Now()
	p.want(t, unitVFD, "03 0000 0001", "03 02 0000")
	if d := time.Since(start); d > 85*time.Millisecond {
		t.Errorf("another unit answered after %v", d)
	}
}

func TestF20StartVanishesWithTheBus(t *testing.T) {
	p := faulty(t, "F20")
	p.want(t, unitVFD, "06 0001 1388", "06 0001 1388")
	p.want(t, unitVFD, "06 0000 0001", "")
	p.want(t, unitVFD, "04 0000 0001", "")
	p.pass(3 * time.Second)
	if !p.State().P01Running || p.Counters().WritesTo["vfd_control"] != 1 {
		t.Error("the VFD did not take the command")
	}
}

func TestF21aStoppedPLCAnswersFromItsFrozenImage(t *testing.T) {
	p := faulty(t, "F21a")
	beat := p.input(t, 0)
	p.pass(time.Minute)
	if p.input(t, 0) != beat || p.State().PLCRunning {
		t.Error("the PLC runs")
	}
	p.ClearFaults()
	p.pass(time.Second)
	if p.input(t, 0) == beat {
		t.Error("the PLC did not go on")
	}
}

func TestF21bPLCStopsRightAfterTheWrite(t *testing.T) {
	p := faulty(t, "F21b")
	beat, position := p.input(t, 0), p.input(t, 14)
	p.want(t, unitPLC, ask60, ask60)
	p.pass(time.Minute)
	if s := p.State(); s.PLCRunning || s.FCVPosition != 60 {
		t.Errorf("state %+v: the valve should have moved under a stopped PLC", s)
	}
	if p.input(t, 0) != beat || p.input(t, 14) != position {
		t.Error("the image moved")
	}
	p.want(t, unitPLC, "03 0064 0001", "03 02 0258")
	p.ClearFaults()
	if !p.State().PLCRunning || !near(p.position(t), 60, 0.25) {
		t.Error("the PLC did not go on")
	}
}

func TestF24ValveHuntsAroundItsTarget(t *testing.T) {
	p := faulty(t, "F24")
	p.want(t, unitPLC, ask60, ask60)
	p.pass(5 * time.Second)
	low, high, swings, above := 100.0, 0.0, 0, false
	for range 300 {
		p.pass(100 * time.Millisecond)
		v := p.position(t)
		low, high = min(low, v), max(high, v)
		switch {
		case v > 62 && !above:
			above = true
			swings++
		case v < 58:
			above = false
		}
	}
	if !near(low, 56, 0.4) || !near(high, 64, 0.4) || swings != 10 {
		t.Errorf("between %v and %v, %d swings in 30 s", low, high, swings)
	}
}

func TestMarkersOfTheRegisterMap(t *testing.T) {
	p := faulty(t, "X1")
	p.want(t, unitPLC, "04 000E 0001", "04 02 8000")
	p.set(t, "X2")
	p.want(t, unitMeter, "04 0000 0006", "04 0C 7FC00000 7FC00000 7FC00000")
	p.set(t, "X3")
	p.set(t, "X5")
	p.set(t, "X6")
	p.want(t, unitPLC, "04 0002 0001", "04 02 000D")
}

func TestUnknownFaultNamesTheKnownOnes(t *testing.T) {
	err := standing().SetFault("F99")
	if err == nil || !strings.Contains(err.Error(), `"F99"`) || !strings.Contains(err.Error(), "F21b") {
		t.Errorf("error %v", err)
	}
}

func TestEveryListedFaultCanBeSetAndCleared(t *testing.T) {
	p := standing()
	seen := map[string]bool{}
	for _, f := range p.Faults() {
		if seen[f.ID] || f.Title == "" || f.What == "" || f.Active {
			t.Errorf("%+v", f)
		}
		seen[f.ID] = true
		p.set(t, f.ID)
	}
	for _, f := range p.Faults() {
		if !f.Active {
			t.Errorf("%s is not active", f.ID)
		}
	}
	p.pass(10 * time.Second)
	p.ClearFaults()
	for _, f := range p.Faults() {
		if f.Active {
			t.Errorf("%s is still active", f.ID)
		}
	}
	p.pass(10 * time.Second)
	p.want(t, unitPLC, "04 0001 0002", "04 04 0002 0003")
	p.want(t, unitVFD, "04 0000 0001", "04 02 0011")
	p.want(t, unitPLC, ask60, ask60)
}

func TestFaultThatStruckIsNoLongerActive(t *testing.T) {
	p := standing()
	for _, id := range []string{"F3", "F4", "F22"} {
		p.set(t, id)
		p.want(t, unitPLC, ask60, "")
		for _, f := range p.Faults() {
			if f.Active {
				t.Errorf("%s is active after %s struck", f.ID, id)
			}
		}
	}
}

func TestResetIsTheStartStateWithTheCountersKept(t *testing.T) {
	p := standing()
	p.want(t, unitPLC, ask60, ask60)
	p.want(t, unitPLC, "0F 0000 0002 01 03", "0F 0000 0002")
	p.startP01(t, 20*time.Second)
	p.set(t, "F21a")
	before := p.State()
	p.Reset()
	s := p.State()
	if s.FCVPosition != 45 || s.FCVSetpoint != 45 || s.Level != 2.3 || !s.ZSC || s.P01Running || s.P02Running || !s.PLCRunning {
		t.Errorf("state %+v", s)
	}
	if s.Heartbeat != before.Heartbeat || s.Time != before.Time || p.Counters().WritesTo["fcv_setpoint"] != 1 {
		t.Errorf("heartbeat, time or counters were lost: %+v %+v", s, p.Counters())
	}
	p.pass(time.Minute)
	if s := p.State(); s.FCVPosition != 45 || s.Flow != 0 || s.Heartbeat == before.Heartbeat {
		t.Errorf("a minute later %+v", s)
	}
}
