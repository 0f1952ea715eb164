package invoke_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"capd/internal/hal"
	"capd/internal/invoke"
	"capd/internal/journal"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/standing"
)

// day is a random day at the plant: agents call, things break, people lock and unlock, the power goes off. What must never happen is
// noted in wrong.
type day struct {
	*bubble
	r      *rand.Rand
	mu     sync.Mutex
	wrong  []string
	closed time.Time // since when nothing may leave the box; zero while it may
	busy   map[string]int
	asked  int
	calls  sync.WaitGroup
}

// pick is a random number below n.
func (d *day) pick(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.IntN(n)
}

func (d *day) complain(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wrong = append(d.wrong, fmt.Sprintf(format, args...))
}

// write watches every write of the corridor: never under a lockout or in observe mode, never two at a time on an asset. Only the release
// of a pulse may come while another point of its asset is written.
func (d *day) write(ref string) error {
	asset, _, _ := strings.Cut(ref, ".")
	if ref == "LATCH.press" {
		asset = ref
	}
	d.mu.Lock()
	if !d.closed.IsZero() && time.Since(d.closed) > 0 {
		d.wrong = append(d.wrong, fmt.Sprintf("%s was written %s after the box was closed", ref, time.Since(d.closed)))
	}
	if d.busy[asset]++; d.busy[asset] > 1 {
		d.wrong = append(d.wrong, asset+" is written by two calls at once")
	}
	luck := d.r.IntN(20)
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		d.busy[asset]--
		d.mu.Unlock()
	}()
	time.Sleep(20 * time.Millisecond)
	switch luck {
	case 0:
		return &hal.Error{Kind: hal.Timeout, MaySent: true}
	case 1:
		return &hal.Error{Kind: hal.Unreachable}
	case 2:
		panic("a defect in a driver")
	}
	return nil
}

// call makes one call with a value of its own, so that each write can be told from all others.
func (d *day) call() {
	d.asked++
	n := d.asked
	actions := []string{"set_valve", "set_valve", "set_valve", "nudge_valve", "fill", "start_pump", "stop_pump", "close_valve", "run_guarded",
		"close_latch", "close_latch", "signal_latch", "glow_latch", "turn_latch", "free_latch"}
	req := invoke.Request{Subject: agent([]string{"a", "b"}[d.pick(2)]), Action: actions[d.pick(len(actions))]}
	value := 0.0
	if strings.Contains("set_valve nudge_valve fill turn_latch", req.Action) {
		if value = 30 + float64(d.pick(3000))/100; req.Action == "nudge_valve" {
			value = 5 + float64(d.pick(2000))/100
		}
		value += float64(n) / 1e6
		req.Args = to(value)
	}
	if d.pick(2) == 0 {
		req.RequestID = fmt.Sprint("r", n)
	}
	d.calls.Go(func() {
		a := d.corridor.Call(context.Background(), req)
		d.check(req, a, value)
	})
}

// check holds an answer against the machine.
func (d *day) check(req invoke.Request, a invoke.Answer, value float64) {
	text := a.Text()
	switch {
	case a.Verdict == "" || a.Invocation == "" || a.Verdict != outcome.Confirmed && a.Verdict != outcome.Pending && a.Reason == nil:
		d.complain("no whole answer: %+v", a)
	case a.Verdict == outcome.NotExecuted && (a.Sent || a.CommandStanding):
		d.complain("not executed, but sent: %s", text)
	}
	if a.Verdict == outcome.Confirmed && req.Action == "set_valve" {
		d.machine.set(func(m *machine) {
			if where := m.position(time.Now()); math.Abs(where-value) > 4 { // a call that came right after may have moved it a little
				d.complain("confirmed at %.2f, but the valve is at %.2f: %s", value, where, text)
			}
		})
	}
}

// disturb does one thing that happens in a plant.
func (d *day) disturb() {
	m := d.machine
	switch d.pick(11) {
	case 0:
		m.set(func(m *machine) { m.from, m.since, m.stuck = m.position(time.Now()), time.Now(), !m.stuck })
	case 1:
		m.set(func(m *machine) { m.bad["VALVE.position"] = []physical.Cause{"", physical.CauseInvalid}[d.pick(2)] })
	case 2:
		m.set(func(m *machine) { m.readFor = time.Duration(d.pick(400)) * time.Millisecond })
	case 3:
		m.set(func(m *machine) { m.values["PLC.remote"] = physical.FlagOf(d.pick(4) > 0) })
	case 4:
		d.journal.mu.Lock()
		d.journal.fails[journal.Intent] = []error{nil, nil, errors.New("disk full")}[d.pick(3)]
		d.journal.mu.Unlock()
	case 5, 6:
		d.toggle()
	case 7:
		m.set(func(m *machine) { m.bad["VALVE.position"], m.stuck, m.readFor = "", false, 5*time.Millisecond })
	case 9:
		m.set(func(m *machine) { m.values["LATCH.closed"], m.broken = off(), d.pick(4) == 0 })
	case 10:
		m.set(func(m *machine) { m.bad["LATCH.press"] = []physical.Cause{"", "", physical.CauseInvalid}[d.pick(3)] })
		for _, asset := range []string{"LATCH", "VALVE", "PUMP"} {
			must(d.t, d.standing.Settle(asset, "mei"))
		}
	case 8:
		must(d.t, d.breakers.Restore("close_latch", "mei"))
		must(d.t, d.breakers.Restore("set_valve", "mei"))
	}
}

// toggle closes the box by a lockout on everything, or opens it again.
func (d *day) toggle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed.IsZero() {
		must(d.t, d.standing.Lock(standing.Lockout{Target: "plant", By: "mei", Reason: "maintenance"}))
		d.closed = time.Now()
		return
	}
	d.closed = time.Time{}
	_, err := d.standing.Unlock("plant", "mei")
	must(d.t, err)
}

// stands looks for what capd left behind: a pulse that was not released, or the word that it still may stand.
func (d *day) stands() {
	for _, a := range d.alarms.List(false) {
		if strings.HasPrefix(a.Key, "release/") {
			d.complain("still owed: %s", a.Text)
		}
	}
	d.machine.set(func(m *machine) {
		if on, _ := m.values["LATCH.press"].Bool(); on {
			d.complain("the pulse stands: %v", m.log[max(0, len(m.log)-10):])
		}
	})
}

// twice counts the values that were written more than once: no value belongs to two calls.
func (d *day) twice() {
	seen := map[string]int{}
	for _, w := range d.machine.written() {
		if seen[w]++; seen[w] > 1 && strings.HasPrefix(w, "VALVE.setpoint=") && w != "VALVE.setpoint=0" {
			d.complain("written twice: %s", w)
		}
	}
}

func live(t *testing.T, seed uint64) {
	t.Helper()
	var wrong []string
	inBubble(t, func(t *testing.T, b *bubble) {
		d := &day{bubble: b, r: rand.New(rand.NewPCG(seed, 5)), busy: map[string]int{}}
		b.machine.hook(d.write)
		for range 120 {
			switch what := d.pick(10); {
			case what < 6:
				d.call()
			case what < 9:
				d.disturb()
			default:
				d.restartNow()
			}
			time.Sleep(time.Duration(d.pick(10)*d.pick(400)) * time.Millisecond)
		}
		d.calls.Wait()
		time.Sleep(time.Minute)
		synctest.Wait()
		d.journal.mu.Lock()
		d.journal.fails[journal.Intent] = nil
		d.journal.mu.Unlock()
		if !d.closed.IsZero() {
			d.toggle()
		}
		d.machine.set(func(m *machine) { m.bad, m.broken, m.readFor = map[string]physical.Cause{}, false, 5*time.Millisecond })
		d.restartNow()
		time.Sleep(2 * time.Minute)
		d.twice()
		d.stands()
		if n := len(b.corridor.Running()); n > 0 {
			d.complain("%d calls run for ever", n)
		}
		if kinds := b.journal.kinds(); kinds[journal.Intent] > kinds[journal.Outcome] || b.journal.need() != 0 {
			d.complain("%v, needed %d", kinds, b.journal.need())
		}
		wrong = d.wrong
	})
	for _, w := range wrong {
		t.Errorf("seed %d: %s", seed, w)
	}
}

// restartNow ends this life of capd and begins the next. What was closed stays closed.
func (d *day) restartNow() {
	d.bubble.close()
	d.calls.Wait()
	before := len(d.machine.written())
	d.open()
	if got := d.machine.written(); len(got) != before {
		d.complain("a start wrote %v", got[before:])
	}
}

func TestRandomDays(t *testing.T) {
	n := uint64(12)
	if testing.Short() {
		n = 3
	}
	for seed := range n {
		live(t, seed)
	}
}

func FuzzDays(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { live(t, seed) })
}
