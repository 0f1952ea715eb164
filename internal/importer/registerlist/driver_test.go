package registerlist

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"capd/internal/document"
	"capd/internal/hal"
	"capd/internal/hal/modbus"
	"capd/internal/inventory"
)

// TestTheDriverTakesTheDrafts holds every draft against the Modbus driver: it refuses no point but those whose notes say what is left
// for the engineer.
func TestTheDriverTakesTheDrafts(t *testing.T) {
	drafts, err := filepath.Glob("testdata/*/want.yaml")
	if err != nil || len(drafts) == 0 {
		t.Fatalf("no drafts: %v", err)
	}
	for _, file := range drafts {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			n, _ := document.Parse(file, text)
			inv, ps := inventory.Parse(n)
			for _, p := range checkPoints(inv, &ps) {
				line := strings.Split(string(text), "\n")[p.Pos.Line-1]
				_, note, _ := strings.Cut(line, "access: read}")
				if !p.Warning && !strings.Contains(note, "write ") && !strings.Contains(note, "byte_order is missing") {
					t.Errorf("%v\n%s", p, line)
				}
			}
			if ps.Err() != nil {
				t.Error(ps)
			}
		})
	}
}

// checkPoints gives what the driver says of points, and adds what it says of links and devices to ps.
func checkPoints(inv *inventory.Inventory, ps *document.Problems) (found document.Problems) {
	driver := modbus.New()
	for _, a := range inv.Assets {
		d := inv.Devices[a.Device]
		link := hal.LinkSpec{ID: d.Link, Transport: inv.Links[d.Link].Transport, Options: inv.Links[d.Link].Options}
		device := hal.DeviceSpec{ID: d.ID, Link: d.Link, Options: d.Options}
		ps.Add(driver.CheckLink(link)...)
		ps.Add(driver.CheckDevice(link, device)...)
		for _, p := range a.Points {
			_, problems := driver.CheckPoint(link, device, hal.PointSpec{ID: p.Ref, At: p.At})
			found.Add(problems...)
		}
	}
	return found
}
