package hal

import (
	"time"

	"capd/internal/physical"
)

// FailedSample is the sample of a point whose read ended in an error; started is when its request left, or should have.
func FailedSample(e *Error, started time.Time) Sample {
	return Sample{Started: started, At: time.Now(), Quality: physical.Bad, Cause: e.Kind.cause(), Detail: e.Error(), Err: e}
}

// cause tells a device that gave no answer from one that gave a wrong one.
func (k ErrorKind) cause() physical.Cause {
	switch k {
	case Exception, BusyDevice, Protocol, CRC, BadAddress:
		return physical.CauseWire
	default:
		return physical.CauseOffline
	}
}
