package modbus

import (
	"encoding/binary"
	"slices"
)

// maxOwed bounds the unanswered transactions that a connection remembers.
const maxOwed = 16

// owe notes a transaction that was not answered in time and may still be.
func (in *inbox) owe(tid uint16) {
	if len(in.owed) == maxOwed {
		in.owed = slices.Delete(in.owed, 0, 1)
	}
	in.owed = append(in.owed, tid)
}

// settle forgets a transaction whose late answer came.
func (in *inbox) settle(tid uint16) {
	if i := slices.Index(in.owed, tid); i >= 0 {
		in.owed = slices.Delete(in.owed, i, i+1)
	}
}

// checkOwed guards against a truncated answer that a late one filled up: while late answers are due, the head of one must not stand
// inside the frame, and what follows the frame must be the head of another.
func (in *inbox) checkOwed(frame []byte) error {
	if len(in.owed) == 0 {
		return nil
	}
	for _, tid := range in.owed {
		head := append(binary.BigEndian.AppendUint16(nil, tid), 0, 0)
		for i := mbapHeader; i+len(head) <= len(frame); i++ {
			if string(frame[i:i+len(head)]) == string(head) {
				return protocolf("the answer contains the head of the late answer to transaction %d", tid)
			}
		}
	}
	rest := in.peek()
	if len(rest) > 0 && (len(rest) < 6 || checkMBAP(rest) != nil) {
		return protocolf("the answer is followed by %d bytes that begin no other", len(rest))
	}
	return nil
}
