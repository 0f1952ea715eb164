package modbus

import (
	"cmp"
	"slices"
	"time"
)

// How long a refusal shapes the plan: long when the device answered other parts of the block, short when it refused all of it.
const (
	relearn    = 5 * time.Minute
	refusedAll = 10 * time.Second
)

// cut is a place in a table that no request may reach across.
type cut struct {
	table table
	at    int // the first address behind the cut
}

// block is one read request: the span [from, to) of a table, and the addresses it serves as indexes into the batch, sorted by start.
type block struct {
	table    table
	from, to int
	items    []int
}

// plan merges a batch into few requests. No address is split, no limit exceeded, no known cut crossed; blocks that stayed
// unanswered before come last, so that they cannot cost the others their turn.
func (d *device) plan(batch []*address, now time.Time) []block {
	var blocks []block
	for _, i := range sorted(batch) {
		a := batch[i]
		if last := len(blocks) - 1; last >= 0 && d.fits(blocks[last], a, now) {
			blocks[last].add(i, a)
			continue
		}
		blocks = append(blocks, d.blockOf(i, a))
	}
	slices.SortStableFunc(blocks, func(x, y block) int {
		return d.mutes[x.key()].Compare(d.mutes[y.key()])
	})
	return blocks
}

func sorted(batch []*address) []int {
	order := make([]int, 0, len(batch))
	for i, a := range batch {
		if a != nil {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int {
		a, b := batch[x], batch[y]
		return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.start, b.start), cmp.Compare(a.count, b.count))
	})
	return order
}

func (d *device) blockOf(i int, a *address) block {
	return block{table: a.table, from: d.first(a.table, a.start), to: a.start + a.count, items: []int{i}}
}

func (b *block) add(i int, a *address) {
	b.to = max(b.to, a.start+a.count)
	b.items = append(b.items, i)
}

func (b *block) key() cut { return cut{b.table, b.from} }

// fits reports whether a, which starts no earlier than the block's addresses, may join it.
func (d *device) fits(b block, a *address, now time.Time) bool {
	if a.table != b.table || d.onePerRequest || a.start-b.to > d.gap(a.table) {
		return false
	}
	if max(b.to, a.start+a.count)-b.from > d.limit(a.table) {
		return false
	}
	return !d.severed(a.table, max(min(b.to, a.start), b.from+1), a.start, now)
}

// severed reports whether a cut is known between from and to, both included.
func (d *device) severed(t table, from, to int, now time.Time) bool {
	if len(d.cuts) == 0 {
		return false
	}
	for at := from; at <= to; at++ {
		if until, known := d.cuts[cut{t, at}]; known && now.Before(until) {
			return true
		}
	}
	return false
}

// parts divides a block that the device refused: at every gap, else in the middle, else into its single addresses. nil when there
// is nothing to divide.
func (d *device) parts(b block, batch []*address) []block {
	if d.first(b.table, b.from+1) == 0 { // every read starts at 0: only the ends differ
		return d.singles(b, batch)
	}
	gaps, joints := b.seams(batch)
	switch {
	case len(gaps) > 0:
		return d.divide(b, batch, gaps)
	case len(joints) > 0:
		middle := slices.MinFunc(joints, func(x, y int) int { return cmp.Compare(off(x, b), off(y, b)) })
		return d.divide(b, batch, []int{middle})
	default:
		return d.singles(b, batch)
	}
}

// off is how far a seam, an index into the block's items, lies from the middle.
func off(seam int, b block) int {
	return max(2*seam-len(b.items), len(b.items)-2*seam)
}

// seams are the indexes into the block's items before which it can be divided: behind a gap, and where two addresses touch.
func (b block) seams(batch []*address) (gaps, joints []int) {
	end := b.from
	for k, i := range b.items {
		a := batch[i]
		switch {
		case k == 0:
		case a.start > end:
			gaps = append(gaps, k)
		case a.start == end:
			joints = append(joints, k)
		}
		end = max(end, a.start+a.count)
	}
	return gaps, joints
}

func (d *device) divide(b block, batch []*address, seams []int) []block {
	var out []block
	from := 0
	for _, to := range append(seams, len(b.items)) {
		part := d.blockOf(b.items[from], batch[b.items[from]])
		for _, i := range b.items[from+1 : to] {
			part.add(i, batch[i])
		}
		out = append(out, part)
		from = to
	}
	return out
}

// singles is one block for each distinct span.
func (d *device) singles(b block, batch []*address) []block {
	var out []block
	for _, i := range b.items {
		one := d.blockOf(i, batch[i])
		if n := len(out); n > 0 && out[n-1].from == one.from && out[n-1].to == one.to {
			out[n-1].items = append(out[n-1].items, i)
			continue
		}
		out = append(out, one)
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// learn remembers for a while where a refused block had to be cut.
func (d *device) learn(t table, places []int, now time.Time, keep time.Duration) {
	for c, until := range d.cuts {
		if !now.Before(until) {
			delete(d.cuts, c)
		}
	}
	for _, at := range places {
		d.cuts[cut{t, at}] = now.Add(keep)
	}
}
