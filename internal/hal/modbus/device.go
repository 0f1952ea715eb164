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
	tolerance     tolerance
}

// device is a unit on the wire: its settings and what was learned about it. It belongs to its conn.
type device struct {
	id string
	settings
	last  time.Time         // end of the last transaction
	cuts  map[cut]time.Time // where one request must not reach across, until when
	mutes map[cut]time.Time // blocks by their start that stayed unanswered, since when
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
	if t.bits() {
		return s.maxBits
	}
	return s.maxRegisters
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
	if t.bits() && d.coilsFromZero {
		return 0
	}
	return start
}
