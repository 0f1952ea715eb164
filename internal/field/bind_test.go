package field

import (
	"fmt"
	"strings"
	"testing"

	"capd/internal/hal"
	"capd/internal/physical"
)

func TestAnUnderstoodPlantIsBound(t *testing.T) {
	b := bound(t, newFake(), convertPlant)
	if got := strings.Join(b.Refs(), " "); got != "A.count A.depth A.level A.mode A.name A.opening A.run" {
		t.Errorf("bound %s", got)
	}
	p := b.Point("A.mode")
	if p.ValueKind != physical.Text || p.Address.Kind() != physical.Number || p.Device != "D" || p.Link != "L" || p.Driver != "fake" || p.Point.Name != "mode" {
		t.Errorf("A.mode is bound as %+v", p)
	}
	if b.Point("A.none") != nil {
		t.Error("a point that is not there is bound")
	}
}

func TestBindNamesWhatCannotWork(t *testing.T) {
	const one = "links: {L: {transport: fake}}\ndevices: {D: {link: L}}\nassets: {A: {device: D, points: {%s}}}\n"
	const two = "links: {L: {transport: fake}}\ndevices: {D: {link: L, liveness: {point: A.beat, within: %s}}}\nassets: {A: {device: D, points: {beat: %s}}}\n"
	tests := map[string]struct{ plant, want string }{
		"unknown transport": {"links: {L: {transport: fak}}", `plant.yaml:2:12: links.L.transport: there is no transport "fak"; did you mean fake? the transports are fake, other`},
		"link options":      {"links: {L: {transport: fake, bad: 1}}", "plant.yaml:2:35: links.L.bad: bad link option"},
		"device options":    {"links: {L: {transport: fake}}\ndevices: {D: {link: L, bad: 1}}", "plant.yaml:3:29: devices.D.bad: bad device option"},
		"address":           {fmt.Sprintf(one, "x: {at: {plaice: 1}, role: status}"), "assets.A.points.x.at: no place"},
		"labels on a bool":  {fmt.Sprintf(one, "x: {at: {place: 1, kind: bool}, labels: {0: a}, role: status}"), "labels stand for integer codes, but bool 1 is a boolean"},
		"labels on a float": {fmt.Sprintf(one, "x: {at: {place: 1, kind: number}, labels: {0: a}, role: status}"), "labels stand for integer codes, but number 1 is a number with a fraction"},
		"scale on a bool":   {fmt.Sprintf(one, "x: {at: {place: 1, kind: bool}, scale: 2, role: status}"), "a scale is for numbers, but the value of A.x is a boolean"},
		"scale on labels":   {fmt.Sprintf(one, "x: {at: {place: 1}, labels: {0: a}, scale: 2, role: status}"), "a scale is for numbers, but the value of A.x is a text"},
		"unit on a text":    {fmt.Sprintf(one, "x: {at: {place: 1, kind: text}, unit: bar, role: status}"), "a unit is for numbers"},
		"range on a bool":   {fmt.Sprintf(one, "x: {at: {place: 1, kind: bool}, range: {min: 0}, role: status}"), "a range is for numbers"},
		"step on a bool": {fmt.Sprintf(one, "x: {at: {place: 1, kind: bool}, role: setpoint, access: read_write, envelope: {max_step: 1}}"),
			"assets.A.points.x.envelope.max_step: max_step is for numbers"},
		"overlap": {fmt.Sprintf(one, "x: {at: {place: 1, size: 2}, role: status}, y: {at: {place: 2, size: 2}, role: status}"),
			"A.y (integer 2) overlaps A.x (integer 1) on device D"},
		"two writers": {fmt.Sprintf(one, "x: {at: {place: 1}, role: setpoint, access: read_write}, y: {at: {place: 1}, role: setpoint, access: write}"),
			"A.y and A.x both write integer 1 of device D"},
		"liveness of a bool": {fmt.Sprintf(two, "2s", "{at: {place: 1, kind: bool}, role: status}"), "devices.D.liveness.point: A.beat is no readable number"},
		"liveness written":   {fmt.Sprintf(two, "2s", "{at: {place: 1}, role: setpoint, access: write}"), "A.beat is no readable number"},
		"liveness too slow": {fmt.Sprintf(two, "2s", "{at: {place: 1}, role: status, update: 1500ms}"),
			"devices.D.liveness.within: A.beat is read every 1.5s, so it cannot be seen to move within 2s; give at least 3s"},
		"liveness too short": {fmt.Sprintf(two, "60ms", "{at: {place: 1}, role: status}"), "A.beat is read every 50ms, so it cannot be seen to move within 60ms"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, ps := Bind(plant(t, tt.plant), []hal.Driver{newFake()})
			if len(ps) != 1 || !strings.Contains(ps[0].Error(), tt.want) || ps[0].Warning {
				t.Errorf("got %v\nwant %s", ps, tt.want)
			}
		})
	}
}

func TestBindAllowsWhatIsMeant(t *testing.T) {
	tests := map[string]string{
		"one place read twice":      "x: {at: {place: 1}, role: status}, y: {at: {place: 1}, role: setpoint, access: read_write}",
		"a stop's envelope":         "x: {at: {place: 1, kind: bool}, role: setpoint, access: read_write, envelope: {min_off: 1m, starts_per_hour: 4}}",
		"a label's envelope":        "x: {at: {place: 1}, labels: {0: stop}, role: setpoint, access: read_write, envelope: {min_interval: 1s}}",
		"one place on two devices":  "x: {at: {place: 1}, role: setpoint, access: write}, y: {device: E, at: {place: 1}, role: setpoint, access: write}",
		"overlaps on other devices": "x: {at: {place: 1, size: 2}, role: status}, y: {device: E, at: {place: 2}, role: status}",
	}
	for name, points := range tests {
		t.Run(name, func(t *testing.T) {
			bound(t, newFake(), "links: {L: {transport: fake}}\ndevices: {D: {link: L}, E: {link: L}}\nassets: {A: {device: D, points: {"+points+"}}}")
		})
	}
}

func TestTooFastAnUpdateIsAWarning(t *testing.T) {
	b, ps := Bind(plant(t, "links: {L: {transport: fake}}\ndevices: {D: {link: L}}\nassets: {A: {device: D, points: {x: {at: {place: 1}, role: status, update: 10ms}}}}"),
		[]hal.Driver{newFake()})
	if len(ps) != 1 || !ps[0].Warning || b.Point("A.x") == nil {
		t.Errorf("got %v", ps)
	}
}

func BenchmarkBind5000PointsOfOneDevice(b *testing.B) {
	var text strings.Builder
	text.WriteString("links: {L: {transport: fake}}\ndevices: {D: {link: L}}\nassets:\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "  A%d: {device: D, points: {", i)
		for j := range 5 {
			fmt.Fprintf(&text, "p%d: {at: {place: %d}, role: status}, ", j, 5*i+j)
		}
		text.WriteString("}}\n")
	}
	inv := plant(b, text.String())
	for b.Loop() {
		Bind(inv, []hal.Driver{newFake()})
	}
}
