package field

import (
	"context"
	"errors"
	"fmt"
	"time"

	"capd/internal/hal"
	"capd/internal/physical"
)

// Write sends one value, once. The error is always a *hal.Error, whose MaySent tells whether the device may have got it; what is
// wrong with the point or the value, such as a *physical.NotRepresentableError, is inside one of the kind BadAddress. Kept readings
// of the device that were made before the end of the write no longer count as young.
func (f *Field) Write(ctx context.Context, ref string, v physical.Value) (hal.Ack, error) {
	r := f.hold(ref)
	b, raw, err := r.writable(ref, v)
	if b == nil {
		return hal.Ack{}, &hal.Error{Kind: hal.BadAddress, Device: "no device", Op: "write " + ref, Err: err}
	}
	d := r.devices[b.Device]
	defer d.line.release()
	if err != nil {
		return hal.Ack{}, &hal.Error{Kind: hal.BadAddress, Device: d.spec.ID, Op: "write " + ref, Err: err}
	}
	link, e := d.line.open(ctx)
	if e != nil {
		e.Device, e.Op = d.spec.ID, "write "+b.Address.String()
		return hal.Ack{}, e
	}
	ack, err := link.Write(ctx, d.spec.ID, b.Address, raw)
	d.noteWrite()
	return ack, err
}

// hold is the parts in use, with the line of the point acquired if the point is bound.
func (f *Field) hold(ref string) running {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b := f.now.binding.Point(ref); b != nil {
		f.now.devices[b.Device].line.acquire()
	}
	return f.now
}

// writable is a point and the raw value to write; the point is nil when none is bound.
func (r running) writable(ref string, v physical.Value) (*Bound, physical.Value, error) {
	b := r.binding.Point(ref)
	if b == nil {
		return nil, physical.Value{}, errors.New(r.unknown(ref))
	}
	if !b.Point.Access.Writes() {
		return b, physical.Value{}, fmt.Errorf("%s is read only; declare access: read_write to write it", ref)
	}
	raw, _, err := b.Raw(v)
	return b, raw, err
}

func (d *device) noteWrite() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wrote = time.Now()
}

// Preview shows what a write would send, without any I/O, when the driver can.
func (f *Field) Preview(ref string, v physical.Value) (string, error) {
	r := f.current()
	b, raw, err := r.writable(ref, v)
	if err != nil {
		return "", err
	}
	l := r.lines[b.Link]
	conn, err := l.driver.Open(l.spec, l.devices)
	if err != nil {
		return "", fmt.Errorf("link %s: %w", b.Link, err)
	}
	p, ok := conn.(hal.Previewer)
	if !ok {
		return "", errors.Join(fmt.Errorf("driver %s shows no frames", b.Driver), conn.Close())
	}
	text, err := p.Preview(b.Device, b.Address, raw)
	return text, errors.Join(err, conn.Close())
}

// Encode is the canonical raw form that a value has on its device, as a reading of it would show, without any I/O.
func (f *Field) Encode(ref string, v physical.Value) ([]byte, error) {
	r := f.current()
	b := r.binding.Point(ref)
	if b == nil {
		return nil, errors.New(r.unknown(ref))
	}
	_, raw, err := b.Raw(v)
	return raw, err
}
