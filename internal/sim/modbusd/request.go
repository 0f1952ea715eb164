package modbusd

import "encoding/binary"

// Request is a decoded request. Which fields count depends on Function.
type Request struct {
	Function byte
	Table    Table // the table read or written

	Address uint16 // first address read
	Count   int    // bits or registers read, at least 1

	WriteAddress uint16   // first address written
	Values       []uint16 // what is written; bits as 0 and 1
	And, Or      uint16   // masks of function 22

	DeviceIDCode byte // access of function 43/14: 1 basic, 2 regular, 3 extended, 4 one object
	ObjectID     byte // first object of function 43/14
}

// Writes tells whether the request changes the device.
func (r Request) Writes() bool { return len(r.Values) > 0 || r.Function == MaskWriteRegister }

// Decode reads a request PDU. The error is always an Exception: IllegalFunction for a function the server does not know, IllegalValue for a length,
// quantity, byte count or coil value that the application protocol 1.1b3 forbids (section 6).
func Decode(pdu []byte) (Request, error) {
	if len(pdu) == 0 {
		return Request{}, IllegalFunction
	}
	body := pdu[1:]
	switch pdu[0] {
	case ReadCoils:
		return decodeRead(pdu[0], body, Coil, 2000)
	case ReadDiscreteInputs:
		return decodeRead(pdu[0], body, DiscreteInput, 2000)
	case ReadHoldingRegisters:
		return decodeRead(pdu[0], body, HoldingRegister, 125)
	case ReadInputRegisters:
		return decodeRead(pdu[0], body, InputRegister, 125)
	case WriteSingleCoil, WriteSingleRegister:
		return decodeWriteOne(pdu[0], body)
	case WriteMultipleCoils:
		return decodeWriteCoils(body)
	case WriteMultipleRegisters:
		return decodeWriteRegisters(body)
	case MaskWriteRegister:
		return decodeMask(body)
	case ReadWriteRegisters:
		return decodeReadWrite(body)
	case EncapsulatedInterface:
		return decodeDeviceID(body)
	}
	return Request{}, IllegalFunction
}

func decodeRead(function byte, body []byte, table Table, limit int) (Request, error) {
	if len(body) != 4 {
		return Request{}, IllegalValue
	}
	count := int(word(body, 2))
	if count < 1 || count > limit {
		return Request{}, IllegalValue
	}
	return Request{Function: function, Table: table, Address: word(body, 0), Count: count}, nil
}

func decodeWriteOne(function byte, body []byte) (Request, error) {
	if len(body) != 4 {
		return Request{}, IllegalValue
	}
	value, table := word(body, 2), HoldingRegister
	if function == WriteSingleCoil {
		if value != 0 && value != 0xFF00 {
			return Request{}, IllegalValue
		}
		value, table = value>>15, Coil
	}
	return Request{Function: function, Table: table, WriteAddress: word(body, 0), Values: []uint16{value}}, nil
}

func decodeWriteCoils(body []byte) (Request, error) {
	if len(body) < 5 {
		return Request{}, IllegalValue
	}
	count, data := int(word(body, 2)), body[5:]
	if count < 1 || count > 1968 || int(body[4]) != (count+7)/8 || len(data) != int(body[4]) {
		return Request{}, IllegalValue
	}
	values := make([]uint16, count)
	for i := range values {
		values[i] = uint16(data[i/8]>>(i%8)) & 1
	}
	return Request{Function: WriteMultipleCoils, Table: Coil, WriteAddress: word(body, 0), Values: values}, nil
}

func decodeWriteRegisters(body []byte) (Request, error) {
	if len(body) < 5 {
		return Request{}, IllegalValue
	}
	values, err := decodeWords(int(word(body, 2)), 123, body[4], body[5:])
	return Request{Function: WriteMultipleRegisters, Table: HoldingRegister, WriteAddress: word(body, 0), Values: values}, err
}

func decodeMask(body []byte) (Request, error) {
	if len(body) != 6 {
		return Request{}, IllegalValue
	}
	return Request{
		Function: MaskWriteRegister, Table: HoldingRegister,
		WriteAddress: word(body, 0), And: word(body, 2), Or: word(body, 4),
	}, nil
}

func decodeReadWrite(body []byte) (Request, error) {
	if len(body) < 9 {
		return Request{}, IllegalValue
	}
	count := int(word(body, 2))
	if count < 1 || count > 125 {
		return Request{}, IllegalValue
	}
	values, err := decodeWords(int(word(body, 6)), 121, body[8], body[9:])
	return Request{
		Function: ReadWriteRegisters, Table: HoldingRegister,
		Address: word(body, 0), Count: count, WriteAddress: word(body, 4), Values: values,
	}, err
}

func decodeDeviceID(body []byte) (Request, error) {
	if len(body) == 0 || body[0] != meiDeviceID {
		return Request{}, IllegalFunction
	}
	if len(body) != 3 || body[1] < 1 || body[1] > individualAccess {
		return Request{}, IllegalValue
	}
	return Request{Function: EncapsulatedInterface, DeviceIDCode: body[1], ObjectID: body[2]}, nil
}

func decodeWords(count, limit int, byteCount byte, data []byte) ([]uint16, error) {
	if count < 1 || count > limit || int(byteCount) != 2*count || len(data) != 2*count {
		return nil, IllegalValue
	}
	values := make([]uint16, count)
	for i := range values {
		values[i] = word(data, 2*i)
	}
	return values, nil
}

func word(b []byte, at int) uint16 { return binary.BigEndian.Uint16(b[at:]) }
