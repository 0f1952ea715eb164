package modbus

import (
	"slices"
	"testing"

	"capd/internal/hal"
	"capd/internal/hal/modbus/faultserver"
)

// named is a device with an identification of two parts.
type named struct {
	faultserver.Memory
	basicOnly bool
	spoil     func([]byte) []byte
}

func (n named) Execute(unit byte, pdu []byte) []byte {
	if pdu[0] != 43 {
		return n.Memory.Execute(unit, pdu)
	}
	object := func(id byte, text string) []byte { return append([]byte{id, byte(len(text))}, text...) }
	reply := []byte{43, 14, pdu[2], 0x82, 0, 0, 0}
	switch {
	case n.basicOnly && pdu[2] > 1:
		return []byte{0xAB, 3}
	case pdu[3] == 0:
		reply[4], reply[5], reply[6] = 0xFF, 2, 2
		reply = slices.Concat(reply, object(0, "Acme"), object(1, "P\x00\xFF1"))
	default:
		reply[6] = 1
		reply = append(reply, object(2, "1.0")...)
	}
	if n.spoil != nil {
		return n.spoil(reply)
	}
	return reply
}

func TestADeviceSaysWhoItIs(t *testing.T) {
	want := []IdentityObject{{0, "vendor", "Acme"}, {1, "product_code", "P1"}, {2, "revision", "1.0"}}
	tcp := func(t testing.TB, o faultserver.Options, devices ...string) (*conn, *faultserver.Server) {
		s := serve(t, o)
		return open(t, s.Addr(), devices...), s
	}
	for name, make := range map[string]func(testing.TB, faultserver.Options, ...string) (*conn, *faultserver.Server){"tcp": tcp, "line": line, "gateway": gateway} {
		for _, basicOnly := range []bool{false, true} {
			c, _ := make(t, faultserver.Options{Memory: named{Memory: bank(), basicOnly: basicOnly}}, "{unit_id: 7}")
			id, err := c.Identify(t.Context(), 1)
			if err != nil || id.Conformity != 0x82 || !slices.Equal(id.Objects, want) {
				t.Errorf("%s: %+v, %v", name, id, err)
			}
		}
	}
}

func TestADeviceThatDoesNotSayWhoItIs(t *testing.T) {
	c := open(t, serve(t, faultserver.Options{Memory: bank()}).Addr())
	_, err := c.Identify(t.Context(), 1)
	wantKind(t, err, hal.Exception)
	if err := c.Ping(t.Context(), 9); err != nil { // refuses, so it is there
		t.Error(err)
	}
	for name, spoil := range map[string]func([]byte) []byte{
		"endless":  func(b []byte) []byte { b[4], b[5] = 0xFF, 0; return b },
		"short":    func(b []byte) []byte { return b[:len(b)-1] },
		"longer":   func(b []byte) []byte { return append(b, 0) },
		"no count": func(b []byte) []byte { return b[:6] },
		"another":  func(b []byte) []byte { b[2]++; return b },
	} {
		c := open(t, serve(t, faultserver.Options{Memory: named{Memory: bank(), spoil: spoil}}).Addr())
		if _, err := c.Identify(t.Context(), 1); hal.AsError(err) == nil || hal.AsError(err).Kind != hal.Protocol {
			t.Errorf("%s: %v", name, err)
		}
	}
	c = open(t, serve(t, faultserver.Options{Memory: bank(), Next: script(faultserver.GatewayTarget)}).Addr())
	wantKind(t, c.Ping(t.Context(), 1), hal.Gateway)
}
