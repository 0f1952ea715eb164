package hal

import (
	"fmt"
	"time"
)

// BackedOffError is inside the *Error of a poll that was not sent because its device, or the whole link, was silent before.
type BackedOffError struct {
	Until  time.Time
	Misses int // transactions in a row without an answer
}

func (e *BackedOffError) Error() string {
	return fmt.Sprintf("backed off until %s after %d unanswered transactions", e.Until.Format("15:04:05.000"), e.Misses)
}

// backoff is the pause of one device, or of a whole link.
type backoff struct {
	until  time.Time
	kind   ErrorKind // what its silence was
	misses int
}

// miss notes one more silence that took some time: the pause doubles from max(first, took) up to longest, so that a silent device
// costs its neighbours at most half of the wire's time, and soon next to nothing.
func (b *backoff) miss(kind ErrorKind, took, first, longest time.Duration) {
	wait := max(first, took)
	for range b.misses {
		if wait >= longest {
			break
		}
		wait *= 2
	}
	b.kind = kind
	b.misses++
	b.until = time.Now().Add(min(wait, longest))
}

// refuse is the error of a poll during the pause, nil outside of it.
func (b *backoff) refuse(now time.Time) *Error {
	if b == nil || b.misses == 0 || !now.Before(b.until) {
		return nil
	}
	return &Error{Kind: b.kind, Err: &BackedOffError{Until: b.until, Misses: b.misses}}
}

// pauses are the back-offs of a link: one per silent device, and one for the wire when no connection can be made.
type pauses struct {
	first, longest time.Duration
	wire           backoff
	devices        map[string]*backoff
}

func newPauses(first, longest time.Duration) pauses {
	return pauses{first: first, longest: longest, devices: map[string]*backoff{}}
}

func (p *pauses) refuse(device string, now time.Time) *Error {
	if e := p.wire.refuse(now); e != nil {
		return e
	}
	return p.devices[device].refuse(now)
}

// learn notes how a transaction ended. It returns what is worth a log line, or "".
func (p *pauses) learn(device string, s summary, took time.Duration) string {
	if s.answered {
		_, was := p.devices[device]
		delete(p.devices, device)
		p.wire = backoff{}
		if was {
			return "device answers again"
		}
		return ""
	}
	switch s.silent {
	case 0:
		return ""
	case Unreachable:
		p.wire.miss(s.silent, took, p.first, p.longest)
		return ""
	}
	p.wire = backoff{} // the silence is the device's own: a connection was made
	b := p.devices[device]
	if b == nil {
		b = &backoff{}
		p.devices[device] = b
	}
	b.miss(s.silent, took, p.first, p.longest)
	if b.misses == 1 {
		return "device does not answer"
	}
	return ""
}
