package invoke_test

import (
	"slices"
	"testing"
	"time"
)

func TestAnAssertionUnderWayDoesNotUndoTheStop(t *testing.T) {
	for at := time.Duration(0); at < 4*time.Second; at += 50 * time.Millisecond {
		inBubble(t, func(t *testing.T, b *bubble) {
			b.wants("start", b.call("run_held", nil), "confirmed E4 - - -")
			b.machine.set(func(m *machine) { m.writeFor = 900 * time.Millisecond }) // a slow serial line
			time.Sleep(at)
			stop := b.call("stop_pump", nil)
			time.Sleep(10 * time.Second)
			if got := b.machine.written(); slices.Contains(got[slices.Index(got, "PUMP.run=false")+1:], "PUMP.run=true") {
				t.Errorf("%s: after the stop (%s): %v", at, shape(stop), got)
			}
		})
	}
}
