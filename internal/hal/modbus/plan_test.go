package modbus

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"capd/internal/hal"
	"capd/internal/hal/modbus/faultserver"
)

// counting notes the read requests a memory executes, as "function from+count".
type counting struct {
	faultserver.Memory
	seen []string
}

func (c *counting) Execute(unit byte, pdu []byte) []byte {
	c.seen = append(c.seen, fmt.Sprintf("%d %d+%d", pdu[0], int(pdu[1])<<8|int(pdu[2]), int(pdu[3])<<8|int(pdu[4])))
	return c.Memory.Execute(unit, pdu)
}

// requests are the requests since the last call.
func (c *counting) requests() []string {
	seen := c.seen
	c.seen = nil
	return seen
}

func words(t *testing.T, starts ...int) []*address {
	t.Helper()
	var out []*address
	for _, s := range starts {
		out = append(out, at(t, fmt.Sprintf("{table: holding_register, address: %d, address_base: 0, type: uint16}", s)))
	}
	return out
}

func holding(starts ...int) *faultserver.Bank {
	b := &faultserver.Bank{}
	for _, s := range starts {
		b.Set(1, faultserver.HoldingRegisters, s, uint16(1000+s))
	}
	return b
}

func span(from, to int) []int {
	var out []int
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// session is a device on a server that counts requests.
func session(t *testing.T, m faultserver.Memory, device string) (*conn, *counting) {
	t.Helper()
	n := &counting{Memory: m}
	s := serve(t, faultserver.Options{Memory: n})
	return open(t, s.Addr(), device), n
}

func wantRequests(t *testing.T, n *counting, want ...string) {
	t.Helper()
	if got := n.requests(); !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}
}

// wantAll holds samples of words against the bank that holding fills; missing addresses are refused.
func wantAll(t *testing.T, samples []hal.Sample, starts []int, missing ...int) {
	t.Helper()
	for i, s := range starts {
		if slices.Contains(missing, s) {
			if e := hal.AsError(samples[i].Err); e == nil || e.Kind != hal.Exception {
				t.Errorf("address %d: %+v", s, samples[i])
			}
			continue
		}
		wantValue(t, samples[i], fmt.Sprint(1000+s))
	}
}

func TestPointsMergeIntoFewRequests(t *testing.T) {
	c, n := session(t, holding(span(0, 300)...), "{unit_id: 1}")
	starts := span(0, 300)
	wantAll(t, read(t, c, words(t, starts...)...), starts)
	wantRequests(t, n, "3 0+125", "3 125+125", "3 250+50")

	starts = []int{30, 10, 12, 26, 47} // any order; gaps up to 16 are read along
	samples := read(t, c, words(t, starts...)...)
	wantAll(t, samples, starts)
	wantRequests(t, n, "3 10+38")
	for _, s := range samples {
		if s.Started != samples[0].Started || s.At != samples[0].At || s.At.Before(s.Started) {
			t.Errorf("one request, but different times: %v %v", s.Started, s.At)
		}
	}
	starts = []int{0, 18}
	wantAll(t, read(t, c, words(t, starts...)...), starts)
	wantRequests(t, n, "3 0+1", "3 18+1")
}

func TestTablesAndWideValuesStayApartAndWhole(t *testing.T) {
	b := holding(span(0, 200)...)
	b.Set(1, faultserver.InputRegisters, 0, 7).Set(1, faultserver.Coils, 0, span16(40)...).Set(1, faultserver.DiscreteInputs, 3, 1)
	c, n := session(t, b, "{unit_id: 1}")
	samples := read(t, c,
		at(t, "{table: holding_register, address: 124, type: uint32, byte_order: ABCD}"), at(t, "{table: coil, address: 39}"),
		at(t, "{table: input_register, address: 0, type: uint16}"), at(t, "{table: holding_register, address: 0, type: uint16}"),
		at(t, "{table: discrete_input, address: 3}"), at(t, "{table: coil, address: 1}"),
		at(t, "{table: holding_register, address: 110, type: uint16}"), at(t, "{table: holding_register, address: 110, bit: 0}"))
	for i, want := range []string{fmt.Sprint(1124<<16 + 1125), "true", "7", "1000", "true", "true", "1110", "false"} {
		wantValue(t, samples[i], want)
	}
	wantRequests(t, n, "1 1+39", "2 3+1", "4 0+1", "3 0+1", "3 110+16")
}

// span16 is alternating bits.
func span16(n int) []uint16 {
	out := make([]uint16, n)
	for i := range out {
		out[i] = uint16(i % 2)
	}
	return out
}

func TestAMissingRegisterNeverCostsItsNeighbours(t *testing.T) {
	starts := span(0, 40)
	c, n := session(t, holding(slices.Concat(span(0, 17), span(18, 40))...), "{unit_id: 1}")
	wantAll(t, read(t, c, words(t, starts...)...), starts, 17)
	n.requests()
	wantAll(t, read(t, c, words(t, starts...)...), starts, 17) // remembered: two blocks and the missing one
	wantRequests(t, n, "3 0+17", "3 17+1", "3 18+22")
	wantAll(t, read(t, c, words(t, 16, 18, 20)...), []int{16, 18, 20})
	wantRequests(t, n, "3 16+1", "3 18+3")
}

func TestAHoleNobodyAskedForIsLeftOut(t *testing.T) {
	starts := []int{0, 1, 9, 10, 20}
	c, n := session(t, holding(slices.Concat(span(0, 5), span(9, 30))...), "{unit_id: 1}")
	wantAll(t, read(t, c, words(t, starts...)...), starts)
	wantRequests(t, n, "3 0+21", "3 0+2", "3 9+2", "3 20+1")
	wantAll(t, read(t, c, words(t, starts...)...), starts)
	wantRequests(t, n, "3 0+2", "3 9+2", "3 20+1")
}

// openWB pull request 2890, modbus2mqtt pull request 283: fewer registers at once than the specification allows.
func TestTheDevicesLimitIsObeyedOrLearned(t *testing.T) {
	starts := span(0, 171)
	b := holding(starts...)
	b.Limit = 50
	c, n := session(t, b, "{unit_id: 1}")
	wantAll(t, read(t, c, words(t, starts...)...), starts)
	n.requests()
	wantAll(t, read(t, c, words(t, starts...)...), starts)
	if got := n.requests(); len(got) > 6 {
		t.Errorf("not learned: %q", got)
	}
	c, n = session(t, b, "{unit_id: 1, quirks: {max_registers: 50}}")
	wantAll(t, read(t, c, words(t, starts...)...), starts)
	wantRequests(t, n, "3 0+50", "3 50+50", "3 100+50", "3 150+21")
}

func TestWhatWasLearnedIsForgottenInTime(t *testing.T) {
	d := newDevice("A", settings{maxRegisters: 125, maxGap: 16})
	now := time.Now()
	d.learn(holdingRegister, []int{5}, now, relearn)
	batch := words(t, 4, 5, 6)
	if n := len(d.plan(batch, now)); n != 2 {
		t.Errorf("%d blocks", n)
	}
	if n := len(d.plan(batch, now.Add(relearn))); n != 1 {
		t.Errorf("%d blocks after %v", n, relearn)
	}
	d.learn(holdingRegister, nil, now.Add(relearn), relearn)
	if len(d.cuts) != 0 {
		t.Error("old cuts are kept")
	}
}

// A device that is starting up refuses everything; it must not be read address by address for long afterwards.
func TestARefusalOfEverythingIsSoonForgotten(t *testing.T) {
	starts := span(0, 4)
	c, n := session(t, holding(), "{unit_id: 1}")
	wantAll(t, read(t, c, words(t, starts...)...), starts, starts...)
	n.requests()
	now := time.Now().Add(refusedAll)
	if blocks := c.devices["A"].plan(words(t, starts...), now); len(blocks) != 1 {
		t.Errorf("%d blocks after %v", len(blocks), refusedAll)
	}
	wantAll(t, read(t, c, words(t, starts...)...), starts, starts...)
	wantRequests(t, n, "3 0+1", "3 1+1", "3 2+1", "3 3+1")
}

// Telegraf 8905/7774, Home Assistant 53948: coils that are right only when read from 0.
func TestCoilsFromZero(t *testing.T) {
	b := (&faultserver.Bank{}).Set(1, faultserver.Coils, 0, span16(900)...)
	c, n := session(t, b, "{unit_id: 1, quirks: {coils_from_zero: true}}")
	samples := read(t, c, at(t, "{table: coil, address: 801}"), at(t, "{table: coil, address: 2}"))
	wantValue(t, samples[0], "true")
	wantValue(t, samples[1], "false")
	wantRequests(t, n, "1 0+802")
	samples = read(t, c, at(t, "{table: coil, address: 5}"), at(t, "{table: coil, address: 900}"))
	wantValue(t, samples[0], "true")
	wantKind(t, samples[1].Err, hal.Exception)
	n.requests()
	read(t, c, at(t, "{table: coil, address: 5}"), at(t, "{table: coil, address: 900}"))
	wantRequests(t, n, "1 0+6", "1 0+901")
}

func TestOnePerRequestAndMaxBits(t *testing.T) {
	b := holding(span(0, 4)...).Set(1, faultserver.Coils, 0, span16(40)...)
	c, n := session(t, b, "{unit_id: 1, quirks: {one_per_request: true}}")
	wantAll(t, read(t, c, words(t, 0, 1, 2)...), []int{0, 1, 2})
	wantRequests(t, n, "3 0+1", "3 1+1", "3 2+1")
	c, n = session(t, b, "{unit_id: 1, quirks: {max_bits: 16, max_gap: 0}}")
	read(t, c, at(t, "{table: coil, address: 0}"), at(t, "{table: coil, address: 1}"), at(t, "{table: coil, address: 16}"))
	wantRequests(t, n, "1 0+2", "1 16+1")
}

// A device that says nothing about addresses it lacks must not cost the batch the rest of its points for ever.
func TestAnUnansweredBlockComesLastNextTime(t *testing.T) {
	s := serve(t, faultserver.Options{Memory: holding(0, 100), Next: func(r faultserver.Request) faultserver.Fault {
		if r.PDU[2] == 0 {
			return faultserver.Swallow
		}
		return faultserver.None
	}})
	c := open(t, s.Addr(), "{unit_id: 1, timeout: 100ms}")
	first := read(t, c, words(t, 0, 100)...)
	if e := wantKind(t, first[1].Err, hal.Timeout); e.MaySent {
		t.Errorf("the second block was sent after the first had failed: %v", e)
	}
	for range 10 { // a busy machine may be slow to answer the good block
		again := read(t, c, words(t, 0, 100)...)
		wantKind(t, again[0].Err, hal.Timeout)
		if again[1].Err == nil {
			wantValue(t, again[1], "1100")
			return
		}
	}
	t.Error("the good block is never read")
}

func TestForeignAddressesAndDevicesAreRefused(t *testing.T) {
	c, n := session(t, holding(1), "{unit_id: 1}")
	var strange hal.Address = foreign{}
	own := words(t, 1)[0]
	samples := c.Read(t.Context(), "A", []hal.Address{strange, own})
	wantKind(t, samples[0].Err, hal.BadAddress)
	wantValue(t, samples[1], "1001")
	wantKind(t, c.Read(t.Context(), "Z", []hal.Address{own})[0].Err, hal.BadAddress)
	wantRequests(t, n, "3 1+1")
}

type foreign struct{ *address }

func (foreign) String() string { return "a foreign place" }

func FuzzPlan(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 4, 4}, uint8(125), uint8(16))
	f.Add([]byte{0, 0, 0, 0}, uint8(4), uint8(0))
	f.Fuzz(func(t *testing.T, spec []byte, limit, gap uint8) {
		d := newDevice("A", settings{maxRegisters: 4 + int(limit)%122, maxBits: 4 + int(limit)%122, maxGap: int(gap)})
		if gap > 250 {
			d.bitBlock, d.registerBlock = alignment{size: 8}, alignment{size: 1 + int(limit)%20}
		}
		var batch []*address
		for i := 0; i+1 < len(spec); i += 2 {
			a := &address{table: table(1 + spec[i]%4), start: int(spec[i]>>2) + int(spec[i+1]>>2), count: 1 + int(spec[i+1]%4)}
			if a.table.bits() {
				a.count = 1
			}
			a.group = []string{"", "", "", "g"}[spec[i+1]>>6]
			if spec[i] > 250 {
				a.scaled, a.scale = true, int(spec[i+1])
			}
			batch = append(batch, a)
		}
		now := time.Now()
		if len(spec) > 0 {
			d.learn(table(1+spec[0]%4), []int{int(spec[0])}, now, relearn)
			for _, b := range d.fresh(batch, now) {
				d.unheard(b, now)
			}
			d.quiet = int(gap) % 5
		}
		served, groups := map[int]int{}, map[groupKey]cut{}
		for _, b := range d.plan(batch, now) {
			if b.to-b.from > d.limit(b.table) && len(b.atoms) > 1 {
				t.Fatalf("block %+v is beyond the limit %d", b, d.limit(b.table))
			}
			for i := range b.items() {
				served[i]++
				a := batch[i]
				if from, to := a.span(); a.table != b.table || from < b.from || to > b.to {
					t.Fatalf("%+v is not in its block %+v", a, b)
				}
				if key := (groupKey{a.table, a.group}); a.group != "" {
					if at, known := groups[key]; known && at != b.key() {
						t.Fatalf("the group of %+v is divided", a)
					}
					groups[key] = b.key()
				}
			}
			for _, p := range d.parts(b) {
				if len(p.atoms) >= len(b.atoms) {
					t.Fatalf("part %+v of %+v is no smaller", p, b)
				}
			}
		}
		for i := range batch {
			if served[i] != 1 {
				t.Fatalf("address %d is served %d times", i, served[i])
			}
		}
	})
}

// TestTwoHundredPointsOfOneDevice is a drive, a meter and their alarms as one device: all tables, several types, gaps.
func TestTwoHundredPointsOfOneDevice(t *testing.T) {
	b := holding(span(0, 300)...)
	b.Set(1, faultserver.InputRegisters, 0, make([]uint16, 300)...).Set(1, faultserver.Coils, 0, span16(200)...).Set(1, faultserver.DiscreteInputs, 0, span16(200)...)
	c, n := session(t, b, "{unit_id: 1}")
	var points []*address
	add := func(count int, text string, place func(i int) int) {
		for i := range count {
			points = append(points, at(t, fmt.Sprintf(text, place(i))))
		}
	}
	add(60, "{table: holding_register, address: %d, type: uint16}", func(i int) int { return 2*i + i/20 })
	add(40, "{table: input_register, address: %d, type: float32, byte_order: CDAB}", func(i int) int { return 3 * i })
	add(30, "{table: holding_register, address: 7, bit: %d}", func(i int) int { return i % 16 })
	add(50, "{table: coil, address: %d}", func(i int) int { return 3 * i })
	add(20, "{table: discrete_input, address: %d}", func(i int) int { return i * 9 })
	for i, s := range read(t, c, points...) {
		if s.Err != nil {
			t.Errorf("%s: %v", points[i], s.Err)
		}
	}
	if got := n.requests(); len(points) != 200 || len(got) > 4 {
		t.Errorf("%d points in the requests %q", len(points), got)
	}
}
