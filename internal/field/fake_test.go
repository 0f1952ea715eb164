package field

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"capd/internal/document"
	"capd/internal/hal"
	"capd/internal/inventory"
	"capd/internal/physical"
)

// fakeAddress is {place: N, kind: integer|number|bool|text, size: N}.
type fakeAddress struct {
	place, size int64
	kind        string
}

func (a fakeAddress) String() string { return fmt.Sprintf("%s %d", a.kind, a.place) }
func (a fakeAddress) Integer() bool  { return a.kind == "integer" }

func (a fakeAddress) Kind() physical.Kind {
	return map[string]physical.Kind{"integer": physical.Number, "number": physical.Number, "bool": physical.Bool, "text": physical.Text}[a.kind]
}

func (a fakeAddress) Encode(raw physical.Value) ([]byte, error) {
	if n, ok := raw.Number(); ok && a.Integer() {
		if n.IntPart() < 0 || n.IntPart() > 65535 {
			return nil, errors.New("a uint16 holds 0 to 65535")
		}
		return binary.BigEndian.AppendUint16(nil, uint16(n.IntPart())), nil
	}
	return []byte(raw.String()), nil
}

func (a fakeAddress) Overlaps(other hal.Address) bool {
	b := other.(fakeAddress)
	return a.place < b.place+b.size && b.place < a.place+a.size && (a.place != b.place || a.size != b.size)
}

// fakeDriver serves transports "fake" and "other" from memory.
type fakeDriver struct {
	mu      sync.Mutex
	values  map[string]physical.Value // by "DEVICE place"
	fail    map[string]error          // by device: every transaction fails
	latency time.Duration             // of one transaction
	refuse  error                     // of Open
	lose    bool                      // reads answer nothing

	opened, closed int
	open, most     int // now, and at most at any time
	batches        []batchSeen
	writes         []string
	aborted        int // transactions that ended by their context
}

type batchSeen struct {
	device string
	points int
}

func newFake() *fakeDriver {
	return &fakeDriver{values: map[string]physical.Value{}, fail: map[string]error{}}
}

func (f *fakeDriver) Name() string         { return "fake" }
func (f *fakeDriver) Transports() []string { return []string{"fake", "other"} }

func (f *fakeDriver) CheckLink(l hal.LinkSpec) document.Problems {
	if bad := l.Options.Get("bad"); bad != nil {
		return document.Problems{bad.Problem("fake", "", "bad link option")}
	}
	return nil
}

func (f *fakeDriver) CheckDevice(_ hal.LinkSpec, d hal.DeviceSpec) document.Problems {
	if bad := d.Options.Get("bad"); bad != nil {
		return document.Problems{bad.Problem("fake", "", "bad device option")}
	}
	return nil
}

func (f *fakeDriver) CheckPoint(_ hal.LinkSpec, _ hal.DeviceSpec, p hal.PointSpec) (hal.Address, document.Problems) {
	place, ok := p.At.Get("place").Int()
	if !ok {
		return nil, document.Problems{p.At.Problem("fake", "", "no place")}
	}
	a := fakeAddress{place: place, kind: "integer", size: 1}
	if kind := p.At.Get("kind"); kind != nil {
		a.kind = kind.Text()
	}
	if size, ok := p.At.Get("size").Int(); ok {
		a.size = size
	}
	return a, nil
}

func (f *fakeDriver) Open(hal.LinkSpec, []hal.DeviceSpec) (hal.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return nil, f.refuse
	}
	f.opened++
	f.open++
	f.most = max(f.most, f.open)
	return &fakeConn{f}, nil
}

func (f *fakeDriver) set(device string, place int, v physical.Value) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.values[fmt.Sprintf("%s %d", device, place)] = v
}

func (f *fakeDriver) breakDown(device string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail[device] = err
}

func (f *fakeDriver) seen() []batchSeen {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]batchSeen(nil), f.batches...)
}

func (f *fakeDriver) counts() (opened, open, aborted int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opened, f.open, f.aborted
}

type fakeConn struct{ *fakeDriver }

// pass takes the time of one transaction.
func (c *fakeConn) pass(ctx context.Context, device string) error {
	c.mu.Lock()
	latency, err := c.latency, c.fail[device]
	c.mu.Unlock()
	if latency > 0 {
		select {
		case <-time.After(latency):
		case <-ctx.Done():
			c.mu.Lock()
			c.aborted++
			c.mu.Unlock()
			return &hal.Error{Kind: hal.Timeout, MaySent: true, Device: device, Op: "fake", Err: ctx.Err()}
		}
	}
	return err
}

func (c *fakeConn) Read(ctx context.Context, device string, at []hal.Address) []hal.Sample {
	started := time.Now()
	c.mu.Lock()
	c.batches = append(c.batches, batchSeen{device, len(at)})
	c.mu.Unlock()
	err := c.pass(ctx, device)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lose {
		return nil
	}
	out := make([]hal.Sample, len(at))
	for i, a := range at {
		v, ok := c.values[fmt.Sprintf("%s %d", device, a.(fakeAddress).place)]
		switch {
		case err != nil:
			out[i] = hal.Sample{Started: started, At: time.Now(), Quality: physical.Bad, Err: err}
		case !ok:
			e := &hal.Error{Kind: hal.Exception, MaySent: true, Device: device, Op: "read " + a.String(), Code: 2}
			out[i] = hal.Sample{Started: started, At: time.Now(), Quality: physical.Bad, Err: e}
		default:
			raw, _ := a.Encode(v)
			out[i] = hal.Sample{Value: v, Raw: raw, Started: started, At: time.Now(), Quality: physical.Good}
		}
	}
	return out
}

func (c *fakeConn) Write(ctx context.Context, device string, at hal.Address, raw physical.Value) (hal.Ack, error) {
	started := time.Now()
	if err := c.pass(ctx, device); err != nil {
		return hal.Ack{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values[fmt.Sprintf("%s %d", device, at.(fakeAddress).place)] = raw
	c.writes = append(c.writes, fmt.Sprintf("%s %s = %s", device, at, raw))
	encoded, err := at.Encode(raw)
	return hal.Ack{Raw: encoded, Started: started, At: time.Now()}, err
}

func (c *fakeConn) Preview(device string, at hal.Address, raw physical.Value) (string, error) {
	return fmt.Sprintf("%s %s = %s", device, at, raw), nil
}

func (c *fakeConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed++
	c.open--
	return nil
}

// plant parses an inventory; a problem fails the test.
func plant(t testing.TB, text string) *inventory.Inventory {
	t.Helper()
	node, ps := document.Parse("plant.yaml", []byte("inventory: capd/v1\n"+text))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	inv, ps := inventory.Parse(node)
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	return inv
}

// bound binds an inventory over the fake; a problem fails the test.
func bound(t testing.TB, f *fakeDriver, text string) *Binding {
	t.Helper()
	b, ps := Bind(plant(t, text), []hal.Driver{f})
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	return b
}

// start runs a field over a plant until the test ends.
func start(t testing.TB, f *fakeDriver, o Options, text string) *Field {
	t.Helper()
	field := New(slog.New(slog.DiscardHandler), o)
	if err := field.Apply(t.Context(), bound(t, f, text)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, field) })
	return field
}

// stop ends a field and checks that nothing of it stays open.
func stop(t testing.TB, f *Field) {
	t.Helper()
	if err := f.Close(context.WithoutCancel(t.Context())); err != nil && !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

func number(s string) physical.Value {
	d, err := physical.ParseDecimal(s)
	if err != nil {
		return physical.Value{}
	}
	return physical.NumberOf(d)
}
