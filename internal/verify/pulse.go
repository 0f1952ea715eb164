package verify

import (
	"time"

	"capd/internal/physical"
)

// pulse is a device's liveness counter as the rounds showed it.
type pulse struct {
	Liveness
	lives []life // what the counter shows of each round
	value physical.Value
	first int       // the first round since which the counter has shown value
	seen  time.Time // when that round's counter was read; zero while none was
}

// life is what a device's counter shows of one round.
type life uint8

const (
	unproven life = iota // the counter has not moved since; it still may
	alive                // the counter moved soon after
	dead                 // the counter stood still for longer than the device's window
)

// judge takes the newest round. While the counter stands for longer than the window, all rounds since its last move were read from a
// dead image, whatever happens later. A move in time shows that they were read from a running device, except for those from which
// more than the window, and the time that one round takes, led to the question that saw the move: a slow device, or a busy wire, is
// not a dead one.
func (p *pulse) judge(t *Trial) {
	p.lives = append(p.lives, unproven)
	last := len(p.lives) - 1
	now, ok := t.counter(last, p.Ref)
	switch {
	case !ok:
	case p.seen.IsZero():
		p.begin(last, now)
	case now.Value.Equal(p.value):
		if now.Started.Sub(p.seen) > p.Within {
			for i := last; i >= p.first && p.lives[i] != dead; i-- {
				p.lives[i] = dead
			}
		}
	default:
		bearable := p.Within + t.slowest(last)
		for i := last - 1; i >= p.first && now.Started.Sub(t.counterTime(i, p.Ref)) <= bearable; i-- {
			if p.lives[i] == unproven {
				p.lives[i] = alive
			}
		}
		p.begin(last, now)
	}
}

func (p *pulse) begin(i int, r physical.Reading) {
	p.first, p.value, p.seen = i, r.Value, r.At
}

func (p *pulse) forget(over int) {
	p.lives = append(p.lives[:0], p.lives[over:]...)
	p.first = max(0, p.first-over)
}

// counter is a device's counter in round i, if it was read after the act and is good.
func (t *Trial) counter(i int, ref string) (physical.Reading, bool) {
	r, ok := t.looks[i].readings[ref]
	return r, ok && r.Good() && r.Started.After(t.act.End)
}

// counterTime is when the counter of round i was read; the end of the round where it has none.
func (t *Trial) counterTime(i int, ref string) time.Time {
	if r, ok := t.counter(i, ref); ok {
		return r.At
	}
	return t.looks[i].end
}
