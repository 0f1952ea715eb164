package sunspec

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"capd/internal/importer/draft"
)

// Inventory proposes the inventory: one device, and one asset for each model 1 of its chain, with the points of the models behind it.
// Every point is read only.
func (d Device) Inventory(t draft.Target) []byte {
	t = t.Complete()
	f := draft.File{Head: d.head(), Link: t.Link, Endpoint: t.Endpoint, Devices: []draft.Device{{ID: t.Device, UnitID: t.UnitID}}}
	w := writer{device: t.Device, location: t.Location, title: t.Title, id: t.Asset}
	for i := range d.Models {
		w.model(&d.Models[i])
	}
	f.Assets = w.assets
	if len(f.Assets) == 0 {
		f.Assets = []draft.Asset{{ID: t.Asset, Title: t.Title, Location: t.Location, Device: t.Device}}
	}
	return f.YAML()
}

// head is the comment at the top of the file.
func (d Device) head() []string {
	head := []string{fmt.Sprintf("Draft from the SunSpec models of a device, found at address %d.", d.Base),
		"Nothing is enabled: every point is read only. Go through it before use:",
		"- Remove what you do not need; a point without a value costs a part of every poll.",
		"- scale_register is the address of the power of ten of a value. The device may change it at any time, so both are read in one request.",
		"- role: status, or process for what is measured with a unit, is only a default. Say of every point what it is: setpoint (asked), " +
			"status (the device about itself), feedback (an independent sensor) or process (the effect).",
		"- access: points that SunSpec allows to write say so behind them. Writing is for you to open, point by point, with an envelope.",
		"- Counters: a 0 in a counter (acc16, acc32, acc64) may mean that the device does not have it."}
	for _, m := range d.Models {
		label := m.Label
		if m.layout == nil {
			label = "no layout here, so it was left out"
		}
		head = append(head, fmt.Sprintf("- Model %d at %d, %d registers: %s", m.ID, m.Address, m.Length, label))
	}
	for _, n := range d.Notes {
		head = append(head, "- Unusual: "+n)
	}
	return append(head, "The layouts of the models are those of the SunSpec Alliance, https://github.com/sunspec/models, Apache License 2.0.")
}

// writer collects assets.
type writer struct {
	device, location, title, id string
	assets                      []draft.Asset
	names                       draft.Names
	prefixes                    draft.Names
}

// model adds the points of a model to the asset of the last model 1.
func (w *writer) model(m *Model) {
	if m.ID == 1 || len(w.assets) == 0 {
		w.assets = append(w.assets, draft.Asset{ID: w.id, Title: w.title, Location: w.location, Device: w.device})
		w.names, w.prefixes = draft.Names{}, draft.Names{}
	}
	a := &w.assets[len(w.assets)-1]
	if c := m.Common; c != nil {
		a.Notes = append(a.Notes, fmt.Sprintf("manufacturer %s, model %s, serial number %s, version %s, options %s", known(c.Manufacturer), known(c.Model), known(c.Serial), known(c.Version), known(c.Options)))
		if len(w.assets) > 1 || a.Title == "" {
			a.Title = strings.TrimSpace(strings.Join([]string{c.Manufacturer, c.Model, c.Serial}, " "))
		}
	}
	if m.ID == 1 || m.layout == nil {
		return
	}
	prefix := w.prefixes.Take(m.layout.prefix)
	all := m.layout.place(int(m.Length))
	for _, p := range all {
		if typ, _ := inventoryType(p.typ); typ == "" { // padding, scale factors
			continue
		}
		at, rest, why := m.scaled(p, all)
		if why != "" {
			a.Tail = append(a.Tail, fmt.Sprintf("model %d %s became no point: %s", m.ID, p.name, why))
			continue
		}
		point := m.point(p, at, rest)
		point.Name = w.names.Take(draft.PointName(prefix + "_" + snake(p.name)))
		if sf, found := find(all, p.scale); found && absent("int16", m.words(sf)) {
			point.Note += "; its scale factor was not there when imported"
		}
		a.Points = append(a.Points, point)
	}
}

func known(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}

// maxSpan is how many registers one request can read (MODBUS Application Protocol Specification V1.1b3, 6.3).
const maxSpan = 125

// scaled gives place and scale of a point, or why it cannot be one: a value without its scale would be a wrong one.
func (m *Model) scaled(p placed, all []placed) (at, rest draft.Map, why string) {
	at = draft.Map{}.Raw("table", "holding_register").Int("address", m.at(p))
	if a := m.at(p); a > 40000 && a < 50000 { // else it would be taken for the notation 40001
		at = at.Int("address_base", 0)
	}
	typ, _ := inventoryType(p.typ)
	at = at.Raw("type", typ)
	switch {
	case typ == "string":
		at = at.Int("length", 2*p.size)
	case p.size > 1:
		at = at.Raw("byte_order", "ABCD")
	}
	rest = draft.Map{}.Text("title", p.title)
	if p.scale == "" {
		return at, rest, ""
	}
	if exponent, err := strconv.Atoi(p.scale); err == nil && exponent >= -10 && exponent <= 10 {
		return at, rest.Raw("scale", power(exponent)), ""
	}
	sf, found := find(all, p.scale)
	if !found {
		return at, rest, fmt.Sprintf("its scale factor %s lies outside the model", p.scale)
	}
	if span := max(sf.offset+1, p.offset+p.size) - min(sf.offset, p.offset); span > maxSpan {
		return at, rest, fmt.Sprintf("its scale factor %s lies %d registers away, so that both cannot be read in one request of %d", p.scale, span-1, maxSpan)
	}
	return at.Int("scale_register", m.at(sf)), rest, ""
}

// point is a point of the inventory but for its name.
func (m *Model) point(p placed, at, rest draft.Map) draft.Point {
	rest = rest.Text("unit", unit(p.unit))
	if strings.HasPrefix(p.typ, "enum") && len(p.codes) > 0 {
		rest = rest.Map("labels", labels(p.codes))
	}
	if _, markers := inventoryType(p.typ); markers != "" {
		rest = rest.Raw("invalid", "["+markers+"]")
	}
	point := draft.Point{At: at, Rest: rest.Raw("role", m.role(p))}
	if strings.HasPrefix(p.typ, "bitfield") {
		point.Above = bitLines(p.codes)
	}
	notes := append([]string{fmt.Sprintf("model %d %s", m.ID, p.name)}, m.remarks(p)...)
	point.Note = strings.Join(notes, "; ")
	return point
}

// at is the zero-based address of a point.
func (m *Model) at(p placed) int { return int(m.Address) + p.offset }

func find(all []placed, name string) (placed, bool) {
	for _, p := range all {
		if p.name == name {
			return p, true
		}
	}
	return placed{}, false
}

// remarks is what an engineer has to know of a point.
func (m *Model) remarks(p placed) (notes []string) {
	words := m.words(p)
	switch {
	case words == nil:
		notes = append(notes, "could not be read when imported")
	case strings.HasPrefix(p.typ, "acc") && absent(p.typ, words):
		notes = append(notes, "read 0 when imported: not implemented, or a counter at its start")
	case absent(p.typ, words):
		notes = append(notes, "gave no value when imported")
	}
	if p.write {
		notes = append(notes, "SunSpec allows to write it")
	}
	return notes
}

// role is a default: what the models of measurements give with a unit is mostly a measurement, the others are settings.
func (m *Model) role(p placed) string {
	if unit(p.unit) == "" || m.layout.prefix == "nameplate" || m.layout.prefix == "settings" || m.layout.prefix == "capacity" || p.write {
		return "status"
	}
	return "process"
}

// inventoryType gives the type of the inventory for one of SunSpec, and the patterns that mean "not implemented". Counters have none:
// theirs is 0, which a new counter shows as well. Any NaN of a float is no value to the driver, whatever its bits are.
func inventoryType(typ string) (name, markers string) {
	switch typ {
	case "int16":
		return "int16", "0x8000"
	case "uint16", "enum16", "count":
		return "uint16", "0xFFFF"
	case "bitfield16":
		return "uint16", "0xFFFF, 0x8000"
	case "int32":
		return "int32", "0x80000000"
	case "uint32", "enum32":
		return "uint32", "0xFFFFFFFF"
	case "bitfield32":
		return "uint32", "0xFFFFFFFF, 0x80000000"
	case "int64":
		return "int64", "0x8000000000000000"
	case "uint64":
		return "uint64", "0xFFFFFFFFFFFFFFFF"
	case "float32":
		return "float32", "0x7FC00000"
	case "float64":
		return "float64", "0x7FF8000000000000"
	case "acc16":
		return "uint16", ""
	case "acc32":
		return "uint32", ""
	case "acc64":
		return "uint64", ""
	case "string":
		return "string", ""
	}
	return "", "" // pad, sunssf, and types that no embedded model has
}

// absent reports whether registers that were read hold the mark of a point that the device does not implement.
func absent(typ string, words []uint16) bool {
	if len(words) == 0 {
		return false
	}
	var bits uint64
	ones, zeros := true, true
	for _, w := range words {
		bits = bits<<16 | uint64(w)
		ones, zeros = ones && w == 0xFFFF, zeros && w == 0
	}
	switch typ {
	case "int16", "int32", "int64":
		return bits == 1<<(16*len(words)-1)
	case "bitfield16", "bitfield32":
		return ones || bits == 1<<(16*len(words)-1)
	case "uint16", "uint32", "uint64", "enum16", "enum32", "count":
		return ones
	case "float32":
		return math.IsNaN(float64(math.Float32frombits(uint32(bits))))
	case "float64":
		return math.IsNaN(math.Float64frombits(bits))
	case "acc16", "acc32", "acc64", "string":
		return zeros
	}
	return false
}

// unit writes SunSpec's units as the inventory does; "" for what is no unit.
func unit(text string) string {
	switch text = strings.TrimSpace(text); text {
	case "C":
		return "°C"
	case "Pct":
		return "%"
	case "Secs", "Sec":
		return "s"
	case "Degrees":
		return "°"
	case "Tms", "PF", "cos()", "SF":
		return ""
	}
	return text
}

func power(exponent int) string {
	if exponent >= 0 {
		return "1" + strings.Repeat("0", exponent)
	}
	return "0." + strings.Repeat("0", -exponent-1) + "1"
}

func labels(codes []code) draft.Map {
	var m draft.Map
	for _, c := range codes {
		m = m.Text(strconv.Itoa(c.value), c.name)
	}
	return m
}

// bitLines explains a bit field, a few bits on each line.
func bitLines(codes []code) (lines []string) {
	const perLine = 6
	for i := 0; i < len(codes); i += perLine {
		var parts []string
		for _, c := range codes[i:min(len(codes), i+perLine)] {
			parts = append(parts, fmt.Sprintf("%d %s", c.value, c.name))
		}
		lines = append(lines, "bits: "+strings.Join(parts, ", "))
	}
	return lines
}

// snake turns PhVphA into ph_vph_a.
func snake(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte('_')
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(r)
	}
	return b.String()
}
