package physical

import (
	"encoding/hex"
	"time"
)

// Unit is a unit of measure as the inventory writes it, such as "%", "m3/h" or "bar". Units are compared as written: capd
// converts none.
type Unit string

// Quality says how far a reading may be trusted. Only good readings prove anything.
type Quality string

// The qualities, after OPC UA (Part 8, 6.3.1: good, uncertain, bad).
const (
	Good      Quality = "good"
	Uncertain Quality = "uncertain"
	Bad       Quality = "bad"
)

// Cause is why a reading is not good; a closed list.
type Cause string

// The causes of a quality below good.
const (
	CauseNone        Cause = ""
	CauseInvalid     Cause = "invalid_marker" // the device sent a value declared as "no value"
	CauseNotANumber  Cause = "not_a_number"   // NaN or infinite
	CauseImplausible Cause = "implausible"    // denormal or far out of any range: often a wrong word order
	CauseOutOfRange  Cause = "out_of_range"   // outside the range the inventory declares
	CauseNoLabel     Cause = "no_label"       // a code without a label
	CauseStale       Cause = "stale"          // too old
	CauseFrozen      Cause = "frozen"         // the device's liveness, or the signal itself, stands still
	CauseOffline     Cause = "offline"        // the device did not answer
	CauseWire        Cause = "wire_error"     // the device answered with an error or with nonsense
)

// Reading is one measurement of a point. Started is when the request left, At when the answer was complete: a reading whose
// Started lies before an act proves nothing about it.
type Reading struct {
	Value   Value
	Unit    Unit
	Started time.Time
	At      time.Time
	Quality Quality
	Cause   Cause
	Detail  string // a sentence for a person, when Cause is set
	Raw     []byte // the point's own raw value; equal raw bytes mean an equal raw value
}

// Good reports whether the reading may prove something.
func (r Reading) Good() bool { return r.Quality == Good }

// Age is how long ago the value was measured.
func (r Reading) Age(now time.Time) time.Duration { return now.Sub(r.At) }

// RawHex is the raw value as upper-case hexadecimal, "" when there is none.
func (r Reading) RawHex() string { return hex.EncodeToString(r.Raw) }

// BadReading is a reading without a value and the reason why.
func BadReading(cause Cause, detail string, started, at time.Time) Reading {
	return Reading{Quality: Bad, Cause: cause, Detail: detail, Started: started, At: at}
}

// Role is what a point is to its asset. It decides how much a point proves.
type Role string

// The roles.
const (
	Setpoint Role = "setpoint" // what was asked
	Status   Role = "status"   // what the device says about itself
	Feedback Role = "feedback" // an independent sensor
	Process  Role = "process"  // the effect in the process
)
