package hal

import (
	"context"
	"errors"
	"time"
)

// Prompt is a Conn that may be able to end a Read at once when its context ends, and to tell the late answer to it from those to what
// follows. A Link runs reads of such a Conn in their callers' goroutines while the wire is quick and nobody else wants it: the
// hand-over to the worker and back would take as long as the read.
type Prompt interface {
	// Prompt reports whether it is able to. It never changes.
	Prompt() bool
}

// quick is the longest average latency of a wire whose reads run in their callers' goroutines. On a slower one the hand-over does not
// count, and more callers leave before the answer comes, which is better waited for.
const quick = 2 * time.Millisecond

// seize takes the wire for a read in its caller's goroutine; nil when the read has to queue: the wire is in use or wanted, the last
// transaction got no answer, or the device did not answer before.
func (l *Link) seize(ctx context.Context, device string) *leash {
	if !l.prompt || ctx.Err() != nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy || !l.warm || l.closing || l.waiting() > 0 || l.count.latency > quick || l.pauses.devices[device] != nil {
		return nil
	}
	t := &leash{Context: ctx}
	l.busy, l.abort = true, t.cut
	return t
}

// readHere runs a read on the seized wire. A caller that leaves ends it, which tells nothing about the device.
func (l *Link) readHere(t *leash, device string, at []Address) []Sample {
	var result summary
	stop, started := t.follow(), time.Now()
	defer func() { // also after a panic that somebody above recovers from
		stop()
		t.cut()
		l.giveBack(device, result, started)
	}()
	samples := l.conn.Read(t, device, at)
	result = summarize(samples)
	if errors.Is(t.Err(), context.Canceled) {
		result.silent = 0
	}
	return samples
}

// giveBack ends the use of the seized wire. What came meanwhile is the worker's.
func (l *Link) giveBack(device string, result summary, started time.Time) {
	l.mu.Lock()
	changed := l.book(device, result, started)
	l.busy = false
	wanted := l.closing || l.waiting() > 0
	l.mu.Unlock()
	if wanted {
		l.signal()
	}
	l.tell(changed, device)
}
