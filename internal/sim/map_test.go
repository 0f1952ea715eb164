package sim

import (
	"math"
	"testing"
	"time"
)

func TestRegisterMapIsThePlants(t *testing.T) {
	p := standing()
	p.want(t, unitPLC, "04 0001 0002", "04 04 0002 0003") // remote; e-stop healthy, seal water ok
	p.want(t, unitPLC, "04 0014 0001", "04 02 0000")      // echo
	p.want(t, unitPLC, "02 0000 0004", "02 01 02")        // XV-03 closed, nothing else
	p.want(t, unitPLC, "01 0000 0002", "01 01 00")
	p.want(t, unitPLC, "03 0064 0001", "03 02 01C2")      // setpoint 45.0 %
	p.want(t, unitPLC, "03 006E 0002", "03 04 0000 4000") // level setpoint 2.0 m, low word first
	p.want(t, unitPLC, "03 0078 0002", "03 04 0000 0000") // token, watchdog
	p.want(t, unitVFD, "03 0000 0002", "03 04 0000 0FA0") // stopped, 40 Hz
	p.want(t, unitVFD, "04 0000 0004", "04 08 0011 0000 0000 0000")
	p.want(t, unitRelays, "01 0000 0008", "01 01 00")
	p.want(t, unitRelays, "02 0000 0008", "02 01 00")
	if v := p.levelShown(t); !near(v, 2.3, 0.04) {
		t.Errorf("level %v m, want about 2.3", v)
	}
	if v := p.position(t); !near(v, 45, 0.25) {
		t.Errorf("fcv_position %v %%, want about 45", v)
	}
	if v := p.input(t, 12); v > 1 {
		t.Errorf("flow %d, want none", v)
	}
	if v := p.power(t); !near(v, 0.05, 0.02) {
		t.Errorf("power %v kW, want the standby of the drive", v)
	}
	w := p.words(t, unitMeter, 4, 4, 2)
	if v := math.Float32frombits(uint32(w[0])<<16 | uint32(w[1])); !near(float64(v), 400, 2) {
		t.Errorf("voltage %v V", v)
	}
}

func TestWhatTheMapDoesNotNameIsAnException(t *testing.T) {
	p := standing()
	p.want(t, unitPLC, "04 0003 0001", "84 02")
	p.want(t, unitPLC, "04 0000 0004", "84 02") // across the hole
	p.want(t, unitPLC, "04 000E 0007", "84 02")
	p.want(t, unitPLC, "03 0000 0001", "83 02")
	p.want(t, unitPLC, "06 0065 0001", "86 02")
	p.want(t, unitPLC, "01 0002 0001", "81 02")
	p.want(t, unitMeter, "03 0000 0001", "83 02")
	p.want(t, unitRelays, "06 0000 0001", "86 02")
	p.want(t, unitVFD, "06 0001 1389", "86 03") // 50.01 Hz
	p.want(t, unitVFD, "06 0000 0009", "86 03") // reset while run is asked
	if c := p.Counters(); c.Writes != 0 || c.Requests != 10 {
		t.Errorf("counters %+v, want 10 requests and no write", c)
	}
}

func TestRelayBoardIsReadOnlyAsBlockOfEight(t *testing.T) {
	p := standing()
	for _, request := range []string{"01 0000 0001", "01 0001 0008", "02 0000 0002", "02 0000 0009"} {
		if got := p.ask(t, unitRelays, request); got != "8102" && got != "8202" {
			t.Errorf("%s: got %s, want exception 2", request, got)
		}
	}
	p.want(t, unitRelays, "05 0001 FF00", "05 0001 FF00")
	p.want(t, unitRelays, "01 0000 0008", "01 01 02")
	p.pass(100 * time.Millisecond)
	p.want(t, unitRelays, "02 0000 0008", "02 01 02")
	p.want(t, unitRelays, "0F 0000 0002 01 01", "0F 0000 0002")
	p.pass(100 * time.Millisecond)
	p.want(t, unitRelays, "02 0000 0008", "02 01 01")
}

func TestEveryUnitIdentifiesItself(t *testing.T) {
	p := standing()
	// object 1, the product code
	p.want(t, unitPLC, "2B 0E 04 01", "2B 0E 04 82 00 00 01 01 0B 50 53 30 37 2D 50 4C 43 2D 30 31")
	for _, unit := range []byte{unitVFD, unitMeter, unitRelays} {
		if got := p.ask(t, unit, "2B 0E 01 00"); len(got) < 20 || got[:6] != "2b0e01" {
			t.Errorf("unit %d identifies itself as %s", unit, got)
		}
	}
}

func TestLevelInTheWrongWordOrderIsDenormal(t *testing.T) {
	p := standing()
	w := p.words(t, unitPLC, 4, 10, 2)
	swapped := math.Float32frombits(uint32(w[0])<<16 | uint32(w[1]))
	if swapped < 1e-41 || swapped > 3e-41 {
		t.Errorf("level read as ABCD is %v, want about 2e-41", swapped)
	}
}

func TestWritesAreCountedByRegister(t *testing.T) {
	p := standing()
	var events []WriteEvent
	p.OnWrite(func(e WriteEvent) {
		if p.Counters().WritesTo[e.Tag] == 0 {
			t.Errorf("%s is announced before it is counted", e.Tag)
		}
		events = append(events, e)
	})
	p.want(t, unitPLC, "10 0078 0002 04 0007 0000", "10 0078 0002") // two registers in one request
	p.want(t, unitPLC, "10 006E 0002 04 0000 4020", "10 006E 0002") // one value of two words
	p.want(t, unitPLC, "16 0064 0000 01F4", "16 0064 0000 01F4")
	p.want(t, unitPLC, "17 0064 0001 0064 0001 02 0258", "17 02 0258")
	p.want(t, unitVFD, "06 0001 1388", "06 0001 1388")
	c := p.Counters()
	want := map[string]int{"cmd_token": 1, "watchdog": 1, "level_setpoint": 1, "fcv_setpoint": 2, "vfd_speed": 1}
	if c.Writes != 5 || len(c.WritesTo) != len(want) {
		t.Errorf("counters %+v, want 5 writes to %v", c, want)
	}
	for tag, n := range want {
		if c.WritesTo[tag] != n {
			t.Errorf("%s written %d times, want %d", tag, c.WritesTo[tag], n)
		}
	}
	if len(events) != 6 || events[2].Tag != "level_setpoint" || events[2].Address != 110 || len(events[2].Values) != 2 {
		t.Errorf("events %+v", events)
	}
	if s := p.State(); s.LevelSetpoint != 2.5 || s.FCVSetpoint != 60 {
		t.Errorf("state %+v", s)
	}
	p.ResetCounters()
	if c := p.Counters(); c.Requests != 0 || c.Writes != 0 || len(c.WritesTo) != 0 {
		t.Errorf("counters after reset %+v", c)
	}
}
