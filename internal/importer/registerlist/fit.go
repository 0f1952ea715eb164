package registerlist

import (
	"fmt"
	"strings"

	"capd/internal/document"
	"capd/internal/importer/draft"
)

// table settles the table of a row; it is false when the row contradicts itself.
func (r *reader) table(d *draftPoint, byAddress string) bool {
	switch {
	case byAddress == "" && d.own != "":
		d.Table = d.own
	case byAddress == "":
		d.Default = true
		if d.Table = r.options.Table; d.Table == "" {
			d.Table = holdingRegister
		}
	case d.own != "" && d.own != byAddress && d.section:
		d.Table = byAddress
		d.note("the title above says %s, the address %s", d.own, byAddress)
	case d.own != "" && d.own != byAddress:
		r.skip(d.Line, d.Source, r.atCell(d.at, colAddress, ruleAddress, "correct one of them, or force the base zero if "+d.Written+" is the address on the wire",
			"%s is a %s, but the row says %s", d.Written, byAddress, d.own))
		return false
	default:
		d.Table = byAddress
	}
	return true
}

// fit brings address, type and length together; it is false when no point can come of the row.
func (r *reader) fit(d *draftPoint, w written) bool {
	d.Bit, d.Byte, d.Count = w.bit, w.half, 1
	if d.bits() {
		return r.fitBit(d, w)
	}
	if w.point0 && d.typ.kind != kindBool && d.typeText != "" {
		d.Bit = -1 // a spreadsheet has written 40001.0
	}
	if d.Bit >= 0 {
		return r.fitPart(d)
	}
	typ, remark, err := d.typ.over(d.registers)
	switch {
	case err != nil:
		r.add(r.atCell(d.typeAt, colType, ruleType, "", "%q: %v", clip(d.typeText), err))
		d.note("the type %q does not fit the %d registers of the row: write type", clip(d.typeText), d.registers)
		d.clear()
		return r.inside(d)
	case remark != "":
		d.note("%s", remark)
	}
	d.typ, d.Type = typ, typ.name()
	if d.Type != "" {
		d.Count = max(1, (typ.bits+15)/16)
	}
	switch {
	case d.Type == "" && d.typeText != "":
		r.add(r.atCell(d.typeAt, colType, ruleType, "write the type into the draft, such as uint16, int16, uint32 or float32", "the type %q is not known", clip(d.typeText)))
		d.note("the type %q is not known: write type", clip(d.typeText))
	case d.Type == "":
		d.note("the list has no type here: write type")
	case typ.kind == kindText:
		r.fitText(d)
	case typ.kind == kindBool:
		r.add(r.atCell(d.typeAt, colType, ruleType, "write the bit behind the address, such as 100.5; or write type: uint16 into the draft if the register is 0 or 1",
			"%s is a bit of a %s, but the row does not say which", d.Written, d.Table))
		d.note("which bit? write bit: 0 to 15, or type: uint16 if the whole register is 0 or 1")
	}
	r.half(d)
	r.fitOrder(d)
	if typ.kind == kindText || typ.kind == kindBool {
		d.clearNumber()
	}
	return r.inside(d)
}

// clear takes away what depends on a type that is not known.
func (d *draftPoint) clear() {
	d.typ, d.Type, d.Order = valueType{}, "", ""
	d.clearNumber()
}

// clearNumber takes away what only numbers have.
func (d *draftPoint) clearNumber() {
	if d.Scale != "" || d.Offset != "" || d.Unit != "" {
		d.note("scale %s, offset %s, unit %s of the list are left out: the value is no number", orNone(d.Scale), orNone(d.Offset), orNone(d.Unit))
	}
	d.Scale, d.Offset, d.Unit = "", "", ""
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// fitBit fits a row of a table of bits.
func (r *reader) fitBit(d *draftPoint, w written) bool {
	if d.Bit > 0 || d.Byte != "" {
		r.skip(d.Line, d.Source, r.atCell(d.at, colAddress, ruleAddress, "give a register, or the address of the bit alone", "%s is a part of a %s, which is one bit", d.Written, d.Table))
		return false
	}
	if w.last > 0 {
		r.skip(d.Line, d.Source, r.atCell(d.at, colAddress, ruleAddress, "write one row for each bit", "%s are %d bits, and a point is one", d.Written, w.last+1))
		return false
	}
	if d.typ.kind != kindBool && d.typ.kind != kindNone {
		d.note("the type %q of the list is left out: a %s is one bit", clip(d.typeText), d.Table)
	}
	d.Bit, d.Type, d.Order = -1, "", ""
	d.clearNumber()
	return true
}

// fitPart fits a bit of a register.
func (r *reader) fitPart(d *draftPoint) bool {
	if d.typ.bits > 16 || d.registers > 1 || d.typ.kind == kindText || d.typ.kind == kindFloat {
		r.skip(d.Line, d.Source, r.atCell(d.at, colAddress, ruleAddress, "give the one register that holds the bit, or remove the bit", "%s is a bit, but the row says %q", d.Written, clip(d.typeText)))
		return false
	}
	d.Type, d.Order = "uint16", ""
	d.clearNumber()
	return true
}

// fitText needs a length.
func (r *reader) fitText(d *draftPoint) {
	if d.Length = d.typ.bits / 8; d.Length > 0 && d.Length <= 250 {
		return
	}
	d.Length, d.Count = 0, 1
	r.add(r.atCell(d.typeAt, colType, ruleType, "write it behind the type, as STRING[20], or give a range of registers", "the text at %s has no length of 1 to 250 bytes", d.Written))
	d.note("how long? write length: in bytes")
}

// half notes which half of a register a byte is, when the row does not say.
func (r *reader) half(d *draftPoint) {
	switch small := d.Type == "uint8" || d.Type == "int8"; {
	case small && d.Byte == "":
		d.note("which half? write byte: low or high, or type: uint16 if the value takes the whole register")
	case d.Byte != "" && !small && d.Type != "":
		if d.typ.bits == 16 && d.typ.kind != kindFloat && d.typ.kind != kindBCD {
			d.Type = strings.Replace(d.Type, "16", "8", 1)
			return
		}
		r.add(r.atCell(d.at, colAddress, ruleAddress, "correct one of them", "%s is half a register, but the row says %q", d.Written, clip(d.typeText)))
		d.note("half a register cannot be %s", d.Type)
		d.clear()
	case d.Byte != "" && d.Type == "":
		d.note("the address names the %s byte", d.Byte)
		d.Byte = ""
	}
}

// fitOrder leaves the order to the engineer where the list has none.
func (r *reader) fitOrder(d *draftPoint) {
	switch {
	case d.wide() && d.Order == "":
		d.note("byte_order is missing")
	case d.wide():
	case d.Type == "" || d.Type == "string" || d.Type == "bit":
		d.Order = ""
	case d.Order == "BADC" || d.Order == "DCBA":
		d.Order = "BA"
	default:
		d.Order = ""
	}
}

// inside makes sure that the last register exists.
func (r *reader) inside(d *draftPoint) bool {
	if last := d.Address + d.Count - 1; last > 65535 {
		r.skip(d.Line, d.Source, r.atCell(d.at, colAddress, ruleAddress, "correct the address or the type", "%s needs the addresses %d to %d, beyond the last, 65535", d.Type, d.Address, last))
		return false
	}
	return true
}

// namer gives the points of one device their names.
type namer struct {
	names draft.Names
	lines map[string]int // of tags, folded
}

// name gives the point a name and a title, and reports a tag that was there before.
func (r *reader) name(d *draftPoint, n *namer) {
	from := d.Tag
	name := draft.PointName(d.Tag)
	if name == "" && len(d.Title) <= 60 {
		from, name = d.Title, draft.PointName(d.Title)
	}
	if name == "" {
		if from, name = "", draft.PlaceName(d.Table, d.Address); d.Bit >= 0 {
			name = fmt.Sprintf("%s_b%d", name, d.Bit)
		}
	}
	d.Name = n.names.Take(name)
	if folded := plain(d.Tag); folded != "" {
		if before, twice := n.lines[folded]; twice {
			p := r.atCell(d.at, colTag, ruleTwice, "rename one of them in the list or in the draft", "the tag %q is also on line %d, so this point is called %s", clip(d.Tag), before, d.Name)
			r.add(warning(p))
			d.note("the tag is also on line %d", before)
		} else {
			n.lines[folded] = d.Line
		}
	}
	d.Title = title(d.Point, from)
}

// title is what a person calls the point: its tag, where the name does not say the same, and its description.
func title(p Point, namedAfter string) string {
	var parts []string
	if p.Tag != "" && (p.Tag != namedAfter || strings.ReplaceAll(plain(p.Tag), " ", "") != strings.ReplaceAll(p.Name, "_", "")) {
		parts = append(parts, p.Tag)
	}
	if p.Title != "" && p.Title != p.Tag && p.Title != p.Name {
		parts = append(parts, p.Title)
	}
	if len(parts) == 0 && !strings.EqualFold(p.Tag, p.Name) {
		return p.Tag
	}
	return strings.Join(parts, ", ")
}

// maxCompared is how many neighbours a point is held against; more of them in one place are a list of its own kind of wrong.
const maxCompared = 64

// compare looks for points that share a place with another one of their device.
func (r *reader) compare() {
	order := byPlace(r.list.Points)
	for i := 0; i < len(order); i++ {
		p := &r.list.Points[order[i]]
		for _, j := range order[i+1 : min(len(order), i+1+maxCompared)] {
			q := &r.list.Points[j]
			if q.UnitID != p.UnitID || q.Table != p.Table || q.Address >= p.Address+p.Count {
				break
			}
			r.share(p, q)
		}
	}
}

// share reports two points that have registers in common. Bits are views of their register, and halves may stand side by side.
func (r *reader) share(p, q *Point) {
	if p.Line > q.Line {
		p, q = q, p
	}
	if len(r.ps) >= MaxProblems && len(q.Notes) >= maxNotes { // nothing that is found would be kept
		r.lost++
		return
	}
	at := document.Pos{File: r.list.Name, Line: q.Line, Column: 1}
	samePlace := p.Address == q.Address && p.Count == q.Count && p.Bit == q.Bit && p.Byte == q.Byte
	switch {
	case samePlace && p.Type == q.Type && p.Order == q.Order && p.Length == q.Length:
		r.add(warning(r.problemAt(at, ruleSamePlace, "remove one of them, or correct its address", "%s is the same place as line %d (%s)", q.Written, p.Line, clip(orName(p)))))
		q.note("the same place as line %d", p.Line)
	case p.Bit >= 0 || q.Bit >= 0 || p.Byte != q.Byte && p.Byte != "" && q.Byte != "":
	case p.Type == "" || q.Type == "": // what they take is not known yet
		if p.Address == q.Address {
			r.add(warning(r.problemAt(at, ruleSamePlace, "remove one of them, or correct its address", "%s is the same address as line %d (%s)", q.Written, p.Line, clip(orName(p)))))
		}
	default:
		r.add(r.problemAt(at, ruleOverlap, "correct an address or a type, or remove one of them", "%s (%s, %s) shares registers with line %d (%s, %s, %s)",
			q.Written, orName(q), q.Type, p.Line, p.Written, orName(p), p.Type))
		q.note("shares registers with line %d", p.Line)
	}
}

func orName(p *Point) string {
	if p.Tag != "" {
		return p.Tag
	}
	return p.Name
}
