package modbus

import (
	"context"
	"errors"
	"time"

	goburrow "github.com/goburrow/modbus"

	"capd/internal/hal"
)

// transaction is one request: goburrow's Packager and Transporter at once. It remembers what became of the request.
type transaction struct {
	ctx  context.Context
	ch   *channel
	unit byte
	turn turn
}

// Encode implements goburrow's Packager.
func (x *transaction) Encode(pdu *goburrow.ProtocolDataUnit) ([]byte, error) {
	x.ch.pdu = append(append(x.ch.pdu[:0], pdu.FunctionCode), pdu.Data...)
	return x.ch.framing.encode(x.unit, x.ch.pdu), nil
}

// Send implements goburrow's Transporter.
func (x *transaction) Send(request []byte) ([]byte, error) {
	return x.ch.exchange(x.ctx, request, &x.turn)
}

// Verify implements goburrow's Packager: unit and content of the answer must be what the request makes them.
func (x *transaction) Verify(request, reply []byte) error {
	_, asked, err := x.ch.framing.split(request)
	if err != nil {
		return err
	}
	unit, answered, err := x.ch.framing.split(reply)
	if err != nil {
		return err
	}
	if unit != x.unit && !x.turn.tolerance.anyUnit {
		return protocolf("unit %d answered for unit %d; if the device always does so, allow it with the quirk any_unit", unit, x.unit)
	}
	return verifyPDU(asked, answered, x.turn.tolerance.longer)
}

// Decode implements goburrow's Packager.
func (x *transaction) Decode(reply []byte) (*goburrow.ProtocolDataUnit, error) {
	_, pdu, err := x.ch.framing.split(reply)
	if err != nil {
		return nil, err
	}
	return &goburrow.ProtocolDataUnit{FunctionCode: pdu[0], Data: pdu[1:]}, nil
}

// client is goburrow's, for this one request.
func (x *transaction) client() goburrow.Client { return goburrow.NewClient2(x, x) }

// raw sends a PDU that goburrow's client does not know, and gives that of the answer.
func (x *transaction) raw(fc byte, data ...byte) ([]byte, error) {
	request, err := x.Encode(&goburrow.ProtocolDataUnit{FunctionCode: fc, Data: data})
	if err != nil {
		return nil, err
	}
	reply, err := x.Send(request)
	if err != nil {
		return nil, err
	}
	if err := x.Verify(request, reply); err != nil {
		return nil, err
	}
	_, pdu, err := x.ch.framing.split(reply)
	if err == nil && pdu[0] != fc {
		return nil, &goburrow.ModbusError{FunctionCode: pdu[0], ExceptionCode: pdu[1]}
	}
	return pdu, err
}

// request is what is sent in a transaction.
type request func(*transaction) ([]byte, error)

// send sends one request one time. The data is valid until the next request.
func (c *conn) send(ctx context.Context, dev *device, t turn, do request) ([]byte, turn, *wireError) {
	x := &transaction{ctx: ctx, ch: c.ch, unit: dev.unit, turn: t}
	if wait := dev.minGap - time.Since(c.last); wait > 0 {
		if err := pause(ctx, wait); err != nil {
			x.turn.started = time.Now()
			return nil, x.turn, &wireError{hal.Timeout, err}
		}
	}
	data, err := do(x)
	c.last = time.Now()
	if err == nil {
		return data, x.turn, nil
	}
	return nil, x.turn, c.classify(err)
}

// classify gives an error of goburrow's client its class. What is neither ours nor an exception came from checking the answer,
// after which the connection cannot be trusted.
func (c *conn) classify(err error) *wireError {
	var refused *goburrow.ModbusError
	if errors.As(err, &refused) {
		e := &exceptionError{code: refused.ExceptionCode}
		return &wireError{e.kind(), e}
	}
	var w *wireError
	if errors.As(err, &w) {
		return w
	}
	c.ch.distrust()
	return &wireError{hal.Protocol, err}
}

// once sends a request that must not be repeated.
func (c *conn) once(ctx context.Context, dev *device, do request) ([]byte, turn, *wireError) {
	t := dev.turn()
	t.once = true
	return c.send(ctx, dev, t, do)
}

// again sends a read and, when it met a dead or a confused connection, once more on a fresh one. A busy device is asked again a few
// times, later and later.
func (c *conn) again(ctx context.Context, dev *device, do request) ([]byte, turn, *wireError) {
	data, t, err := c.send(ctx, dev, dev.turn(), do)
	if err != nil && worthAnother(err, t) && ctx.Err() == nil {
		data, t, err = c.send(ctx, dev, dev.turn(), do)
	}
	wait := dev.busyWait
	for range dev.busyRetries {
		if err == nil || err.kind != hal.BusyDevice || pause(ctx, wait) != nil {
			break
		}
		wait *= 2
		data, t, err = c.send(ctx, dev, dev.turn(), do)
	}
	return data, t, err
}

func worthAnother(err *wireError, t turn) bool {
	switch err.kind {
	case hal.Closed:
		return t.reused
	case hal.Protocol:
		var p *protocolError
		return !errors.As(err.err, &p) || !p.late
	case hal.CRC:
		var d *crcError
		return !errors.As(err.err, &d) || !d.late
	default:
		return false
	}
}

// request is the block's read.
func (b block) request() request {
	from, count := uint16(b.from), uint16(b.to-b.from)
	return func(x *transaction) ([]byte, error) {
		client := x.client()
		switch b.table.readFunction() {
		case fcReadCoils:
			return client.ReadCoils(from, count)
		case fcReadDiscreteInputs:
			return client.ReadDiscreteInputs(from, count)
		case fcReadInputRegisters:
			return client.ReadInputRegisters(from, count)
		default:
			return client.ReadHoldingRegisters(from, count)
		}
	}
}
