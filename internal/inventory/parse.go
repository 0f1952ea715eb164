package inventory

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"capd/internal/document"
	"capd/internal/physical"
)

// Version is the value of the `inventory` key that this package reads.
const Version = "capd/v1"

var (
	idPattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)
	namePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)
)

// Parse reads one or more inventory files as one inventory. Links, devices and assets may be spread over files; the same id twice
// is a problem that names both places.
func Parse(nodes ...*document.Node) (*Inventory, document.Problems) {
	inv := &Inventory{Links: map[string]*Link{}, Devices: map[string]*Device{}, Assets: map[string]*Asset{}}
	var ps document.Problems
	for _, n := range nodes {
		parseFile(inv, n, &ps)
	}
	checkReferences(inv, &ps)
	return inv, ps
}

func parseFile(inv *Inventory, n *document.Node, ps *document.Problems) {
	m := document.NewMap(n, ps)
	m.Required("inventory")
	m.Enum("inventory", Version)
	eachEntry(m.Map("links"), ps, func(id string, n *document.Node, e *document.Map) {
		l := &Link{ID: id, Transport: e.String("transport"), Options: n.Without("transport"), Pos: n.Pos()}
		e.Required("transport")
		claim(inv.Links, id, l, func(l *Link) document.Pos { return l.Pos }, n, "link", ps)
	})
	eachEntry(m.Map("devices"), ps, func(id string, n *document.Node, e *document.Map) {
		d := &Device{ID: id, Link: e.String("link"), Liveness: parseLiveness(e.Map("liveness"), ps), Pos: n.Pos(),
			Options: n.Without("link", "liveness")}
		e.Required("link")
		claim(inv.Devices, id, d, func(d *Device) document.Pos { return d.Pos }, n, "device", ps)
	})
	eachEntry(m.Map("assets"), ps, func(id string, n *document.Node, e *document.Map) {
		a := parseAsset(id, n, e, ps)
		e.Done()
		claim(inv.Assets, id, a, func(a *Asset) document.Pos { return a.Pos }, n, "asset", ps)
	})
	m.Done()
}

func eachEntry(m *document.Map, ps *document.Problems, parse func(id string, n *document.Node, e *document.Map)) {
	if m == nil {
		return
	}
	m.Each(func(id string, n *document.Node) {
		if !idPattern.MatchString(id) {
			report(ps, n.Pos(), n.Path(), "name", "the id "+strconv.Quote(id)+" is not allowed", "use letters, digits, - and _, at most 63")
			return
		}
		if e := document.NewMap(n, ps); n.Kind() == document.Mapping {
			parse(id, n, e)
		}
	})
}

func claim[T any](all map[string]*T, id string, item *T, pos func(*T) document.Pos, n *document.Node, what string, ps *document.Problems) {
	if before, taken := all[id]; taken {
		report(ps, pos(item), n.Path(), "name", what+" "+id+" is already declared at "+pos(before).String(), "give one of them another id")
		return
	}
	all[id] = item
}

// minLiveness is the shortest window in which a liveness counter can be seen to move over a real link.
const minLiveness = 20 * time.Millisecond

func parseLiveness(m *document.Map, ps *document.Problems) *Liveness {
	if m == nil {
		return nil
	}
	m.Required("point", "within")
	l := &Liveness{Point: m.String("point")}
	if n := m.Node("within"); n != nil {
		d, ok := n.ReadDuration(ps)
		if l.Within = d; ok && d < minLiveness {
			m.Report("within", "liveness", fmt.Sprintf("give at least %s and at least twice the counter's period", minLiveness),
				"within %s is too short to see a counter move", d)
		}
	}
	m.Done()
	return l
}

func parseAsset(id string, n *document.Node, m *document.Map, ps *document.Problems) *Asset {
	a := &Asset{ID: id, Title: m.String("title"), Class: m.String("class"), Location: m.String("location"),
		Aliases: m.Strings("aliases"), Device: m.String("device"), Points: map[string]*Point{}, Pos: n.Pos()}
	if a.Title == "" {
		a.Title = id
	}
	if points := m.Map("points"); points != nil {
		points.Each(func(name string, n *document.Node) {
			if !namePattern.MatchString(name) {
				report(ps, n.Pos(), n.Path(), "name", "the point name "+strconv.Quote(name)+" is not allowed", "use a-z, 0-9 and _, beginning with a letter")
				return
			}
			a.Points[name] = parsePoint(a, name, n, ps)
		})
	}
	return a
}

func parsePoint(a *Asset, name string, n *document.Node, ps *document.Problems) *Point {
	m := document.NewMap(n, ps)
	m.Required("at", "role")
	p := &Point{Ref: a.ID + "." + name, Name: name, Asset: a.ID, Title: m.String("title"), Device: m.String("device"), At: m.Node("at"),
		Invalid: m.Node("invalid"), Unit: physical.Unit(m.String("unit")), Update: m.Duration("update"), MaxUnchanged: m.Duration("max_unchanged"), NVM: m.Bool("nvm"), Pos: n.Pos(),
		Role:   physical.Role(m.Enum("role", "setpoint", "status", "feedback", "process")),
		Access: Access(m.Enum("access", string(ReadOnly), string(ReadWrite), string(WriteOnly)))}
	if p.Access == "" {
		p.Access = ReadOnly
	}
	if p.Device == "" {
		p.Device = a.Device
	}
	parseScale(p, m)
	p.Labels = parseLabels(m, ps)
	p.Range = parseRange(m.Map("range"))
	p.Envelope = parseEnvelope(m.Map("envelope"), m.Node("envelope"))
	p.WitnessFor = parseWitness(m.Map("witness_for"), a.ID)
	if p.Envelope != nil && !p.Access.Writes() {
		m.Problem("envelope", "an envelope limits writes, but the point is read only; add access: read_write or remove it")
	}
	if p.MaxUnchanged > 0 && (p.Update <= 0 || p.MaxUnchanged < 4*p.Update) {
		m.Problem("max_unchanged", "max_unchanged %s needs an update period of at most a quarter of it, so that the signal is looked at often enough", p.MaxUnchanged)
	}
	if e := p.Envelope; e != nil && p.Access == WriteOnly && (e.MaxStep != nil || e.MinStep != nil || e.MaxRate != nil) {
		m.Problem("envelope", "max_step, min_step and max_rate are measured from the present value, which a write-only point does not show; remove them or add access: read_write")
	}
	if p.Access == WriteOnly && p.Role != physical.Setpoint {
		m.Problem("access", "a point with role %s must be readable", p.Role)
	}
	m.Done()
	return p
}

func parseScale(p *Point, m *document.Map) {
	p.Scale = physical.Identity()
	if d := decimal(m, "scale"); d != nil {
		p.Scale.Factor, p.Scaled = *d, true
		if d.IsZero() {
			m.Problem("scale", "scale 0 would make every value 0; give the factor between raw and physical value, such as 0.1")
		}
	}
	if d := decimal(m, "offset"); d != nil {
		p.Scale.Offset, p.Scaled = *d, true
	}
}

func decimal(m *document.Map, key string) *physical.Decimal {
	text, ok := m.Decimal(key)
	if !ok {
		return nil
	}
	d, err := physical.ParseDecimal(text)
	if err != nil {
		m.Problem(key, "%v", err)
		return nil
	}
	return &d
}

// labelCode is how a code is written: as in other places of a document, without the leading zeros that some read as octal.
var labelCode = regexp.MustCompile(`^(-?(0|[1-9][0-9]*)|0x[0-9a-fA-F]+)$`)

func parseLabels(m *document.Map, ps *document.Problems) map[int64]string {
	l := m.Map("labels")
	if l == nil {
		return nil
	}
	labels, seen := map[int64]string{}, map[string]string{}
	l.Each(func(key string, n *document.Node) {
		code, err := strconv.ParseInt(key, 0, 64)
		if !labelCode.MatchString(key) || err != nil {
			l.Report(key, document.RuleValue, "write it as 10 or 0x0A", "the label code %q is not an integer of 64 bits", key)
			return
		}
		label, ok := n.ReadString(ps)
		if !ok {
			return
		}
		if other, twice := seen[label]; twice {
			l.Problem(key, "the label %q already stands for %s; labels must differ", label, other)
		}
		if other, twice := labels[code]; twice {
			l.Problem(key, "the code %d already has the label %q", code, other)
		}
		labels[code], seen[label] = label, key
	})
	return labels
}

func parseRange(m *document.Map) *Limits {
	if m == nil {
		return nil
	}
	l := parseLimits(m)
	m.Done()
	return &l
}

func parseLimits(m *document.Map) Limits {
	l := Limits{Min: decimal(m, "min"), Max: decimal(m, "max")}
	if l.Min != nil && l.Max != nil && l.Min.GreaterThan(*l.Max) {
		m.Problem("min", "min %s is above max %s", l.Min, l.Max)
	}
	return l
}

func parseEnvelope(m *document.Map, n *document.Node) *Envelope {
	if m == nil {
		return nil
	}
	e := &Envelope{Limits: parseLimits(m), MaxStep: above(m, "max_step"), MinStep: above(m, "min_step"), MaxRate: above(m, "max_rate"),
		MinInterval: m.Duration("min_interval"), MinOff: m.Duration("min_off"), StartsPerHour: count(m, "starts_per_hour"),
		LifetimeWrite: count(m, "lifetime_writes"), Pos: n.Pos()}
	if e.MaxStep != nil && e.MinStep != nil && e.MinStep.GreaterThan(*e.MaxStep) {
		m.Problem("min_step", "min_step %s is above max_step %s: no move would be allowed", e.MinStep, e.MaxStep)
	}
	m.Done()
	return e
}

// above reads a number that must be above 0.
func above(m *document.Map, key string) *physical.Decimal {
	d := decimal(m, key)
	if d != nil && d.Sign() <= 0 {
		m.Problem(key, "%s must be above 0, not %s", key, d)
	}
	return d
}

// count reads a whole number that must be at least 1.
func count(m *document.Map, key string) int64 {
	n := m.Int(key)
	if _, ok := m.Node(key).Int(); ok && n <= 0 {
		m.Problem(key, "%s must be at least 1; leave it out for no limit", key)
	}
	return n
}

func parseWitness(m *document.Map, own string) map[string]physical.Role {
	if m == nil {
		return nil
	}
	roles := map[string]physical.Role{}
	m.Each(func(asset string, _ *document.Node) {
		if asset == own {
			m.Problem(asset, "the point is of %s itself, and its role says what it is there; name another asset", own)
		}
		roles[asset] = physical.Role(m.Enum(asset, string(physical.Status), string(physical.Feedback), string(physical.Process)))
	})
	return roles
}
