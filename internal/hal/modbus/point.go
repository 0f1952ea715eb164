package modbus

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"capd/internal/document"
	"capd/internal/hal"
	"capd/internal/physical"
)

// pointReader reads one point's `at`.
type pointReader struct {
	m  *document.Map
	ps *document.Problems
	d  settings
	a  *address
}

// parsePoint reads a point's place: table, address, type, byte_order, bit, byte, length, encoding, padding, scale_register, group,
// rmw, address_base.
func parsePoint(p hal.PointSpec, d settings) (*address, document.Problems) {
	var ps document.Problems
	if p.At == nil {
		ps.Add(p.At.Problem(document.RuleMissingKey, "write at: {table: ..., address: ...}", "point %s has no place", p.ID))
		return nil, ps
	}
	r := &pointReader{m: document.NewMap(p.At, &ps), ps: &ps, d: d, a: &address{}}
	r.m.Required("table", "address")
	name := r.word("table", tableProposal, tableNames()...)
	r.a.table = table(slices.Index(tableNames(), name) + 1)
	r.place()
	r.a.group = r.m.String("group")
	if name != "" {
		r.shape()
	} else { // the table is the problem: what belongs to one of them is none
		r.know("type", "bit")
		r.know(registerKeys()...)
	}
	r.m.Done()
	if ps.Err() == nil {
		r.fit(p)
		r.markers(p.Invalid)
	}
	return r.a, ps
}

// registerKeys are the keys that only points in registers have.
func registerKeys() []string {
	return []string{"byte_order", "byte", "length", "rmw", "encoding", "padding", "scale_register"}
}

// know keeps keys from being reported as unknown.
func (r *pointReader) know(keys ...string) {
	for _, key := range keys {
		r.m.Has(key)
	}
}

// word reads one of the allowed words. For a foreign one propose tells what to write instead, "" when it cannot.
func (r *pointReader) word(key string, propose func(string) string, allowed ...string) string {
	n := r.m.Node(key)
	if n.Kind() != document.String || slices.Contains(allowed, n.Text()) {
		return r.m.Enum(key, allowed...)
	}
	hint := propose(n.Text())
	if hint == "" {
		return r.m.Enum(key, allowed...)
	}
	r.m.Report(key, document.RuleValue, hint, "%s %q is not known", key, n.Text())
	return ""
}

// place reads the zero-based address, and refuses numbers in the notation 40001 unless address_base: 0 says that they are none.
func (r *pointReader) place() {
	base := number(r.m, r.ps, "address_base", -1, 0, 0)
	if !r.m.Has("address") {
		return
	}
	n := r.m.Node("address")
	i, ok := n.Int()
	if !ok {
		hint := addressHint
		if n.Kind() == document.Number || n.Kind() == document.String {
			hint = addressProposal(n.Text(), n.Quoted())
		}
		r.m.Report("address", "address_notation", hint, "address %q is no whole number", n.Text())
		return
	}
	if t, zeroBased, is := modiconNotation(i); is && (i > 65535 || base < 0 && t == r.a.table) {
		hint := fmt.Sprintf("write table: %s, address: %d", t, zeroBased)
		if i <= 65535 {
			hint += fmt.Sprintf(", or add address_base: 0 if the device's manual counts from 0 and really means %d", i)
		}
		r.m.Report("address", "address_notation", hint, "address %d looks like the notation that counts %ss from %d", i, t, i-zeroBased)
		return
	}
	if i < 0 || i > 65535 {
		r.m.Report("address", document.RuleValue, "write the zero-based address, 0 to 65535", "address %d is out of range", i)
		return
	}
	r.a.start = int(i)
}

// shape reads type, order and part.
func (r *pointReader) shape() {
	if r.a.table.bits() {
		r.m.Enum("type", "bit")
		r.a.typ, _ = typeByName("bit")
		r.a.size, r.a.count = 1, 1
		return
	}
	if !r.m.Has("bit") {
		r.m.Required("type")
	}
	name := r.word("type", typeProposal, typeNames()...)
	typ, ok := typeByName(name)
	switch {
	case r.m.Has("bit"):
		r.bit(typ, ok)
	case !ok: // the type is the problem: what belongs to it is none
		r.know(registerKeys()...)
		return
	case typ.class == classBit:
		r.m.Report("type", document.RuleMissingKey, "write bit: 0 to 15", "a bit of a register needs its number")
		return
	case typ.class == classText:
		r.text(typ)
	default:
		r.a.typ, r.a.size, r.a.count = typ, typ.size, (typ.size+1)/2
	}
	if typ.size == 1 && typ.class != classBit {
		r.half()
	}
	r.order()
	r.scale()
	r.a.rmw = r.m.Bool("rmw")
}

func (r *pointReader) bit(typ dataType, known bool) {
	if known && typ.class != classBit && typ.name != "uint16" && typ.name != "int16" {
		r.m.Report("type", document.RuleValue, "write type: uint16 and the address of the register that holds the bit", "a bit is taken from one register, not from %s", typ.name)
	}
	r.a.part, r.a.bit = oneBit, number(r.m, r.ps, "bit", 0, 0, 15)
	r.a.typ, _ = typeByName("bit")
	r.a.size, r.a.count = 1, 1
}

func (r *pointReader) text(typ dataType) {
	r.m.Required("length")
	length := number(r.m, r.ps, "length", 1, 1, 2*maxReadRegisters)
	f := textFormat{blank: r.m.Enum("padding", "nul", "blank") == "blank"}
	f.encoding = encoding(max(0, slices.Index(encodingNames(), r.m.Enum("encoding", encodingNames()...))))
	if r.m.Has("byte") {
		f.sparse = r.eitherByte()
	}
	if f.encoding == encodingUTF16 && (length%2 != 0 || f.sparse != whole) {
		r.m.Report("length", document.RuleValue, "leave out byte and write an even length", "utf-16 takes whole registers, two bytes each")
	}
	r.a.typ, r.a.text, r.a.size, r.a.count = typ, f, length, f.registers(length)
}

func (r *pointReader) half() {
	r.m.Required("byte")
	r.a.part = r.eitherByte()
}

func (r *pointReader) eitherByte() part {
	if r.m.Enum("byte", "high", "low") == "high" {
		return highByte
	}
	return lowByte
}

// scale reads scale_register: the zero-based address, in the same table, of the register that holds the value's exponent of ten.
func (r *pointReader) scale() {
	if !r.m.Has("scale_register") {
		return
	}
	r.a.scaled = true
	r.a.scale = number(r.m, r.ps, "scale_register", 0, 0, 65535)
	switch r.a.typ.class {
	case classUnsigned, classSigned, classBCD:
	default:
		r.m.Report("scale_register", document.RuleValue, "leave it out, or use an integer type", "a %s has no scale register", r.a.typ.name)
	}
	if r.a.scale >= r.a.start && r.a.scale < r.a.start+r.a.count {
		r.m.Report("scale_register", document.RuleValue, "", "the scale register %d is part of the value", r.a.scale)
	}
}

// order reads byte_order: needed from 32 bits on, because devices disagree and a wrong guess gives plausible nonsense.
func (r *pointReader) order() {
	names := []string{"AB", "BA"}
	wide := r.a.count > 1 && r.a.typ.class != classText
	if wide {
		names = orderNames()
	}
	if wide && !r.m.Has("byte_order") {
		r.m.Report("type", document.RuleMissingKey, "add byte_order: ABCD (high word first), CDAB (low word first), BADC or DCBA, as the manual says",
			"%s needs a byte_order", r.a.typ.name)
		return
	}
	propose := func(word string) string { return orderProposal(word, 2*r.a.count) }
	if r.a.typ.class == classText {
		propose = func(word string) string { return orderProposal(word, 2) }
	}
	r.a.order = orderByName(r.word("byte_order", propose, names...))
}

// fit holds the place against the limits of the address space, the protocol and the device.
func (r *pointReader) fit(p hal.PointSpec) {
	a := r.a
	from, to := a.span()
	if last := a.start + a.count - 1; last > 65535 {
		r.m.Report("address", document.RuleValue, fmt.Sprintf("the last address that fits is %d", 65536-a.count), "%s needs the addresses %d to %d, beyond the last, 65535", a.typ.name, a.start, last)
	}
	limit := r.d.limit(a.table)
	switch whole := r.d.whole(a.table); {
	case whole.size > 0:
		r.aligned(whole, from, to)
	case to-from > limit && a.scaled:
		r.m.Report("scale_register", document.RuleValue, "", "the value and its scale register lie %d registers apart, the device gives %d at once", to-from, limit)
	case to-from > limit:
		r.m.Report("type", document.RuleValue, "", "%s needs %d registers at once, the device gives %d (max_registers)", a.typ.name, a.count, limit)
	case a.table.bits() && r.d.coilsFromZero && to > limit:
		r.m.Report("address", document.RuleValue, "", "address %d cannot be read together with address 0 (coils_from_zero): at most %d bits are read at once", to-1, limit)
	}
	if !p.Writable {
		return
	}
	if err := a.writable(r.d); err != nil {
		r.ps.Add(p.At.Problem("not_writable", "", "%v", err))
	}
}

// aligned holds a span against the blocks that the device gives.
func (r *pointReader) aligned(whole alignment, from, to int) {
	switch {
	case from < whole.start:
		r.m.Report("address", document.RuleValue, "", "address %d lies before %d, where the device's blocks begin (block)", from, whole.start)
	case to > whole.holds(from)+whole.size:
		r.m.Report("address", document.RuleValue, "", "the addresses %d to %d do not lie in one of the device's blocks of %d from %d on (block)",
			from, to-1, whole.size, whole.start)
	}
}

// markers reads the raw values that mean "no value": bit patterns of the type's own width in hexadecimal, or numbers of the type.
func (r *pointReader) markers(list *document.Node) {
	if list.Kind() == document.Null {
		return
	}
	if list.Kind() != document.List {
		r.ps.Add(list.Problem(document.RuleType, "write a list such as [0x8000]", "invalid is a %s", list.Kind()))
		return
	}
	for _, n := range list.Items() {
		raw, err := r.marker(n)
		if err != nil {
			r.ps.Add(n.Problem("invalid_marker", "write bit patterns as wide as the type, such as 0x8000 for 16 bits", "invalid marker %q: %v", n.Text(), err))
			continue
		}
		r.a.invalid = append(r.a.invalid, raw)
	}
}

func (r *pointReader) marker(n *document.Node) ([]byte, error) {
	digits, isHex := strings.CutPrefix(n.Text(), "0x")
	switch {
	case r.a.Kind() != physical.Number && r.a.typ.class != classMoment:
		return nil, fmt.Errorf("a %s has no marker", r.a.typ.name)
	case n.Kind() != document.Number:
		return nil, fmt.Errorf("it is a %s", n.Kind())
	case isHex && len(digits) != 2*r.a.size:
		return nil, fmt.Errorf("it has %d hexadecimal digits, %s has %d", len(digits), r.a.typ.name, 2*r.a.size)
	case isHex:
		return hex.DecodeString(digits)
	case r.a.typ.class == classMoment:
		return nil, fmt.Errorf("a %s has its markers in hexadecimal", r.a.typ.name)
	}
	text, ok := n.Decimal()
	if !ok {
		return nil, fmt.Errorf("it is no plain number")
	}
	d, err := physical.ParseDecimal(text)
	if err != nil {
		return nil, err
	}
	return r.a.typ.encode(physical.NumberOf(d), r.a.size)
}
