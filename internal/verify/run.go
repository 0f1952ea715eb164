package verify

import (
	"context"
	"slices"
	"time"

	"capd/internal/outcome"
	"capd/internal/physical"
)

// Reader reads points afresh: every reading's request leaves after the call. A point that cannot be read has a bad reading.
type Reader interface {
	Read(ctx context.Context, refs []string) map[string]physical.Reading
}

// Run reads round after round until the case is decided or the deadline (act.End + Within) has passed. It ends early only when
// ctx ends; the decision is then what classify makes of the rounds so far.
func Run(ctx context.Context, r Reader, p *Plan, a Act) (Decision, *Trial) {
	t := NewTrial(p, a)
	deadline := a.End.Add(p.Within)
	for {
		began := time.Now()
		t.Add(Round{Asked: began, Readings: readRound(ctx, r, p, deadline)})
		over := !time.Now().Before(deadline) || ctx.Err() != nil
		if d, ok := t.Decide(over); ok {
			return d, t
		}
		wait(ctx, min(time.Until(began.Add(p.Poll)), time.Until(deadline)))
	}
}

// roundGrace is how long past the deadline the last round may take, beyond one poll: an answer under way is worth waiting for.
const roundGrace = time.Second

func readRound(ctx context.Context, r Reader, p *Plan, deadline time.Time) map[string]physical.Reading {
	ctx, cancel := context.WithDeadline(ctx, deadline.Add(p.Poll+roundGrace))
	defer cancel()
	return r.Read(ctx, p.Points)
}

// Standing reports whether the target already stands: every claim holds now and goes on holding through the settle time, on a
// live device. Relative plans never stand already. The first round that disagrees ends it.
func Standing(ctx context.Context, r Reader, p *Plan, a Act) (Decision, *Trial, bool) {
	for i := range p.Expect {
		if p.Expect[i].Relative() {
			return Decision{}, nil, false
		}
	}
	a.End = a.End.Add(-1) // nothing was done: a reading that leaves now is news
	t := NewTrial(p, a)
	limit := p.Settle + 4*p.Poll
	for _, l := range p.liveness {
		limit = max(limit, p.Settle+4*p.Poll+l.Within)
	}
	deadline := a.End.Add(limit)
	for ctx.Err() == nil && time.Now().Before(deadline) {
		began := time.Now()
		t.Add(Round{Asked: began, Readings: readRound(ctx, r, p, deadline)})
		if d, ok := t.confirmed(t.claims()); ok {
			d.Verdict = outcome.Confirmed
			return d, t, true
		}
		if t.disagrees() {
			break
		}
		wait(ctx, time.Until(began.Add(p.Poll)))
	}
	return Decision{}, t, false
}

// disagrees reports whether the last round contradicts a claim; a reading still waiting for its device's counter does not.
func (t *Trial) disagrees() bool {
	last := len(t.rounds) - 1
	for _, c := range t.claims() {
		r := t.rounds[last].Readings[c.point.Ref]
		if !r.Good() {
			return true
		}
		if s := t.atItsWord(last).ask(c, 0).state; s == fails || s == noAnswer {
			return true
		}
	}
	return false
}

// Samples lists every reading of the trial as evidence, leaving out those that repeat the value before them unless they are the
// last; at most limit.
func (t *Trial) Samples(limit int) []outcome.Evidence {
	var out []outcome.Evidence
	if len(t.rounds) == 0 {
		return out
	}
	before := map[string]physical.Reading{}
	for i, round := range t.rounds {
		for _, p := range t.plan.witnesses() {
			r, ok := round.Readings[p.Ref]
			if !ok {
				continue
			}
			prev, seen := before[p.Ref]
			if seen && i < len(t.rounds)-1 && prev.Value.Equal(r.Value) && prev.Quality == r.Quality {
				continue
			}
			before[p.Ref] = r
			out = append(out, EvidenceOf(p, r, "sample", r.At))
		}
	}
	if len(out) > limit {
		out = append(out[:limit/2:limit/2], out[len(out)-(limit-limit/2):]...)
	}
	return out
}

// witnesses is every point that proves something, each once.
func (p *Plan) witnesses() []Point {
	var points []Point
	add := func(x Point) {
		if !slices.ContainsFunc(points, func(y Point) bool { return y.Ref == x.Ref }) {
			points = append(points, x)
		}
	}
	for _, x := range p.ReadBack {
		add(x)
	}
	for _, e := range p.Expect {
		add(e.Point)
	}
	return points
}

func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Watch looks at a confirmed state for the plan's watch time and reports when it is left: a witness farther from its target than
// the watch's tolerance, or a setpoint that reads otherwise, in two rounds one after the other, each good and from a live device.
func Watch(ctx context.Context, r Reader, p *Plan, a Act) (text string, left bool) {
	wide := p.widened()
	t := NewTrial(wide, a)
	deadline := a.End.Add(p.Watch.For)
	for ctx.Err() == nil && time.Now().Before(deadline) {
		began := time.Now()
		t.Add(Round{Asked: began, Readings: readRound(ctx, r, wide, deadline)})
		if text, left := t.leftTwice(); left && ctx.Err() == nil {
			return text, true
		}
		t.forget()
		wait(ctx, time.Until(began.Add(2*p.Poll)))
	}
	return "", false
}

// widened is the plan with the watch's tolerance in place of each smaller one.
func (p *Plan) widened() *Plan {
	wide := *p
	wide.Expect = append([]Expectation(nil), p.Expect...)
	for i := range wide.Expect {
		wide.Expect[i].Tolerance = physical.Greatest(wide.Expect[i].Tolerance, p.Watch.Tolerance)
	}
	return &wide
}

// leftTwice looks for a claim that failed in the two latest rounds that count.
func (t *Trial) leftTwice() (string, bool) {
	for _, c := range t.claims() {
		failed, last := 0, answer{}
		for i := len(t.rounds) - 1; i >= 0 && failed < 2; i-- {
			a := t.ask(c, i)
			if a.state == noAnswer {
				continue
			}
			if a.state != fails {
				break
			}
			failed, last = failed+1, a
		}
		if failed == 2 {
			return describe(finding{claim: c, answer: last}, "has left its target: it reads"), true
		}
	}
	return "", false
}

// watchMemory is how many rounds a watch keeps: enough to see a liveness counter move, so that a watch of days stays small.
const watchMemory = 64

func (t *Trial) forget() {
	if over := len(t.rounds) - watchMemory; over > 0 {
		t.rounds = t.rounds[over:]
		for device := range t.lives {
			t.lives[device] = t.lives[device][over:]
		}
	}
}
