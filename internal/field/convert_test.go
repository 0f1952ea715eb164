package field

import (
	"errors"
	"strings"
	"testing"
	"time"

	"capd/internal/hal"
	"capd/internal/inventory"
	"capd/internal/physical"
)

const convertPlant = `
links: {L: {transport: fake}}
devices: {D: {link: L}}
assets:
  A:
    device: D
    points:
      opening: {at: {place: 1}, scale: 0.1, unit: "%", role: setpoint, access: read_write, range: {min: 0, max: 100}}
      depth:   {at: {place: 2}, offset: -10, unit: m, role: feedback, range: {max: 5}}
      level:   {at: {place: 3, kind: number}, scale: 0.5, unit: m, role: setpoint, access: read_write, range: {min: 1}}
      mode:    {at: {place: 4}, labels: {0: "off", 1: local, 2: remote}, role: setpoint, access: read_write}
      run:     {at: {place: 5, kind: bool}, role: setpoint, access: read_write}
      name:    {at: {place: 6, kind: text}, role: status}
      count:   {at: {place: 7}, role: status}
`

func TestReadingsAreScaledExactly(t *testing.T) {
	b := bound(t, newFake(), convertPlant)
	started := time.Date(2026, 7, 1, 8, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		ref     string
		sample  hal.Sample
		want    string
		quality physical.Quality
		cause   physical.Cause
		detail  string
	}{
		"scale":              {ref: "A.opening", sample: good(physical.IntOf(457)), want: "45.7", quality: physical.Good},
		"offset":             {ref: "A.depth", sample: good(physical.IntOf(12)), want: "2", quality: physical.Good},
		"float":              {ref: "A.level", sample: good(number("4.5")), want: "2.25", quality: physical.Good},
		"no scale":           {ref: "A.count", sample: good(physical.IntOf(65535)), want: "65535", quality: physical.Good},
		"bool":               {ref: "A.run", sample: good(physical.FlagOf(true)), want: "true", quality: physical.Good},
		"text":               {ref: "A.name", sample: good(physical.TextOf("P-1")), want: "P-1", quality: physical.Good},
		"label":              {ref: "A.mode", sample: good(physical.IntOf(2)), want: "remote", quality: physical.Good},
		"code without label": {ref: "A.mode", sample: good(physical.IntOf(9)), want: "-", quality: physical.Bad, cause: physical.CauseNoLabel, detail: "code 9 has no label; the labels are 0 off, 1 local, 2 remote"},
		"code beyond 64 bits": {ref: "A.mode", sample: good(number("18446744073709551616")), want: "-", quality: physical.Bad, cause: physical.CauseNoLabel,
			detail: "code 18446744073709551616 has no label"},
		"above the range": {ref: "A.opening", sample: good(physical.IntOf(1600)), want: "160", quality: physical.Bad, cause: physical.CauseOutOfRange, detail: "160 % is outside the range 0 to 100 %"},
		"above its end":   {ref: "A.depth", sample: good(physical.IntOf(16)), want: "6", quality: physical.Bad, cause: physical.CauseOutOfRange, detail: "6 m is outside the range up to 5 m"},
		"below its start": {ref: "A.level", sample: good(physical.IntOf(1)), want: "0.5", quality: physical.Bad, cause: physical.CauseOutOfRange, detail: "0.5 m is outside the range from 1 m"},
		"uncertain stays": {ref: "A.count", sample: hal.Sample{Value: physical.IntOf(1), Quality: physical.Uncertain, Detail: "late"}, want: "1", quality: physical.Uncertain, detail: "late"},
		"invalid marker": {ref: "A.opening", sample: hal.Sample{Value: physical.IntOf(0x8000), Quality: physical.Bad, Cause: physical.CauseInvalid, Detail: "marker 8000"}, want: "-",
			quality: physical.Bad, cause: physical.CauseInvalid, detail: "marker 8000"},
		"no quality at all":  {ref: "A.count", sample: hal.Sample{Value: physical.IntOf(1)}, want: "-", quality: physical.Bad, cause: physical.CauseWire, detail: "gave no quality"},
		"another kind":       {ref: "A.count", sample: good(physical.TextOf("x")), want: "-", quality: physical.Bad, cause: physical.CauseWire, detail: "gave a text for integer 7"},
		"silent":             {ref: "A.count", sample: failed(hal.Timeout), want: "-", quality: physical.Bad, cause: physical.CauseOffline, detail: "timeout"},
		"no connection":      {ref: "A.count", sample: failed(hal.Unreachable), want: "-", quality: physical.Bad, cause: physical.CauseOffline},
		"connection ended":   {ref: "A.count", sample: failed(hal.Closed), want: "-", quality: physical.Bad, cause: physical.CauseOffline},
		"behind a gateway":   {ref: "A.count", sample: failed(hal.Gateway), want: "-", quality: physical.Bad, cause: physical.CauseOffline},
		"refused":            {ref: "A.count", sample: failed(hal.Exception), want: "-", quality: physical.Bad, cause: physical.CauseWire, detail: "exception"},
		"damaged":            {ref: "A.count", sample: failed(hal.CRC), want: "-", quality: physical.Bad, cause: physical.CauseWire},
		"not a hal error":    {ref: "A.count", sample: hal.Sample{Err: errors.New("odd")}, want: "-", quality: physical.Bad, cause: physical.CauseWire, detail: "odd"},
		"the driver's cause": {ref: "A.count", sample: hal.Sample{Err: &hal.Error{Kind: hal.QueueFull}, Cause: physical.CauseOffline}, want: "-", quality: physical.Bad, cause: physical.CauseOffline},
		"value beside an error": {ref: "A.count", sample: hal.Sample{Value: physical.IntOf(1), Quality: physical.Good, Err: &hal.Error{Kind: hal.Protocol}}, want: "-",
			quality: physical.Bad, cause: physical.CauseWire},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.sample.Started, tt.sample.At, tt.sample.Raw = started, started.Add(time.Millisecond), []byte{1}
			p := b.Point(tt.ref)
			r := p.Reading(tt.sample)
			if r.Value.String() != tt.want || r.Quality != tt.quality || r.Cause != tt.cause || !strings.Contains(r.Detail, tt.detail) {
				t.Errorf("got %s, %s, %s, %q", r.Value, r.Quality, r.Cause, r.Detail)
			}
			if r.Unit != p.Point.Unit || r.Started != started || r.At != started.Add(time.Millisecond) || r.RawHex() != "01" {
				t.Errorf("unit, times or raw bytes are lost: %+v", r)
			}
		})
	}
}

func good(v physical.Value) hal.Sample { return hal.Sample{Value: v, Quality: physical.Good} }

func failed(k hal.ErrorKind) hal.Sample {
	return hal.Sample{Quality: physical.Bad, Err: &hal.Error{Kind: k, Device: "D", Op: "read"}}
}

func TestValuesBecomeRawOrSayWhyNot(t *testing.T) {
	b := bound(t, newFake(), convertPlant)
	tests := map[string]struct {
		ref  string
		v    physical.Value
		want string
		raw  string
		err  string
	}{
		"scaled":             {ref: "A.opening", v: number("45.7"), want: "457", raw: "\x01\xc9"},
		"float divides":      {ref: "A.level", v: number("2.25"), want: "4.5", raw: "4.5"},
		"label":              {ref: "A.mode", v: physical.TextOf("remote"), want: "2", raw: "\x00\x02"},
		"bool":               {ref: "A.run", v: physical.FlagOf(true), want: "true", raw: "true"},
		"outside the range":  {ref: "A.opening", v: number("160"), want: "1600", raw: "\x06\x40"},
		"between two steps":  {ref: "A.opening", v: number("45.75"), err: "A.opening: 45.75 cannot be represented exactly; the nearest values are 45.7 and 45.8"},
		"beyond the type":    {ref: "A.opening", v: number("7000"), err: "A.opening: 7000 is raw 70000 in integer 1: a uint16 holds 0 to 65535"},
		"unknown label":      {ref: "A.mode", v: physical.TextOf("auto"), err: `A.mode: there is no label "auto"; the labels are 0 off, 1 local, 2 remote`},
		"code for a label":   {ref: "A.mode", v: physical.IntOf(2), err: `A.mode takes one of the labels 0 off, 1 local, 2 remote, not the number "2"`},
		"text for a number":  {ref: "A.opening", v: physical.TextOf("open"), err: `A.opening takes a number, not the text "open"`},
		"nothing":            {ref: "A.run", err: "A.run takes a boolean, not the nothing"},
		"number for a bool":  {ref: "A.run", v: physical.IntOf(1), err: `A.run takes a boolean, not the number "1"`},
		"float out of range": {ref: "A.level", v: number("0"), want: "0", raw: "0"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v, raw, err := b.Point(tt.ref).Raw(tt.v)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || v.String() != tt.want || string(raw) != tt.raw {
				t.Errorf("got %s, %q, %v", v, raw, err)
			}
		})
	}
	_, _, err := b.Point("A.opening").Raw(number("45.75"))
	if e, ok := errors.AsType[*physical.NotRepresentableError](err); !ok || e.Below.String() != "45.7" {
		t.Errorf("callers cannot branch on %v", err)
	}
}

// FuzzEveryRawIntegerComesBack: what a reading says can be written, and is the same raw value again.
func FuzzEveryRawIntegerComesBack(f *testing.F) {
	f.Add(int64(457), "0.1", "0")
	f.Add(int64(-3), "-0.25", "12.5")
	f.Add(int64(65535), "1e-9", "-273.15")
	f.Fuzz(func(t *testing.T, raw int64, factor, offset string) {
		scale := physical.Scale{}
		var err error
		if scale.Factor, err = physical.ParseDecimal(factor); err != nil || scale.Factor.IsZero() {
			return
		}
		if scale.Offset, err = physical.ParseDecimal(offset); err != nil {
			return
		}
		b := &Bound{Point: &inventory.Point{Ref: "A.x", Scale: scale, Scaled: true}, Address: fakeAddress{kind: "integer"}, ValueKind: physical.Number}
		r := b.Reading(good(physical.IntOf(raw)))
		back, err := b.rawValue(r.Value)
		if err != nil || !back.Equal(physical.IntOf(raw)) {
			t.Errorf("%d x %s + %s is %s, and that is raw %s (%v)", raw, factor, offset, r.Value, back, err)
		}
	})
}
