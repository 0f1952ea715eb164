package sunspec

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capd/internal/document"
	"capd/internal/importer/draft"
	"capd/internal/inventory"
)

var errException = errors.New("exception 2, illegal data address")

// simulated is a device: the registers it has, and how it answers.
type simulated struct {
	words map[int]uint16
	limit int                                       // registers of one request
	hook  func(address, count int, answer []uint16) // changes an answer
	reads int
	most  int
}

func (s *simulated) ReadHolding(ctx context.Context, address, count uint16) ([]uint16, error) {
	s.reads++
	s.most = max(s.most, int(count))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if s.limit > 0 && int(count) > s.limit {
		return nil, errException
	}
	var answer []uint16
	for a := int(address); a < int(address)+int(count); a++ {
		w, ok := s.words[a]
		if !ok {
			return nil, errException
		}
		answer = append(answer, w)
	}
	if s.hook != nil {
		s.hook(int(address), int(count), answer)
	}
	return answer, nil
}

// model is one model of a simulated device: its registers behind id and length.
type model struct {
	id   int
	body []uint16
}

func common(manufacturer, name, serial string) model {
	body := make([]uint16, 66)
	put := func(at int, text string) {
		for i := range len(text) {
			body[at+i/2] |= uint16(text[i]) << (8 - 8*(i%2))
		}
	}
	put(0, manufacturer)
	put(16, name)
	put(40, "1.2.3")
	put(48, serial)
	return model{1, body}
}

// implementing gives a body of a known model with values by the names of its points; the rest is marked as not implemented.
func implementing(t *testing.T, id int, length int, values map[string]uint16) model {
	t.Helper()
	all, err := layouts()
	if err != nil {
		t.Fatal(err)
	}
	body := make([]uint16, length)
	for _, p := range all[uint16(id)].place(length) {
		for i := range p.size {
			switch body[p.offset-header+i] = 0xFFFF; {
			case p.typ == "int16" || p.typ == "sunssf" || p.typ == "pad":
				body[p.offset-header+i] = 0x8000
			case p.typ == "float32":
				body[p.offset-header+i] = []uint16{0x7FBF, 0xFF80}[i] // a NaN, but not the usual one
			case strings.HasPrefix(p.typ, "acc") || p.typ == "string":
				body[p.offset-header+i] = 0
			}
		}
		if v, ok := values[p.name]; ok {
			body[p.offset-header+p.size-1] = v
			if p.size == 2 {
				body[p.offset-header] = 0
			}
		}
	}
	return model{id, body}
}

// device puts models behind the mark at a base; tail is what stands behind the last one.
func device(base int, models []model, tail ...uint16) *simulated {
	s := &simulated{words: map[int]uint16{base: markHigh, base + 1: markLow}}
	at := base + 2
	for _, m := range models {
		s.words[at], s.words[at+1] = uint16(m.id), uint16(len(m.body))
		for i, w := range m.body {
			s.words[at+2+i] = w
		}
		at += 2 + len(m.body)
	}
	for i, w := range tail {
		s.words[at+i] = w
	}
	return s
}

func discover(t *testing.T, s *simulated) Device {
	t.Helper()
	d, err := Discover(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if s.most > maxRead {
		t.Errorf("a read of %d registers", s.most)
	}
	return d
}

func ids(d Device) (ids []int) {
	for _, m := range d.Models {
		ids = append(ids, int(m.ID))
	}
	return ids
}

func inverter(t *testing.T) []model {
	return []model{common("Example", "INV-5000", "A123"), implementing(t, 103, 50, map[string]uint16{"A": 123, "A_SF": 0xFFFF, "W": 5000, "W_SF": 0, "St": 4, "WH": 17})}
}

func TestTheMarkIsFoundAtEveryBase(t *testing.T) {
	for _, base := range bases() {
		d := discover(t, device(int(base), inverter(t), 0xFFFF, 0))
		if d.Base != base || !slices.Equal(ids(d), []int{1, 103}) || d.Models[0].Common.Serial != "A123" || d.Models[0].Common.Version != "1.2.3" {
			t.Errorf("base %d: %+v", base, d)
		}
	}
}

// TestChainsThatEndInOtherWays holds the ends of public reports: sunspec/models 44 (a single 0, and an exception for two registers),
// bikeshedder/sunspec 20 (nothing behind the last model), and their neighbours.
func TestChainsThatEndInOtherWays(t *testing.T) {
	for name, c := range map[string]struct {
		tail []uint16
		note string
	}{
		"as it should be":               {[]uint16{0xFFFF, 0}, ""},
		"65535 without its length":      {[]uint16{0xFFFF}, "single register 65535"},
		"a single 0":                    {[]uint16{0}, "single register 0"},
		"0 and 0":                       {[]uint16{0, 0}, "0 instead of 65535"},
		"nothing":                       {nil, "has no end"},
		"one register of something":     {[]uint16{7}, "has no end"},
		"a length beyond the registers": {[]uint16{700, 60000}, "cannot be right"},
		"a model without registers":     {[]uint16{64999, 0}, "cannot be right"},
	} {
		d := discover(t, device(40000, inverter(t), c.tail...))
		notes := strings.Join(d.Notes, "\n")
		if !slices.Equal(ids(d), []int{1, 103}) || c.note == "" && notes != "" || !strings.Contains(notes, c.note) {
			t.Errorf("%s: models %v, notes %q", name, ids(d), notes)
		}
	}
}

func TestAChainAtTheLastAddressEnds(t *testing.T) {
	filler := model{64000, make([]uint16, 65536-50000-2-2-66-2-2)}
	d := discover(t, device(50000, []model{common("a", "b", "c"), filler}, 5, 0))
	if len(d.Models) != 2 || len(d.Notes) != 1 {
		t.Errorf("%v %v", ids(d), d.Notes)
	}
	many := []model{common("a", "b", "c")}
	for range 2 * maxModels {
		many = append(many, model{64000, make([]uint16, 1)})
	}
	if d := discover(t, device(0, many, 0xFFFF)); len(d.Models) != maxModels || len(d.Notes) != 1 {
		t.Errorf("%d models, %v", len(d.Models), d.Notes)
	}
}

func TestADeviceWithoutTheMarkIsNamed(t *testing.T) {
	empty := &simulated{words: map[int]uint16{}}
	_, err := Discover(t.Context(), empty)
	var missing *NotFoundError
	if !errors.As(err, &missing) || len(missing.Tried) != 5 || !errors.Is(err, errException) || !strings.Contains(err.Error(), "exception 2") {
		t.Error(err)
	}
	other := device(0, nil)
	other.words[0] = 1
	if _, err := Discover(t.Context(), other); !errors.As(err, &missing) || !strings.Contains(err.Error(), "may not speak SunSpec") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Discover(ctx, empty); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestADiscoveryThatIsCancelledStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := device(40000, inverter(t), 0xFFFF, 0)
	s.hook = func(address, _ int, _ []uint16) {
		if address > 40000 {
			cancel()
		}
	}
	if _, err := Discover(ctx, s); !errors.Is(err, context.Canceled) || s.reads > 3 {
		t.Error(err, s.reads)
	}
}

// TestAnAnswerOfTheWrongLengthIsNone keeps short and long answers from becoming models.
func TestAnAnswerOfTheWrongLengthIsNone(t *testing.T) {
	s := device(40000, inverter(t), 0xFFFF, 0)
	r := registersFunc(func(ctx context.Context, address, count uint16) ([]uint16, error) {
		words, err := s.ReadHolding(ctx, address, count)
		return append(words, 0), err
	})
	var missing *NotFoundError
	if _, err := Discover(t.Context(), r); !errors.As(err, &missing) {
		t.Error(err)
	}
}

type registersFunc func(ctx context.Context, address, count uint16) ([]uint16, error)

func (f registersFunc) ReadHolding(ctx context.Context, address, count uint16) ([]uint16, error) {
	return f(ctx, address, count)
}

// TestMixedUpAnswersAreAnError gives the registers of another model the second time.
func TestMixedUpAnswersAreAnError(t *testing.T) {
	s := device(40000, inverter(t), 0xFFFF, 0)
	s.hook = func(address, count int, answer []uint16) {
		if address == 40070 && count > 2 {
			answer[0] = 203
		}
	}
	if d, err := Discover(t.Context(), s); !errors.Is(err, errMoved) {
		t.Error(err, ids(d))
	}
}

func TestAModelThatCannotBeReadIsNotedAndProposed(t *testing.T) {
	s := device(40000, inverter(t), 0xFFFF, 0)
	s.limit = 2 // the chain can be walked, and nothing more
	d := discover(t, s)
	inv := parse(t, d)
	if p := inv.Point("INV.inverter_w"); len(d.Notes) != 2 || p == nil {
		t.Errorf("%v", d.Notes)
	}
}

func target() draft.Target {
	return draft.Target{Link: "PV-NET", Endpoint: "192.0.2.1:502", Device: "PV", Asset: "INV", UnitID: 126}
}

// parse reads a draft back; it has no problems, and nothing in it writes.
func parse(t *testing.T, d Device) *inventory.Inventory {
	t.Helper()
	text := d.Inventory(target())
	n, ps := document.Parse("draft.yaml", text)
	if len(ps) > 0 {
		t.Fatalf("%v\n%s", ps, text)
	}
	inv, ps := inventory.Parse(n)
	if len(ps) > 0 {
		t.Fatalf("%v\n%s", ps, text)
	}
	for _, ref := range inv.Refs() {
		if p := inv.Point(ref); p.Access != inventory.ReadOnly || p.Role != "status" && p.Role != "process" {
			t.Errorf("%s: access %s, role %s", ref, p.Access, p.Role)
		}
	}
	return inv
}

func TestTheDraftOfAnInverterWithMeters(t *testing.T) {
	d := discover(t, device(40000, append(inverter(t),
		implementing(t, 160, 8+2*20, map[string]uint16{"N": 2, "DCV_SF": 0xFFFF, "module_2_DCV": 6000}),
		implementing(t, 123, 24, map[string]uint16{"WMaxLimPct": 100, "WMaxLimPct_SF": 0}),
		model{64204, make([]uint16, 5)},
		common("Example", "METER-3", "M1"), implementing(t, 203, 105, map[string]uint16{"W": 40, "W_SF": 1}),
		common("Example", "METER-F", "M2"), implementing(t, 213, 124, nil)), 0xFFFF, 0))
	path := filepath.Join("testdata", "inverter_with_meters.yaml")
	text := string(d.Inventory(target()))
	if os.Getenv("GOLDEN") == "write" {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s differs; got:\n%s", path, text)
	}
	inv := parse(t, d)
	if !slices.Equal(inv.AssetIDs(), []string{"INV", "INV_2", "INV_3"}) || inv.Assets["INV_2"].Title != "Example METER-3 M1" {
		t.Error(inv.AssetIDs())
	}
}

// TestScaleFactorsStayRegisters holds the case of evcc 2162: the factor changes during the day, so it may not become a number.
func TestScaleFactorsStayRegisters(t *testing.T) {
	inv := parse(t, discover(t, device(40000, inverter(t), 0xFFFF, 0)))
	p := inv.Point("INV.inverter_a")
	if p == nil || p.Scaled || p.At.Get("scale_register").Text() != "40076" || p.At.Get("address").Text() != "40072" || p.At.Get("address_base").Text() != "0" || p.Unit != "A" {
		t.Errorf("%+v", p)
	}
	for _, ref := range inv.Refs() {
		if p := inv.Point(ref); strings.HasSuffix(ref, "_sf") || p.Unit != "" && p.At.Get("scale_register") == nil {
			t.Errorf("%s: %s", ref, p.At.Text())
		}
	}
}

func TestWhatADeviceDoesNotImplement(t *testing.T) {
	for _, c := range []struct {
		typ  string
		bits uint64
		is   bool
	}{
		{"int16", 0x8000, true}, {"int16", 0xFFFF, false}, {"uint16", 0xFFFF, true}, {"uint16", 0x8000, false}, {"enum16", 0xFFFF, true},
		{"bitfield16", 0xFFFF, true}, {"bitfield16", 0x8000, true}, {"bitfield32", 0xFFFFFFFF, true}, {"bitfield32", 0x80000000, true}, {"bitfield32", 0x8000, false},
		{"int32", 0x80000000, true}, {"uint32", 0xFFFFFFFF, true}, {"uint32", 0xFFFF, false}, {"int64", 1 << 63, true}, {"uint64", math.MaxUint64, true},
		{"acc32", 0, true}, {"acc32", 1, false}, {"float32", 0x7FC00000, true}, {"float32", 0x7FBFFF80, true}, {"float32", 0x7F800000, false}, {"float32", 0, false},
		{"float64", 0x7FF8000000000001, true}, {"string", 0, true}, {"sunssf", 0x8000, false},
	} {
		size := map[string]int{"16": 1, "32": 2, "64": 4}[c.typ[max(0, len(c.typ)-2):]]
		if size == 0 {
			size = 1
		}
		var words []uint16
		for i := size - 1; i >= 0; i-- {
			words = append(words, uint16(c.bits>>(16*i)))
		}
		if absent(c.typ, words) != c.is {
			t.Errorf("%s %X: %v", c.typ, c.bits, !c.is)
		}
	}
}

// TestEveryModelOfTheAllianceIsWalked makes one chain of all models there are: each is passed by its own length, and of those whose
// layout is known each point stands where its definition says.
func TestEveryModelOfTheAllianceIsWalked(t *testing.T) {
	all := definitions(t)
	var models []model
	for _, d := range all {
		models = append(models, model{d.ID, make([]uint16, groupSize(d.Group)-header)})
	}
	d := discover(t, device(0, models, 0xFFFF, 0))
	if len(d.Models) != len(all) || len(d.Notes) != 0 {
		t.Fatalf("%d of %d models, %v", len(d.Models), len(all), d.Notes)
	}
	points := 0
	for i, def := range all {
		m := d.Models[i]
		if _, known := embedded()[def.ID]; int(m.ID) != def.ID || known != (m.layout != nil) {
			t.Errorf("model %d came as %d, known %v", def.ID, m.ID, m.layout != nil)
		}
		if m.layout == nil {
			continue
		}
		got, want := map[string]string{}, map[string]string{}
		for _, p := range m.layout.place(int(m.Length)) {
			got[p.name] = fmt.Sprintf("%d %s %d %s", p.offset, p.typ, p.size, p.scale)
		}
		expected(def.Group, want)
		if !maps.Equal(got, want) {
			t.Errorf("model %d: %v\nwant %v", def.ID, got, want)
		}
		points += len(got)
	}
	parse(t, d)
	t.Logf("%d models, %d points of known ones", len(all), points)
}

// groupSize is the size of a group whose repeating groups are there once.
func groupSize(g definitionGroup) (size int) {
	for _, p := range g.Points {
		size += p.Size
	}
	for _, sub := range g.Groups {
		size += groupSize(sub)
	}
	return size
}

// expected lists the points of a definition with one instance of each group.
func expected(g definitionGroup, into map[string]string) {
	offset := 0
	add := func(prefix string, points []definitionPoint) {
		for _, p := range points {
			scale := ""
			if p.SF != nil {
				scale = fmt.Sprint(p.SF)
			}
			if offset >= header {
				into[prefix+p.Name] = fmt.Sprintf("%d %s %d %s", offset, p.Type, p.Size, scale)
			}
			offset += p.Size
		}
	}
	add("", g.Points)
	for _, sub := range g.Groups {
		prefix := sub.Name + "_"
		if sub.Count != nil {
			prefix += "1_"
		}
		add(prefix, sub.Points)
	}
}

// FuzzDiscover answers with registers made of the fuzzer's bytes: whatever a device says, the work is bounded and the draft is an
// inventory.
func FuzzDiscover(f *testing.F) {
	f.Add([]byte{0, 1, 0, 66}, uint64(1), uint16(0))
	f.Add([]byte{0, 103, 0, 50, 0, 160, 0, 28, 255, 255}, uint64(2), uint16(3))
	f.Add([]byte{2, 192, 0, 65, 0, 1, 0, 1}, uint64(3), uint16(9))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, failing uint16) {
		s := &simulated{words: map[int]uint16{0: markHigh, 1: markLow}}
		for i := 0; i+1 < len(data) && i < 4000; i += 2 {
			s.words[2+i/2] = uint16(data[i])<<8 | uint16(data[i+1])
		}
		random := rand.New(rand.NewPCG(seed, 1))
		r := registersFunc(func(ctx context.Context, address, count uint16) ([]uint16, error) {
			if failing > 0 && random.IntN(int(failing)) == 0 {
				return nil, errException
			}
			for a := int(address); a < int(address)+int(count); a++ {
				if _, ok := s.words[a]; !ok && a > 1 && len(data) > 0 {
					s.words[a] = uint16(data[a%len(data)])
				}
			}
			return s.ReadHolding(ctx, address, count)
		})
		d, err := Discover(t.Context(), r)
		var missing *NotFoundError
		if errors.As(err, &missing) || errors.Is(err, errMoved) {
			return
		}
		if err != nil || len(d.Models) > maxModels {
			t.Fatal(err, len(d.Models))
		}
		parse(t, d)
	})
}
