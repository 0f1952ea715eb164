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

// atom is what has to come in one request: the span [from, to) of one address with its scale register, or of the group it belongs
// to. items are indexes into the batch.
type atom struct {
	table    table
	from, to int
	items    []int
}

// block is one read request: the span [from, to) of a table, and the atoms it serves, sorted by from.
type block struct {
	table    table
	from, to int
	atoms    []atom
}

// items are the addresses the block serves, as indexes into the batch.
func (b block) items() []int {
	var all []int
	for _, a := range b.atoms {
		all = append(all, a.items...)
	}
	return all
}

func (b block) key() cut { return cut{b.table, b.from} }

// plan merges a batch into few requests. No atom is split, no limit exceeded but by a single atom, no known cut crossed; blocks that
// stayed unanswered before come last, so that they cannot cost the others their turn.
func (d *device) plan(batch []*address, now time.Time) []block {
	var blocks []block
	for _, a := range atoms(batch) {
		if last := len(blocks) - 1; last >= 0 && d.fits(blocks[last], a, now) {
			blocks[last].add(a)
			continue
		}
		blocks = append(blocks, d.blockOf(a))
	}
	slices.SortStableFunc(blocks, func(x, y block) int {
		return d.mutes[x.key()].Compare(d.mutes[y.key()])
	})
	return blocks
}

// atoms are the atoms of a batch, sorted by place.
func atoms(batch []*address) []atom {
	all := make([]atom, 0, len(batch))
	groups := map[groupKey]int{}
	for i, a := range batch {
		if a == nil {
			continue
		}
		from, to := a.span()
		if a.group != "" {
			key := groupKey{a.table, a.group}
			if at, known := groups[key]; known {
				all[at].join(i, from, to)
				continue
			}
			groups[key] = len(all)
		}
		all = append(all, atom{table: a.table, from: from, to: to, items: []int{i}})
	}
	slices.SortStableFunc(all, func(x, y atom) int {
		return cmp.Or(cmp.Compare(x.table, y.table), cmp.Compare(x.from, y.from), cmp.Compare(x.to, y.to))
	})
	return all
}

type groupKey struct {
	table table
	name  string
}

func (a *atom) join(item, from, to int) {
	a.from, a.to = min(a.from, from), max(a.to, to)
	a.items = append(a.items, item)
}

func (d *device) blockOf(a atom) block {
	b := block{table: a.table, from: d.first(a.table, a.from), to: a.to, atoms: []atom{a}}
	if whole := d.whole(a.table); whole.size > 0 {
		b.to = max(b.to, b.from+whole.size)
	}
	return b
}

func (b *block) add(a atom) {
	b.to = max(b.to, a.to)
	b.atoms = append(b.atoms, a)
}

// fits reports whether a, which starts no earlier than the block's atoms, may join it.
func (d *device) fits(b block, a atom, now time.Time) bool {
	if a.table != b.table || d.onePerRequest {
		return false
	}
	if d.whole(a.table).size > 0 {
		return a.to <= b.to
	}
	if a.from-b.to > d.gap(a.table) || max(b.to, a.to)-b.from > d.limit(a.table) {
		return false
	}
	return !d.severed(a.table, max(min(b.to, a.from), b.from+1), a.from, now)
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

// parts divides a block that the device refused: at every gap, else in the middle, else into its single atoms. nil when there is
// nothing to divide.
func (d *device) parts(b block) []block {
	if d.first(b.table, b.from+1) <= b.from { // every read of it starts at the same place: only the ends may differ
		return d.singles(b)
	}
	gaps, joints := b.seams()
	switch {
	case len(gaps) > 0:
		return d.divide(b, gaps)
	case len(joints) > 0:
		middle := slices.MinFunc(joints, func(x, y int) int { return cmp.Compare(off(x, b), off(y, b)) })
		return d.divide(b, []int{middle})
	default:
		return d.singles(b)
	}
}

// off is how far a seam, an index into the block's atoms, lies from the middle.
func off(seam int, b block) int {
	return max(2*seam-len(b.atoms), len(b.atoms)-2*seam)
}

// seams are the indexes into the block's atoms before which it can be divided: behind a gap, and where two atoms touch.
func (b block) seams() (gaps, joints []int) {
	end := b.from
	for k, a := range b.atoms {
		switch {
		case k == 0:
		case a.from > end:
			gaps = append(gaps, k)
		case a.from == end:
			joints = append(joints, k)
		}
		end = max(end, a.to)
	}
	return gaps, joints
}

func (d *device) divide(b block, seams []int) []block {
	var out []block
	from := 0
	for _, to := range append(seams, len(b.atoms)) {
		part := d.blockOf(b.atoms[from])
		for _, a := range b.atoms[from+1 : to] {
			part.add(a)
		}
		out = append(out, part)
		from = to
	}
	return out
}

// singles is one block for each distinct span.
func (d *device) singles(b block) []block {
	var out []block
	for _, a := range b.atoms {
		one := d.blockOf(a)
		if n := len(out); n > 0 && out[n-1].from == one.from && out[n-1].to == one.to {
			out[n-1].add(a)
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
