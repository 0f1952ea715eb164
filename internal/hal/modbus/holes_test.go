package modbus

import (
	"strconv"
	"testing"
	"time"

	"capd/internal/hal/modbus/faultserver"
)

// reaches reports whether a read request has an address.
func reaches(r faultserver.Request, address int) bool {
	from, count := int(r.PDU[1])<<8|int(r.PDU[2]), int(r.PDU[3])<<8|int(r.PDU[4])
	return from <= address && address < from+count
}

// Many controllers answer a hole with "server device failure".
func TestAHoleByDeviceFailureCostsNoNeighbour(t *testing.T) {
	starts := span(0, 10)
	n := &counting{Memory: holding(starts...)}
	s := serve(t, faultserver.Options{Memory: n, Rewrite: func(r faultserver.Request, reply []byte) [][]byte {
		if reaches(r, 5) {
			return [][]byte{faultserver.Frame(r.TID, r.Unit, []byte{r.PDU[0] | 0x80, 4})}
		}
		return [][]byte{reply}
	}})
	c := open(t, s.Addr(), "{unit_id: 1}")
	wantAll(t, read(t, c, words(t, starts...)...), starts, 5)
	n.requests()
	wantAll(t, read(t, c, words(t, starts...)...), starts, 5)
	wantRequests(t, n, "3 0+5", "3 5+1", "3 6+4")
}

// afterReads reads until all addresses but the missing ones are good twice in a row, and fails when they never are.
func afterReads(t *testing.T, c *conn, starts []int, missing int) {
	t.Helper()
	batch, row, want := words(t, starts...), 0, len(starts)
	if missing >= 0 {
		want--
	}
	for range 40 { // a busy machine may be slow to answer at first
		good := 0
		for i, sample := range read(t, c, batch...) {
			if sample.Err == nil && starts[i] != missing {
				wantValue(t, sample, strconv.Itoa(1000+starts[i]))
				good++
			}
		}
		if row++; good < want {
			row = 0
		}
		if row == 2 {
			return
		}
	}
	t.Errorf("the neighbours of %d are never read together", missing)
}

// Cheap meters say nothing at all about addresses that they lack.
func TestASilentHoleCostsItsNeighboursOnlyTheFirstReads(t *testing.T) {
	s := serve(t, faultserver.Options{Memory: holding(span(0, 20)...), Next: func(r faultserver.Request) faultserver.Fault {
		if reaches(r, 5) {
			return faultserver.Swallow
		}
		return faultserver.None
	}})
	afterReads(t, open(t, s.Addr(), "{unit_id: 1, timeout: 100ms}"), []int{1, 5, 9, 10, 11, 12}, 5)
}

func TestALimitThatShowsAsSilenceIsFound(t *testing.T) {
	s := serve(t, faultserver.Options{Memory: holding(span(0, 20)...), Next: func(r faultserver.Request) faultserver.Fault {
		if r.PDU[4] > 4 {
			return faultserver.Swallow
		}
		return faultserver.None
	}})
	afterReads(t, open(t, s.Addr(), "{unit_id: 1, timeout: 100ms}"), span(0, 11), -1)
}

// A device that was away is read as before when it is back.
func TestADeviceThatComesBackIsReadInFewRequests(t *testing.T) {
	var away trapdoor
	s := serve(t, faultserver.Options{Memory: holding(span(0, 40)...), Next: away.next})
	c := open(t, s.Addr(), "{unit_id: 1, timeout: 50ms}")
	batch := words(t, span(0, 40)...)
	away.shut.Store(true)
	for range 6 {
		read(t, c, batch...)
	}
	away.shut.Store(false)
	for range 40 { // a busy machine may be slow to answer
		before, ok := s.Requests(), true
		for _, sample := range read(t, c, batch...) {
			ok = ok && sample.Err == nil
		}
		asked := s.Requests() - before
		if asked > 8 {
			t.Fatalf("%d requests for one read", asked)
		}
		if ok {
			if blocks := c.devices["A"].plan(batch, time.Now().Add(refusedAll)); len(blocks) != 1 {
				t.Errorf("%d blocks after %v", len(blocks), refusedAll)
			}
			return
		}
	}
	t.Error("the device is never read again")
}
