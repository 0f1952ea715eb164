package modbus

import (
	"encoding/binary"
	"time"
)

// rtuOverhead is a serial frame's unit and check. A frame has at most 256 bytes (MODBUS over Serial Line Specification V1.02, 2.5.1).
const (
	rtuOverhead = 3
	maxRTU      = rtuOverhead + maxPDU
)

// More functions that are seen on a line, of other masters or of devices that answer nonsense.
const (
	fcReadExceptionStatus = 0x07
	fcDiagnostics         = 0x08
	fcEventCounter        = 0x0B
	fcEventLog            = 0x0C
	fcReportServerID      = 0x11
)

// partial says that a frame's length stands in bytes that are still to come.
const partial = -1

// replyLength is the length that an answer beginning with b has, check included: 0 when b begins none, partial when it is not
// known yet. b has at least one byte.
func replyLength(b []byte) int {
	if len(b) < 2 {
		return partial
	}
	fc := b[1]
	if fc&exceptionFlag != 0 {
		fc &^= exceptionFlag
		if knownFunction(fc) {
			return 5
		}
		return 0
	}
	switch fc {
	case fcReadCoils, fcReadDiscreteInputs, fcReadHoldingRegisters, fcReadInputRegisters, fcReadWriteRegisters, fcEventLog, fcReportServerID:
		return counted(b, 2)
	case fcWriteSingleCoil, fcWriteSingleRegister, fcWriteMultipleCoils, fcWriteMultipleRegisters, fcDiagnostics, fcEventCounter:
		return 8
	case fcMaskWriteRegister:
		return 10
	case fcReadExceptionStatus:
		return 5
	case fcEncapsulated:
		return identityLength(b)
	default:
		return 0
	}
}

func knownFunction(fc byte) bool {
	switch fc {
	case fcReadCoils, fcReadDiscreteInputs, fcReadHoldingRegisters, fcReadInputRegisters, fcWriteSingleCoil, fcWriteSingleRegister,
		fcReadExceptionStatus, fcDiagnostics, fcEventCounter, fcEventLog, fcWriteMultipleCoils, fcWriteMultipleRegisters,
		fcReportServerID, fcMaskWriteRegister, fcReadWriteRegisters, fcEncapsulated:
		return true
	default:
		return false
	}
}

// requestLength is the length that a request beginning with b has, as replyLength.
func requestLength(b []byte) int {
	if len(b) < 2 {
		return partial
	}
	switch b[1] {
	case fcReadCoils, fcReadDiscreteInputs, fcReadHoldingRegisters, fcReadInputRegisters, fcWriteSingleCoil, fcWriteSingleRegister, fcDiagnostics:
		return 8
	case fcWriteMultipleCoils, fcWriteMultipleRegisters:
		return counted(b, 6)
	case fcMaskWriteRegister:
		return 10
	case fcReadWriteRegisters:
		return counted(b, 10)
	case fcEncapsulated:
		return 7
	default:
		return 0
	}
}

// counted is the length of a frame whose byte count stands at b[at]; 0 when it would be too long for a frame.
func counted(b []byte, at int) int {
	if len(b) <= at {
		return partial
	}
	n := at + 1 + int(b[at]) + 2
	if n > maxRTU {
		return 0
	}
	return n
}

// question is a request as the line sees it: who is asked and what an answer looks like.
type question struct {
	unit, fc byte
	frame    []byte    // the request
	length   int       // of the answer; 0 when it tells itself
	echo     []byte    // what the answer has to repeat, function included; nil for reads
	asked    time.Time // when it was given up; set while it is owed
}

func questionOf(request []byte) question {
	q := question{unit: request[0], fc: request[1], frame: request, length: 8}
	quantity := func() int { return int(binary.BigEndian.Uint16(request[4:])) }
	switch q.fc {
	case fcReadCoils, fcReadDiscreteInputs:
		q.length = 5 + (quantity()+7)/8
	case fcReadHoldingRegisters, fcReadInputRegisters, fcReadWriteRegisters:
		q.length = 5 + 2*quantity()
	case fcEncapsulated:
		q.length = 0
	case fcWriteMultipleCoils, fcWriteMultipleRegisters:
		q.echo = request[1:6]
	default:
		q.echo = request[1 : len(request)-2]
		q.length = len(request)
	}
	return q
}

// answersItself reports whether the right answer is the request once more.
func (q question) answersItself() bool { return q.echo != nil && q.length == len(q.frame) }

// sameFunction reports whether an exception could be the answer to either.
func (q question) sameFunction(o question) bool { return q.unit == o.unit && q.fc == o.fc }

// alike reports whether an answer to one could be taken for an answer to the other.
func (q question) alike(o question) bool {
	return q.unit == o.unit && q.fc == o.fc && q.length == o.length && string(q.echo) == string(o.echo)
}

// mistakable reports whether an answer to one could be taken for an answer to the other even if it names the wrong function: the
// answers to reads differ in nothing else but their length.
func (q question) mistakable(o question) bool {
	return q.alike(o) || q.unit == o.unit && q.echo == nil && o.echo == nil && q.length == o.length
}
