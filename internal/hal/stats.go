package hal

import (
	"maps"
	"time"
)

// LinkStats are a link's figures since it was opened.
type LinkStats struct {
	Since        time.Time            // when the link was opened
	Transactions uint64               // reads and writes handed to the wire; a read of many points may take several requests
	Failed       uint64               // of these, with at least one error
	Errors       map[ErrorKind]uint64 // transactions by the kinds of error they showed, and refusals for a full queue
	LastOK       time.Time            // end of the last transaction without an error
	Depth        int                  // transactions waiting now
	Busy         time.Duration        // time spent in transactions: its growth over a period is the wire's utilisation
	Latency      time.Duration        // moving average over transactions without an error
	MaxLatency   time.Duration        // longest transaction without an error
	BackedOff    map[string]time.Time // silent devices and until when their polls pause
	Unreachable  int                  // attempts in a row in which no connection could be made
}

// Stats are the figures now. The maps belong to the caller.
func (l *Link) Stats() LinkStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.count
	s := LinkStats{
		Since: l.opened, Transactions: c.transactions, Failed: c.failed, Errors: maps.Clone(c.errors), LastOK: c.lastOK,
		Depth: l.waiting(), Busy: c.busy, Latency: c.latency, MaxLatency: c.longest, BackedOff: map[string]time.Time{},
		Unreachable: l.pauses.wire.misses,
	}
	for device, b := range l.pauses.devices {
		s.BackedOff[device] = b.until
	}
	return s
}

type counters struct {
	transactions, failed uint64
	errors               map[ErrorKind]uint64
	lastOK               time.Time
	busy                 time.Duration
	latency, longest     time.Duration
}

func newCounters() counters { return counters{errors: map[ErrorKind]uint64{}} }

func (c *counters) add(s summary, took time.Duration, ended time.Time) {
	c.transactions++
	c.busy += took
	for _, k := range s.kinds {
		c.errors[k]++
	}
	if len(s.kinds) > 0 {
		c.failed++
		return
	}
	c.lastOK = ended
	c.longest = max(c.longest, took)
	if c.latency == 0 {
		c.latency = took
	}
	c.latency += (took - c.latency) / 8
}
