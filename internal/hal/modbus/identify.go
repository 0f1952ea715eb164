package modbus

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"capd/internal/hal"
)

// Identity is what a device says about itself (MODBUS Application Protocol Specification V1.1b3, 6.21).
type Identity struct {
	Conformity byte // the level the device claims: 0x81 basic, 0x82 regular, 0x83 extended, 0x01 to 0x03 without single access
	Objects    []IdentityObject
}

// IdentityObject is one fact of an Identity.
type IdentityObject struct {
	ID   byte
	Name string // "vendor", "product_code", "revision", "vendor_url", "product_name", "model_name", "user_application" or "object_128"
	Text string // printable
}

// Explorer is a Conn of this driver, as tools see it that look around on a wire. Like any Conn it is used by one goroutine at a time.
type Explorer interface {
	hal.Conn
	// Identify asks a unit who it is. An error of the kind exception means that the unit is there and does not say.
	Identify(ctx context.Context, unit byte) (Identity, error)
	// Ping is nil when a unit answers anything at all, if only a refusal.
	Ping(ctx context.Context, unit byte) error
}

var _ Explorer = (*conn)(nil)

const (
	meiDeviceID    = 0x0E
	basicIdentity  = 1
	regularObjects = 2
	moreFollows    = 0xFF
	identityHeader = 7 // function, MEI type, code, conformity, more follows, next object, number of objects
)

// unit is the device with a unit id, or a makeshift one when the link declares none.
func (c *conn) unit(id byte) *device {
	for _, d := range c.devices {
		if d.unit == id {
			return d
		}
	}
	s, _ := parseDevice(hal.DeviceSpec{}, c.timeout) // its only problem is the unit, which follows
	s.unit = id
	return newDevice(fmt.Sprintf("unit %d", id), s)
}

// Ping implements Explorer. It reads holding register 0.
func (c *conn) Ping(ctx context.Context, unit byte) error {
	dev := c.unit(unit)
	b := block{table: holdingRegister, to: 1}
	_, t, err := c.again(ctx, dev, b.request())
	if err == nil || err.kind == hal.Exception || err.kind == hal.BusyDevice {
		return nil
	}
	return halError(err, t.maySent, dev.id, "read holding_register 0")
}

// Identify implements Explorer. A device that gives fewer objects than the regular ones is asked for the basic ones.
func (c *conn) Identify(ctx context.Context, unit byte) (Identity, error) {
	dev := c.unit(unit)
	id, t, err := c.identify(ctx, dev, regularObjects)
	if err != nil && divisible(err) {
		id, t, err = c.identify(ctx, dev, basicIdentity)
	}
	if err != nil {
		return Identity{}, halError(err, t.maySent, dev.id, "read device identification")
	}
	return id, nil
}

// identify reads a stream of objects, which may take several requests.
func (c *conn) identify(ctx context.Context, dev *device, code byte) (Identity, turn, *wireError) {
	var id Identity
	for next := byte(0); ; {
		pdu, t, err := c.again(ctx, dev, func(x *transaction) ([]byte, error) { return x.raw(fcEncapsulated, meiDeviceID, code, next) })
		if err != nil {
			return id, t, err
		}
		id.Conformity = pdu[3]
		for rest := pdu[identityHeader:]; len(rest) > 0; rest = rest[2+int(rest[1]):] {
			id.Objects = append(id.Objects, IdentityObject{ID: rest[0], Name: objectName(rest[0]), Text: printable(rest[2 : 2+int(rest[1])])})
		}
		if pdu[4] != moreFollows {
			return id, t, nil
		}
		if pdu[5] <= next {
			return id, t, &wireError{hal.Protocol, protocolf("the identification goes back from object %d to %d", next, pdu[5])}
		}
		next = pdu[5]
	}
}

// verifyIdentity holds an answer of function 43/14 against its request: its objects must fill it exactly.
func verifyIdentity(request, reply []byte) error {
	if len(reply) < identityHeader || reply[1] != meiDeviceID || len(request) < 3 || reply[2] != request[2] {
		return protocolf("% X is no answer to % X", reply, request)
	}
	rest := reply[identityHeader:]
	for range reply[6] {
		if len(rest) < 2 || len(rest) < 2+int(rest[1]) {
			return protocolf("the identification ends inside an object")
		}
		rest = rest[2+int(rest[1]):]
	}
	if len(rest) > 0 {
		return protocolf("%d bytes follow the identification", len(rest))
	}
	return nil
}

// identityLength is the length of a serial frame with an identification, as replyLength.
func identityLength(frame []byte) int {
	const header = 1 + identityHeader
	if len(frame) > 2 && frame[2] != meiDeviceID {
		return 0
	}
	if len(frame) < header {
		return partial
	}
	n := header
	for range frame[header-1] {
		switch {
		case n+2 > maxRTU-2:
			return 0
		case len(frame) < n+2:
			return partial
		}
		n += 2 + int(frame[n+1])
	}
	if n+2 > maxRTU {
		return 0
	}
	return n + 2
}

func objectName(id byte) string {
	names := []string{"vendor", "product_code", "revision", "vendor_url", "product_name", "model_name", "user_application"}
	if int(id) < len(names) {
		return names[id]
	}
	return fmt.Sprintf("object_%d", id)
}

// printable is a text as it may be shown.
func printable(raw []byte) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(raw), ""))
}
