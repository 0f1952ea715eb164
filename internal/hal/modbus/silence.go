package modbus

import (
	"slices"
	"time"
)

// maxHalvings is how often a block of a device that answers nothing is halved: a device that was away is then read in few requests
// when it comes back.
const maxHalvings = 3

// heard notes that the device answered the request of a block, if only with a refusal.
func (d *device) heard(b block) {
	delete(d.mutes, b.key())
	d.spoke, d.quiet = time.Now(), 0
}

// unheard notes that a block stayed unanswered. When the device has answered others since it did so before, the place is at fault, and
// no request reaches into it for a while.
func (d *device) unheard(b block, at time.Time) {
	if since, before := d.mutes[b.key()]; before && d.spoke.After(since) {
		d.learn(b.table, []int{b.from, b.to}, time.Now(), relearn)
	}
	for key, since := range d.mutes {
		if at.Sub(since) > relearn {
			delete(d.mutes, key)
		}
	}
	d.mutes[b.key()] = at
	d.quiet++
}

// spread halves the blocks that stayed unanswered, as a device may say nothing at all about a hole or about more than it can give: ever
// further while it answers others, and in a few steps while it answers nothing.
func (d *device) spread(blocks []block, depth int) []block {
	var out []block
	for _, b := range blocks {
		since, muted := d.mutes[b.key()]
		further := depth < min(d.quiet, maxHalvings) || d.spoke.After(since)
		if halves := d.halves(b); muted && further && len(halves) > 1 {
			d.halved = append(d.halved, cut{b.table, halves[1].atoms[0].from})
			out = append(out, d.spread(halves, depth+1)...)
			continue
		}
		out = append(out, b)
	}
	return out
}

// halves divides a block near its middle; nil when there is nothing to divide.
func (d *device) halves(b block) []block {
	gaps, joints := b.seams()
	seams := append(gaps, joints...)
	if len(seams) == 0 || d.first(b.table, b.from+1) <= b.from { // or every read of it starts at the same place
		return nil
	}
	return d.divide(b, []int{slices.MinFunc(seams, func(x, y int) int { return off(x, b) - off(y, b) })})
}

// settled keeps the halves that a whole plan needed, as every block of it was answered: for a short time, because the device may just
// have been away, and for longer and longer when that comes again.
func (d *device) settled(now time.Time) {
	if len(d.halved) == 0 {
		return
	}
	d.doubt = min(max(2*d.doubt, refusedAll), relearn)
	for _, c := range d.halved {
		d.learn(c.table, []int{c.at}, now, d.doubt)
	}
	d.halved = nil
}
