package hal

import (
	"errors"
	"fmt"
)

// ErrorKind is the class of a failed transaction; a closed list.
type ErrorKind uint8

// The error kinds.
const (
	Unreachable ErrorKind = iota + 1 // no connection could be made
	Timeout                          // no answer within the deadline
	Exception                        // the device refused
	BusyDevice                       // the device is busy: retry later
	Gateway                          // the gateway could not reach the device behind it
	Protocol                         // the answer broke the protocol
	CRC                              // the answer was damaged
	Closed                           // the connection ended
	BadAddress                       // the request itself cannot be made
	QueueFull                        // the link's queue is full: nothing was sent
)

func (k ErrorKind) String() string {
	names := [...]string{"unknown", "unreachable", "timeout", "exception", "busy", "gateway", "protocol", "crc", "closed", "bad_address", "queue_full"}
	if int(k) < len(names) {
		return names[k]
	}
	return names[0]
}

// Error is a failed transaction. MaySent is true unless surely nothing reached the wire.
type Error struct {
	Kind    ErrorKind
	MaySent bool
	Device  string
	Op      string // such as "read holding_register 100"
	Code    int    // the device's own exception code, when Kind is Exception, BusyDevice or Gateway
	Err     error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s on %s: %s", e.Op, e.Device, e.Kind)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// AsError finds the *Error in err, nil when there is none.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return nil
}
