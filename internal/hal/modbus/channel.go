package modbus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"capd/internal/hal"
)

// maxSilent is how many unanswered requests in a row a shared connection survives before it is taken for dead.
const maxSilent = 3

// channel owns one wire. It dials when a request needs it, sends one request at a time and decides when a connection is no longer
// worth keeping. It never sends a request twice.
type channel struct {
	dial    dialer
	framing framing
	keep    bool // several units share the wire: the silence of one must not cost the others their connection
	steady  bool // the wire is a port: closing it puts nothing right, so only an error of the port itself does
	unsure  bool // answers carry no number: look for stray ones before every request

	pdu    []byte // scratch
	s      stream // nil while there is no connection
	in     *inbox
	opened time.Time
	silent int // unanswered requests in a row on this connection
}

// turn is one request's passage over the wire: what it needs, and what became of it.
type turn struct {
	timeout      time.Duration // from sending to the whole answer
	connectDelay time.Duration // silence a device needs after a connection was made
	tolerance    tolerance
	once         bool // the request must not be lost: look first whether the connection has ended

	started time.Time // when the request left
	ended   time.Time // when the answer was whole
	maySent bool
	reused  bool // the connection was not made for this request
	hurried bool // the caller's deadline comes before the device's time is up
}

// wireError is a failed passage with its class.
type wireError struct {
	kind hal.ErrorKind
	err  error
}

func (e *wireError) Error() string { return e.err.Error() }
func (e *wireError) Unwrap() error { return e.err }

// exchange sends a request and waits for its answer, which is valid until the next call. Errors are *wireError.
func (c *channel) exchange(ctx context.Context, request []byte, t *turn) ([]byte, error) {
	t.started, t.maySent = time.Now(), false
	if err := c.connect(ctx, t); err != nil {
		return nil, err
	}
	release := hal.Interrupt(ctx, c.s)
	defer release()
	if err := c.framing.ready(ctx, c.in, request, t); err != nil {
		return nil, c.fail(ctx, t, err)
	}
	t.started = time.Now()
	if n, err := c.s.Write(request); err != nil {
		t.maySent = n > 0
		failed := c.fail(ctx, t, err)
		c.distrust() // part of the request may stand on the wire
		return nil, failed
	}
	t.maySent = true
	reply, err := c.framing.receive(c.in, request, t.tolerance)
	t.ended = time.Now()
	if err != nil {
		return nil, c.fail(ctx, t, err)
	}
	c.silent = 0
	return reply, nil
}

// connect makes sure of a live connection in step, with this turn's deadline set.
func (c *channel) connect(ctx context.Context, t *turn) error {
	if ctx.Err() != nil {
		return &wireError{hal.Timeout, context.Cause(ctx)}
	}
	t.reused = c.s != nil
	if t.reused && (c.arm(ctx, t) != nil || c.clear(t) != nil) {
		c.drop()
	}
	if c.s == nil {
		t.reused = false
		s, err := c.dial(ctx)
		if err != nil {
			return &wireError{hal.Unreachable, err}
		}
		c.s, c.in, c.opened, c.silent = s, newInbox(s), time.Now(), 0
	}
	if wait := t.connectDelay - time.Since(c.opened); wait > 0 {
		if err := pause(ctx, wait); err != nil {
			return &wireError{hal.Timeout, fmt.Errorf("waiting %v after the connection was made: %w", t.connectDelay, err)}
		}
		t.reused = false
	}
	if t.reused {
		return nil
	}
	if err := c.arm(ctx, t); err != nil {
		c.drop()
		return &wireError{hal.Closed, err}
	}
	return nil
}

// arm sets the turn's deadline on the connection.
func (c *channel) arm(ctx context.Context, t *turn) error {
	deadline := time.Now().Add(t.timeout)
	d, ok := ctx.Deadline()
	if t.hurried = ok && d.Before(deadline); t.hurried {
		deadline = d
	}
	return c.s.SetDeadline(deadline)
}

// clear discards what arrived unasked. An error means that the connection has ended or is out of step. Looking costs a system call,
// so a read looks only where a stray answer could be taken for its own: it can be sent again.
func (c *channel) clear(t *turn) error {
	if c.in.poll != nil && (t.once || c.unsure || t.tolerance.tidZero) {
		if err := c.in.poll(); err != nil {
			return err
		}
	}
	return c.framing.drain(c.in)
}

// fail classifies the end of a passage and drops the connection unless it is surely still in step.
func (c *channel) fail(ctx context.Context, t *turn, err error) error {
	var broken *protocolError
	var damaged *crcError
	var classed *wireError
	switch {
	case errors.As(err, &classed):
		return classed
	case errors.As(err, &broken):
		c.distrust()
		return &wireError{hal.Protocol, err}
	case errors.As(err, &damaged):
		c.distrust()
		return &wireError{hal.CRC, err}
	case ctx.Err() != nil && (!t.maySent || errors.Is(err, context.Cause(ctx))):
		return &wireError{hal.Timeout, context.Cause(ctx)}
	case errors.Is(err, os.ErrDeadlineExceeded):
		partial, left := len(c.in.peek()), left(ctx)
		if !left {
			c.silent++
		}
		if !c.steady && (!c.keep && !left || partial > 0 || t.tolerance.tidZero || c.silent >= maxSilent) {
			c.drop()
		}
		return &wireError{hal.Timeout, silence(ctx, t, partial)}
	default:
		c.drop()
		return &wireError{hal.Closed, err}
	}
}

// left reports whether waiting ended because the caller left, which tells nothing about the device or the connection.
func left(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

func silence(ctx context.Context, t *turn, partial int) error {
	text := "no answer"
	if partial > 0 {
		text = fmt.Sprintf("the answer stopped after %d bytes", partial)
	}
	cause := context.Cause(ctx)
	if cause == nil && t.hurried { // the socket's clock was faster than the context's
		cause = context.DeadlineExceeded
	}
	if cause != nil {
		return fmt.Errorf("%s in the time the caller gave: %w", text, cause)
	}
	return fmt.Errorf("%s within %v", text, t.timeout)
}

// distrust ends a connection whose answers cannot be trusted any more.
func (c *channel) distrust() {
	if !c.steady {
		c.drop()
	}
}

// drop ends the connection; the next request dials.
func (c *channel) drop() {
	if c.s == nil {
		return
	}
	_ = c.s.Close() // nothing waits on it, and its state no longer matters
	c.s, c.in = nil, nil
}

// pause waits unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fine is the rest of a wait that a thread sleeps, because the runtime's timers can be a millisecond late.
const fine = 2 * time.Millisecond

// nap waits like pause, but punctually, as times on a serial line are shorter than what the runtime's timers can do. ctx cannot
// end its last two milliseconds.
func nap(ctx context.Context, d time.Duration) error {
	end := time.Now().Add(d)
	if d > fine {
		if err := pause(ctx, d-fine); err != nil {
			return err
		}
	}
	for rest := time.Until(end); rest > 0; rest = time.Until(end) {
		ts := unix.NsecToTimespec(int64(rest))
		_ = unix.Nanosleep(&ts, nil) // a signal ends it early; the clock decides
	}
	return nil
}
