package field

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"capd/internal/hal"
)

// queueRoom is how many transactions of one class may wait on a link, beyond one poll of each of its devices.
const queueRoom = 64

// line is a link in use: opened by the first transaction that needs it, ended when its last user has gone.
type line struct {
	*boundLine
	log   *slog.Logger
	after []<-chan struct{} // lines that must have ended before this one opens, because they hold the same wire
	ended chan struct{}     // closed when the wire is free again
	turn  chan struct{}     // holds one token while somebody opens the link

	mu      sync.Mutex
	link    *hal.Link
	users   int
	retired bool
	cut     bool
	idle    chan struct{} // closed when retired without users
}

func newLine(b *boundLine, log *slog.Logger) *line {
	return &line{boundLine: b, log: log, ended: make(chan struct{}), turn: make(chan struct{}, 1), idle: make(chan struct{})}
}

// acquire announces a user, who must release; false when the line is on its way out.
func (l *line) acquire() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.retired {
		return false
	}
	l.users++
	return true
}

func (l *line) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users--
	l.settle()
}

// settle closes idle once. The caller holds mu.
func (l *line) settle() {
	if l.retired && l.users == 0 {
		close(l.idle)
	}
}

// retire admits no new user.
func (l *line) retire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retired = true
	l.settle()
}

// drain waits for the users of a retired line and closes its link. When ctx ends first, the link is cut.
func (l *line) drain(ctx context.Context) error {
	defer close(l.ended)
	select {
	case <-l.idle:
	case <-ctx.Done():
	}
	l.mu.Lock()
	l.cut = true
	link := l.link
	l.mu.Unlock()
	if link == nil {
		return nil
	}
	return link.Close(ctx)
}

// opened is the link if it is open, else nil.
func (l *line) opened() *hal.Link {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.link
}

// open is the link, opened now if it is not open yet. The caller has acquired the line.
func (l *line) open(ctx context.Context) (*hal.Link, *hal.Error) {
	if link := l.opened(); link != nil {
		return link, nil
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, l.unopened(hal.Timeout, "gave up while waiting for it to open", context.Cause(ctx))
	}
	if link := l.opened(); link != nil {
		return link, nil
	}
	for _, ended := range l.after {
		select {
		case <-ended:
		case <-ctx.Done():
			return nil, l.unopened(hal.Timeout, "gave up while the wire's former link was draining", context.Cause(ctx))
		}
	}
	conn, err := l.driver.Open(l.spec, l.devices)
	if err != nil {
		return nil, l.unopened(hal.Unreachable, "it cannot be opened", err)
	}
	return l.install(conn)
}

func (l *line) install(conn hal.Conn) (*hal.Link, *hal.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return nil, l.unopened(hal.Closed, "it was cut before it opened", conn.Close())
	}
	l.link = hal.NewLink(l.spec.ID, conn, hal.LinkOptions{Queue: queueRoom + len(l.devices), Log: l.log})
	return l.link, nil
}

// unopened is the error of a transaction for which there was no link: nothing was sent.
func (l *line) unopened(kind hal.ErrorKind, what string, err error) *hal.Error {
	return &hal.Error{Kind: kind, Err: errors.Join(fmt.Errorf("link %s: %s", l.spec.ID, what), err)}
}
