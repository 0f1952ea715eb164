package modbus

import (
	"time"

	"capd/internal/document"
)

// readRTUOverTCP reads what a link to a gateway needs that passes serial frames on as they are. The port has no usual number.
func readRTUOverTCP(m *document.Map, ps *document.Problems, s *linkSettings) {
	readTCP(m, ps, s)
	s.turnaround = duration(m, ps, "turnaround", 100*time.Millisecond, 0)
}

func openRTUOverTCP(s linkSettings, c *channel) {
	r := newRTU()
	r.gap = 2 * time.Millisecond     // what a gateway sends unasked comes by then
	r.quiet = 250 * time.Millisecond // a network may hold parts of an answer back for longer than a line
	r.turnaround = s.turnaround
	c.dial, c.framing, c.unsure = dialTCP(s), r, true
}
