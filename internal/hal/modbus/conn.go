package modbus

import (
	"time"

	"capd/internal/hal"
)

// conn is an opened link: one channel and the devices behind it.
type conn struct {
	ch        *channel
	devices   map[string]*device
	timeout   time.Duration // of units that the link does not declare
	idleClose time.Duration
	last      time.Time  // end of the last transaction, of whatever device
	batch     []*address // scratch of Read
}

var (
	_ hal.Conn      = (*conn)(nil)
	_ hal.Previewer = (*conn)(nil)
	_ hal.Idler     = (*conn)(nil)
	_ hal.Prompt    = (*conn)(nil)
)

// Close implements hal.Conn.
func (c *conn) Close() error {
	c.ch.drop()
	return nil
}

// IdleAfter implements hal.Idler.
func (c *conn) IdleAfter() time.Duration { return c.idleClose }

// Idle implements hal.Idler: the next transaction makes a new connection.
func (c *conn) Idle() { c.ch.drop() }

// Prompt implements hal.Prompt: an answer that carries a number may come late. A line has to wait for it.
func (c *conn) Prompt() bool { return !c.ch.steady && !c.ch.unsure }
