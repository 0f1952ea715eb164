package field

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"capd/internal/inventory"
)

// Options say what a Field does by itself.
type Options struct {
	Poll bool // read points with `update`, and liveness counters, in the background
}

// Field runs a binding. It is safe for concurrent use.
type Field struct {
	log     *slog.Logger
	options Options
	turn    chan struct{} // holds one token while a binding is applied

	mu     sync.Mutex
	now    running
	closed bool
}

// running is what is in use under one binding.
type running struct {
	binding *Binding
	lines   map[string]*line
	devices map[string]*device
}

// New makes a Field without a binding: every point is unknown to it until Apply.
func New(log *slog.Logger, o Options) *Field {
	return &Field{log: log, options: o, turn: make(chan struct{}, 1), now: running{binding: &Binding{}}}
}

var errClosed = errors.New("the field is closed")

// Apply makes a binding the one in use, at once, and then waits until what it replaces has ended. Links whose transport, options and
// devices are as before stay open, and their devices keep their readings if their points are as before; other links drain and are
// opened anew by their first transaction; links that are gone drain and end. When ctx ends first, what still drains is cut short
// and named in the error; the new binding is in use all the same. After Close it is an error.
func (f *Field) Apply(ctx context.Context, b *Binding) error { return f.apply(ctx, b, false) }

// Close ends all polls, drains and closes every link, and waits for it, until ctx ends and the rest is cut short. Nothing can be read
// or written after it.
func (f *Field) Close(ctx context.Context) error { return f.apply(ctx, &Binding{}, true) }

func (f *Field) apply(ctx context.Context, b *Binding, last bool) error {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return errClosed
	}
	before := f.now
	after := f.build(b, before)
	f.now, f.closed = after, last
	f.mu.Unlock()
	for id, d := range after.devices {
		if before.devices[id] != d && d.poller != nil {
			d.poller.start(ctx)
		}
	}
	return end(ctx, before, after)
}

// build makes the parts of a binding, taking over those of the former one that it shares.
func (f *Field) build(b *Binding, before running) running {
	r := running{binding: b, lines: make(map[string]*line, len(b.lines)), devices: make(map[string]*device, len(b.devices))}
	for id, bl := range b.lines {
		if old := before.lines[id]; old != nil && old.key == bl.key {
			r.lines[id] = old
			continue
		}
		r.lines[id] = newLine(bl, f.log)
	}
	for id, old := range before.lines {
		if r.lines[id] == old {
			continue
		}
		old.retire()
		for _, l := range r.lines {
			if isNew := before.lines[l.spec.ID] != l; isNew && (l.spec.ID == id || l.place == old.place) {
				l.after = append(l.after, old.ended)
			}
		}
	}
	for id, bd := range b.devices {
		old, l := before.devices[id], r.lines[bd.spec.Link]
		if old != nil && old.line == l && old.key == bd.key {
			r.devices[id] = old
			continue
		}
		d := newDevice(bd, l)
		if f.options.Poll {
			d.poller = newPoller(d, f.log)
		}
		r.devices[id] = d
	}
	return r
}

// end waits for the pollers and lines of before that after does not share, and cuts them when ctx ends.
func end(ctx context.Context, before, after running) error {
	var wg sync.WaitGroup
	for id, d := range before.devices {
		if after.devices[id] != d && d.poller != nil {
			wg.Go(func() { d.poller.stop(ctx) })
		}
	}
	gone := make([]error, len(before.lines))
	for i, id := range inventory.SortedKeys(before.lines) {
		if l := before.lines[id]; after.lines[id] != l {
			wg.Go(func() { gone[i] = l.drain(ctx) })
		}
	}
	wg.Wait()
	return errors.Join(gone...)
}

// current is the parts in use now.
func (f *Field) current() running {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}
