package faultserver

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"
)

// The faults of serial lines.
const (
	BadCheck        Fault = "bad_check"        // one bit of the data is wrong
	BadException    Fault = "bad_exception"    // an exception whose check is wrong
	SplitException  Fault = "split_exception"  // exception 2, its last byte 16 ms late
	Echo            Fault = "echo"             // the request comes back before the reply
	ForeignReply    Fault = "foreign_reply"    // another unit's reply comes first
	ForeignOnly     Fault = "foreign_only"     // another unit's reply comes instead
	Eavesdropped    Fault = "eavesdropped"     // another master's request and its reply come first
	LeadingZero     Fault = "leading_zero"     // a zero byte comes first
	TrailingBytes   Fault = "trailing_bytes"   // two zero bytes follow
	DoubleCheck     Fault = "double_check"     // the check comes twice
	Chunks          Fault = "chunks"           // the bytes come in pieces 16 ms apart
	MissingLast     Fault = "missing_last"     // the last byte is missing
	MissingFirst    Fault = "missing_first"    // the first byte is missing
	UnknownFunction Fault = "unknown_function" // a function that does not exist, the check agreeing
	NoiseBefore     Fault = "noise_before"     // bytes that look like the head of a longer frame come first
	Nested          Fault = "nested"           // another unit's reply whose data is a reply of this unit, then the right one
)

// AllRTU are the faults that a serial line can have, in the order of their declaration.
func AllRTU() []Fault {
	return []Fault{
		LateReply, DelayedReply, NoReply, Swallow, WrongUnit, ZeroUnit, WrongFunction, ShortCount, LongCount, CountMismatch, Truncated,
		ByteByByte, Duplicate, ForeignException, LongException, EmptyReply, Busy, GatewayTarget, IllegalAddress, ExtraBytes, BytesBefore,
		EchoValue, EchoAddress, BadCheck, BadException, SplitException, Echo, ForeignReply, ForeignOnly, Eavesdropped, LeadingZero,
		TrailingBytes, DoubleCheck, Chunks, MissingLast, MissingFirst, UnknownFunction, NoiseBefore, Nested,
	}
}

// gap is the pause between the segments of a fault.
func (f Fault) gap() time.Duration {
	switch f {
	case Chunks, SplitException:
		return 16 * time.Millisecond
	default:
		return 0
	}
}

// FrameRTU is a PDU in its serial frame.
func FrameRTU(unit byte, pdu []byte) []byte {
	f := append([]byte{unit}, pdu...)
	return binary.LittleEndian.AppendUint16(f, check(f))
}

// check is the CRC of MODBUS over Serial Line Specification V1.02, 6.2.2, bit by bit.
func check(frame []byte) uint16 {
	crc := uint16(0xFFFF)
	for _, b := range frame {
		crc ^= uint16(b)
		for range 8 {
			carry := crc&1 == 1
			crc >>= 1
			if carry {
				crc ^= 0xA001
			}
		}
	}
	return crc
}

// nextRTU takes one whole frame with a right check and skips what is none.
func (p *peer) nextRTU() (Request, error) {
	for {
		n, err := p.requestLength()
		if err != nil {
			return Request{}, err
		}
		frame, err := p.in.Peek(n)
		if err != nil {
			return Request{}, err
		}
		if n > 3 && check(frame[:n-2]) == binary.LittleEndian.Uint16(frame[n-2:]) {
			r := p.request(0, frame[0], slices.Clone(frame[1:n-2]))
			_, err := p.in.Discard(n)
			return r, err
		}
		if _, err := p.in.Discard(1); err != nil {
			return Request{}, err
		}
	}
}

// requestLength is the length of the request at the head of the line, as its function says.
func (p *peer) requestLength() (int, error) {
	head, err := p.in.Peek(2)
	if err != nil {
		return 0, err
	}
	at, fixed := 0, 8
	switch head[1] {
	case 15, 16:
		at = 6
	case 22:
		fixed = 10
	case 23:
		at = 10
	case 43:
		fixed = 7
	}
	if at == 0 {
		return fixed, nil
	}
	head, err = p.in.Peek(at + 1)
	if err != nil {
		return 0, err
	}
	return at + 1 + int(head[at]) + 2, nil
}

// segmentsRTU are the writes to the line that a fault makes of a reply.
func segmentsRTU(fault Fault, r Request, reply []byte) [][]byte {
	right := FrameRTU(r.Unit, reply)
	if pdu := spoiled(fault, r, reply); pdu != nil {
		return [][]byte{FrameRTU(r.Unit, pdu)}
	}
	if before := intrusion(fault, r, reply); before != nil {
		return [][]byte{slices.Concat(before, right)}
	}
	refusal := FrameRTU(r.Unit, []byte{r.PDU[0] | 0x80, 2})
	switch fault {
	case WrongUnit, ForeignOnly:
		return [][]byte{FrameRTU(r.Unit+1, lie(reply))}
	case ZeroUnit:
		return [][]byte{FrameRTU(0, lie(reply))}
	case Truncated:
		return [][]byte{right[:len(right)/2]}
	case MissingLast:
		return [][]byte{right[:len(right)-1]}
	case MissingFirst:
		return [][]byte{right[1:]}
	case ByteByByte:
		return slices.Collect(slices.Chunk(right, 1))
	case Chunks:
		return slices.Collect(slices.Chunk(right, 4))
	case Duplicate:
		return [][]byte{slices.Concat(right, right)}
	case ExtraBytes:
		return [][]byte{slices.Concat(right, []byte{0xDE, 0xAD, 0xBE, 0xEF, 0x55})}
	case TrailingBytes:
		return [][]byte{append(right, 0, 0)}
	case DoubleCheck:
		return [][]byte{append(right, right[len(right)-2:]...)}
	case BadCheck:
		right[len(right)-3] ^= 0x10
	case BadException:
		refusal[4] ^= 1
		return [][]byte{refusal}
	case SplitException:
		return [][]byte{refusal[:4], refusal[4:]}
	case UnknownFunction:
		return [][]byte{FrameRTU(r.Unit, append([]byte{0x43}, reply[1:]...))}
	}
	return [][]byte{right}
}

// intrusion is what comes on the line before the right reply; nil when the fault lies elsewhere.
func intrusion(fault Fault, r Request, reply []byte) []byte {
	switch fault {
	case BytesBefore:
		return []byte{0xDE, 0xAD, 0xBE, 0xEF, 0x55}
	case LeadingZero:
		return []byte{0}
	case NoiseBefore:
		return []byte{r.Unit, r.PDU[0]}
	case Echo:
		return FrameRTU(r.Unit, r.PDU)
	case ForeignReply:
		return FrameRTU(r.Unit+1, lie(reply))
	case Eavesdropped:
		return slices.Concat(FrameRTU(r.Unit+1, r.PDU), FrameRTU(r.Unit+1, lie(reply)))
	case Nested:
		inner := bytes.Repeat(FrameRTU(r.Unit, lie(reply)), 2)
		if len(inner) > 250 {
			return nil
		}
		return FrameRTU(r.Unit+1, slices.Concat([]byte{3, byte(len(inner))}, inner))
	default:
		return nil
	}
}
