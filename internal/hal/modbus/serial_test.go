package modbus

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"capd/internal/hal"
	"capd/internal/hal/modbus/faultserver"
	"capd/internal/physical"
	"capd/internal/sim"
)

// TestPlantOnASerialLine reads and commands the demo plant's drive, meter and relay board on their common line.
func TestPlantOnASerialLine(t *testing.T) {
	p, err := sim.Start(t.Context(), sim.Options{Serial: true, Baud: 19200})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c := openRTU(t, "{port: "+p.SerialPath()+", baud: 19200, parity: even, timeout: 2s}",
		"{unit_id: 11}", "{unit_id: 21}", "{unit_id: 31, quirks: {block: 8}}")
	speed := at(t, "{table: holding_register, address: 1, type: uint16}")
	if _, err := c.Write(t.Context(), "A", speed, physical.IntOf(1234)); err != nil {
		t.Fatal(err)
	}
	wantValue(t, read(t, c, speed)[0], "1234")
	volt := readOf(t, c, "B", at(t, "{table: input_register, address: 4, type: float32, byte_order: ABCD}"))[0]
	if v, ok := volt.Value.Number(); !ok || v.LessThan(physical.Whole(380)) || physical.Whole(420).LessThan(v) {
		t.Errorf("voltage: %+v", volt)
	}
	siren := pointOn(t, "{table: coil, address: 1}", "{unit_id: 31, quirks: {block: 8}}", "")
	if _, err := c.Write(t.Context(), "C", siren, physical.FlagOf(true)); err != nil {
		t.Error(err)
	}
	wantValue(t, readOf(t, c, "C", siren)[0], "true")
	wantValue(t, readOf(t, c, "C", pointOn(t, "{table: discrete_input, address: 0}", "{unit_id: 31, quirks: {block: 8}}", ""))[0], "false")
	id, err := c.Identify(t.Context(), 21)
	if err != nil || len(id.Objects) < 3 || id.Objects[0] != (IdentityObject{0, "vendor", "capd demo plant"}) {
		t.Errorf("identity %+v, %v", id, err)
	}
	if err := c.Ping(t.Context(), 11); err != nil {
		t.Error(err)
	}
}

// An adapter is pulled out and put in again: an error meanwhile, and the next call opens the port anew.
func TestAPortThatComesBackIsOpenedAgain(t *testing.T) {
	link := t.TempDir() + "/ttyFIELD"
	master, path := openPTY(t)
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	s := faultserver.StartLine(master, faultserver.Options{Memory: bank()})
	c := openRTU(t, "{port: "+link+", baud: 9600, parity: none, timeout: 2s}", "{unit_id: 1}")
	wantValue(t, read(t, c, at(t, reg1))[0], "101")
	s.Close()
	for range 2 {
		if e := hal.AsError(read(t, c, at(t, reg1))[0].Err); e == nil || e.Kind != hal.Unreachable && e.Kind != hal.Closed {
			t.Errorf("without the adapter: %v", e)
		}
	}
	_, err := c.Write(t.Context(), "A", at(t, reg1), physical.IntOf(1))
	if e := wantKind(t, err, hal.Unreachable); e.MaySent {
		t.Error("a write without a port may have been sent?")
	}
	master, path = openPTY(t)
	again := faultserver.StartLine(master, faultserver.Options{Memory: bank()})
	defer again.Close()
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	wantValue(t, read(t, c, at(t, reg1))[0], "101")
}

func TestAPortInUseNamesItsHolder(t *testing.T) {
	_, path := openPTY(t)
	options := "{port: " + path + ", baud: 9600, parity: none, timeout: 50ms}"
	first, second := openRTU(t, options, "{unit_id: 1}"), openRTU(t, options, "{unit_id: 1}")
	wantKind(t, read(t, first, at(t, reg1))[0].Err, hal.Timeout)
	if e := wantKind(t, read(t, second, at(t, reg1))[0].Err, hal.Unreachable); !strings.Contains(e.Error(), "another link") {
		t.Error(e)
	}
	first.Close()
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip("no flock(1) here")
	}
	holding := exec.Command("flock", path, "-c", "echo locked; read line")
	in, err := holding.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := holding.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holding.Start(); err != nil {
		t.Fatal(err)
	}
	defer holding.Wait()
	defer in.Close()
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	if e := wantKind(t, read(t, second, at(t, reg1))[0].Err, hal.Unreachable); !strings.Contains(e.Error(), "in use by flock (process ") {
		t.Error(e)
	}
}

func TestWhatIsNoSerialPortIsRefused(t *testing.T) {
	for _, port := range []string{"/dev/null", "/dev/does-not-exist", t.TempDir()} {
		c := openRTU(t, "{port: "+port+", baud: 9600, parity: even}", "{unit_id: 1}")
		if e := wantKind(t, read(t, c, at(t, reg1))[0].Err, hal.Unreachable); !strings.Contains(e.Error(), port) || e.MaySent {
			t.Error(e)
		}
	}
}

// The settings arrive at the kernel: any speed, and the line passes bytes as they are.
func TestThePortIsSetUp(t *testing.T) {
	_, path := openPTY(t)
	p, err := openPort(linkSettings{port: path, baud: 12345, parity: parityEven, stopBits: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	err = p.control(func(fd int) error {
		tio, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
		if errors.Is(err, unix.ENOTTY) {
			t.Skip("an emulator without termios2 runs this test")
		}
		if err != nil {
			return err
		}
		if tio.Ospeed != 12345 || tio.Ispeed != 12345 || tio.Lflag&(unix.ICANON|unix.ECHO) != 0 || tio.Oflag&unix.OPOST != 0 || tio.Cflag&unix.CSTOPB == 0 || tio.Cflag&unix.CLOCAL == 0 {
			t.Errorf("%+v", tio)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openPort(linkSettings{port: path, baud: 9600, rs485: &rs485{rtsOnSend: true}}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("opened twice: %v", err)
	}
	p.Close()
	if _, err := openPort(linkSettings{port: path, baud: 9600, rs485: &rs485{}}); err == nil || !strings.Contains(err.Error(), "rs485") {
		t.Errorf("a pseudo-terminal turns a line around: %v", err)
	}
}

func TestLinkOptionsOfASerialPort(t *testing.T) {
	good := "port: /dev/ttyS1, baud: 19200, parity: even"
	for _, c := range []struct{ options, problem string }{
		{"{" + good + "}", ""},
		{"{" + good + ", stop_bits: 2, timeout: 300ms, turnaround: 0s, rs485: {rts_on_send: false, delay_before_send: 1ms, delay_after_send: 2ms}}", ""},
		{"{port: /dev/ttyS1, baud: 7812, parity: odd}", ""},
		{"{}", `"port" is missing`},
		{"{port: /dev/ttyS1, baud: 9600}", `"parity" is missing`},
		{"{port: ttyS1, baud: 9600, parity: none}", "absolute path"},
		{"{port: /dev/ttyS1, baud: 9600, parity: mark}", "parity"},
		{"{port: /dev/ttyS1, baud: 10, parity: none}", "from 50 to"},
		{"{" + good + ", stop_bits: 3}", "from 1 to 2"},
		{"{" + good + ", rs485: {delay_before_send: 1500us}}", "whole milliseconds"},
		{"{" + good + ", endpoint: a}", "endpoint"},
		{"{" + good + ", idle_close: 1m}", "idle_close"},
	} {
		ps := New().CheckLink(hal.LinkSpec{ID: "L", Transport: "modbus_rtu", Options: node(t, c.options)})
		if c.problem == "" && len(ps) > 0 || c.problem != "" && (ps.Err() == nil || !strings.Contains(ps.Error(), c.problem)) {
			t.Errorf("%s: %v", c.options, ps)
		}
	}
}

func TestUnitsOfALine(t *testing.T) {
	for unit, rule := range map[string]string{"0": "broadcast_unit", "1": "", "247": "", "248": "reserved_unit"} {
		device := hal.DeviceSpec{ID: "D", Options: node(t, "{unit_id: "+unit+"}")}
		for _, transport := range []string{"modbus_rtu", "modbus_rtu_over_tcp"} {
			ps := New().CheckDevice(hal.LinkSpec{Transport: transport}, device)
			if rule == "" && len(ps) > 0 || rule != "" && (len(ps) != 1 || ps[0].Rule != rule || !ps[0].Warning) {
				t.Errorf("unit %s: %v", unit, ps)
			}
		}
		if ps := New().CheckDevice(hal.LinkSpec{Transport: "modbus_tcp"}, device); len(ps) > 0 {
			t.Errorf("unit %s over TCP: %v", unit, ps)
		}
	}
}

// libmodbus 372 and 550, minimalmodbus 95, mbusd 61: nobody answers a broadcast, and the line rests after it.
func TestABroadcastIsNotAnswered(t *testing.T) {
	b := bank().Set(0, faultserver.HoldingRegisters, 1, 0)
	c, s := line(t, faultserver.Options{Memory: b}, "{unit_id: 0}", "{unit_id: 1}")
	started := time.Now()
	ack, err := c.Write(t.Context(), "A", at(t, reg1), physical.IntOf(7))
	if err != nil || string(ack.Raw) != "\x00\x07" {
		t.Fatalf("%+v %v", ack, err)
	}
	if took := time.Since(started); took < 20*time.Millisecond {
		t.Errorf("the line rests for %v", took)
	}
	wantValue(t, readOf(t, c, "B", at(t, reg1))[0], "101") // the server has a memory of its own for unit 0
	if w := b.Writes(); len(w) != 1 || w[0].Unit != 0 || w[0].Value != 7 {
		t.Errorf("executed %v", w)
	}
	if e := wantKind(t, read(t, c, at(t, reg1))[0].Err, hal.BadAddress); e.MaySent || s.Requests() != 2 {
		t.Errorf("a broadcast is read: %v, %d requests", e, s.Requests())
	}
}

// edgex 685, thingsboard 905: many callers, one request on the line at a time.
func TestManyCallersShareALine(t *testing.T) {
	c, _ := line(t, faultserver.Options{Memory: bank()}, "{unit_id: 1}", "{unit_id: 2}")
	link := hal.NewLink("L", c, hal.LinkOptions{})
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			device, want := []string{"A", "B"}[i%2], []string{"101", "201"}[i%2]
			for range 5 {
				wantValue(t, link.Read(t.Context(), device, []hal.Address{at(t, reg1)})[0], want)
			}
		})
	}
	all.Wait()
	if err := link.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// telegraf 9253, eModbus 337 and 223: a unit that hears nothing for a while after it, or another unit, has answered.
func TestAUnitThatNeedsSilenceBeforeItsRequests(t *testing.T) {
	var mu sync.Mutex
	var last time.Time
	c, _ := line(t, faultserver.Options{Memory: bank(), Next: func(r faultserver.Request) faultserver.Fault {
		mu.Lock()
		defer mu.Unlock()
		since := time.Since(last)
		last = time.Now()
		if r.Unit == 2 && since < 10*time.Millisecond {
			return faultserver.Swallow
		}
		return faultserver.None
	}}, "{unit_id: 1}", "{unit_id: 2, timeout: 500ms, quirks: {min_gap: 100ms}}")
	for range 3 {
		wantValue(t, read(t, c, at(t, reg1))[0], "101")
		wantValue(t, readOf(t, c, "B", at(t, reg1))[0], "201")
		wantValue(t, readOf(t, c, "B", at(t, reg1))[0], "201")
	}
}

// A unit that is away costs the others its own time-out now and then, and nothing else.
func TestADeadUnitOnALineDelaysNoOther(t *testing.T) {
	c, _ := line(t, faultserver.Options{Memory: bank(), Next: func(r faultserver.Request) faultserver.Fault {
		if r.Unit == 2 {
			return faultserver.Swallow
		}
		return faultserver.None
	}}, "{unit_id: 1}", "{unit_id: 2, timeout: 700ms}")
	for range 2 { // after the second time it is taken for dead, no longer for late
		wantKind(t, readOf(t, c, "B", at(t, reg1))[0].Err, hal.Timeout)
		wantValue(t, read(t, c, at(t, reg1))[0], "101")
	}
	wantKind(t, readOf(t, c, "B", at(t, reg1))[0].Err, hal.Timeout)
	started := time.Now()
	wantValue(t, read(t, c, at(t, reg1))[0], "101")
	if took := time.Since(started); took > 600*time.Millisecond {
		t.Errorf("its neighbour waited %v", took)
	}
}

// An answer that comes long after its time is never taken for that of a later request of the same form.
func TestAVeryLateAnswerIsNotMistakenOnALine(t *testing.T) {
	for way, make := range serial() {
		t.Run(way, func(t *testing.T) {
			var fault trap
			c, _ := make(t, faultserver.Options{Memory: bank(), Next: fault.next, Late: 350 * time.Millisecond}, quick1, "{unit_id: 2}")
			wantValue(t, patiently(t, c, at(t, reg1)), "101")
			fault.set(faultserver.DelayedReply)
			wantKind(t, read(t, c, at(t, reg1))[0].Err, hal.Timeout)
			for range 3 {
				if got := read(t, c, at(t, "{table: holding_register, address: 5, type: uint16}"))[0]; got.Err == nil {
					wantValue(t, got, "105")
				}
			}
			wantValue(t, patiently(t, c, at(t, "{table: holding_register, address: 5, type: uint16}")), "105")
		})
	}
}

// The line returns what is sent on it: learned from reads, so that a returned write is not taken for its acknowledgement.
func TestAnEchoIsLearned(t *testing.T) {
	b := bank()
	c, _ := line(t, faultserver.Options{Memory: b, Next: func(r faultserver.Request) faultserver.Fault { return faultserver.Echo }}, quick1)
	wantValue(t, patiently(t, c, at(t, reg1)), "101")
	if _, err := c.Write(t.Context(), "A", at(t, reg1), physical.IntOf(7)); err != nil {
		t.Error(err)
	}
	wantValue(t, patiently(t, c, at(t, reg1)), "7")
}
