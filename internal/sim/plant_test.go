package sim

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"capd/internal/sim/modbusd"

	"golang.org/x/sys/unix"
)

func TestPlantMovesOnRealSockets(t *testing.T) {
	p := start(t, Options{Speed: 50})
	c := dial(t, p)
	c.want(unitPLC, ask60, ask60)
	await(t, p, "valve at 60", func(s State) bool { return s.FCVPosition == 60 })
	c.want(unitPLC, "05 0000 FF00", "05 0000 FF00")
	await(t, p, "inlet open", func(s State) bool { return s.ZSO })
	await(t, p, "flow", func(s State) bool {
		c.want(unitVFD, "06 0000 0001", "06 0000 0001") // held, as the drive wants it
		return s.Flow > 20
	})
	await(t, p, "stop by silence", func(s State) bool { return !s.P01Running })
	c.want(unitRelays, "05 0000 FF00", "05 0000 FF00")
	if s := p.State(); !s.Beacon || s.Siren {
		t.Errorf("state %+v", s)
	}
}

func TestPlantTimeFollowsSpeed(t *testing.T) {
	p := start(t, Options{Speed: 20})
	await(t, p, "first tick", func(s State) bool { return s.Time > 0 })
	from, began := p.State().Time, time.Now()
	await(t, p, "20 s", func(s State) bool { return s.Time >= from+20 })
	if took := time.Since(began); took < 500*time.Millisecond || took > 5*time.Second {
		t.Errorf("20 s of the plant took %v at speed 20", took)
	}
}

func TestUnknownUnitIsAGatewayException(t *testing.T) {
	c := dial(t, start(t, Options{}))
	for _, unit := range []byte{0, 2, 247, 255} {
		c.want(unit, "03 0064 0001", "83 0B")
	}
	c.want(unitPLC, "03 0064 0001", "03 02 01C2")
}

func TestLostReplyLeavesTheConnectionUsable(t *testing.T) {
	p := start(t, Options{Speed: 50})
	p.set(t, "F3")
	c := dial(t, p)
	c.send(unitPLC, ask60)
	c.want(unitPLC, "03 0064 0001", "03 02 0258") // the only reply is that of the read
}

func TestWriteIsAnnouncedBeforeItsReplyLeaves(t *testing.T) {
	p := start(t, Options{})
	c := dial(t, p)
	announced, release := make(chan WriteEvent), make(chan struct{})
	p.OnWrite(func(e WriteEvent) { announced <- e; <-release })
	c.send(unitPLC, ask60)
	e := <-announced
	if e.Tag != "fcv_setpoint" || e.Unit != 1 || e.Table != modbusd.HoldingRegister || e.Address != 100 || e.Values[0] != 600 {
		t.Errorf("event %+v", e)
	}
	if n := p.Counters().WritesTo["fcv_setpoint"]; n != 1 || p.State().FCVSetpoint != 60 {
		t.Errorf("announced before execution: counted %d, %+v", n, p.State())
	}
	dial(t, p).want(unitPLC, "03 0064 0001", "03 02 0258") // others are served meanwhile
	c.conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if n, err := c.conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes (%v) left before the announcement ended", n, err)
	}
	close(release)
	if _, pdu := c.receive(); pdu != "0600640258" {
		t.Errorf("reply %s", pdu)
	}
}

func TestSlowPLCDoesNotHoldUpClose(t *testing.T) {
	p, err := Start(t.Context(), Options{Speed: 0.001}) // 900 s
	if err != nil {
		t.Fatal(err)
	}
	p.set(t, "F17")
	c := dial(t, p)
	c.send(unitPLC, "03 0064 0001")
	began := time.Now()
	if err := p.Close(); err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("close: %v after %v", err, time.Since(began))
	}
	if err := p.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if _, err := net.Dial("tcp", p.ModbusAddr()); err == nil {
		t.Error("the gateway still listens")
	}
}

func TestPlantEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, err := Start(ctx, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, p)
	cancel()
	c.conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("connection after the end: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestImpossibleOptionsAreRefused(t *testing.T) {
	p := start(t, Options{})
	for name, o := range map[string]Options{
		"negative speed": {Speed: -1},
		"speed too high": {Speed: 1001},
		"infinite speed": {Speed: math.Inf(1)},
		"no speed":       {Speed: math.NaN()},
		"negative baud":  {Baud: -1},
		"address":        {ListenModbus: "nowhere"},
		"taken port":     {ListenModbus: p.ModbusAddr()},
	} {
		if q, err := Start(t.Context(), o); err == nil {
			q.Close()
			t.Errorf("%s: started", name)
		}
	}
}

func TestPlantIsSafeForManyClientsAndAnOperator(t *testing.T) {
	p := start(t, Options{Speed: 100})
	var all sync.WaitGroup
	for range 4 {
		c := dial(t, p)
		all.Go(func() {
			for i := range 100 {
				c.want(unitPLC, "03 006E 0002", "03 04 0000 4000")
				if i%10 == 0 {
					c.want(unitPLC, "06 0078 0001", "06 0078 0001")
				}
			}
		})
	}
	all.Go(func() {
		for range 50 {
			p.SetSelector(ModeLocal)
			p.SetFault("F6a")
			p.Faults()
			p.State()
			p.Reset()
		}
	})
	all.Wait()
	if n := p.Counters().WritesTo["cmd_token"]; n != 40 {
		t.Errorf("counted %d writes, want 40", n)
	}
}

// openLine opens the plant's serial line as a master does.
func openLine(t *testing.T, p *Plant) *os.File {
	t.Helper()
	f, err := os.OpenFile(p.SerialPath(), os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// exchange sends a frame and expects another.
func exchange(t *testing.T, line *os.File, unit byte, request, reply string) {
	t.Helper()
	want := modbusd.AppendFrame(nil, unit, raw(t, reply))
	if _, err := line.Write(modbusd.AppendFrame(nil, unit, raw(t, request))); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	line.SetReadDeadline(time.Now().Add(5 * time.Second))
	if n, err := io.ReadFull(line, got); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("unit %d, request %s: got % X (%v), want % X", unit, request, got[:n], err, want)
	}
}

func silent(t *testing.T, line *os.File, unit byte, request string) {
	t.Helper()
	line.Write(modbusd.AppendFrame(nil, unit, raw(t, request)))
	line.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := line.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("unit %d answered (%v)", unit, err)
	}
}

func TestFieldDevicesAnswerOnTheSerialLine(t *testing.T) {
	p := start(t, Options{Serial: true})
	line := openLine(t, p)
	exchange(t, line, unitVFD, "03 0000 0002", "03 04 0000 0FA0")
	exchange(t, line, unitVFD, "06 0001 0D0A", "06 0001 0D0A") // CR and LF pass as they are
	exchange(t, line, unitRelays, "01 0000 0008", "01 01 00")
	exchange(t, line, unitMeter, "03 0000 0001", "83 02")
	silent(t, line, unitPLC, "03 0064 0001")
	silent(t, line, 99, "03 0064 0001")
	silent(t, line, 0, "06 0001 1111") // broadcast
	exchange(t, line, unitVFD, "03 0001 0001", "03 02 1111")

	c := dial(t, p)
	c.want(unitPLC, "03 0064 0001", "03 02 01C2")
	c.want(unitVFD, "03 0000 0001", "83 0B")
	p.set(t, "F9")
	silent(t, line, unitVFD, "03 0001 0001")
}

func TestSerialLineOutlivesItsMasters(t *testing.T) {
	p := start(t, Options{Serial: true})
	for range 3 {
		line := openLine(t, p)
		exchange(t, line, unitVFD, "03 0001 0001", "03 02 0FA0")
		line.Close()
	}
}

func TestPacedSerialLineIsAsSlowAsItsWire(t *testing.T) {
	p := start(t, Options{Serial: true, Baud: 19200})
	line := openLine(t, p)
	began := time.Now()
	for range 5 {
		exchange(t, line, unitVFD, "03 0000 0002", "03 04 0000 0FA0")
	}
	wire := 5 * (8 + 9 + 3) * 11 * time.Second / 19200
	if took := time.Since(began); took < wire || took > 2*time.Second {
		t.Errorf("5 exchanges took %v, the wire needs %v", took, wire)
	}
}

func TestMastersSeeTheEndOfTheSerialLine(t *testing.T) {
	p, err := Start(t.Context(), Options{Serial: true})
	if err != nil {
		t.Fatal(err)
	}
	line := openLine(t, p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	line.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := line.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read after the end: %v", err)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add(uint8(1), []byte{3, 0, 100, 0, 1})
	f.Add(uint8(1), []byte{6, 0, 100, 2, 88})
	f.Add(uint8(11), []byte{23, 0, 0, 0, 2, 0, 0, 0, 2, 4, 0, 1, 15, 160})
	f.Add(uint8(31), []byte{15, 0, 0, 0, 8, 1, 255})
	p := standing()
	g := gateway{plant: p, units: []byte{unitPLC, unitVFD, unitMeter, unitRelays}}
	f.Fuzz(func(t *testing.T, unit uint8, pdu []byte) {
		if len(pdu) == 0 || len(pdu) > 253 {
			return
		}
		reply := g.Serve(t.Context(), unit, pdu)
		if len(reply) < 2 || len(reply) > 253 || reply[0]&0x7F != pdu[0]&0x7F {
			t.Fatalf("unit %d: % X was answered % X", unit, pdu, reply)
		}
		p.pass(100 * time.Millisecond)
	})
}
