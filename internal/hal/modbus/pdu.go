package modbus

import (
	"encoding/binary"
	"fmt"

	"capd/internal/hal"
)

// The functions in use (MODBUS Application Protocol Specification V1.1b3, section 6).
const (
	fcReadCoils              = 0x01
	fcReadDiscreteInputs     = 0x02
	fcReadHoldingRegisters   = 0x03
	fcReadInputRegisters     = 0x04
	fcWriteSingleCoil        = 0x05
	fcWriteSingleRegister    = 0x06
	fcWriteMultipleCoils     = 0x0F
	fcWriteMultipleRegisters = 0x10
	fcMaskWriteRegister      = 0x16
	fcReadWriteRegisters     = 0x17
	fcEncapsulated           = 0x2B

	exceptionFlag = 0x80
)

// The largest sizes (same specification, sections 4.1, 6.1, 6.3).
const (
	maxPDU           = 253
	maxReadRegisters = 125
	maxReadBits      = 2000
)

// functionName is the specification's name of a function.
func functionName(fc byte) string {
	switch fc {
	case fcReadCoils:
		return "read_coils"
	case fcReadDiscreteInputs:
		return "read_discrete_inputs"
	case fcReadHoldingRegisters:
		return "read_holding_registers"
	case fcReadInputRegisters:
		return "read_input_registers"
	case fcWriteSingleCoil:
		return "write_single_coil"
	case fcWriteSingleRegister:
		return "write_single_register"
	case fcWriteMultipleCoils:
		return "write_multiple_coils"
	case fcWriteMultipleRegisters:
		return "write_multiple_registers"
	case fcMaskWriteRegister:
		return "mask_write_register"
	case fcReadWriteRegisters:
		return "read_write_multiple_registers"
	default:
		return "function"
	}
}

// The exceptions that other code branches on (same specification, section 7).
const (
	illegalFunction    = 0x01
	illegalDataAddress = 0x02
	illegalDataValue   = 0x03
	deviceFailure      = 0x04
	acknowledge        = 0x05
	serverDeviceBusy   = 0x06
	gatewayPath        = 0x0A
	gatewayTarget      = 0x0B
)

// exceptionError is the device's refusal.
type exceptionError struct{ code byte }

func (e *exceptionError) Error() string {
	name := "not in the specification"
	switch e.code {
	case illegalFunction:
		name = "illegal function: the device does not support this function"
	case illegalDataAddress:
		name = "illegal data address: the device has no such address or range"
	case illegalDataValue:
		name = "illegal data value: the device rejects the value or the quantity"
	case deviceFailure:
		name = "server device failure"
	case acknowledge:
		name = "acknowledge: accepted, still working"
	case serverDeviceBusy:
		name = "server device busy"
	case 0x07:
		name = "negative acknowledge"
	case 0x08:
		name = "memory parity error"
	case gatewayPath:
		name = "gateway path unavailable"
	case gatewayTarget:
		name = "gateway target device failed to respond"
	}
	return fmt.Sprintf("exception %d, %s", e.code, name)
}

// kind is the class of the refusal.
func (e *exceptionError) kind() hal.ErrorKind {
	switch e.code {
	case acknowledge, serverDeviceBusy:
		return hal.BusyDevice
	case gatewayPath, gatewayTarget:
		return hal.Gateway
	default:
		return hal.Exception
	}
}

// protocolError is an answer that breaks the protocol or does not belong to its request.
type protocolError struct {
	text string
	late bool // found only when the time was up, so there is no time for another try
}

func (e *protocolError) Error() string { return e.text }

func protocolf(format string, args ...any) error {
	return &protocolError{text: fmt.Sprintf(format, args...)}
}

// crcError is an answer that was damaged on the way.
type crcError struct {
	text string
	late bool // as in protocolError
}

func (e *crcError) Error() string { return e.text }

// verifyPDU holds a reply against its request: the function, every length and every echoed field must be what the request makes
// them. An exception of the request's own function passes; the caller reads it. With longer, a read reply may carry more
// registers than asked.
func verifyPDU(request, reply []byte, longer bool) error {
	if len(request) == 0 || len(reply) == 0 {
		return protocolf("the answer is empty")
	}
	fc := request[0]
	switch {
	case reply[0]&^exceptionFlag != fc:
		return protocolf("the answer has function %02X for a request of function %02X", reply[0], fc)
	case reply[0]&exceptionFlag != 0:
		if len(reply) != 2 {
			return protocolf("the exception has %d bytes instead of 2", len(reply))
		}
		return nil
	}
	switch fc {
	case fcReadCoils, fcReadDiscreteInputs, fcReadHoldingRegisters, fcReadInputRegisters:
		if len(request) != 5 {
			return protocolf("the read request has %d bytes instead of 5", len(request))
		}
		return verifyRead(request, reply, longer)
	case fcReadWriteRegisters:
		if len(request) < 10 {
			return protocolf("the request has %d bytes instead of at least 10", len(request))
		}
		return verifyRead(request, reply, false)
	case fcWriteSingleCoil, fcWriteSingleRegister, fcMaskWriteRegister:
		return verifyEcho(request, reply)
	case fcWriteMultipleCoils, fcWriteMultipleRegisters:
		if len(request) < 5 {
			return protocolf("the request has %d bytes instead of at least 5", len(request))
		}
		return verifyEcho(request[:5], reply)
	case fcEncapsulated:
		return verifyIdentity(request, reply)
	default:
		return protocolf("function %02X has no check, so its answer cannot be trusted", fc)
	}
}

func verifyRead(request, reply []byte, longer bool) error {
	if len(reply) < 2 {
		return protocolf("the answer has %d byte and no byte count", len(reply))
	}
	quantity := int(binary.BigEndian.Uint16(request[3:]))
	want, unit := 2*quantity, "registers"
	if request[0] == fcReadCoils || request[0] == fcReadDiscreteInputs {
		want, unit = (quantity+7)/8, "bits"
	}
	count, data := int(reply[1]), len(reply)-2
	if count != data {
		return protocolf("the answer's byte count is %d but %d bytes follow", count, data)
	}
	if count == want || longer && count > want {
		return nil
	}
	return protocolf("the answer has %d data bytes, %d %s need %d", count, quantity, unit, want)
}

func verifyEcho(want, reply []byte) error {
	if string(want) == string(reply) {
		return nil
	}
	return protocolf("the device echoed % X instead of % X", reply, want)
}
