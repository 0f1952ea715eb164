package draft

import "strings"

// Target says where the points are to stand in the inventory. Empty fields get the names LINK, DEVICE and ASSET.
type Target struct {
	Link     string // id of the link
	Endpoint string // host:port of a modbus_tcp link; when empty, the file leaves the link to be declared by the engineer
	Device   string // id of the device
	Asset    string // id of the asset
	Title    string // of the asset; may be empty
	Location string // of the asset, such as plant/ps07/discharge; may be empty
	UnitID   int    // of points whose source names none, 0 to 255; the inventory refuses others
}

// Complete fills in what is empty and makes the names fit the inventory.
func (t Target) Complete() Target {
	t.Link, t.Device, t.Asset = ID(t.Link, "LINK"), ID(t.Device, "DEVICE"), ID(t.Asset, "ASSET")
	return t
}

// File is a draft of an inventory.
type File struct {
	Head     []string // paragraphs of the comment at the top; those that begin with "- " are items of a list
	Link     string
	Endpoint string
	Devices  []Device
	Assets   []Asset
}

// Device is one unit on the link.
type Device struct {
	ID     string
	UnitID int
	Note   string // may be empty
}

// Asset is a group of points of one device.
type Asset struct {
	ID, Title, Location, Device string
	Notes                       []string // above the asset
	Points                      []Point
	Tail                        []string // below its points
}

// Point is one point. Rest is what follows `at`, without `access`: a draft is always read only.
type Point struct {
	Name  string
	Above []string // lines of the comment above it
	At    Map
	Rest  Map
	Note  string // behind it on its line; may be empty
}

// maxPoints is how many points an asset takes, since the document format bounds the keys of one map.
const maxPoints = 5000

// YAML writes the file.
func (f File) YAML() []byte {
	var b strings.Builder
	for _, text := range f.Head {
		comment(&b, "", text)
	}
	b.WriteString("inventory: capd/v1\n")
	f.link(&b)
	b.WriteString("devices:\n")
	for _, d := range f.Devices {
		if d.UnitID < 0 || d.UnitID > 255 {
			d.Note = "unit ids are 0 to 255"
		}
		b.WriteString("  " + quote(d.ID) + ": " + Map{}.Text("link", f.Link).Int("unit_id", d.UnitID).String() + note(d.Note) + "\n")
	}
	assets := split(f.Assets)
	if len(assets) == 0 {
		b.WriteString("assets: {}\n")
		return []byte(b.String())
	}
	b.WriteString("assets:\n")
	for _, a := range assets {
		a.write(&b)
	}
	return []byte(b.String())
}

func (f File) link(b *strings.Builder) {
	if f.Endpoint != "" {
		b.WriteString("links:\n  " + quote(f.Link) + ": " + Map{}.Raw("transport", "modbus_tcp").Raw("endpoint", quote(f.Endpoint)).String() + "\n")
		return
	}
	comment(b, "", "The link is not declared here: another file declares it, or write it, such as")
	comment(b, "", `links: {`+f.Link+`: {transport: modbus_tcp, endpoint: "HOST:502"}}`)
}

// split spreads the points of assets that are too large over several, and gives every asset an id of its own.
func split(all []Asset) []Asset {
	var parts []Asset
	var names Names
	for _, a := range all {
		id, points, tail := a.ID, a.Points, a.Tail
		for last := false; !last; {
			n := min(len(points), maxPoints)
			last = n == len(points)
			a.ID, a.Points, a.Tail = names.Take(id), points[:n], nil
			if last {
				a.Tail = tail
			}
			parts = append(parts, a)
			points = points[n:]
		}
	}
	return parts
}

func (a Asset) write(b *strings.Builder) {
	for _, n := range a.Notes {
		comment(b, "  ", n)
	}
	b.WriteString("  " + quote(a.ID) + ":\n")
	for _, entry := range (Map{}).Text("title", a.Title).Text("location", a.Location).Text("device", a.Device) {
		b.WriteString("    " + entry + "\n")
	}
	if len(a.Points) == 0 {
		b.WriteString("    points: {}\n")
	} else {
		b.WriteString("    points:\n")
	}
	for _, p := range a.Points {
		p.write(b)
	}
	for _, n := range a.Tail {
		comment(b, "      ", n)
	}
}

func (p Point) write(b *strings.Builder) {
	for _, line := range p.Above {
		b.WriteString("      # " + OneLine(line, 240) + "\n")
	}
	body := append(Map{}.Map("at", p.At), p.Rest...).Raw("access", "read")
	b.WriteString("      " + quote(p.Name) + ": " + body.String() + note(p.Note) + "\n")
}

func note(text string) string {
	if text == "" {
		return ""
	}
	return " # " + OneLine(text, 240)
}
