package modbusd

import (
	"encoding/binary"
	"errors"
)

// Memory is the data of one unit. Addresses are zero-based and bits are the values 0 and 1. Errors are Exceptions; any other
// error is answered as DeviceFailure. The caller of Execute keeps other requests out of the same Memory, so that
// functions 22 and 23 are atomic.
type Memory interface {
	// Read returns count values from address on.
	Read(table Table, address uint16, count int) ([]uint16, error)
	// Write stores all values from address on, or none.
	Write(table Table, address uint16, values []uint16) error
	// Objects returns the device identification, the object id being the index: vendor name, product code, revision, and so on.
	Objects() []string
}

// Execute carries out a decoded request and returns the reply PDU. The error is the Exception to answer.
func Execute(m Memory, r Request) ([]byte, error) {
	switch r.Function {
	case ReadCoils, ReadDiscreteInputs:
		return readBits(m, r)
	case ReadHoldingRegisters, ReadInputRegisters:
		return readWords(m, r)
	case WriteSingleCoil, WriteSingleRegister, WriteMultipleCoils, WriteMultipleRegisters:
		return write(m, r)
	case MaskWriteRegister:
		return mask(m, r)
	case ReadWriteRegisters:
		return readWrite(m, r)
	case EncapsulatedInterface:
		return deviceID(m.Objects(), r)
	}
	return nil, IllegalFunction
}

// Refuse returns the exception reply to a request PDU.
func Refuse(pdu []byte, err error) []byte {
	var e Exception
	if !errors.As(err, &e) {
		e = DeviceFailure
	}
	function := byte(0)
	if len(pdu) > 0 {
		function = pdu[0]
	}
	return []byte{function | exceptionBit, byte(e)}
}

func readBits(m Memory, r Request) ([]byte, error) {
	values, err := read(m, r.Table, r.Address, r.Count)
	if err != nil {
		return nil, err
	}
	reply := make([]byte, 2+(r.Count+7)/8)
	reply[0], reply[1] = r.Function, byte(len(reply)-2)
	for i, v := range values {
		reply[2+i/8] |= byte(v&1) << (i % 8)
	}
	return reply, nil
}

func readWords(m Memory, r Request) ([]byte, error) {
	values, err := read(m, r.Table, r.Address, r.Count)
	if err != nil {
		return nil, err
	}
	reply := append(make([]byte, 0, 2+2*len(values)), r.Function, byte(2*len(values)))
	for _, v := range values {
		reply = binary.BigEndian.AppendUint16(reply, v)
	}
	return reply, nil
}

func write(m Memory, r Request) ([]byte, error) {
	if err := checkSpan(r.WriteAddress, len(r.Values)); err != nil {
		return nil, err
	}
	if err := m.Write(r.Table, r.WriteAddress, r.Values); err != nil {
		return nil, err
	}
	second := uint16(len(r.Values))
	switch r.Function {
	case WriteSingleRegister:
		second = r.Values[0]
	case WriteSingleCoil:
		second = r.Values[0] * 0xFF00
	}
	return echo(r.Function, r.WriteAddress, second), nil
}

func mask(m Memory, r Request) ([]byte, error) {
	old, err := m.Read(HoldingRegister, r.WriteAddress, 1)
	if err != nil {
		return nil, err
	}
	value := old[0]&r.And | r.Or&^r.And
	if err := m.Write(HoldingRegister, r.WriteAddress, []uint16{value}); err != nil {
		return nil, err
	}
	return echo(r.Function, r.WriteAddress, r.And, r.Or), nil
}

// readWrite writes first and reads then (section 6.17). A read span that does not exist is refused before anything is written.
func readWrite(m Memory, r Request) ([]byte, error) {
	if _, err := read(m, HoldingRegister, r.Address, r.Count); err != nil {
		return nil, err
	}
	if _, err := write(m, r); err != nil {
		return nil, err
	}
	return readWords(m, r)
}

func read(m Memory, table Table, address uint16, count int) ([]uint16, error) {
	if err := checkSpan(address, count); err != nil {
		return nil, err
	}
	return m.Read(table, address, count)
}

func checkSpan(address uint16, count int) error {
	if int(address)+count > 1<<16 {
		return IllegalAddress
	}
	return nil
}

func echo(function byte, words ...uint16) []byte {
	reply := append(make([]byte, 0, 1+2*len(words)), function)
	for _, w := range words {
		reply = binary.BigEndian.AppendUint16(reply, w)
	}
	return reply
}
