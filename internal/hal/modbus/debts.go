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
	q.asked = time.Now()
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
func (d *debts) confuse(q question) bool { return slices.ContainsFunc(d.owed, q.mistakable) }

// settle ends what was owed before the answer to q. When a request alike was owed, which only a probe may be, the answer may have been
// to that one; and an exception may have been the answer to any owed request of its function. Then the oldest of these ends with all
// before it, and q itself is owed.
func (d *debts) settle(q question, exception bool) {
	which := q.alike
	if exception {
		which = q.sameFunction
	}
	if d.drop(which) {
		d.owe(q)
		return
	}
	d.owed = slices.DeleteFunc(d.owed, func(o question) bool { return o.unit == q.unit })
	d.release(q.unit)
}

// drop ends the oldest owed answer of some kind and all that its unit owed before it. It reports whether there was one.
func (d *debts) drop(which func(question) bool) bool {
	last := slices.IndexFunc(d.owed, which)
	if last < 0 {
		return false
	}
	unit := d.owed[last].unit
	kept := slices.DeleteFunc(d.owed[:last+1:last+1], func(o question) bool { return o.unit == unit })
	d.owed = append(kept, d.owed[last+1:]...)
	d.release(unit)
	return true
}

// forget ends what has been owed for too long to be still expected.
func (d *debts) forget(age time.Duration) {
	if len(d.owed) > 0 {
		d.owed = slices.DeleteFunc(d.owed, func(o question) bool { return time.Since(o.asked) > age })
	}
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
