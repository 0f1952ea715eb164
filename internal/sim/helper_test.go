package sim

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"
)

// standing returns a plant without sockets whose time passes only by pass.
func standing() *Plant {
	return &Plant{
		speed:    1000, // shortens the pauses of slow devices, which pass on the wall's clock
		log:      slog.New(slog.DiscardHandler),
		model:    newModel(rand.New(rand.NewPCG(1, 7))),
		counters: Counters{WritesTo: map[string]int{}},
		moved:    make(chan struct{}),
	}
}

// pass lets the plant's time pass.
func (p *Plant) pass(d time.Duration) {
	for range d / scanPeriod {
		p.model.tick()
	}
}

// ask sends a request PDU in hex to a unit and returns the reply in hex, "" for silence.
func (p *Plant) ask(t *testing.T, unit byte, request string) string {
	t.Helper()
	return hex.EncodeToString(p.request(t.Context(), unit, raw(t, request)))
}

// want asks and expects a reply.
func (p *Plant) want(t *testing.T, unit byte, request, reply string) {
	t.Helper()
	if got, want := p.ask(t, unit, request), hex.EncodeToString(raw(t, reply)); got != want {
		t.Errorf("unit %d, request %s: got %q, want %q", unit, request, got, want)
	}
}

// words reads registers with function 3 or 4.
func (p *Plant) words(t *testing.T, unit, function byte, address, count uint16) []uint16 {
	t.Helper()
	pdu := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16([]byte{function}, address), count)
	reply := p.request(t.Context(), unit, pdu)
	if len(reply) != 2+2*int(count) {
		t.Fatalf("unit %d function %d address %d: reply % X", unit, function, address, reply)
	}
	words := make([]uint16, count)
	for i := range words {
		words[i] = binary.BigEndian.Uint16(reply[2+2*i:])
	}
	return words
}

func (p *Plant) input(t *testing.T, address uint16) uint16 {
	t.Helper()
	return p.words(t, unitPLC, 4, address, 1)[0]
}

// position is what the PLC shows of FCV-04, in percent.
func (p *Plant) position(t *testing.T) float64 { t.Helper(); return float64(p.input(t, 14)) / 10 }

// levelShown is what the PLC shows of the level, in metres.
func (p *Plant) levelShown(t *testing.T) float64 {
	t.Helper()
	w := p.words(t, unitPLC, 4, 10, 2)
	return float64(math.Float32frombits(uint32(w[1])<<16 | uint32(w[0])))
}

// power is what PM-08 shows, in kW.
func (p *Plant) power(t *testing.T) float64 {
	t.Helper()
	w := p.words(t, unitMeter, 4, 0, 2)
	return float64(math.Float32frombits(uint32(w[0])<<16 | uint32(w[1])))
}

// startP01 starts pump 1 as a master with a hold does, and goes on holding for d.
func (p *Plant) startP01(t *testing.T, d time.Duration) {
	t.Helper()
	p.want(t, unitVFD, "06 0000 0001", "06 0000 0001")
	for range d / time.Second {
		p.pass(time.Second)
		p.ask(t, unitVFD, "06 0000 0001")
	}
}

func raw(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatalf("bad hex %q: %v", s, err)
	}
	return b
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

// start starts a real plant that the test stops.
func start(t *testing.T, o Options) *Plant {
	t.Helper()
	p, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return p
}

// await fails the test if the plant does not come to the state within 10 s.
func await(t *testing.T, p *Plant, what string, cond func(State) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := p.Await(ctx, cond); err != nil {
		t.Fatalf("%s: %v; state %+v", what, err, p.State())
	}
}

// client is a Modbus TCP master that composes its frames by hand.
type client struct {
	t    *testing.T
	conn net.Conn
	tid  uint16
}

func dial(t *testing.T, p *Plant) *client {
	t.Helper()
	conn, err := net.Dial("tcp", p.ModbusAddr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &client{t: t, conn: conn}
}

func (c *client) send(unit byte, request string) {
	c.t.Helper()
	c.tid++
	pdu := raw(c.t, request)
	frame := binary.BigEndian.AppendUint16(nil, c.tid)
	frame = append(frame, 0, 0, 0, byte(1+len(pdu)), unit)
	if _, err := c.conn.Write(append(frame, pdu...)); err != nil {
		c.t.Fatal(err)
	}
}

// receive returns the transaction and the PDU of the next reply in hex.
func (c *client) receive() (tid uint16, pdu string) {
	c.t.Helper()
	c.conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	header := make([]byte, 7)
	if _, err := io.ReadFull(c.conn, header); err != nil {
		c.t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint16(header[4:])-1)
	if _, err := io.ReadFull(c.conn, body); err != nil {
		c.t.Fatal(err)
	}
	return binary.BigEndian.Uint16(header), hex.EncodeToString(body)
}

func (c *client) want(unit byte, request, reply string) {
	c.t.Helper()
	c.send(unit, request)
	tid, got := c.receive()
	if want := hex.EncodeToString(raw(c.t, reply)); got != want || tid != c.tid {
		c.t.Errorf("unit %d, request %s: got %s (tid %d), want %s (tid %d)", unit, request, got, tid, want, c.tid)
	}
}
