package modbus

import "time"

// settings are a device's options as the inventory declares them, with defaults filled in.
type settings struct {
	unit          byte
	timeout       time.Duration
	connectDelay  time.Duration
	minGap        time.Duration
	closeAfter    bool
	onePerRequest bool
	coilsFromZero bool
	maskWrite     bool
	writeFC       byte // for one register: 6 or 16
	coilFC        byte // for one coil: 5 or 15
	maxRegisters  int  // of one read
	maxBits       int  // of one read
	maxGap        int  // registers read without being asked for to save a request
	bitBlock      alignment
	registerBlock alignment
	busyRetries   int // of a read
	busyWait      time.Duration
	tolerance     tolerance
}

// alignment says that a device gives bits or registers only in whole blocks of a size, counted from start. Size 0: in any number.
type alignment struct{ size, start int }

// holds is the beginning of the block that holds an address.
func (g alignment) holds(at int) int { return at - (at-g.start)%g.size }

// device is a unit on the wire: its settings and what was learned about it. It belongs to its conn.
type device struct {
	id string
	settings
	plans []planned
	cuts  map[cut]time.Time // where one request must not reach across, until when
	mutes map[cut]time.Time // blocks by their start that stayed unanswered, since when
	spoke time.Time         // when the device last answered a read
	quiet int               // requests that it has not answered since

	halved []cut         // where the plan in use divides blocks that stayed unanswered
	doubt  time.Duration // how long the last such places were kept
}

func newDevice(id string, s settings) *device {
	return &device{id: id, settings: s, cuts: map[cut]time.Time{}, mutes: map[cut]time.Time{}}
}

// turn starts a passage with the device's needs.
func (d *device) turn() turn {
	return turn{timeout: d.timeout, connectDelay: d.connectDelay, tolerance: d.tolerance}
}

// limit is the largest number of registers or bits of one read.
func (s settings) limit(t table) int {
	switch whole := s.whole(t); {
	case whole.size > 0:
		return whole.size
	case t.bits():
		return s.maxBits
	default:
		return s.maxRegisters
	}
}

// whole is how reads of a table have to be aligned.
func (s settings) whole(t table) alignment {
	if t.bits() {
		return s.bitBlock
	}
	return s.registerBlock
}

// gap is how many unasked places a read may bridge.
func (d *device) gap(t table) int {
	switch {
	case t.bits() && d.coilsFromZero:
		return maxReadBits
	case t.bits():
		return 16 * d.maxGap
	default:
		return d.maxGap
	}
}

// first is where a read that serves start has to begin.
func (d *device) first(t table, start int) int {
	switch whole := d.whole(t); {
	case whole.size > 0:
		return whole.holds(start)
	case t.bits() && d.coilsFromZero:
		return 0
	default:
		return start
	}
}
