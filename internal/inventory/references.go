package inventory

import (
	"fmt"

	"capd/internal/document"
)

// RuleUnknown is the rule of names that name nothing. The file that should declare them may be another one.
const RuleUnknown = "unknown_name"

// checkReferences reports every name that names nothing, with the nearest one that does.
func checkReferences(inv *Inventory, ps *document.Problems) {
	for _, id := range SortedKeys(inv.Devices) {
		checkDevice(inv, inv.Devices[id], ps)
	}
	for _, id := range SortedKeys(inv.Assets) {
		a := inv.Assets[id]
		if a.Device != "" && inv.Devices[a.Device] == nil {
			missing(ps, a.Pos, "assets."+id+".device", "device", a.Device, SortedKeys(inv.Devices))
		}
		for _, name := range SortedKeys(a.Points) {
			checkPoint(inv, a.Points[name], ps)
		}
	}
}

func checkDevice(inv *Inventory, d *Device, ps *document.Problems) {
	path := "devices." + d.ID
	if d.Link != "" && inv.Links[d.Link] == nil {
		missing(ps, d.Pos, path+".link", "link", d.Link, SortedKeys(inv.Links))
	}
	if d.Liveness == nil {
		return
	}
	p := inv.Point(d.Liveness.Point)
	switch {
	case d.Liveness.Point == "": // its absence was reported
	case p == nil:
		missing(ps, d.Pos, path+".liveness.point", "point", d.Liveness.Point, inv.Refs())
	case p.Device != d.ID:
		report(ps, d.Pos, path+".liveness.point", "liveness", fmt.Sprintf("%s belongs to device %s, so it cannot show that %s is alive", p.Ref, p.Device, d.ID),
			"name a counter of this device")
	}
}

func checkPoint(inv *Inventory, p *Point, ps *document.Problems) {
	path := "assets." + p.Asset + ".points." + p.Name
	if p.Device == "" {
		report(ps, p.Pos, path, "device", "no device is named for this point or its asset", "add device: to the asset or to the point")
	} else if inv.Devices[p.Device] == nil && p.Device != inv.Assets[p.Asset].Device { // the asset's own was reported at the asset
		missing(ps, p.Pos, path+".device", "device", p.Device, SortedKeys(inv.Devices))
	}
	for _, asset := range SortedKeys(p.WitnessFor) {
		if inv.Assets[asset] == nil {
			missing(ps, p.Pos, path+".witness_for", "asset", asset, inv.AssetIDs())
		}
	}
}

func missing(ps *document.Problems, pos document.Pos, path, what, name string, known []string) {
	hint := "declare it, or correct the name"
	if near := document.Suggest(name, known); near != "" {
		hint = "did you mean " + near + "?"
	}
	report(ps, pos, path, RuleUnknown, fmt.Sprintf("there is no %s %q", what, name), hint)
}
