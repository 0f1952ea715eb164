package modbus

import (
	"testing"
	"time"

	"capd/internal/hal"
	"capd/internal/hal/modbus/faultserver"
	"capd/internal/physical"
)

// line serves a pseudo-terminal and opens a link to it.
func line(t testing.TB, o faultserver.Options, devices ...string) (*conn, *faultserver.Server) {
	t.Helper()
	master, path := openPTY(t)
	s := faultserver.StartLine(master, o)
	t.Cleanup(s.Close)
	return openRTU(t, "{port: "+path+", baud: 115200, parity: none, timeout: 3s, turnaround: 20ms}", devices...), s
}

// gateway serves serial frames over TCP and opens a link to it.
func gateway(t testing.TB, o faultserver.Options, devices ...string) (*conn, *faultserver.Server) {
	t.Helper()
	o.RTU = true
	s := serve(t, o)
	return openLink(t, "modbus_rtu_over_tcp", "{endpoint: \""+s.Addr()+"\", timeout: 3s}", devices...), s
}

// serial are the two ways of a serial frame.
func serial() map[string]func(testing.TB, faultserver.Options, ...string) (*conn, *faultserver.Server) {
	return map[string]func(testing.TB, faultserver.Options, ...string) (*conn, *faultserver.Server){"line": line, "gateway": gateway}
}

// TestSerialReadsSurviveOrFailButNeverLie plays every fault of a serial line against a read: the value is the right one or there is none,
// and the next reads are right again.
func TestSerialReadsSurviveOrFailButNeverLie(t *testing.T) {
	for way, make := range serial() {
		for _, f := range faultserver.AllRTU() {
			t.Run(way+"_"+string(f), func(t *testing.T) {
				t.Parallel()
				var fault trap
				c, _ := make(t, faultserver.Options{Memory: bank(), Next: fault.next, Late: 350 * time.Millisecond}, quick1, "{unit_id: 2}")
				wantValue(t, patiently(t, c, at(t, reg1)), "101")
				fault.set(f)
				if got := read(t, c, at(t, reg1))[0]; got.Err == nil {
					wantValue(t, got, "101")
				} else {
					t.Log(got.Err)
				}
				fault.set(faultserver.None)
				wantValue(t, patiently(t, c, at(t, "{table: holding_register, address: 5, type: uint16}")), "105")
				wantValue(t, readOf(t, c, "B", at(t, reg1))[0], "201")
				wantValue(t, patiently(t, c, at(t, reg1)), "101")
			})
		}
	}
}

// TestSerialWritesAreNeverRepeated plays every fault against a write: executed at most once, and not at all where the error says so.
func TestSerialWritesAreNeverRepeated(t *testing.T) {
	for way, make := range serial() {
		for _, f := range faultserver.AllRTU() {
			t.Run(way+"_"+string(f), func(t *testing.T) {
				t.Parallel()
				var fault trap
				b := bank()
				c, _ := make(t, faultserver.Options{Memory: b, Next: fault.next}, quick1)
				wantValue(t, patiently(t, c, at(t, reg1)), "101")
				fault.set(f)
				ack, err := c.Write(t.Context(), "A", at(t, reg1), physical.IntOf(7))
				fault.set(faultserver.None)
				wantValue(t, patiently(t, c, at(t, "{table: holding_register, address: 2, type: uint16}")), "102")
				n := len(b.Writes())
				switch e := hal.AsError(err); {
				case n > 1:
					t.Errorf("executed %d times", n)
				case err == nil && (n != 1 || string(ack.Raw) != "\x00\x07"):
					t.Errorf("acknowledged % X, executed %d times", ack.Raw, n)
				case e != nil && !e.MaySent:
					t.Errorf("%v: the server got it, but the error says that nothing was sent", err)
				case e != nil:
					t.Log(err)
				}
			})
		}
	}
}
