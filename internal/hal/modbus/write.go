package modbus

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"capd/internal/hal"
	"capd/internal/physical"
)

// command is one write request, ready to send.
type command struct {
	fc      byte
	address uint16
	count   uint16 // of a multiple write
	value   uint16 // of a single write; the bits to set of a masked one
	keep    uint16 // the bits that a masked write leaves alone
	data    []byte // of a multiple write
	modify  bool   // the register is read first, and value is put between the bits in keep
}

// command makes the write of a canonical raw value to this address as the device wants it.
func (a *address) command(d *device, raw []byte) command {
	c := command{address: uint16(a.start), count: uint16(a.count)}
	switch {
	case a.table == coil:
		c.fc, c.data = d.coilFC, raw
		c.value = 0xFF00 * uint16(raw[0])
	case a.part != whole:
		c.value, c.keep = a.bits(raw)
		c.modify = !d.maskWrite
		c.fc = fcMaskWriteRegister
		if c.modify {
			c.fc = d.writeFC
		}
	case a.count == 1:
		c.fc, c.data = d.writeFC, a.registers(raw)
		c.value = binary.BigEndian.Uint16(c.data)
	default:
		c.fc, c.data = fcWriteMultipleRegisters, a.registers(raw)
		if d.writeFC == fcReadWriteRegisters {
			c.fc = fcReadWriteRegisters
		}
	}
	return c
}

// bits are what a part of a register becomes, and which bits stay.
func (a *address) bits(raw []byte) (value, keep uint16) {
	mask := uint16(1)
	if a.part != oneBit {
		mask = 0xFF
	}
	return uint16(raw[0]) << a.shift(), ^(mask << a.shift())
}

// filled is a read-modify-write with the register's present content put in.
func (c command) filled(present uint16) command {
	c.value |= present & c.keep
	c.data = binary.BigEndian.AppendUint16(nil, c.value)
	return c
}

// request is the command as goburrow's client sends it.
func (c command) request(x *transaction) ([]byte, error) {
	client := x.client()
	switch c.fc {
	case fcWriteSingleCoil:
		return client.WriteSingleCoil(c.address, c.value)
	case fcWriteSingleRegister:
		return client.WriteSingleRegister(c.address, c.value)
	case fcWriteMultipleCoils:
		return client.WriteMultipleCoils(c.address, c.count, c.data)
	case fcMaskWriteRegister:
		return client.MaskWriteRegister(c.address, c.keep, c.value)
	case fcReadWriteRegisters:
		return client.ReadWriteMultipleRegisters(c.address, c.count, c.address, c.count, c.data)
	default:
		return client.WriteMultipleRegisters(c.address, c.count, c.data)
	}
}

// Write implements hal.Conn. The request goes out once, whatever happens to it.
func (c *conn) Write(ctx context.Context, id string, at hal.Address, raw physical.Value) (hal.Ack, error) {
	op := "write " + at.String()
	dev, a, value, err := c.prepare(id, at, raw)
	if err != nil {
		return hal.Ack{}, &hal.Error{Kind: hal.BadAddress, Device: id, Op: op, Err: err}
	}
	if dev.closeAfter {
		defer c.ch.drop()
	}
	cmd := a.command(dev, value)
	if cmd.modify {
		b := dev.blockOf([]atom{{table: a.table, from: a.start, to: a.start + a.count}})
		present, _, err := c.again(ctx, dev, b.request())
		if err != nil { // only a read went out
			return hal.Ack{}, halError(&wireError{err.kind, fmt.Errorf("reading the register first: %w", err.err)}, false, id, op)
		}
		cmd = cmd.filled(binary.BigEndian.Uint16(present[2*(a.start-b.from):]))
	}
	_, t, failed := c.once(ctx, dev, cmd.request)
	if failed != nil {
		return hal.Ack{}, halError(failed, t.maySent, id, op)
	}
	return hal.Ack{Raw: value, Started: t.started, At: t.ended}, nil
}

// prepare finds the device and makes the canonical raw value. Errors mean that nothing can be sent.
func (c *conn) prepare(id string, at hal.Address, raw physical.Value) (*device, *address, []byte, error) {
	a, ok := at.(*address)
	dev := c.devices[id]
	switch {
	case !ok:
		return nil, nil, nil, errForeign
	case dev == nil:
		return nil, nil, nil, errNoDevice
	}
	if err := a.writable(dev.settings); err != nil {
		return nil, nil, nil, err
	}
	value, err := a.Encode(raw)
	return dev, a, value, err
}

// writable is nil when the address can be written on a device with these settings.
func (a *address) writable(s settings) error {
	switch {
	case a.table == discreteInput:
		return fmt.Errorf("a %s can only be read; remove access, or write table: %s if the device has it there too", a.table, coil)
	case a.table == inputRegister:
		return fmt.Errorf("an %s can only be read; remove access, or write table: %s if the device has it there too", a.table, holdingRegister)
	case a.scaled:
		return fmt.Errorf("a point with a scale register can only be read; remove access, or write scale: instead of scale_register and let a permit hold the scale register to it")
	case a.typ.class == classMoment:
		return fmt.Errorf("a point of type %s can only be read; remove access", a.typ.name)
	case a.count > s.maxWrite():
		return fmt.Errorf("%d registers cannot be written at once, only %d", a.count, s.maxWrite())
	case a.part != whole && !s.maskWrite && !a.rmw:
		return fmt.Errorf("a part of a register is written with function 22 (mask_write: true on the device, if it supports it) or by reading and " +
			"rewriting the register (rmw: true in at, if nothing else writes the register)")
	default:
		return nil
	}
}

// maxWrite is the largest number of registers of one write (MODBUS Application Protocol Specification V1.1b3, 6.12, 6.17).
func (s settings) maxWrite() int {
	if s.writeFC == fcReadWriteRegisters {
		return 121
	}
	return 123
}

// Preview implements hal.Previewer: function, unit, place and value, then the frame with transaction number 0. It may be called
// while the connection is in use.
func (c *conn) Preview(id string, at hal.Address, raw physical.Value) (string, error) {
	dev, a, value, err := c.prepare(id, at, raw)
	if err != nil {
		return "", &hal.Error{Kind: hal.BadAddress, Device: id, Op: "preview " + at.String(), Err: err}
	}
	cmd := a.command(dev, value)
	text := cmd.describe(dev.unit)
	if cmd.modify {
		return text, nil
	}
	return fmt.Sprintf("%s | % X", text, c.ch.framing.bare(dev.unit, cmd.pdu())), nil
}

func (c command) describe(unit byte) string {
	text := fmt.Sprintf("FC%02d %s unit %d address %d ", c.fc, functionName(c.fc), unit, c.address)
	switch {
	case c.modify:
		return fmt.Sprintf("FC03 read_holding_registers unit %d address %d, then %sbits %04X set to %04X", unit, c.address, text, ^c.keep, c.value)
	case c.fc == fcMaskWriteRegister:
		return text + fmt.Sprintf("and 0x%04X or 0x%04X", c.keep, c.value)
	case c.fc == fcWriteMultipleRegisters || c.fc == fcReadWriteRegisters:
		var values []string
		for i := 0; i < len(c.data); i += 2 {
			values = append(values, fmt.Sprintf("0x%04X", binary.BigEndian.Uint16(c.data[i:])))
		}
		return text + "values " + strings.Join(values, " ")
	case c.fc == fcWriteMultipleCoils:
		return text + fmt.Sprintf("values %d", c.data[0])
	default:
		return text + fmt.Sprintf("value 0x%04X", c.value)
	}
}

// pdu is the request's content as goburrow builds it.
func (c command) pdu() []byte {
	pdu := binary.BigEndian.AppendUint16([]byte{c.fc}, c.address)
	switch c.fc {
	case fcMaskWriteRegister:
		pdu = binary.BigEndian.AppendUint16(pdu, c.keep)
		return binary.BigEndian.AppendUint16(pdu, c.value)
	case fcReadWriteRegisters:
		pdu = binary.BigEndian.AppendUint16(pdu, c.count)
		pdu = binary.BigEndian.AppendUint16(pdu, c.address)
		fallthrough
	case fcWriteMultipleCoils, fcWriteMultipleRegisters:
		pdu = binary.BigEndian.AppendUint16(pdu, c.count)
		return append(append(pdu, byte(len(c.data))), c.data...)
	default:
		return binary.BigEndian.AppendUint16(pdu, c.value)
	}
}
