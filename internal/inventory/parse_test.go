package inventory

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"capd/internal/document"
	"capd/internal/physical"
)

// valve is the inventory of the documentation.
func valve(t testing.TB) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", "valve.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

func node(t testing.TB, file, source string) *document.Node {
	t.Helper()
	n, ps := document.Parse(file, []byte(source))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTheInventoryOfTheDocumentationIsRead(t *testing.T) {
	inv, ps := Parse(node(t, "valve.yaml", valve(t)))
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	if l := inv.Links["PLC-NET"]; l.Transport != "modbus_tcp" || l.Options.Get("endpoint").Text() != "10.1.2.3:502" || l.Options.Get("transport") != nil {
		t.Errorf("link is %+v", l)
	}
	if d := inv.Devices["PS07-PLC"]; d.Link != "PLC-NET" || *d.Liveness != (Liveness{"PS07-PLC-01.heartbeat", 2 * time.Second}) || !slices.Equal(d.Options.Keys(), []string{"unit_id", "quirks"}) {
		t.Errorf("device is %+v", d)
	}
	if a := inv.Assets["PS07-FCV-04"]; a.Title != "Discharge control valve" || a.Class != "control_valve" || a.Location != "plant/ps07/discharge" || a.Aliases[0] != "出口调节阀" {
		t.Errorf("asset is %+v", a)
	}
	p := inv.Point("PS07-FCV-04.setpoint")
	if p.Unit != "%" || p.Role != physical.Setpoint || p.Access != ReadWrite || !p.Scaled || p.Scale.Factor.String() != "0.1" || p.Device != "PS07-PLC" || p.Asset != "PS07-FCV-04" {
		t.Errorf("setpoint is %+v", p)
	}
	if e := p.Envelope; e.Min.String() != "0" || e.Max.String() != "100" || e.MaxStep.String() != "20" || e.MinStep.String() != "2" || e.MaxRate != nil {
		t.Errorf("envelope is %+v", e)
	}
	if m := inv.Point("PS07-PLC-01.mode"); m.Labels[2] != "remote" || m.Access != ReadOnly || m.Update != 500*time.Millisecond || m.Scaled {
		t.Errorf("mode is %+v", m)
	}
	if got := strings.Join(inv.Refs(), " "); got != "PS07-FCV-04.position PS07-FCV-04.setpoint PS07-PLC-01.e_stop_ok PS07-PLC-01.heartbeat PS07-PLC-01.mode" {
		t.Error(got)
	}
	if got := inv.AssetIDs(); !slices.Equal(got, []string{"PS07-FCV-04", "PS07-PLC-01"}) {
		t.Error(got)
	}
}

const plc = "inventory: capd/v1\nlinks: {NET: {transport: t}}\ndevices: {PLC: {link: NET}, PLC-2: {link: NET}}\n"

// point is an inventory with one point of asset A, at line 8.
func point(keys string) string {
	return plc + "assets:\n  A:\n    device: PLC\n    points:\n      p: {" + keys + "}\n"
}

// enveloped is an inventory with a point that has this envelope.
func enveloped(keys string) string {
	return point("at: {}, role: setpoint, access: read_write, envelope: {" + keys + "}")
}

func TestEveryMistakeIsReportedAtItsPlace(t *testing.T) {
	const p = "assets.A.points.p"
	cases := map[string]struct{ source, want string }{
		"nothing":               {"", "x.yaml:1:1: found nothing, expected a map"},
		"no version":            {"links: {}", `x.yaml:1:1: key "inventory" is missing`},
		"another version":       {"inventory: capd/v2", `x.yaml:1:12: inventory: "capd/v2" is not allowed here; did you mean "capd/v1"? allowed: capd/v1`},
		"unknown key":           {"inventory: capd/v1\nasset: {}", `x.yaml:2:1: asset: unknown key "asset"; did you mean "assets"?`},
		"id":                    {"inventory: capd/v1\nlinks: {a.b: {transport: t}}", `x.yaml:2:14: links."a.b": the id "a.b" is not allowed; use letters, digits, - and _, at most 63`},
		"link not a map":        {"inventory: capd/v1\nlinks: {A: tcp}", `x.yaml:2:12: links.A: found text "tcp", expected a map, such as {key: value}`},
		"link of no transport":  {"inventory: capd/v1\nlinks: {A: {}}", `x.yaml:2:12: links.A: key "transport" is missing`},
		"device of no link":     {"inventory: capd/v1\ndevices: {D: {}}", `x.yaml:2:14: devices.D: key "link" is missing`},
		"device of another":     {"inventory: capd/v1\nlinks: {NET: {transport: t}}\ndevices: {D: {link: NOT}}", `x.yaml:3:14: devices.D.link: there is no link "NOT"; did you mean NET?`},
		"asset's device":        {plc + "assets: {A: {device: PCL, points: {p: {at: {}, role: status}, q: {at: {}, role: status}}}}", `x.yaml:4:13: assets.A.device: there is no device "PCL"; did you mean PLC?`},
		"asset's key":           {plc + "assets: {A: {place: x}}", `x.yaml:4:14: assets.A.place: unknown key "place"`},
		"point's name":          {plc + "assets: {A: {device: PLC, points: {P: {at: {}, role: status}}}}", `x.yaml:4:39: assets.A.points.P: the point name "P" is not allowed; use a-z, 0-9 and _, beginning with a letter`},
		"point's device":        {point("at: {}, role: status, device: PL"), `x.yaml:8:10: ` + p + `.device: there is no device "PL"; declare it, or correct the name`},
		"point of no device":    {plc + "assets: {A: {points: {p: {at: {}, role: status}}}}", `x.yaml:4:26: ` + p + `: no device is named for this point or its asset; add device: to the asset or to the point`},
		"point at no place":     {point("role: status"), `x.yaml:8:10: ` + p + `: key "at" is missing`},
		"role":                  {point("at: {}, role: feedbak"), `x.yaml:8:25: ` + p + `.role: "feedbak" is not allowed here; did you mean "feedback"?`},
		"access":                {point("at: {}, role: status, access: rw"), `x.yaml:8:41: ` + p + `.access: "rw" is not allowed here`},
		"write only status":     {point("at: {}, role: status, access: write"), `x.yaml:8:33: ` + p + `.access: a point with role status must be readable`},
		"scale 0":               {point("at: {}, role: status, scale: 0"), `x.yaml:8:33: ` + p + `.scale: scale 0 would make every value 0`},
		"scale as text":         {point(`at: {}, role: status, scale: "0.1"`), `x.yaml:8:40: ` + p + `.scale: found text "0.1", expected a number, such as 0.1; write it without quotes`},
		"label code":            {point(`at: {}, role: status, labels: {a: b}`), `x.yaml:8:42: ` + p + `.labels.a: the label code "a" is not an integer of 64 bits; write it as 10 or 0x0A`},
		"label code octal":      {point(`at: {}, role: status, labels: {"010": b}`), `x.yaml:8:42: ` + p + `.labels.010: the label code "010" is not an integer of 64 bits; write it as 10 or 0x0A`},
		"label a truth":         {point(`at: {}, role: status, labels: {0: true}`), `x.yaml:8:45: ` + p + `.labels.0: found true, expected a text; quote it: "true"`},
		"label twice":           {point(`at: {}, role: status, labels: {0: on, 1: on}`), `x.yaml:8:49: ` + p + `.labels.1: the label "on" already stands for 0; labels must differ`},
		"code twice":            {point(`at: {}, role: status, labels: {10: on, 0x0A: off}`), `x.yaml:8:50: ` + p + `.labels.0x0A: the code 10 already has the label "on"`},
		"range":                 {point(`at: {}, role: status, range: {min: 2, max: 1}`), `x.yaml:8:41: ` + p + `.range.min: min 2 is above max 1`},
		"step from nowhere":     {point(`at: {}, role: setpoint, access: write, envelope: {max_step: 2}`), `x.yaml:8:50: ` + p + `.envelope: max_step, min_step and max_rate are measured from the present value, which a write-only point does not show`},
		"envelope of a reading": {point(`at: {}, role: status, envelope: {min: 2}`), `x.yaml:8:33: ` + p + `.envelope: an envelope limits writes, but the point is read only; add access: read_write or remove it`},
		"too often unchanged":   {point(`at: {}, role: status, update: 1s, max_unchanged: 3s`), `x.yaml:8:45: ` + p + `.max_unchanged: max_unchanged 3s needs an update period of at most a quarter of it`},
		"unchanged at no time":  {point(`at: {}, role: status, max_unchanged: 3s`), `x.yaml:8:33: ` + p + `.max_unchanged: max_unchanged 3s needs an update period`},
		"envelope":              {enveloped("min: 2, max: 1"), `x.yaml:8:66: ` + p + `.envelope.min: min 2 is above max 1`},
		"max_step":              {enveloped("max_step: 0"), `x.yaml:8:66: ` + p + `.envelope.max_step: max_step must be above 0, not 0`},
		"max_step as text":      {enveloped("max_step: much"), `x.yaml:8:76: ` + p + `.envelope.max_step: found text "much", expected a number`},
		"max_rate":              {enveloped("max_rate: -1"), `x.yaml:8:66: ` + p + `.envelope.max_rate: max_rate must be above 0, not -1`},
		"steps":                 {enveloped("min_step: 2, max_step: 1"), `x.yaml:8:66: ` + p + `.envelope.min_step: min_step 2 is above max_step 1: no move would be allowed`},
		"starts":                {enveloped("starts_per_hour: 0"), `x.yaml:8:66: ` + p + `.envelope.starts_per_hour: starts_per_hour must be at least 1; leave it out for no limit`},
		"starts as text":        {enveloped("starts_per_hour: few"), `x.yaml:8:83: ` + p + `.envelope.starts_per_hour: found text "few", expected a whole number`},
		"interval":              {enveloped("min_interval: 5"), `x.yaml:8:80: ` + p + `.envelope.min_interval: found number 5, expected a duration`},
		"witness's role":        {point(`at: {}, role: status, witness_for: {B: setpoint}`) + "  B: {}", `x.yaml:8:50: ` + p + `.witness_for.B: "setpoint" is not allowed here`},
		"witness for whom":      {point(`at: {}, role: status, witness_for: {BC-07: process}`) + "  BC-08: {}", `x.yaml:8:10: ` + p + `.witness_for: there is no asset "BC-07"; did you mean BC-08?`},
		"witness for itself":    {point(`at: {}, role: status, witness_for: {A: process}`), `x.yaml:8:47: ` + p + `.witness_for.A: the point is of A itself, and its role says what it is there; name another asset`},
		"liveness of nothing":   {"inventory: capd/v1\nlinks: {N: {transport: t}}\ndevices: {D: {link: N, liveness: {within: 1s}}}", `x.yaml:3:34: devices.D.liveness: key "point" is missing`},
		"assets without points": {plc + "assets: {A: {}, B: {}}", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, ps := Parse(node(t, "x.yaml", c.source))
			if c.want == "" {
				if len(ps) > 0 {
					t.Error(ps)
				}
				return
			}
			if len(ps) != 1 || !strings.HasPrefix(ps[0].Error(), c.want) || ps[0].Rule == "" || ps.Err() == nil {
				t.Errorf("got  %v\nwant %s", ps, c.want)
			}
		})
	}
}

func TestALivenessCounterMustBeOneOfTheDevice(t *testing.T) {
	device := func(liveness string) string {
		return "inventory: capd/v1\nlinks: {NET: {transport: t}}\ndevices:\n  PLC: {link: NET, liveness: {" + liveness + "}}\n  VFD: {link: NET}\n" +
			"assets: {A: {device: VFD, points: {beat: {at: {}, role: status}, own: {at: {}, role: status, device: PLC}}}}\n"
	}
	for liveness, want := range map[string]string{
		"point: A.own, within: 1s":   "",
		"point: A.beat, within: 1s":  "x.yaml:4:8: devices.PLC.liveness.point: A.beat belongs to device VFD, so it cannot show that PLC is alive; name a counter of this device",
		"point: A.owm, within: 1s":   `x.yaml:4:8: devices.PLC.liveness.point: there is no point "A.owm"; did you mean A.own?`,
		"point: owm, within: 1s":     `x.yaml:4:8: devices.PLC.liveness.point: there is no point "owm"; declare it, or correct the name`,
		"point: A.own, within: 10ms": "x.yaml:4:45: devices.PLC.liveness.within: within 10ms is too short to see a counter move; give at least 20ms and at least twice the counter's period",
		"point: A.own":               `x.yaml:4:30: devices.PLC.liveness: key "within" is missing`,
		"point: A.own, within: x":    `x.yaml:4:53: devices.PLC.liveness.within: found text "x", expected a duration`,
	} {
		_, ps := Parse(node(t, "x.yaml", device(liveness)))
		if want == "" && len(ps) == 0 {
			continue
		}
		if len(ps) != 1 || want == "" || !strings.HasPrefix(ps[0].Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", liveness, ps, want)
		}
	}
}

func TestAnInventoryMayBeSpreadOverFiles(t *testing.T) {
	links := node(t, "a.yaml", "inventory: capd/v1\nlinks: {NET: {transport: t}}")
	rest := node(t, "b.yaml", "inventory: capd/v1\ndevices: {PLC: {link: NET}}\nassets: {A: {device: PLC, points: {p: {at: {}, role: status}}}}")
	inv, ps := Parse(rest, links)
	if len(ps) > 0 || inv.Point("A.p") == nil {
		t.Errorf("%v", ps)
	}
}

func TestTheSameIDTwiceNamesBothPlaces(t *testing.T) {
	a := node(t, "a.yaml", "inventory: capd/v1\nlinks: {X: {transport: t}}\ndevices: {X: {link: X}}\nassets: {X: {title: first}}")
	b := node(t, "b.yaml", "inventory: capd/v1\nlinks: {X: {transport: t}}\ndevices: {X: {link: X}}\nassets: {X: {title: second}}")
	inv, ps := Parse(a, b)
	want := []string{
		"b.yaml:2:12: links.X: link X is already declared at a.yaml:2:12; give one of them another id",
		"b.yaml:3:14: devices.X: device X is already declared at a.yaml:3:14; give one of them another id",
		"b.yaml:4:13: assets.X: asset X is already declared at a.yaml:4:13; give one of them another id",
	}
	if got := strings.Split(ps.Error(), "\n"); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if inv.Assets["X"].Title != "first" {
		t.Error("the second asset took the place of the first")
	}
}

func TestAPointProvesOnlyWhatItDeclares(t *testing.T) {
	inv, ps := Parse(node(t, "x.yaml", point("at: {}, role: process, witness_for: {B: feedback}")+"  B: {}\n  C: {}"))
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	p := inv.Point("A.p")
	if p.RoleFor("A") != physical.Process || p.RoleFor("B") != physical.Feedback || p.RoleFor("C") != "" {
		t.Errorf("roles are %q, %q, %q", p.RoleFor("A"), p.RoleFor("B"), p.RoleFor("C"))
	}
}

func TestPointsAreFoundByAssetAndName(t *testing.T) {
	inv, _ := Parse(node(t, "x.yaml", point("at: {}, role: status")))
	for _, ref := range []string{"", ".", "A", "A.", ".p", "A.q", "B.p", "A.p.p", "A..p"} {
		if p := inv.Point(ref); p != nil {
			t.Errorf("%q found %s", ref, p.Ref)
		}
	}
	if p := inv.Point("A.p"); p == nil || inv.Assets["A"].Title != "A" {
		t.Error("A.p is not found, or A has no title")
	}
}

func TestLimitsAreClosedAndMayBeOpen(t *testing.T) {
	number := func(s string) physical.Decimal {
		d, err := physical.ParseDecimal(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	low, high := number("0.8"), number("4.5")
	for _, c := range []struct {
		limits *Limits
		value  string
		want   bool
	}{
		{nil, "1e300", true}, {&Limits{}, "-5", true},
		{&Limits{Min: &low}, "0.8", true}, {&Limits{Min: &low}, "0.79999", false}, {&Limits{Min: &low}, "99", true},
		{&Limits{Max: &high}, "4.50", true}, {&Limits{Max: &high}, "4.5000001", false}, {&Limits{Max: &high}, "-99", true},
		{&Limits{&low, &high}, "2", true}, {&Limits{&low, &high}, "5", false},
	} {
		if got := c.limits.Contains(number(c.value)); got != c.want {
			t.Errorf("%+v contains %s: %v", c.limits, c.value, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(valve(f))
	f.Add(enveloped("min: 1, max: [], starts_per_hour: 1e3"))
	f.Add("inventory: capd/v1\nlinks: {a: 1, b: [], c: {transport: {}}}\ndevices: {d: {liveness: 5}}\nassets: {e: {points: {f: 7, g: {labels: [], witness_for: 3}}}}")
	f.Fuzz(func(t *testing.T, source string) {
		n, ps := document.Parse("x.yaml", []byte(source))
		if ps.Err() != nil {
			return
		}
		inv, ps := Parse(n)
		for _, p := range ps {
			if p.Message == "" || p.Rule == "" || p.Pos.File == "" {
				t.Errorf("problem without a place, a rule or a message: %+v", p)
			}
		}
		if ps.Err() != nil {
			return
		}
		for _, ref := range inv.Refs() {
			p := inv.Point(ref)
			if p == nil || p.Role == "" || p.At == nil || inv.Devices[p.Device] == nil || p.Scale.Factor.IsZero() {
				t.Errorf("accepted an incomplete point %s: %+v", ref, p)
			}
		}
	})
}
