package registerlist

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"capd/internal/importer/draft"
)

// byPlace is the order of the points by device, table and address.
func byPlace(points []Point) []int {
	order := make([]int, len(points))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		p, q := &points[i], &points[j]
		return cmp.Or(cmp.Compare(p.UnitID, q.UnitID), cmp.Compare(p.Table, q.Table), cmp.Compare(p.Address, q.Address))
	})
	return order
}

// Inventory proposes the inventory: one device and one asset, or one of each for every unit id of the list. Every point is read only,
// stands below the row it came from, and says what is left for the engineer.
func (l List) Inventory(t draft.Target) []byte {
	t = t.Complete()
	f := draft.File{Link: t.Link, Endpoint: t.Endpoint}
	units := map[int][]draft.Point{}
	for i := range l.Points {
		p := &l.Points[i]
		units[p.UnitID] = append(units[p.UnitID], p.draft())
	}
	if len(units) == 0 {
		units[-1] = nil
	}
	var devices, assets draft.Names
	assetOf := map[int]string{}
	for _, id := range slices.Sorted(maps.Keys(units)) {
		d := draft.Device{ID: t.Device, UnitID: id}
		a := draft.Asset{ID: t.Asset, Title: t.Title, Location: t.Location, Points: units[id]}
		if len(units) > 1 && id >= 0 {
			d.ID, a.ID = fmt.Sprintf("%s-%d", t.Device, id), fmt.Sprintf("%s-%d", t.Asset, id)
		}
		if id < 0 {
			d.UnitID, d.Note = t.UnitID, "unit_id: the list names none; check it"
		}
		d.ID = devices.Take(d.ID)
		a.ID, a.Device = assets.Take(a.ID), d.ID
		assetOf[id] = a.ID
		f.Devices, f.Assets = append(f.Devices, d), append(f.Assets, a)
	}
	f.Assets[len(f.Assets)-1].Tail = l.tail()
	f.Head = l.head(assetOf)
	return f.YAML()
}

// draft is the point as the inventory has it.
func (p *Point) draft() draft.Point {
	at := draft.Map{}.Raw("table", p.Table).Int("address", p.Address)
	if p.looksModicon() {
		at = at.Int("address_base", 0)
	}
	if p.Type != "" {
		at = at.Raw("type", p.Type)
	}
	if p.Bit >= 0 {
		at = at.Int("bit", p.Bit)
	}
	if p.Order != "" {
		at = at.Raw("byte_order", p.Order)
	}
	if p.Byte != "" {
		at = at.Raw("byte", p.Byte)
	}
	if p.Length > 0 {
		at = at.Int("length", p.Length)
	}
	rest := draft.Map{}.Text("title", p.Title)
	if p.Scale != "" {
		rest = rest.Raw("scale", p.Scale)
	}
	if p.Offset != "" {
		rest = rest.Raw("offset", p.Offset)
	}
	rest = rest.Text("unit", p.Unit).Raw("role", p.role())
	return draft.Point{Name: p.Name, Above: []string{fmt.Sprintf("line %d: %s", p.Line, p.Source)}, At: at, Rest: rest, Note: strings.Join(p.Notes, "; ")}
}

// looksModicon reports whether an inventory would take the address for one of the notation 40001, unless it says that it counts
// from 0.
func (p *Point) looksModicon() bool {
	digit := p.Address / 10000
	return p.Address%10000 > 0 && (digit == 1 && p.Table == discreteInput || digit == 3 && p.Table == inputRegister || digit == 4 && p.Table == holdingRegister)
}

// role is a default: numbers with a unit are mostly measurements.
func (p *Point) role() string {
	if p.Unit != "" {
		return "process"
	}
	return "status"
}

// head is the comment at the top of the file.
func (l List) head(assetOf map[int]string) []string {
	separator := map[rune]string{';': "semicolons", ',': "commas", '\t': "tabs", '|': "bars"}[l.Separator]
	if l.Header == 0 {
		return []string{"Nothing was found in the register list " + l.Name + "."}
	}
	head := []string{fmt.Sprintf("Draft from the register list %s (%s, %s, header in line %d): %d points from %d rows.", l.Name, l.Encoding, separator, l.Header, len(l.Points), l.Rows),
		"Nothing is enabled: every point is read only. Go through it before use:"}
	if len(l.Points) > 0 {
		head = append(head, "- Addresses: "+l.numbering(assetOf))
	}
	if n := l.count(func(p *Point) bool { return p.Default }); n > 0 {
		head = append(head, fmt.Sprintf("- Tables: the list does not name the table of %d of the points; %s was taken. Some devices have measurements in input_register alone.", n, l.defaultTable()))
	}
	if n := l.count((*Point).wideWithoutOrder); n > 0 {
		head = append(head, fmt.Sprintf("- byte_order: the list does not say it for %d of the points of 32 bits or more. The file is refused until it is there: "+
			"add byte_order: ABCD (high word first) or CDAB (low word first) to each at, as the device's manual says, and compare one value with the device's display.", n))
	}
	if n := l.count(func(p *Point) bool { return p.Type == "" && !p.bits() }); n > 0 {
		head = append(head, fmt.Sprintf("- type: the list has none, or one that is not known, for %d of the points. The file is refused until it is there.", n))
	}
	head = append(head, "- role: status, or process where there is a unit, is only a default. Say of every point what it is: setpoint (asked), status (the device about itself), "+
		"feedback (an independent sensor) or process (the effect).")
	if n := l.count(func(p *Point) bool { return p.Access != "" }); n > 0 {
		head = append(head, "- access: what may be written is for you to open, point by point, with an envelope. What the list says about it stands in the line above each point.")
	}
	if len(l.Unused) > 0 {
		head = append(head, "- Columns that were not used: "+strings.Join(l.Unused, ", "))
	}
	if n := len(l.Skipped); n > 0 {
		head = append(head, fmt.Sprintf("- Rows that became no point: %d. They stand at the end of the file.", n))
	}
	return head
}

// defaultTable is what was taken where the list names no table.
func (l List) defaultTable() string {
	for i := range l.Points {
		if l.Points[i].Default {
			return l.Points[i].Table
		}
	}
	return ""
}

func (p *Point) wideWithoutOrder() bool { return p.wide() && p.Order == "" }

func (l List) count(is func(*Point) bool) (n int) {
	for i := range l.Points {
		if is(&l.Points[i]) {
			n++
		}
	}
	return n
}

// numbering explains what the list counts from, and how one read shows whether that is right.
func (l List) numbering(assetOf map[int]string) string {
	n := l.Numbering
	text := n.How
	if text == "" {
		text = "taken as written"
	}
	if text += ", because " + n.Why + "."; !n.Certain {
		text += " This is a guess."
	}
	p := l.sample()
	return text + fmt.Sprintf(" To check it with one read: capd read %s.%s reads %s %d (%s in line %d). If it shows the value of the register beside it, or the device refuses the address, import again with base %s.",
		assetOf[p.UnitID], p.Name, p.Table, p.Address, p.Written, p.Line, n.other())
}

// other is the base to try when this one is wrong.
func (n Numbering) other() string {
	switch n.Base {
	case Modicon:
		return "zero (40001 is the address itself)"
	case One:
		return "zero"
	}
	return "one (or modicon, if 40001 is the first holding register)"
}

// sample is the point that shows best whether the addresses are right: a number that a person can compare.
func (l List) sample() *Point {
	best, most := 0, -1
	for i := range l.Points {
		p := &l.Points[i]
		score := 0
		for _, good := range []bool{p.Unit != "", p.Type != "", !p.wideWithoutOrder(), p.Address > 0} {
			if good {
				score++
			}
		}
		if score > most {
			best, most = i, score
		}
	}
	return &l.Points[best]
}

// maxTail is how many rows without a point the file lists.
const maxTail = 500

func (l List) tail() []string {
	var tail []string
	for i, s := range l.Skipped {
		if i == maxTail {
			tail = append(tail, fmt.Sprintf("and %d more rows", len(l.Skipped)-maxTail))
			break
		}
		tail = append(tail, fmt.Sprintf("line %d became no point (%s): %s", s.Line, s.Why, s.Text))
	}
	return tail
}
