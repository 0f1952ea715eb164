// Package inventory holds what stands in the plant as engineers wrote it down: links, devices, assets and their points.
//
// Its promise: what Parse returns without problems is complete and consistent in itself, every part knows the line it was
// written on, and nothing in it ever changes. It knows no protocol: links, devices and points carry their own options for the
// driver to check, and it does no I/O.
package inventory

import (
	"cmp"
	"slices"
	"time"

	"capd/internal/document"
	"capd/internal/physical"
)

// Inventory is the plant. Treat it as read-only.
type Inventory struct {
	Links   map[string]*Link
	Devices map[string]*Device
	Assets  map[string]*Asset
}

// Link is one shared wire.
type Link struct {
	ID        string
	Transport string
	Options   *document.Node
	Pos       document.Pos
}

// Device is what answers on a link.
type Device struct {
	ID       string
	Link     string
	Liveness *Liveness
	Options  *document.Node
	Pos      document.Pos
}

// Liveness names a counter that moves while the device runs; without a move within Within its values are not news.
type Liveness struct {
	Point  string // ASSET.point
	Within time.Duration
}

// Asset is what a person in the plant can name.
type Asset struct {
	ID, Title, Class, Location string
	Aliases                    []string
	Device                     string
	Points                     map[string]*Point
	Pos                        document.Pos
}

// Access tells whether a point is read, written or both.
type Access string

// The accesses.
const (
	ReadOnly  Access = "read"
	ReadWrite Access = "read_write"
	WriteOnly Access = "write"
)

// Writes reports whether a write is allowed at all.
func (a Access) Writes() bool { return a != ReadOnly }

// Point is one named, typed value of an asset.
type Point struct {
	Ref      string // ASSET.name
	Name     string
	Asset    string
	Title    string
	Device   string
	At       *document.Node
	Invalid  *document.Node
	Scale    physical.Scale
	Scaled   bool // scale or offset was written
	Unit     physical.Unit
	Role     physical.Role
	Access   Access
	Labels   map[int64]string
	Range    *Limits
	Envelope *Envelope
	Update   time.Duration
	// MaxUnchanged is how long a living signal may show the same raw value; 0 asks nothing. It is for signals with noise.
	MaxUnchanged time.Duration
	WitnessFor   map[string]physical.Role
	NVM          bool
	Pos          document.Pos
}

// Limits is a closed interval; a nil end is open.
type Limits struct{ Min, Max *physical.Decimal }

// Contains reports whether v lies inside.
func (l *Limits) Contains(v physical.Decimal) bool {
	return l == nil || (l.Min == nil || v.GreaterThanOrEqual(*l.Min)) && (l.Max == nil || v.LessThanOrEqual(*l.Max))
}

// Envelope is the hard limits of a point. No caller can widen it. Zero fields do not limit.
type Envelope struct {
	Limits
	MaxStep       *physical.Decimal // largest change in one write
	MinStep       *physical.Decimal // smallest change that is worth moving for
	MaxRate       *physical.Decimal // largest change per minute over successive writes
	MinInterval   time.Duration     // between two writes
	MinOff        time.Duration     // between a stop (false or 0) and the next start
	StartsPerHour int64             // changes from off to on in any hour
	LifetimeWrite int64             // writes a non-volatile register may take in all
	Pos           document.Pos
}

// RoleFor is the point's role as seen by an asset: its own role for its own asset, and what witness_for says for another.
// The empty role means that it proves nothing about that asset.
func (p *Point) RoleFor(asset string) physical.Role {
	if p.Asset == asset {
		return p.Role
	}
	return p.WitnessFor[asset]
}

// Point finds ASSET.name, nil when there is none.
func (i *Inventory) Point(ref string) *Point {
	asset, name, ok := cutRef(ref)
	if !ok {
		return nil
	}
	if a := i.Assets[asset]; a != nil {
		return a.Points[name]
	}
	return nil
}

// Refs lists every point's ASSET.name in order.
func (i *Inventory) Refs() []string {
	var refs []string
	for _, a := range i.Assets {
		for _, p := range a.Points {
			refs = append(refs, p.Ref)
		}
	}
	slices.Sort(refs)
	return refs
}

// AssetIDs lists every asset's id in order.
func (i *Inventory) AssetIDs() []string { return SortedKeys(i.Assets) }

// SortedKeys is the keys of a map in order; the one way this project walks a map where order shows.
func SortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func cutRef(ref string) (asset, name string, ok bool) {
	for i := len(ref) - 1; i > 0; i-- {
		if ref[i] == '.' {
			return ref[:i], ref[i+1:], i+1 < len(ref)
		}
	}
	return "", "", false
}
