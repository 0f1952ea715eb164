package field

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"capd/internal/hal"
	"capd/internal/inventory"
)

// pollPatience bounds one poll, with its time in the link's queue.
const pollPatience = 10 * time.Second

// group is the points of a device that are polled with one period.
type group struct {
	period time.Duration
	points []*Bound
	due    time.Time
}

// poller reads one device in the background.
type poller struct {
	device *device
	groups []*group
	log    *slog.Logger
	quit   chan struct{}
	done   chan struct{}
	cancel context.CancelFunc
}

// groupsOf sorts what must be polled of a device by its period, shortest first.
func groupsOf(d *boundDevice) []*group {
	var groups []*group
	for _, b := range d.points {
		period, wanted := b.polled(d.liveness)
		if !wanted {
			continue
		}
		i := slices.IndexFunc(groups, func(g *group) bool { return g.period == period })
		if i < 0 {
			i, groups = len(groups), append(groups, &group{period: period})
		}
		groups[i].points = append(groups[i].points, b)
	}
	slices.SortFunc(groups, func(a, b *group) int { return cmp.Compare(a.period, b.period) })
	return groups
}

// polled tells whether and how often a point is polled.
func (b *Bound) polled(l *inventory.Liveness) (time.Duration, bool) {
	switch {
	case b.Point.Access == inventory.WriteOnly:
		return 0, false
	case l != nil && l.Point == b.Point.Ref:
		return livenessPeriod(l, b.Point), true
	default:
		return pollPeriod(b.Point.Update), b.Point.Update > 0
	}
}

// newPoller is the poller of a device, not yet running; nil when nothing of it is polled.
func newPoller(d *device, log *slog.Logger) *poller {
	groups := groupsOf(d.boundDevice)
	if len(groups) == 0 {
		return nil
	}
	return &poller{device: d, groups: groups, log: log.With("device", d.spec.ID), quit: make(chan struct{}), done: make(chan struct{})}
}

// start lets the poller run until stop. It outlives ctx, of which it keeps the values.
func (p *poller) start(ctx context.Context) {
	free, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel = cancel
	go p.run(free)
}

// stop lets the poll under way finish, cuts it when ctx ends, and waits for the end.
func (p *poller) stop(ctx context.Context) {
	defer p.cancel()
	close(p.quit)
	select {
	case <-p.done:
	case <-ctx.Done():
		p.cancel()
		<-p.done
	}
}

func (p *poller) run(ctx context.Context) {
	defer close(p.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-timer.C:
		}
		if !p.device.line.acquire() {
			return
		}
		p.poll(ctx, p.take(time.Now()))
		p.device.line.release()
		timer.Reset(time.Until(p.next()))
	}
}

// take lists what is due in one batch, so that the driver can merge it, and sets the groups' next times. Missed times are not made up for.
func (p *poller) take(now time.Time) []*Bound {
	var due []*Bound
	for _, g := range p.groups {
		if now.Before(g.due) {
			continue
		}
		due = append(due, g.points...)
		late := time.Duration(0)
		if !g.due.IsZero() {
			late = now.Sub(g.due) % g.period
		}
		g.due = now.Add(g.period - late)
	}
	return due
}

func (p *poller) next() time.Time {
	next := p.groups[0].due
	for _, g := range p.groups[1:] {
		if g.due.Before(next) {
			next = g.due
		}
	}
	return next
}

func (p *poller) poll(ctx context.Context, due []*Bound) {
	ctx, cancel := context.WithTimeout(ctx, pollPatience)
	defer cancel()
	p.device.read(ctx, due, (*hal.Link).Poll)
	if frozen, changed := p.device.turned(); changed {
		p.log.Info("liveness counter changed state", "counter", p.device.liveness.Point, "frozen", frozen)
	}
}
