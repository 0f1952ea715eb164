package modbus

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"capd/internal/document"
	"capd/internal/hal"
	"capd/internal/hal/modbus/faultserver"
)

// node parses YAML that is expected to be sound.
func node(t testing.TB, text string) *document.Node {
	t.Helper()
	n, ps := document.Parse("test.yaml", []byte(text))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

// at checks a point's place on an ordinary device.
func at(t testing.TB, text string) *address {
	t.Helper()
	return pointOn(t, text, "{unit_id: 1}", "")
}

func pointOn(t testing.TB, text, device, invalid string) *address {
	t.Helper()
	p := hal.PointSpec{ID: "A.p", At: node(t, text)}
	if invalid != "" {
		p.Invalid = node(t, invalid)
	}
	a, ps := New().CheckPoint(hal.LinkSpec{ID: "L"}, hal.DeviceSpec{ID: "D", Options: node(t, device)}, p)
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	return a.(*address)
}

// open makes a connection to addr with devices named A, B, ... of these options.
func open(t testing.TB, addr string, devices ...string) *conn {
	t.Helper()
	var specs []hal.DeviceSpec
	for i, d := range devices {
		specs = append(specs, hal.DeviceSpec{ID: string(rune('A' + i)), Link: "L", Options: node(t, d)})
	}
	link := hal.LinkSpec{ID: "L", Transport: "modbus_tcp", Options: node(t, "{endpoint: \""+addr+"\", timeout: 3s}")}
	c, err := New().Open(link, specs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*conn)
}

// serve starts a fault server for the test.
func serve(t testing.TB, o faultserver.Options) *faultserver.Server {
	t.Helper()
	s, err := faultserver.Start("", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// script gives the n-th request the n-th fault, and none after the last.
func script(faults ...faultserver.Fault) func(faultserver.Request) faultserver.Fault {
	return func(r faultserver.Request) faultserver.Fault {
		if r.Number <= len(faults) {
			return faults[r.Number-1]
		}
		return faultserver.None
	}
}

// read reads points of device A within a second.
func read(t testing.TB, c hal.Conn, points ...*address) []hal.Sample {
	t.Helper()
	return readOf(t, c, "A", points...)
}

func readOf(t testing.TB, c hal.Conn, device string, points ...*address) []hal.Sample {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var list []hal.Address
	for _, p := range points {
		list = append(list, p)
	}
	return c.Read(ctx, device, list)
}

// trap is a fault that a test springs on the next request.
type trap struct{ armed atomic.Value }

func (t *trap) set(f faultserver.Fault) { t.armed.Store(f) }

func (t *trap) next(faultserver.Request) faultserver.Fault {
	if f, ok := t.armed.Swap(faultserver.None).(faultserver.Fault); ok {
		return f
	}
	return faultserver.None
}

// patiently reads until something else than silence comes: a busy machine may be slower than a test's short time-outs.
func patiently(t testing.TB, c hal.Conn, p *address) hal.Sample {
	t.Helper()
	for range 20 {
		s := read(t, c, p)[0]
		if e := hal.AsError(s.Err); e == nil || e.Kind != hal.Timeout {
			return s
		}
	}
	t.Fatalf("no answer for %v", p)
	return hal.Sample{}
}

// wantValue fails unless a sample is good and holds a value.
func wantValue(t testing.TB, s hal.Sample, want string) {
	t.Helper()
	if s.Err != nil {
		t.Errorf("want %s, got %v", want, s.Err)
		return
	}
	if s.Value.String() != want || s.Quality != "good" {
		t.Errorf("want %s, got %s (%s %s)", want, s.Value, s.Quality, s.Detail)
	}
}

// wantKind fails unless err is of a kind.
func wantKind(t testing.TB, err error, want hal.ErrorKind) *hal.Error {
	t.Helper()
	e := hal.AsError(err)
	if e == nil || e.Kind != want {
		t.Fatalf("want %v, got %v", want, err)
	}
	return e
}

// trapdoor swallows every request while it is shut.
type trapdoor struct{ shut atomic.Bool }

func (d *trapdoor) next(faultserver.Request) faultserver.Fault {
	if d.shut.Load() {
		return faultserver.Swallow
	}
	return faultserver.None
}
