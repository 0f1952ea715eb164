package hal

import (
	"context"
	"sync"
	"time"
)

// Stream is what Interrupt needs of a socket or a port. SetDeadline may be called while another goroutine reads or writes.
type Stream interface {
	SetDeadline(time.Time) error
}

// Interrupt ends waiting on s when ctx ends, by a deadline in the past. release must be called before s is used for anything else.
func Interrupt(ctx context.Context, s Stream) (release func()) {
	if own, ok := ctx.(*leash); ok {
		own.hold(s)
		return own.release
	}
	if ctx.Done() == nil {
		return func() {}
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		interrupt(s)
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

func interrupt(s Stream) { _ = s.SetDeadline(time.Unix(1, 0)) } // fails only on a closed stream, where nobody waits any more

// leash is a context that ends with its caller's, or when the link cuts it. To make, hand on and watch one of the standard library
// takes a good part of the time of a read on a quick wire; this one makes nothing before somebody asks for it.
type leash struct {
	context.Context // the caller's

	mu     sync.Mutex
	err    error
	done   chan struct{} // made by Done
	stream Stream        // to interrupt; nil for none
}

// Done implements context.Context.
func (l *leash) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.err != nil {
			close(l.done)
		}
	}
	return l.done
}

// Err implements context.Context.
func (l *leash) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// follow ends the leash when the caller's context ends, until stop.
func (l *leash) follow() (stop func() bool) {
	if l.Context.Done() == nil {
		return func() bool { return true }
	}
	return context.AfterFunc(l.Context, func() { l.end(l.Context.Err()) })
}

// cut ends the leash.
func (l *leash) cut() { l.end(context.Canceled) }

func (l *leash) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = err
	if l.done != nil {
		close(l.done)
	}
	if l.stream != nil {
		interrupt(l.stream)
	}
}

func (l *leash) hold(s Stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stream = s
	if l.err != nil {
		interrupt(s)
	}
}

func (l *leash) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stream = nil
}
