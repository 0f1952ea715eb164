package sunspec

import (
	"testing"

	"capd/internal/hal"
	"capd/internal/hal/modbus"
)

// TestTheDriverTakesEveryPoint holds the points of all embedded models against the Modbus driver.
func TestTheDriverTakesEveryPoint(t *testing.T) {
	known, err := layouts()
	if err != nil {
		t.Fatal(err)
	}
	models := []model{common("Example", "ALL", "1")}
	for id, m := range known {
		length := 2000
		if id == 160 {
			length = 8 + 20*20 // modules of which the last are too far from their scale factors
		}
		if last := m.place(length); id != 1 {
			end := last[len(last)-1]
			models = append(models, implementing(t, int(id), end.offset+end.size-header, nil))
		}
	}
	inv := parse(t, discover(t, device(40000, models, 0xFFFF, 0)))
	driver := modbus.New()
	d := inv.Devices["PV"]
	link := hal.LinkSpec{ID: d.Link, Transport: inv.Links[d.Link].Transport, Options: inv.Links[d.Link].Options}
	device := hal.DeviceSpec{ID: d.ID, Link: d.Link, Options: d.Options}
	for _, ref := range inv.Refs() {
		p := inv.Point(ref)
		if _, ps := driver.CheckPoint(link, device, hal.PointSpec{ID: ref, At: p.At, Invalid: p.Invalid}); len(ps) > 0 {
			t.Error(ps)
		}
	}
	if inv.Point("INV.mppt_module_6_dcwh") == nil || inv.Point("INV.mppt_module_7_dcw") != nil || inv.Point("INV.mppt_module_20_id") == nil {
		t.Error("points of modules beside or beyond the reach of one request are wrong")
	}
}
