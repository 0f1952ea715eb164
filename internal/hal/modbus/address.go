package modbus

import (
	"fmt"
	"slices"

	"capd/internal/hal"
	"capd/internal/physical"
)

// table is one of the four address spaces of a device (MODBUS Application Protocol Specification V1.1b3, 4.3).
type table uint8

const (
	coil table = iota + 1
	discreteInput
	inputRegister
	holdingRegister
)

func tableNames() []string {
	return []string{"coil", "discrete_input", "input_register", "holding_register"}
}

func (t table) String() string { return tableNames()[t-1] }

// bits reports whether the table holds single bits.
func (t table) bits() bool { return t == coil || t == discreteInput }

func (t table) readFunction() byte {
	switch t {
	case coil:
		return fcReadCoils
	case discreteInput:
		return fcReadDiscreteInputs
	case inputRegister:
		return fcReadInputRegisters
	default:
		return fcReadHoldingRegisters
	}
}

// part is what a point occupies of its registers.
type part uint8

const (
	whole part = iota
	oneBit
	highByte
	lowByte
)

// address is a point's place. It never changes.
type address struct {
	table   table
	start   int // zero-based
	count   int // registers, or 1 bit of a bit table
	typ     dataType
	size    int // bytes of the canonical raw value
	order   order
	part    part
	text    textFormat
	bit     int // when part is oneBit: 0 is the least significant bit of the register in canonical order
	rmw     bool
	invalid [][]byte // canonical raw values that mean "no value"
	scaled  bool
	scale   int    // when scaled: the register whose content is the exponent of ten of the value, read in the same request
	group   string // addresses of one group are read in the same request; "" for none
}

var _ hal.Address = (*address)(nil)

// String implements hal.Address: "holding_register 100 uint16", "input_register 2 bit 0", "coil 5".
func (a *address) String() string {
	text := fmt.Sprintf("%s %d", a.table, a.start)
	switch {
	case a.table.bits():
		return text
	case a.part == oneBit:
		return fmt.Sprintf("%s bit %d", text, a.bit)
	}
	text += " " + a.typ.name
	switch {
	case a.part == highByte:
		text += " high"
	case a.part == lowByte:
		text += " low"
	case a.typ.class == classText:
		text += fmt.Sprintf(" of %d bytes", a.size)
	}
	if a.order != (order{}) {
		text += " " + a.order.name()
	}
	if a.scaled {
		text += fmt.Sprintf(" scaled by %d", a.scale)
	}
	return text
}

// span is what has to be read for the point: its addresses, and those between them and the scale register.
func (a *address) span() (from, to int) {
	from, to = a.start, a.start+a.count
	if a.scaled {
		from, to = min(from, a.scale), max(to, a.scale+1)
	}
	return from, to
}

// Kind implements hal.Address.
func (a *address) Kind() physical.Kind { return a.typ.kind() }

// Integer implements hal.Address.
func (a *address) Integer() bool {
	switch a.typ.class {
	case classUnsigned, classSigned, classBCD:
		return !a.scaled
	default:
		return false
	}
}

// Encode implements hal.Address.
func (a *address) Encode(raw physical.Value) ([]byte, error) {
	switch {
	case a.scaled:
		return nil, fmt.Errorf("what a value means depends on the scale register %d, which the device may change, so it cannot be written", a.scale)
	case a.typ.class == classText:
		return a.text.encode(raw, a.size)
	default:
		return a.typ.encode(raw, a.size)
	}
}

// Overlaps implements hal.Address. A single bit is a view of its register, not an overlap with a point that is the whole register;
// two points on the same registers that read them differently do overlap.
func (a *address) Overlaps(other hal.Address) bool {
	b, ok := other.(*address)
	if !ok || !a.Shares(b) || a.part == oneBit || b.part == oneBit {
		return false
	}
	aFrom, aTo := a.extent()
	bFrom, bTo := b.extent()
	return aFrom != bFrom || aTo != bTo || a.typ != b.typ || a.order != b.order
}

// extent is what the point occupies, in bits of its table.
func (a *address) extent() (from, to int) {
	if a.table.bits() {
		return a.start, a.start + 1
	}
	from = 16 * a.start
	switch a.part {
	case oneBit:
		return from + a.shift(), from + a.shift() + 1
	case highByte, lowByte:
		return from + a.shift(), from + a.shift() + 8
	default:
		return from, from + 16*a.count
	}
}

// shift is how far the point's bits stand from the register's least significant one, as the register travels.
func (a *address) shift() int {
	s := a.bit
	if a.part == highByte {
		s = 8
	}
	if a.order.swapBytes {
		s ^= 8
	}
	return s
}

// canonical takes the point's raw value out of its registers as they came. It may be a part of them.
func (a *address) canonical(registers []byte) []byte {
	word := uint16(registers[0])<<8 | uint16(registers[1])
	switch a.part {
	case oneBit:
		return bitOf(byte(word >> a.shift()))
	case highByte, lowByte:
		return []byte{byte(word >> a.shift())}
	}
	raw := registers
	if a.order != (order{}) {
		raw = slices.Clone(registers)
		a.order.apply(raw)
	}
	return a.text.take(raw)[:a.size:a.size]
}

// bitOf is the lowest bit as a raw value.
func bitOf(b byte) []byte { return []byte{b & 1} }

// registers arranges a canonical raw value of a whole point for sending.
func (a *address) registers(raw []byte) []byte {
	out := make([]byte, 2*a.count)
	a.text.put(out, raw)
	a.order.apply(out)
	return out
}
