package modbus

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"capd/internal/hal"
	"capd/internal/physical"
)

// Read implements hal.Conn.
func (c *conn) Read(ctx context.Context, id string, at []hal.Address) []hal.Sample {
	c.batch = slices.Grow(c.batch[:0], len(at))[:len(at)]
	clear(c.batch)
	r := &reading{c: c, ctx: ctx, id: id, dev: c.devices[id], batch: c.batch, samples: make([]hal.Sample, len(at))}
	for i, a := range at {
		own, ok := a.(*address)
		switch {
		case !ok:
			r.samples[i] = r.strange(a, errForeign)
		case r.dev == nil:
			r.samples[i] = r.strange(a, errNoDevice)
		default:
			r.batch[i] = own
		}
	}
	if r.dev != nil {
		r.run()
	}
	return r.samples
}

// What cannot be asked at all.
var (
	errForeign  = errors.New("this is no modbus address")
	errNoDevice = errors.New("the link has no such device")
)

// strange is the sample of an address that cannot be asked.
func (r *reading) strange(a hal.Address, err error) hal.Sample {
	return hal.FailedSample(r.failure(a, &wireError{hal.BadAddress, err}, false), time.Now())
}

// reading is one batch on its way.
type reading struct {
	c       *conn
	ctx     context.Context
	id      string
	dev     *device
	batch   []*address // nil where the address is not ours
	samples []hal.Sample
	silent  *wireError // set when the device does not answer: the rest of the batch is not tried
}

func (r *reading) run() {
	for _, b := range r.dev.plan(r.batch, time.Now()) {
		if refused, t := r.try(b); refused != nil {
			r.divide(b, refused, t)
		}
	}
	if r.silent == nil {
		r.dev.settled(time.Now())
	}
	if r.dev.closeAfter {
		r.c.ch.drop()
	}
}

// try reads one block and fills its samples. It returns the refusal, without filling, when the block may be divided.
func (r *reading) try(b block) (refused *wireError, t turn) {
	if r.silent != nil {
		r.fail(b, &wireError{r.silent.kind, fmt.Errorf("not asked, because an earlier request of this read failed: %w", r.silent.err)}, turn{started: time.Now()})
		return nil, turn{}
	}
	if limit := r.dev.limit(b.table); b.to-b.from > limit {
		r.fail(b, &wireError{hal.BadAddress, fmt.Errorf("what has to be read in one request reaches from %d to %d, the device gives %d at once",
			b.from, b.to-1, limit)}, turn{started: time.Now()})
		return nil, turn{}
	}
	data, t, err := r.c.again(r.ctx, r.dev, b.request())
	if err == nil || err.kind == hal.Exception {
		r.dev.heard(b)
	}
	if err == nil {
		r.fill(b, data, t)
		return nil, t
	}
	if divisible(err) && len(b.atoms) > 1 {
		return err, t
	}
	switch err.kind {
	case hal.Timeout:
		if t.maySent && !left(r.ctx) {
			r.dev.unheard(b, t.started)
		}
		r.silent = err
	case hal.Unreachable, hal.Gateway:
		r.silent = err
	}
	r.fail(b, err, t)
	return nil, t
}

// divisible reports whether a refusal may be the fault of one part of a block.
func divisible(err *wireError) bool {
	e, ok := errors.AsType[*exceptionError](err.err)
	return ok && e.code >= illegalFunction && e.code <= deviceFailure
}

// divide reads a refused block in parts until every address has its own answer, and remembers where the device has to be asked
// separately: for a while, or only briefly when it refuses everything, as devices do that are starting up.
func (r *reading) divide(b block, refused *wireError, t turn) {
	var seams, borders []int
	r.pieces(b, refused, t, &seams, &borders)
	if len(borders) == 0 { // a hole, or a block too long for the device
		borders = seams
	}
	keep := refusedAll
	for i := range b.items() {
		if r.samples[i].Err == nil {
			keep = relearn
		}
	}
	r.dev.learn(b.table, borders, time.Now(), keep)
}

// pieces gathers where parts begin, and the borders of the addresses that the device refuses.
func (r *reading) pieces(b block, refused *wireError, t turn, seams, borders *[]int) {
	parts := r.dev.parts(b)
	if parts == nil {
		*borders = append(*borders, b.atoms[0].from, b.to)
		r.fail(b, refused, t)
		return
	}
	for k, p := range parts {
		first := p.atoms[0].from
		if k > 0 {
			*seams = append(*seams, first)
		}
		refused, t := r.try(p)
		switch {
		case refused != nil:
			r.pieces(p, refused, t, seams, borders)
		case len(p.atoms) == 1 && refusedAlone(r.samples[p.atoms[0].items[0]]):
			*borders = append(*borders, first, p.to)
		}
	}
}

func refusedAlone(s hal.Sample) bool {
	e := hal.AsError(s.Err)
	return e != nil && e.Kind == hal.Exception
}

func (r *reading) fail(b block, err *wireError, t turn) {
	for i := range b.items() {
		r.samples[i] = hal.FailedSample(r.failure(r.batch[i], err, t.maySent), t.started)
	}
}

func (r *reading) failure(a hal.Address, err *wireError, maySent bool) *hal.Error {
	return halError(err, maySent, r.id, "read "+a.String())
}

// halError gives a wire's error its device and operation.
func halError(err *wireError, maySent bool, device, op string) *hal.Error {
	e := &hal.Error{Kind: err.kind, MaySent: maySent, Device: device, Op: op, Err: err.err}
	if x, ok := errors.AsType[*exceptionError](err.err); ok {
		e.Code = int(x.code)
	}
	return e
}

func (r *reading) fill(b block, data []byte, t turn) {
	data = slices.Clone(data) // raw values are parts of it
	for i := range b.items() {
		a := r.batch[i]
		r.samples[i] = a.sample(a.pick(b, data))
		r.samples[i].Started, r.samples[i].At = t.started, t.ended
	}
}

// pick takes an address's canonical raw value out of the data of its block, which it may share.
func (a *address) pick(b block, data []byte) []byte {
	at := a.start - b.from
	if a.table.bits() {
		return bitOf(data[at/8] >> (at % 8))
	}
	raw := a.canonical(data[2*at : 2*(at+a.count)])
	if !a.scaled {
		return raw
	}
	at = a.scale - b.from
	return slices.Concat(raw, data[2*at:2*at+2])
}

// sample reads a canonical raw value. That of a scaled address is followed by its scale register.
func (a *address) sample(raw []byte) hal.Sample {
	if !a.scaled {
		return a.unscaled(raw)
	}
	s := a.unscaled(raw[:a.size])
	s.Raw = raw
	if s.Quality != physical.Good {
		return s
	}
	exponent := int16(binary.BigEndian.Uint16(raw[a.size:]))
	if exponent < -maxExponent || exponent > maxExponent {
		return hal.Sample{Raw: raw, Quality: physical.Bad, Cause: physical.CauseInvalid,
			Detail: fmt.Sprintf("the scale register %d holds %d, which is no power of ten from -%d to %d", a.scale, exponent, maxExponent, maxExponent)}
	}
	n, _ := s.Value.Number()
	s.Value = physical.NumberOf(n.Shift(int32(exponent)))
	return s
}

// maxExponent bounds a scale register (SunSpec Information Model Specification, sunssf: -10 to 10; 0x8000 means none).
const maxExponent = 10

func (a *address) decode(raw []byte) decoded {
	if a.typ.class == classText {
		return a.text.decode(raw)
	}
	return a.typ.decode(raw)
}

func (a *address) unscaled(raw []byte) hal.Sample {
	for _, marker := range a.invalid {
		if string(marker) == string(raw) {
			return hal.Sample{Raw: raw, Quality: physical.Bad, Cause: physical.CauseInvalid,
				Detail: fmt.Sprintf("the device sent %X, its marker for no value", raw)}
		}
	}
	d := a.decode(raw)
	s := hal.Sample{Value: d.value, Raw: raw, Quality: physical.Good}
	if d.cause != physical.CauseNone {
		s.Quality, s.Cause, s.Detail = physical.Bad, d.cause, d.detail
	}
	return s
}
