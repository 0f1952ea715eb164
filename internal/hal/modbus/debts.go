package modbus

import (
	"encoding/binary"
	"slices"
	"time"
)

// maxDebts bounds the answers that are remembered as owed.
const maxDebts = 32

// debts are the answers that may still come on a line whose answers carry no number. A unit answers in the order it was asked, so
// any answer that can only belong to a later request ends what was owed before it.
type debts struct {
	owed   []question
	silent map[byte]int // unanswered requests in a row, by unit
	unit   byte         // the unit that fell silent last
	until  time.Time    // how long the line waits for it
}

// owe notes a request that may still be answered.
func (d *debts) owe(q question) {
	if len(d.owed) == maxDebts {
		d.owed = slices.Delete(d.owed, 0, 1)
	}
	d.owed = append(d.owed, q)
}

// wait notes that a unit was silent, and how long the line waits for it.
func (d *debts) wait(unit byte, until time.Time) {
	d.silent[unit]++
	d.unit, d.until = unit, until
}

// quarantined reports whether a request to unit has to wait.
func (d *debts) quarantined(unit byte, now time.Time) bool {
	return now.Before(d.until) && (unit == d.unit || d.silent[d.unit] < 2)
}

// confuse reports whether an owed answer could be taken for the answer to q.
func (d *debts) confuse(q question) bool { return slices.ContainsFunc(d.owed, q.alike) }

// settle ends what was owed before the answer to q. An exception names no request: it may have been the answer to any of the same
// function, so it ends the oldest of them and q itself may still be answered.
func (d *debts) settle(q question, exception bool) {
	same := func(o question) bool { return o.unit == q.unit && o.fc == q.fc }
	if i := slices.IndexFunc(d.owed, same); exception && i >= 0 {
		d.drop(d.owed[i])
		d.owed = append(d.owed, q)
		return
	}
	d.owed = slices.DeleteFunc(d.owed, func(o question) bool { return o.unit == q.unit })
	d.release(q.unit)
}

// dropFunction ends the oldest owed answer of one function of a unit, which an exception came for.
func (d *debts) dropFunction(unit, fc byte) {
	if i := slices.IndexFunc(d.owed, func(o question) bool { return o.unit == unit && o.fc == fc }); i >= 0 {
		d.drop(d.owed[i])
	}
}

// drop ends an owed answer and all that its unit owed before it. It reports whether it was owed.
func (d *debts) drop(q question) bool {
	last := slices.IndexFunc(d.owed, q.alike)
	if last < 0 {
		return false
	}
	kept := d.owed[:0]
	for i, o := range d.owed {
		if o.unit != q.unit || i > last {
			kept = append(kept, o)
		}
	}
	clear(d.owed[len(kept):])
	d.owed = kept
	d.release(q.unit)
	return true
}

// release ends the waiting for a unit that owes nothing more.
func (d *debts) release(unit byte) {
	d.silent[unit] = 0
	if d.unit == unit && !slices.ContainsFunc(d.owed, func(o question) bool { return o.unit == unit }) {
		d.until = time.Time{}
	}
}

// distinct is a read whose answer cannot be confused with one that is alike to q: of the same place, but of another length.
func (d *debts) distinct(q question) []byte {
	fc, quantity := q.fc, uint16(1)
	switch q.fc {
	case fcReadCoils, fcReadDiscreteInputs:
		if q.length == 6 {
			quantity = 9
		}
	case fcReadHoldingRegisters, fcReadInputRegisters:
		if q.length == 7 {
			quantity = 2
		}
	case fcWriteSingleCoil, fcWriteMultipleCoils:
		fc = fcReadCoils
	default:
		fc = fcReadHoldingRegisters
	}
	start := binary.BigEndian.Uint16(q.frame[2:])
	start = min(start, 0xFFFF-quantity+1)
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16([]byte{fc}, start), quantity)
}
