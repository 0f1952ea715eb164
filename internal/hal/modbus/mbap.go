package modbus

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
)

// The MBAP header (MODBUS Messaging on TCP/IP Implementation Guide V1.0b, 3.1.3): transaction 2, protocol 2, length 2, unit 1. The
// length counts the unit and the PDU.
const (
	mbapHeader    = 7
	mbapMinLength = 2
	mbapMaxLength = 1 + maxPDU
)

// maxStale bounds the answers to other transactions that one request skips before the connection is given up.
const maxStale = 64

// sidestep is how far the numbers jump after silence, so that a late answer under a number nearby fits no request to come.
const sidestep = 16

// tolerance is what a device may do wrong. All off is the safe state.
type tolerance struct {
	anyUnit bool // the answer may carry another unit than the request
	tidZero bool // the answer may carry transaction 0
	swapped bool // the answer carries the two bytes of the transaction number in the other order
	longer  bool // a read may answer more registers than asked
	echo    bool // the line returns what is sent on it
}

// framing turns PDUs into frames for a stream and finds the one answer that belongs to a request.
type framing interface {
	// encode makes the frame of a new transaction.
	encode(unit byte, pdu []byte) []byte
	// bare makes a frame outside of any transaction, to be shown. It may be called at any time.
	bare(unit byte, pdu []byte) []byte
	// split gives the unit and the PDU of one whole frame.
	split(frame []byte) (unit byte, pdu []byte, err error)
	// drain removes from the inbox what cannot belong to a request that is not sent yet. An error means the stream is out of
	// step and must be closed.
	drain(in *inbox) error
	// ready waits until a request may be sent on a stream that is open and drained, and leaves the stream with the deadline of
	// the answer.
	ready(ctx context.Context, in *inbox, request []byte, t *turn) error
	// receive waits for the answer to a request and skips what belongs to others. The frame is valid until the next call.
	receive(in *inbox, request []byte, t tolerance) ([]byte, error)
}

// mbap is Modbus TCP's framing. Its transaction numbers go on across connections, so that an answer kept by a gateway from an
// earlier connection fits no new request; 0 is never used because careless devices answer with it.
type mbap struct{ tid uint16 }

func (m *mbap) encode(unit byte, pdu []byte) []byte {
	m.tid++
	if m.tid == 0 {
		m.tid = 1
	}
	return encodeMBAP(m.tid, unit, pdu)
}

func (m *mbap) bare(unit byte, pdu []byte) []byte { return encodeMBAP(0, unit, pdu) }

func encodeMBAP(tid uint16, unit byte, pdu []byte) []byte {
	frame := make([]byte, mbapHeader+len(pdu))
	binary.BigEndian.PutUint16(frame, tid)
	binary.BigEndian.PutUint16(frame[4:], uint16(1+len(pdu)))
	frame[6] = unit
	copy(frame[mbapHeader:], pdu)
	return frame
}

func (m *mbap) split(frame []byte) (byte, []byte, error) {
	if len(frame) < mbapHeader+1 {
		return 0, nil, protocolf("the frame has %d bytes instead of at least %d", len(frame), mbapHeader+1)
	}
	if err := checkMBAP(frame); err != nil {
		return 0, nil, err
	}
	if length := mbapLength(frame); length != len(frame) {
		return 0, nil, protocolf("the frame has %d bytes, its length field says %d", len(frame), length)
	}
	return frame[6], frame[mbapHeader:], nil
}

// mbapLength is the size of the whole frame as its header declares it.
func mbapLength(header []byte) int { return 6 + int(binary.BigEndian.Uint16(header[4:])) }

func checkMBAP(header []byte) error {
	if p := binary.BigEndian.Uint16(header[2:]); p != 0 {
		return protocolf("the frame's protocol field is %d instead of 0", p)
	}
	if n := binary.BigEndian.Uint16(header[4:]); n < mbapMinLength || n > mbapMaxLength {
		return protocolf("the frame's length field is %d, allowed are %d to %d", n, mbapMinLength, mbapMaxLength)
	}
	return nil
}

func (m *mbap) drain(in *inbox) error {
	for left := in.peek(); len(left) > 0; left = in.peek() {
		if len(left) < 6 {
			return protocolf("%d stray bytes wait before the request", len(left))
		}
		if err := checkMBAP(left); err != nil {
			return err
		}
		if len(left) < mbapLength(left) {
			return protocolf("half a frame waits before the request")
		}
		in.settle(binary.BigEndian.Uint16(left))
		in.take(mbapLength(left))
	}
	return nil
}

// ready has nothing to wait for: answers name their request.
func (m *mbap) ready(context.Context, *inbox, []byte, *turn) error { return nil }

func (m *mbap) receive(in *inbox, request []byte, t tolerance) ([]byte, error) {
	want := binary.BigEndian.Uint16(request)
	stranger, strange := uint16(0), false
	for skipped := 0; ; skipped++ {
		frame, err := nextMBAP(in)
		if err != nil {
			return nil, m.unanswered(in, want, stranger, strange, err)
		}
		got := binary.BigEndian.Uint16(frame)
		if t.swapped {
			got = got<<8 | got>>8
		}
		if got == want || got == 0 && t.tidZero {
			return frame, in.checkOwed(frame)
		}
		if skipped == maxStale {
			return nil, protocolf("more than %d answers to other transactions came before the one to %d", maxStale, want)
		}
		if !recent(got, want) {
			stranger, strange = got, true
		}
		in.settle(got)
	}
}

// unanswered notes that a request may still be answered late, on a connection that may be kept.
func (m *mbap) unanswered(in *inbox, want, stranger uint16, strange bool, err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	if strange {
		return &protocolError{late: true, text: foreignText(stranger, want)}
	}
	in.owe(want)
	m.tid += sidestep
	return err
}

// recent reports whether a transaction number is one of the last used before want: its answer is merely late.
func recent(got, want uint16) bool { return got != 0 && got != want && want-got <= maxStale }

func foreignText(got, want uint16) string {
	text := "the device answers with transaction numbers that were not asked"
	switch {
	case got == 0:
		return text + " (0); if it always does, allow it with the quirk tid_zero"
	case got == want<<8|want>>8:
		return text + " (the bytes of the number are swapped); if it always does so, allow it with the quirk tid_swapped"
	default:
		return text
	}
}

// nextMBAP waits for one whole frame and takes it. The frame is valid until the inbox is used again.
func nextMBAP(in *inbox) ([]byte, error) {
	header, err := in.need(6)
	if err != nil {
		return nil, err
	}
	if err := checkMBAP(header); err != nil {
		return nil, err
	}
	n := mbapLength(header)
	frame, err := in.need(n)
	if err != nil {
		return nil, err
	}
	in.take(n)
	return frame, nil
}
