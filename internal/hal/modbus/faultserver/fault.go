package faultserver

import (
	"encoding/binary"
	"slices"
)

// Fault is one way to misbehave.
type Fault string

// The faults.
const (
	None             Fault = ""
	LateReply        Fault = "late_reply"         // the reply comes together with the next one
	DelayedReply     Fault = "delayed_reply"      // the reply comes after Options.Late
	NoReply          Fault = "no_reply"           // executed, never answered
	Swallow          Fault = "swallow"            // neither executed nor answered
	WrongTID         Fault = "wrong_tid"          // answered under the next transaction number
	ZeroTID          Fault = "zero_tid"           // answered under transaction 0
	SwappedTID       Fault = "swapped_tid"        // the two bytes of the transaction number change places
	StaleFrames      Fault = "stale_frames"       // answers to three older transactions come first
	ForeignFlood     Fault = "foreign_flood"      // a hundred answers to strange transactions instead of the right one
	WrongUnit        Fault = "wrong_unit"         // another unit answers
	ZeroUnit         Fault = "zero_unit"          // unit 0 answers
	WrongFunction    Fault = "wrong_function"     // another function answers
	ShortCount       Fault = "short_count"        // two data bytes too few, the count agreeing
	LongCount        Fault = "long_count"         // two data bytes too many, the count agreeing
	CountMismatch    Fault = "count_mismatch"     // the byte count disagrees with the data
	Truncated        Fault = "truncated"          // half the frame, then silence
	CloseInside      Fault = "close_inside"       // half the frame, then the end
	LengthZero       Fault = "length_zero"        // the header's length field is 0
	LengthOne        Fault = "length_one"         // the header's length field is 1
	LengthShort      Fault = "length_short"       // the header's length field is one too small
	Length71         Fault = "length_71"          // the header's length field is 71
	LengthHuge       Fault = "length_65535"       // the header's length field is 65535
	WrongProtocol    Fault = "wrong_protocol"     // the header's protocol field is 1
	ByteByByte       Fault = "byte_by_byte"       // every byte in a segment of its own
	Joined           Fault = "joined"             // an older answer, the right one and a repetition in one segment
	Duplicate        Fault = "duplicate"          // the right answer twice
	ForeignException Fault = "foreign_exception"  // the exception of another function
	LongException    Fault = "long_exception"     // an exception with a byte too many
	EmptyReply       Fault = "empty_reply"        // a function code alone
	Busy             Fault = "busy"               // exception 6
	GatewayTarget    Fault = "gateway_target"     // exception 11
	IllegalAddress   Fault = "illegal_address"    // exception 2
	ExtraBytes       Fault = "extra_bytes"        // five strange bytes after the right answer
	BytesBefore      Fault = "bytes_before"       // five strange bytes before the right answer
	EchoValue        Fault = "wrong_echo_value"   // a write's echo ends in other bytes
	EchoAddress      Fault = "wrong_echo_address" // a write's echo names another address
	ResetBefore      Fault = "reset_before"       // reset, not executed
	ResetAfter       Fault = "reset_after"        // executed, then reset
	CloseBefore      Fault = "close_before"       // orderly end, not executed
	CloseAfter       Fault = "close_after"        // executed, then an orderly end
)

// All are the faults in the order of their declaration, None left out.
func All() []Fault {
	return []Fault{
		LateReply, DelayedReply, NoReply, Swallow, WrongTID, ZeroTID, SwappedTID, StaleFrames, ForeignFlood, WrongUnit, ZeroUnit,
		WrongFunction, ShortCount, LongCount, CountMismatch, Truncated, CloseInside, LengthZero, LengthOne, LengthShort, Length71,
		LengthHuge, WrongProtocol, ByteByByte, Joined, Duplicate, ForeignException, LongException, EmptyReply, Busy, GatewayTarget,
		IllegalAddress, ExtraBytes, BytesBefore, EchoValue, EchoAddress, ResetBefore, ResetAfter, CloseBefore, CloseAfter,
	}
}

// Frame is a PDU in its MBAP frame.
func Frame(tid uint16, unit byte, pdu []byte) []byte {
	f := binary.BigEndian.AppendUint16(nil, tid)
	f = append(f, 0, 0)
	f = binary.BigEndian.AppendUint16(f, uint16(1+len(pdu)))
	return append(append(f, unit), pdu...)
}

// segments are the writes to the socket that a fault makes of a reply.
func segments(fault Fault, r Request, reply []byte) [][]byte {
	right := Frame(r.TID, r.Unit, reply)
	if pdu := spoiled(fault, r, reply); pdu != nil {
		return [][]byte{Frame(r.TID, r.Unit, pdu)}
	}
	if f := header(fault, right); f != nil {
		return [][]byte{f}
	}
	old := func(back uint16) []byte { return Frame(r.TID-back, r.Unit, lie(reply)) }
	strange := []byte{0xDE, 0xAD, 0xBE, 0xEF, 0x55}
	switch fault {
	case StaleFrames:
		return [][]byte{old(3), old(2), old(1), right}
	case ForeignFlood:
		var out [][]byte
		for i := range uint16(100) {
			out = append(out, Frame(r.TID+400+i, r.Unit, lie(reply)))
		}
		return out
	case Truncated, CloseInside:
		return [][]byte{right[:len(right)/2]}
	case ByteByByte:
		return slices.Collect(slices.Chunk(right, 1))
	case Joined:
		return [][]byte{slices.Concat(old(1), right, right)}
	case Duplicate:
		return [][]byte{right, right}
	case ExtraBytes:
		return [][]byte{slices.Concat(right, strange)}
	case BytesBefore:
		return [][]byte{slices.Concat(strange, right)}
	default:
		return [][]byte{right}
	}
}

// lie is a reply of the same shape with other data.
func lie(reply []byte) []byte {
	out := slices.Clone(reply)
	if reply[0]&0x80 == 0 {
		for i := 2; i < len(out); i++ {
			out[i] ^= 0x5A
		}
	}
	return out
}

// header spoils the MBAP header; nil when the fault lies elsewhere.
func header(fault Fault, right []byte) []byte {
	f := slices.Clone(right)
	switch fault {
	case WrongTID:
		binary.BigEndian.PutUint16(f, binary.BigEndian.Uint16(f)+1)
	case ZeroTID:
		f[0], f[1] = 0, 0
	case SwappedTID:
		f[0], f[1] = f[1], f[0]
	case WrongUnit:
		f[6]++
	case ZeroUnit:
		f[6] = 0
	case LengthZero:
		f[4], f[5] = 0, 0
	case LengthOne:
		f[4], f[5] = 0, 1
	case LengthShort:
		f[5]--
	case Length71:
		f[4], f[5] = 0, 71
	case LengthHuge:
		f[4], f[5] = 0xFF, 0xFF
	case WrongProtocol:
		f[3] = 1
	default:
		return nil
	}
	return f
}

// spoiled is the wrong PDU of a fault; nil when the fault lies elsewhere or does not apply to the reply.
func spoiled(fault Fault, r Request, reply []byte) []byte {
	fc := r.PDU[0]
	isRead := fc >= 1 && fc <= 4 && reply[0] == fc
	switch fault {
	case WrongFunction:
		return append([]byte{fc%4 + 1}, reply[1:]...)
	case ForeignException:
		return []byte{(fc%4 + 1) | 0x80, 2}
	case LongException:
		return []byte{fc | 0x80, 2, 0}
	case EmptyReply:
		return []byte{fc}
	case Busy:
		return []byte{fc | 0x80, 6}
	case GatewayTarget:
		return []byte{fc | 0x80, 11}
	case IllegalAddress:
		return []byte{fc | 0x80, 2}
	case ShortCount, LongCount, CountMismatch:
		if isRead {
			return recount(fault, reply)
		}
		return reply[:len(reply)-1]
	case EchoValue, EchoAddress:
		if isRead || len(reply) < 5 {
			return nil
		}
		out := slices.Clone(reply)
		out[map[Fault]int{EchoValue: len(out) - 1, EchoAddress: 2}[fault]] ^= 1
		return out
	default:
		return nil
	}
}

func recount(fault Fault, reply []byte) []byte {
	out := slices.Clone(reply)
	switch fault {
	case ShortCount:
		out = out[:max(2, len(out)-2)]
		out[1] = byte(len(out) - 2)
	case LongCount:
		out = append(out, 0x12, 0x34)
		out[1] += 2
	default:
		out[1] += 2
	}
	return out
}
