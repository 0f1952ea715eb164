package modbusd

import (
	"context"
	"encoding/hex"
	"strings"
	"testing"
)

// ram is a device with 16 addresses in each table; address 9 does not exist, and holding register 8 is broken.
type ram struct {
	words [4][16]uint16
}

func newRAM() *ram {
	r := &ram{}
	for i := range 16 {
		r.words[Coil][i] = uint16(i) & 1
		r.words[DiscreteInput][i] = uint16(i+1) & 1
		r.words[InputRegister][i] = 0x1000 + uint16(i)
		r.words[HoldingRegister][i] = 0x2000 + uint16(i)
	}
	return r
}

func (r *ram) Read(t Table, address uint16, count int) ([]uint16, error) {
	if err := r.exists(address, count); err != nil {
		return nil, err
	}
	return append([]uint16(nil), r.words[t][address:int(address)+count]...), nil
}

func (r *ram) Write(t Table, address uint16, values []uint16) error {
	if err := r.exists(address, len(values)); err != nil {
		return err
	}
	if t == HoldingRegister && address == 8 {
		return context.DeadlineExceeded
	}
	copy(r.words[t][address:], values)
	return nil
}

func (r *ram) Objects() []string { return []string{"capd", "ram", "1.0", "", "a ram"} }

func (r *ram) exists(address uint16, count int) error {
	if end := int(address) + count; end > 16 || int(address) <= 9 && end > 9 {
		return IllegalAddress
	}
	return nil
}

// device serves unit 1 from a ram; unit 2 is silent.
type device struct{ ram *ram }

func (d device) Serve(_ context.Context, unit byte, pdu []byte) []byte {
	if unit == 2 {
		return nil
	}
	req, err := Decode(pdu)
	var reply []byte
	if err == nil {
		reply, err = Execute(d.ram, req)
	}
	if err != nil {
		return Refuse(pdu, err)
	}
	return reply
}

// raw reads bytes written as hex with spaces.
func raw(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatalf("bad hex %q: %v", s, err)
	}
	return b
}
