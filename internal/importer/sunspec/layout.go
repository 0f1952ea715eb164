package sunspec

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

//go:embed models.txt
var modelsText string

//go:embed NOTICE
var notice string

//go:embed LICENSE
var licence string

// Licence is the notice and the licence of the model definitions that are part of the program.
func Licence() string { return notice + "\n" + licence }

// layout is a model as its definition describes it. Offsets count registers from the model's id.
type layout struct {
	id     uint16
	prefix string // of the names of its points
	label  string
	points []field
	groups []group
}

// group is a part of a model that stands behind the points before it, once or until the model's end.
type group struct {
	name      string
	repeating bool
	points    []field
	size      int
}

// field is one point of a definition.
type field struct {
	name   string
	typ    string // of SunSpec: int16, acc32, bitfield32, ...
	size   int    // registers
	scale  string // name of its scale factor, or a number, or empty
	unit   string
	write  bool
	title  string
	codes  []code
	offset int // from the begin of the model or of its group
}

// code is a value of an enumeration, or a bit of a bit field.
type code struct {
	value int
	name  string
}

// header is how many registers id and length take.
const header = 2

// layouts reads the embedded definitions: a line "model" for each model, "group" for each group, and the points below them, with
// tabs between name, type, size, scale factor, unit, access, title and codes.
func layouts() (map[uint16]*layout, error) {
	all := map[uint16]*layout{}
	var m *layout
	for number, line := range strings.Split(modelsText, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "\t")
		var err error
		switch {
		case cells[0] == "model" && len(cells) == 4:
			if m, err = newLayout(cells); err == nil {
				all[m.id] = m
			}
		case cells[0] == "group" && len(cells) == 3 && m != nil:
			m.groups = append(m.groups, group{name: cells[1], repeating: cells[2] == "*"})
		case len(cells) == 8 && m != nil:
			err = m.add(cells)
		default:
			err = fmt.Errorf("%d cells", len(cells))
		}
		if err != nil {
			return nil, fmt.Errorf("sunspec: models.txt line %d: %w", number+1, err)
		}
	}
	return all, nil
}

func newLayout(cells []string) (*layout, error) {
	id, err := strconv.ParseUint(cells[1], 10, 16)
	if err != nil {
		return nil, err
	}
	return &layout{id: uint16(id), prefix: cells[2], label: cells[3]}, nil
}

// add reads a point into the model, or into its last group.
func (m *layout) add(cells []string) error {
	size, err := strconv.Atoi(cells[2])
	if err != nil || size < 1 || size > 125 {
		return fmt.Errorf("size %q", cells[2])
	}
	f := field{name: cells[0], typ: cells[1], size: size, scale: cells[3], unit: cells[4], write: cells[5] == "RW", title: cells[6]}
	if f.codes, err = readCodes(cells[7]); err != nil {
		return err
	}
	if n := len(m.groups); n > 0 {
		g := &m.groups[n-1]
		f.offset = g.size
		g.size += size
		g.points = append(g.points, f)
		return nil
	}
	f.offset = header
	if n := len(m.points); n > 0 {
		f.offset = m.points[n-1].offset + m.points[n-1].size
	}
	m.points = append(m.points, f)
	return nil
}

// readCodes reads "1=OFF 2=SLEEPING".
func readCodes(text string) ([]code, error) {
	var codes []code
	for _, item := range strings.Fields(text) {
		value, name, ok := strings.Cut(item, "=")
		n, err := strconv.Atoi(value)
		if !ok || err != nil {
			return nil, fmt.Errorf("code %q", item)
		}
		codes = append(codes, code{n, name})
	}
	return codes, nil
}

// placed is a field at its place in a device's model.
type placed struct {
	field
	name   string // with the name and number of its group, such as "module_2_DCV"
	offset int    // from the model's id
}

// place lays the definition over a model of a length (registers behind id and length); what does not fit is left out.
func (m *layout) place(length int) []placed {
	var all []placed
	end := header
	for _, f := range m.points {
		all = append(all, placed{f, f.name, f.offset})
		end = f.offset + f.size
	}
	for _, g := range m.groups {
		for n := 1; n == 1 || g.repeating && g.size > 0 && end+g.size <= header+length; n++ {
			prefix := g.name + "_"
			if g.repeating {
				prefix = fmt.Sprintf("%s_%d_", g.name, n)
			}
			for _, f := range g.points {
				all = append(all, placed{f, prefix + f.name, end + f.offset})
			}
			end += g.size
		}
	}
	return slices.DeleteFunc(all, func(p placed) bool { return p.offset+p.size > header+length })
}
