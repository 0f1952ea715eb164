package modbus

import (
	"cmp"
	"iter"
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

// block is one read request: the span [from, to) of a table, and the atoms it serves, sorted by from. The blocks of one plan share
// the array of their atoms.
type block struct {
	table    table
	from, to int
	atoms    []atom
}

// items are the addresses the block serves, as indexes into the batch.
func (b block) items() iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, a := range b.atoms {
			for _, i := range a.items {
				if !yield(i) {
					return
				}
			}
		}
	}
}

func (b block) key() cut { return cut{b.table, b.from} }

// maxPlans bounds the plans that a device remembers: its polling groups come again and again.
const maxPlans = 8

// planned is a plan and what it was made for.
type planned struct {
	batch  []*address
	blocks []block
}

// plan is the plan of a batch, which must not be changed. It is remembered while nothing about the device's refusals and silences is.
func (d *device) plan(batch []*address, now time.Time) []block {
	d.halved = nil
	if len(d.cuts)+len(d.mutes) > 0 {
		d.plans = nil
		return d.fresh(batch, now)
	}
	for _, p := range d.plans {
		if slices.Equal(p.batch, batch) {
			return p.blocks
		}
	}
	blocks := d.fresh(batch, now)
	if len(d.plans) == maxPlans {
		d.plans = slices.Delete(d.plans, 0, 1)
	}
	d.plans = append(d.plans, planned{slices.Clone(batch), blocks})
	return blocks
}

// fresh merges a batch into few requests. No atom is split, no limit exceeded but by a single atom, no known cut crossed; blocks that
// stayed unanswered before come last, so that they cannot cost the others their turn.
func (d *device) fresh(batch []*address, now time.Time) []block {
	var blocks []block
	all := atoms(batch)
	for i, a := range all {
		if last := len(blocks) - 1; last >= 0 && d.fits(blocks[last], a, now) {
			blocks[last].extend()
			continue
		}
		blocks = append(blocks, d.blockOf(all[i:]))
	}
	if len(d.mutes) > 0 {
		blocks = d.spread(blocks, 0)
		slices.SortStableFunc(blocks, func(x, y block) int {
			return d.mutes[x.key()].Compare(d.mutes[y.key()])
		})
	}
	return blocks
}

// atoms are the atoms of a batch, sorted by place.
func atoms(batch []*address) []atom {
	all := make([]atom, 0, len(batch))
	single := make([]int, len(batch)) // the items of all atoms that are no groups
	var groups map[groupKey]int
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
			if groups == nil {
				groups = map[groupKey]int{}
			}
			groups[key] = len(all)
		}
		single[i] = i
		all = append(all, atom{table: a.table, from: from, to: to, items: single[i : i+1 : i+1]})
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

// blockOf is the block of the first of some atoms. It can be extended to those that follow.
func (d *device) blockOf(atoms []atom) block {
	a := atoms[0]
	b := block{table: a.table, from: d.first(a.table, a.from), to: a.to, atoms: atoms[:1]}
	if whole := d.whole(a.table); whole.size > 0 {
		b.to = max(b.to, b.from+whole.size)
	}
	return b
}

// extend takes the atom that follows in the plan into the block.
func (b *block) extend() {
	b.atoms = b.atoms[:len(b.atoms)+1]
	b.to = max(b.to, b.atoms[len(b.atoms)-1].to)
}

// fits reports whether a, which starts no earlier than the block's atoms, may join it.
func (d *device) fits(b block, a atom, now time.Time) bool {
	if a.table != b.table || d.onePerRequest {
		return false
	}
	if whole := d.whole(a.table); whole.size > 0 {
		return a.to <= b.to && b.to-b.from <= whole.size
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
		part := d.blockOf(b.atoms[from:to])
		for range to - from - 1 {
			part.extend()
		}
		out = append(out, part)
		from = to
	}
	return out
}

// singles is one block for each distinct span.
func (d *device) singles(b block) []block {
	var out []block
	for i := range b.atoms {
		one := d.blockOf(b.atoms[i:])
		if n := len(out); n > 0 && out[n-1].from == one.from && out[n-1].to == one.to {
			out[n-1].extend()
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
