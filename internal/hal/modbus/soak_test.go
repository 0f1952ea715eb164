package modbus

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"capd/internal/hal"
	"capd/internal/hal/modbus/faultserver"
	"capd/internal/physical"
)

// soak is a mixture of every fault against devices whose values tell where and when they were read.
type soak struct {
	t      *testing.T
	pace   time.Duration
	oracle *faultserver.Oracle
	link   *hal.Link
	mu     sync.Mutex
	good   int
	failed map[hal.ErrorKind]int
	sent   map[uint32]error // what became of each write, by its value
}

// TestSoak runs for 5 s, or for CAPD_SOAK (such as 1m).
func TestSoak(t *testing.T) {
	length := 5 * time.Second
	if text := os.Getenv("CAPD_SOAK"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	// A stall of this machine that outlasts a time-out and its quarantine is a second fault: an answer of the wrong unit then comes
	// in the place of another's. The time-outs are long enough to make that rare and short enough for many faults a minute.
	shared := []string{"{unit_id: 1, timeout: 40ms}", "{unit_id: 2, timeout: 40ms}", "{unit_id: 3, timeout: 40ms, quirks: {write_fc: 16}}"}
	alone := []string{"{unit_id: 1, timeout: 40ms}"}
	connections := []faultserver.Fault{faultserver.CloseInside, faultserver.ResetBefore, faultserver.ResetAfter, faultserver.CloseBefore, faultserver.CloseAfter}
	tcp := func(t testing.TB, o faultserver.Options, devices ...string) (*conn, *faultserver.Server) {
		s := serve(t, o)
		return open(t, s.Addr(), devices...), s
	}
	for name, way := range map[string]struct {
		open    func(testing.TB, faultserver.Options, ...string) (*conn, *faultserver.Server)
		faults  []faultserver.Fault
		late    time.Duration
		pace    time.Duration // between the writes of one device: they come first, and reads want their turn
		devices []string
	}{
		"tcp_shared":     {tcp, faultserver.All(), 60 * time.Millisecond, time.Millisecond, shared},
		"tcp_alone":      {tcp, faultserver.All(), 60 * time.Millisecond, time.Millisecond, alone},
		"line_shared":    {line, faultserver.AllRTU(), 180 * time.Millisecond, 200 * time.Millisecond, shared},
		"line_alone":     {line, faultserver.AllRTU(), 60 * time.Millisecond, 60 * time.Millisecond, alone},
		"gateway_shared": {gateway, append(faultserver.AllRTU(), connections...), 110 * time.Millisecond, 200 * time.Millisecond, shared},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &faultserver.Oracle{}
			c, s := way.open(t, faultserver.Options{Memory: o, Next: anyFault(way.faults, uint64(time.Now().UnixNano())), Late: way.late}, way.devices...)
			devices := way.devices
			k := &soak{t: t, pace: way.pace, oracle: o, failed: map[hal.ErrorKind]int{}, sent: map[uint32]error{},
				link: hal.NewLink("L", c, hal.LinkOptions{BackoffMin: time.Millisecond, BackoffMax: 5 * time.Millisecond})}
			ctx, cancel := context.WithTimeout(t.Context(), length)
			defer cancel()
			var all sync.WaitGroup
			for i := range devices {
				all.Go(func() { k.read(ctx, i) })
				all.Go(func() { k.write(ctx, i) })
			}
			all.Wait()
			if err := k.link.Close(t.Context()); err != nil {
				t.Error(err)
			}
			k.judge(s)
		})
	}
}

// anyFault springs a random fault on every third request.
func anyFault(all []faultserver.Fault, seed uint64) func(faultserver.Request) faultserver.Fault {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, seed))
	return func(faultserver.Request) faultserver.Fault {
		mu.Lock()
		defer mu.Unlock()
		if r.IntN(3) > 0 {
			return faultserver.None
		}
		return all[r.IntN(len(all))]
	}
}

// read reads random batches of one device and holds every value against the oracle.
func (k *soak) read(ctx context.Context, device int) {
	r := rand.New(rand.NewPCG(7, uint64(device)))
	u16, _ := typeByName("uint16")
	bit, _ := typeByName("bit")
	for ctx.Err() == nil {
		var batch []hal.Address
		for range 1 + r.IntN(6) {
			batch = append(batch, &address{table: []table{inputRegister, holdingRegister}[r.IntN(2)], start: r.IntN(60), count: 1, size: 2, typ: u16})
		}
		if r.IntN(3) == 0 {
			from := 16 * r.IntN(50)
			batch = nil
			for i := range 16 {
				batch = append(batch, &address{table: []table{coil, discreteInput}[from/16%2], start: from + i, count: 1, size: 1, typ: bit})
			}
		}
		before := k.oracle.Seq()
		var samples []hal.Sample
		if r.IntN(2) == 0 {
			samples = k.link.Poll(ctx, string(rune('A'+device)), batch)
		} else {
			samples = k.link.Read(ctx, string(rune('A'+device)), batch)
		}
		k.hold(byte(device+1), batch, samples, before, k.oracle.Seq())
	}
}

// hold fails on any value that is not of its place or not of the time between asking and answering.
func (k *soak) hold(unit byte, batch []hal.Address, samples []hal.Sample, before, after uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	bits := map[time.Time][]int{} // by request: a refused block is read in parts, at several moments
	for i, s := range samples {
		if s.Err != nil {
			k.failed[hal.AsError(s.Err).Kind]++
			continue
		}
		k.good++
		a := batch[i].(*address)
		if a.table.bits() {
			bits[s.Started] = append(bits[s.Started], i)
			continue
		}
		m := faultserver.Moment(unit, int(a.table.readFunction()), a.start, binary.BigEndian.Uint16(s.Raw))
		if age := m - uint16(before); age == 0 || age > uint16(after-before) {
			k.t.Errorf("unit %d %s: value % X is wrong or not of this read (moment %d, read between %d and %d)", unit, a, s.Raw, m, before, after)
		}
	}
	for _, group := range bits {
		if !heldAtOnce(unit, batch, samples, group, before, after) {
			k.t.Errorf("unit %d %s: %d bits are wrong or not of this read", unit, batch[group[0]], len(group))
		}
	}
}

// heldAtOnce reports whether there is a moment of the read at which a group of bits was as read.
func heldAtOnce(unit byte, batch []hal.Address, samples []hal.Sample, group []int, before, after uint64) bool {
	for seq := before + 1; seq <= after; seq++ {
		if !slices.ContainsFunc(group, func(i int) bool {
			a := batch[i].(*address)
			return faultserver.Bit(unit, int(a.table.readFunction()), a.start, seq) != (samples[i].Raw[0] == 1)
		}) {
			return true
		}
	}
	return false
}

// write writes values that occur once.
func (k *soak) write(ctx context.Context, device int) {
	u32, _ := typeByName("uint32")
	a := &address{table: holdingRegister, start: 100, count: 2, size: 4, typ: u32}
	for n := uint32(0); ctx.Err() == nil; n++ {
		value := uint32(device+1)<<24 | n
		_, err := k.link.Write(ctx, string(rune('A'+device)), a, physical.IntOf(int64(value)))
		k.mu.Lock()
		k.sent[value] = err
		k.mu.Unlock()
		if err := pause(ctx, k.pace); err != nil {
			return
		}
	}
}

// judge holds what the writers believe against what the server executed.
func (k *soak) judge(s *faultserver.Server) {
	executed := map[uint32]int{}
	writes := k.oracle.Writes()
	for i := 0; i+1 < len(writes); i += 2 {
		executed[uint32(writes[i].Value)<<16|uint32(writes[i+1].Value)]++
	}
	lost := 0
	for value, err := range k.sent {
		n := executed[value]
		e := hal.AsError(err)
		switch {
		case n > 1:
			k.t.Errorf("write %08X was executed %d times", value, n)
		case err == nil && n != 1:
			k.t.Errorf("write %08X was acknowledged and never executed", value)
		case e != nil && !e.MaySent && n != 0:
			k.t.Errorf("write %08X was executed, its error says that nothing was sent: %v", value, err)
		case e != nil && n == 1:
			lost++
		}
		delete(executed, value)
	}
	if len(executed) > 0 {
		k.t.Errorf("%d writes were executed that nobody made", len(executed))
	}
	if k.good == 0 || len(k.sent) == 0 {
		k.t.Error("nothing succeeded")
	}
	k.t.Logf("%d values right, %d writes (%d executed with an error), %d requests on %d connections, errors %v",
		k.good, len(k.sent), lost, s.Requests(), s.Accepted(), k.failed)
}
