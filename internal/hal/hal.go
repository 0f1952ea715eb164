// Package hal is the one shape that every wire has for capd: drivers, links, connections, their errors and the link that
// serialises the transactions of each wire.
//
// Its promise: one transaction at a time on a wire, in order, writes first, each within its context's deadline; an actuation is
// never sent twice; an error always says whether the command may have reached the wire. It never interprets a plant's values
// and never retries a write.
package hal

import (
	"context"
	"time"

	"capd/internal/document"
	"capd/internal/physical"
)

// LinkSpec is a link as the inventory declares it. Options is the link's own map, read by the driver alone.
type LinkSpec struct {
	ID        string
	Transport string
	Options   *document.Node
}

// DeviceSpec is a device as the inventory declares it. Options is the device's own map (unit_id, quirks, ...), without the keys
// the inventory itself reads (link, liveness, title).
type DeviceSpec struct {
	ID      string
	Link    string
	Options *document.Node
}

// PointSpec is what a driver needs to know of a point: where it is, its markers for "no value" and whether it is written.
type PointSpec struct {
	ID       string // ASSET.point
	At       *document.Node
	Invalid  *document.Node // list of raw patterns, nil when absent
	Writable bool
}

// Address is a point's place as its driver understood it. It is immutable and belongs to the driver that made it.
type Address interface {
	// String is the place as a technician writes it, such as "holding_register 100 uint16".
	String() string
	// Kind is the form of the raw value: a number, a boolean or a text.
	Kind() physical.Kind
	// Integer reports whether a raw number must be an integer.
	Integer() bool
	// Encode is the canonical raw form (as in Sample.Raw and Ack.Raw) that a write of this raw value would have, without any
	// I/O. A value that the raw type cannot hold is an error that names the type's limits.
	Encode(raw physical.Value) ([]byte, error)
	// Overlaps reports whether both share a part of the device's memory without being the same place.
	Overlaps(other Address) bool
}

// Driver knows one protocol. Its checks do no I/O; Open dials nothing: a connection is made by the first transaction.
type Driver interface {
	Name() string
	Transports() []string
	CheckLink(link LinkSpec) document.Problems
	CheckDevice(link LinkSpec, device DeviceSpec) document.Problems
	CheckPoint(link LinkSpec, device DeviceSpec, point PointSpec) (Address, document.Problems)
	Open(link LinkSpec, devices []DeviceSpec) (Conn, error)
}

// Conn is an opened link of one driver. It is used by one goroutine at a time (see Link) and holds no loop of its own.
type Conn interface {
	// Read reads a batch of one device's points and answers one sample for each, in the same order. It may merge and split
	// requests, and may retry a read once on a fresh connection.
	Read(ctx context.Context, device string, at []Address) []Sample
	// Write sends one raw value once. The error is an *Error.
	Write(ctx context.Context, device string, at Address, raw physical.Value) (Ack, error)
	// Close ends the connection.
	Close() error
}

// Previewer is a Conn that can show the frame a write would send, without sending it.
type Previewer interface {
	Preview(device string, at Address, raw physical.Value) (string, error)
}

// Sample is one raw value as the device gave it, or the error that came instead. A raw number is unscaled.
type Sample struct {
	Value   physical.Value
	Raw     []byte // canonical: equal bytes mean an equal raw value of this point
	Started time.Time
	At      time.Time
	Quality physical.Quality // bad for invalid markers, NaN, implausible denormals; else good
	Cause   physical.Cause
	Detail  string
	Err     error // an *Error when there is no value at all
}

// Ack is the device's acknowledgement of a write.
type Ack struct {
	Raw     []byte // what was sent, in the same canonical form as Sample.Raw
	Started time.Time
	At      time.Time
}
