package faultserver

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
)

// The tables, by the function that reads them.
const (
	Coils            = 1
	DiscreteInputs   = 2
	HoldingRegisters = 3
	InputRegisters   = 4
)

// Write is one executed write of one coil or register.
type Write struct {
	Unit    byte
	Table   int
	Address int
	Value   uint16
}

// store is what both memories need of a request's target: a value to read and the right to write.
type store interface {
	read(unit byte, table, address int) (uint16, bool)
	write(w Write) bool
}

// execute runs a PDU on a store (MODBUS Application Protocol Specification V1.1b3, section 6). limit bounds the registers of a read.
func execute(s store, unit byte, pdu []byte, limit int) []byte {
	if len(pdu) < 5 {
		return refuse(pdu[0], 3)
	}
	address, second := int(binary.BigEndian.Uint16(pdu[1:])), binary.BigEndian.Uint16(pdu[3:])
	switch fc := pdu[0]; fc {
	case 1, 2:
		return readBits(s, unit, fc, address, int(second))
	case 3, 4:
		return readRegisters(s, unit, fc, address, int(second), limit)
	case 5:
		return writeAll(s, pdu, []Write{{unit, Coils, address, second >> 15}})
	case 6:
		return writeAll(s, pdu, []Write{{unit, HoldingRegisters, address, second}})
	case 15, 16:
		return writeMany(s, unit, pdu, address, int(second))
	case 22:
		old, ok := s.read(unit, HoldingRegisters, address)
		if !ok || len(pdu) != 7 {
			return refuse(fc, 2)
		}
		or := binary.BigEndian.Uint16(pdu[5:])
		return writeAll(s, pdu, []Write{{unit, HoldingRegisters, address, old&second | or&^second}})
	case 23:
		if len(pdu) < 10 {
			return refuse(fc, 3)
		}
		write := append([]byte{16}, pdu[5:]...)
		to, count := binary.BigEndian.Uint16(pdu[5:]), binary.BigEndian.Uint16(pdu[7:])
		if done := writeMany(s, unit, write, int(to), int(count)); done[0] != 16 {
			return refuse(fc, done[1])
		}
		out := readRegisters(s, unit, HoldingRegisters, address, int(second), limit)
		out[0] = fc | out[0]&0x80
		return out
	default:
		return refuse(fc, 1)
	}
}

func refuse(fc, code byte) []byte { return []byte{fc | 0x80, code} }

func readBits(s store, unit, fc byte, address, count int) []byte {
	if count < 1 || count > 2000 {
		return refuse(fc, 3)
	}
	out := make([]byte, 2+(count+7)/8)
	out[0], out[1] = fc, byte(len(out)-2)
	for i := range count {
		v, ok := s.read(unit, int(fc), address+i)
		if !ok {
			return refuse(fc, 2)
		}
		out[2+i/8] |= byte(v&1) << (i % 8)
	}
	return out
}

func readRegisters(s store, unit, fc byte, address, count, limit int) []byte {
	if count < 1 || count > limit {
		return refuse(fc, 3)
	}
	out := []byte{fc, byte(2 * count)}
	for i := range count {
		v, ok := s.read(unit, int(fc), address+i)
		if !ok {
			return refuse(fc, 2)
		}
		out = binary.BigEndian.AppendUint16(out, v)
	}
	return out
}

func writeMany(s store, unit byte, pdu []byte, address, count int) []byte {
	if len(pdu) < 6 || len(pdu) != 6+int(pdu[5]) {
		return refuse(pdu[0], 3)
	}
	var ws []Write
	for i := range count {
		w := Write{Unit: unit, Table: HoldingRegisters, Address: address + i}
		switch {
		case pdu[0] == 15 && i/8 < len(pdu)-6:
			w.Table, w.Value = Coils, uint16(pdu[6+i/8]>>(i%8)&1)
		case pdu[0] == 16 && 2*i+1 < len(pdu)-6:
			w.Value = binary.BigEndian.Uint16(pdu[6+2*i:])
		default:
			return refuse(pdu[0], 3)
		}
		ws = append(ws, w)
	}
	return writeAll(s, pdu[:5], ws)
}

// writeAll executes writes and echoes the request, or refuses.
func writeAll(s store, echo []byte, ws []Write) []byte {
	for _, w := range ws {
		if !s.write(w) {
			return refuse(echo[0], 2)
		}
	}
	return append([]byte(nil), echo...)
}

// Bank is memory that a test fills. Only addresses that were set exist.
type Bank struct {
	Limit int // registers of one read; 0 means 125

	mu     sync.Mutex
	cells  map[cell]uint16
	writes []Write
}

type cell struct {
	unit    byte
	table   int
	address int
}

// Set fills consecutive addresses of one unit's table.
func (b *Bank) Set(unit byte, table, address int, values ...uint16) *Bank {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cells == nil {
		b.cells = map[cell]uint16{}
	}
	for i, v := range values {
		b.cells[cell{unit, table, address + i}] = v
	}
	return b
}

// Get is the content of one address.
func (b *Bank) Get(unit byte, table, address int) uint16 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cells[cell{unit, table, address}]
}

// Writes are the executed writes in order.
func (b *Bank) Writes() []Write {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Write(nil), b.writes...)
}

// Execute implements Memory.
func (b *Bank) Execute(unit byte, pdu []byte) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	limit := b.Limit
	if limit == 0 {
		limit = 125
	}
	return execute(b, unit, pdu, limit)
}

func (b *Bank) read(unit byte, table, address int) (uint16, bool) {
	v, ok := b.cells[cell{unit, table, address}]
	return v, ok
}

func (b *Bank) write(w Write) bool {
	k := cell{w.Unit, w.Table, w.Address}
	if _, ok := b.cells[k]; !ok {
		return false
	}
	b.cells[k] = w.Value
	b.writes = append(b.writes, w)
	return true
}

// Oracle is memory in which every value tells its unit, table, address and the moment it was read, so that a test can prove that a
// value is the right one and no older than the question. Writes change nothing and are only remembered.
type Oracle struct {
	seq    atomic.Uint64 // executed requests
	mu     sync.Mutex
	writes []Write
}

// Seq is the number of requests executed so far.
func (o *Oracle) Seq() uint64 { return o.seq.Load() }

// Writes are the executed writes in order.
func (o *Oracle) Writes() []Write {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]Write(nil), o.writes...)
}

// Moment is the low 16 bits of the sequence number at which a register held a value, if the value is of that register.
func Moment(unit byte, table, address int, value uint16) uint16 {
	return value - tag(unit, table, address)
}

// Bit is what a coil or discrete input holds at a sequence number.
func Bit(unit byte, table, address int, seq uint64) bool {
	word := tag(unit, table, address/16) + uint16(seq)
	return word>>(address%16)&1 == 1
}

func tag(unit byte, table, address int) uint16 {
	return uint16(address)*0x9E37 + uint16(unit)*0x85EB + uint16(table)*0xC2B3
}

// Execute implements Memory.
func (o *Oracle) Execute(unit byte, pdu []byte) []byte {
	o.seq.Add(1)
	return execute(o, unit, pdu, 125)
}

func (o *Oracle) read(unit byte, table, address int) (uint16, bool) {
	if table == Coils || table == DiscreteInputs {
		if Bit(unit, table, address, o.seq.Load()) {
			return 1, true
		}
		return 0, true
	}
	return tag(unit, table, address) + uint16(o.seq.Load()), true
}

func (o *Oracle) write(w Write) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writes = append(o.writes, w)
	return true
}
