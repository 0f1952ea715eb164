package verify

import (
	"context"
	"time"

	"capd/internal/contract"
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
		if d, ok := t.confirmed(); ok {
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
	for _, c := range t.claims {
		if s := t.askBy(t.atItsWord, c, len(t.looks)-1).state; s == fails || s == noAnswer {
			return true
		}
	}
	return false
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
// the watch's tolerance, or a setpoint that reads otherwise, in two rounds, and updates, one after the other, each good and from a
// live device.
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
		wait(ctx, time.Until(began.Add(2*p.Poll)))
	}
	return "", false
}

// widened is the plan with expectations that let go no sooner than the watch's tolerance says: it stands in place of each smaller
// one, and beside a range, or a least value.
func (p *Plan) widened() *Plan {
	wide := *p
	wide.Expect = append([]Expectation(nil), p.Expect...)
	for i := range wide.Expect {
		switch e := &wide.Expect[i]; e.Kind {
		case contract.Near, contract.ChangesBy:
			e.Tolerance = physical.Greatest(e.Tolerance, p.Watch.Tolerance)
		case contract.Between, contract.Increases:
			e.slack = p.Watch.Tolerance
		}
	}
	return &wide
}

// leftTwice looks for a claim that failed in the latest rounds that count, an update of its witness apart.
func (t *Trial) leftTwice() (string, bool) {
	for _, c := range t.claims {
		latest := -1
		var last answer
		for i := len(t.looks) - 1; i >= 0; i-- {
			a := t.ask(c, i)
			if a.state == noAnswer {
				continue
			}
			if a.state != fails {
				break
			}
			if latest < 0 {
				latest, last = i, a
			} else if t.span(c, i, latest) >= c.point.Update {
				return describe(finding{claim: c, answer: last}, "has left its target: it reads"), true
			}
		}
	}
	return "", false
}
