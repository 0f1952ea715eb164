package field_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"capd/internal/document"
	"capd/internal/field"
	"capd/internal/hal"
	"capd/internal/hal/modbus"
	"capd/internal/inventory"
	"capd/internal/physical"
)

// plc is a Modbus TCP server of one table of registers that knows functions 3, 4 and 6.
type plc struct {
	mu        sync.Mutex
	registers [256]uint16
	requests  int
}

func (p *plc) serve(t *testing.T) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.talk(c) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return l.Addr().String()
}

func (p *plc) talk(c net.Conn) {
	defer c.Close()
	request := make([]byte, 12)
	for {
		if _, err := io.ReadFull(c, request); err != nil {
			return
		}
		body := p.answer(request[7], binary.BigEndian.Uint16(request[8:]), binary.BigEndian.Uint16(request[10:]))
		reply := append([]byte(nil), request[:7]...)
		binary.BigEndian.PutUint16(reply[4:], uint16(len(body)+1))
		if _, err := c.Write(append(reply, body...)); err != nil {
			return
		}
	}
}

func (p *plc) answer(function byte, at, n uint16) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	switch {
	case function == 6 && int(at) < len(p.registers):
		p.registers[at] = n
		return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16([]byte{6}, at), n)
	case (function == 3 || function == 4) && int(at+n) <= len(p.registers):
		body := []byte{function, byte(2 * n)}
		for _, r := range p.registers[at : at+n] {
			body = binary.BigEndian.AppendUint16(body, r)
		}
		return body
	}
	return []byte{function | 0x80, 2}
}

func TestAModbusPLC(t *testing.T) {
	p := &plc{}
	p.registers[14], p.registers[15], p.registers[16] = 457, 0x8000, 2
	f := field.New(slog.New(slog.DiscardHandler), field.Options{})
	if err := f.Apply(t.Context(), bind(t, p.serve(t))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	got := f.Read(t.Context(), []string{"V.position", "V.flow", "V.mode", "V.missing"})
	if r := got["V.position"]; !r.Good() || r.Value.String() != "45.7" || r.Unit != "%" || r.RawHex() != "01c9" {
		t.Errorf("position %+v", r)
	}
	if r := got["V.flow"]; r.Cause != physical.CauseInvalid || !r.Value.IsZero() {
		t.Errorf("flow %+v", r)
	}
	if r := got["V.mode"]; !r.Good() || r.Value.String() != "remote" {
		t.Errorf("mode %+v", r)
	}
	if r := got["V.missing"]; r.Cause != physical.CauseWire || !strings.Contains(r.Detail, "exception") {
		t.Errorf("missing %+v", r)
	}
	before := p.requests
	f.Read(t.Context(), []string{"V.position", "V.flow", "V.mode"})
	if n := p.requests - before; n != 1 {
		t.Errorf("three neighbours took %d requests", n)
	}
	writeAndReadBack(t, f)
}

func writeAndReadBack(t *testing.T, f *field.Field) {
	t.Helper()
	value := physical.FloatOf(60.5)
	frame, err := f.Preview("V.setpoint", value)
	if err != nil || frame == "" {
		t.Errorf("preview %q, %v", frame, err)
	}
	want, err := f.Encode("V.setpoint", value)
	if err != nil {
		t.Fatal(err)
	}
	ack, err := f.Write(t.Context(), "V.setpoint", value)
	if err != nil || string(ack.Raw) != string(want) {
		t.Errorf("acknowledged %x, %v; encoded %x", ack.Raw, err, want)
	}
	if r := f.Read(t.Context(), []string{"V.setpoint"})["V.setpoint"]; string(r.Raw) != string(want) || r.Value.String() != "60.5" {
		t.Errorf("read back %+v", r)
	}
	_, err = f.Write(t.Context(), "V.setpoint", physical.FloatOf(6553.6))
	if e := hal.AsError(err); e == nil || e.Kind != hal.BadAddress || e.MaySent {
		t.Errorf("beyond the register: %v", err)
	}
}

func TestAPLCThatIsNotThereIsOffline(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Fatal(err)
	}
	f := field.New(slog.New(slog.DiscardHandler), field.Options{})
	if err := f.Apply(t.Context(), bind(t, address)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if r := f.Read(ctx, []string{"V.position"})["V.position"]; r.Cause != physical.CauseOffline || !strings.Contains(r.Detail, "unreachable") {
		t.Errorf("got %+v", r)
	}
	if err := f.Close(ctx); err != nil {
		t.Error(err)
	}
}

func bind(t *testing.T, address string) *field.Binding {
	t.Helper()
	node, ps := document.Parse("plant.yaml", []byte(`
inventory: capd/v1
links: {NET: {transport: modbus_tcp, endpoint: "`+address+`"}}
devices: {PLC: {link: NET, unit_id: 1}}
assets:
  V:
    device: PLC
    points:
      setpoint: {at: {table: holding_register, address: 100, type: uint16}, scale: 0.1, unit: "%", role: setpoint, access: read_write}
      position: {at: {table: input_register, address: 14, type: uint16}, scale: 0.1, unit: "%", role: feedback}
      flow: {at: {table: input_register, address: 15, type: uint16}, role: process, invalid: [0x8000]}
      mode: {at: {table: input_register, address: 16, type: uint16}, labels: {1: local, 2: remote}, role: status}
      missing: {at: {table: input_register, address: 300, type: uint16}, role: status}
`))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	inv, ps := inventory.Parse(node)
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	b, ps := field.Bind(inv, []hal.Driver{modbus.New()})
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	return b
}
