// Package modbusd is a Modbus server for a simulated plant: Modbus TCP and Modbus RTU, functions 1-6, 15, 16, 22, 23 and 43/14.
//
// It promises to behave as the Modbus application protocol 1.1b3 and the serial line guide 1.02 say, so that clients of other people may judge
// what stands behind it: every request is framed by its MBAP length (TCP) or by function, length and CRC (RTU), in any
// segmentation, and gets exactly one reply or exception unless the Handler wants silence.
//
// It never holds plant data, never invents a value, never executes a malformed request and never adds latency of its own.
package modbusd

import (
	"context"
	"fmt"
)

// Table is one of the four Modbus data tables.
type Table uint8

// The tables of a device. Bits are carried as the values 0 and 1.
const (
	Coil Table = iota
	DiscreteInput
	InputRegister
	HoldingRegister
)

// String returns the table's name as inventories write it.
func (t Table) String() string {
	switch t {
	case Coil:
		return "coil"
	case DiscreteInput:
		return "discrete_input"
	case InputRegister:
		return "input_register"
	case HoldingRegister:
		return "holding_register"
	}
	return fmt.Sprintf("table(%d)", uint8(t))
}

// Function codes that the server executes.
const (
	ReadCoils              = 1
	ReadDiscreteInputs     = 2
	ReadHoldingRegisters   = 3
	ReadInputRegisters     = 4
	WriteSingleCoil        = 5
	WriteSingleRegister    = 6
	WriteMultipleCoils     = 15
	WriteMultipleRegisters = 16
	MaskWriteRegister      = 22
	ReadWriteRegisters     = 23
	EncapsulatedInterface  = 43
)

const (
	exceptionBit = 0x80
	maxPDU       = 253
)

// Exception is a Modbus exception code and the error that stands for it (application protocol 1.1b3, section 7).
type Exception byte

// The exception codes that a device or gateway of the plant answers.
const (
	IllegalFunction     Exception = 0x01
	IllegalAddress      Exception = 0x02
	IllegalValue        Exception = 0x03
	DeviceFailure       Exception = 0x04
	GatewayTargetFailed Exception = 0x0B
)

// Error names the exception.
func (e Exception) Error() string {
	names := map[Exception]string{
		IllegalFunction:     "illegal function",
		IllegalAddress:      "illegal data address",
		IllegalValue:        "illegal data value",
		DeviceFailure:       "server device failure",
		GatewayTargetFailed: "gateway target device failed to respond",
	}
	if name, ok := names[e]; ok {
		return fmt.Sprintf("modbus exception %d (%s)", byte(e), name)
	}
	return fmt.Sprintf("modbus exception %d", byte(e))
}

// Handler answers requests for the units of one server.
type Handler interface {
	// Serve answers one request PDU (function code first, 1 to 253 bytes, valid until Serve returns) with a reply PDU. A nil reply
	// means silence: nothing is sent and the connection stays open. A Handler that delays must give up when ctx ends.
	// Calls come from one goroutine per connection.
	Serve(ctx context.Context, unit byte, pdu []byte) []byte
}
