// Package outcome holds the closed vocabulary of answers: verdicts, evidence levels, reason codes, layers, evidence and refusals.
//
// Its promise: every answer of capd is made of these words and no other. It decides nothing and does no I/O.
package outcome

import (
	"encoding/json"
	"fmt"

	"capd/internal/physical"
)

// Verdict is what capd can say about a call.
type Verdict string

// The verdicts.
const (
	Observed    Verdict = "observed"     // a read, with good quality
	Confirmed   Verdict = "confirmed"    // the witnesses agree that it happened
	Refuted     Verdict = "refuted"      // a witness shows that it did not happen
	Unknown     Verdict = "unknown"      // no usable evidence either way
	NotExecuted Verdict = "not_executed" // nothing left the box
	Pending     Verdict = "pending"      // still verifying
)

// IsError reports whether MCP's isError goes with the verdict.
func (v Verdict) IsError() bool { return v != Observed && v != Confirmed && v != Pending }

// Level is how far the evidence reaches.
type Level uint8

// The evidence levels.
const (
	E0 Level = iota // nothing left the box, or nothing agreed
	E1              // the protocol acknowledged
	E2              // the setpoint reads back
	E3              // the device's own status agrees
	E4              // an independent sensor agrees
	E5              // the effect in the process is seen
)

func (l Level) String() string { return fmt.Sprintf("E%d", uint8(l)) }

// MarshalJSON writes "E4".
func (l Level) MarshalJSON() ([]byte, error) { return json.Marshal(l.String()) }

// UnmarshalJSON reads "E4".
func (l *Level) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	p, ok := ParseLevel(s)
	if !ok {
		return fmt.Errorf("%q is not a level; the levels are E0 to E5", s)
	}
	*l = p
	return nil
}

// ParseLevel reads "E0" to "E5".
func ParseLevel(s string) (Level, bool) {
	if len(s) == 2 && s[0] == 'E' && s[1] >= '0' && s[1] <= '5' {
		return Level(s[1] - '0'), true
	}
	return E0, false
}

// LevelOf is the level that agreement of a point with this role reaches.
func LevelOf(r physical.Role) Level {
	switch r {
	case physical.Setpoint:
		return E2
	case physical.Status:
		return E3
	case physical.Feedback:
		return E4
	case physical.Process:
		return E5
	default:
		return E0
	}
}

// Layer is where a failure lies.
type Layer string

// The layers.
const (
	LayerNone         Layer = ""
	LayerCapability   Layer = "capability"   // what was asked is not a valid request of this capability
	LayerPolicy       Layer = "policy"       // a rule or a permit forbids it now
	LayerExecution    Layer = "execution"    // the wire
	LayerVerification Layer = "verification" // the witness
	LayerDevice       Layer = "device"       // the machine disobeyed
)
