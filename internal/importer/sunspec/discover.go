package sunspec

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Registers reads holding registers of one device, count of them from a zero-based address, or gives an error. It is where I/O happens;
// its errors are reported, never taken apart.
type Registers interface {
	ReadHolding(ctx context.Context, address, count uint16) ([]uint16, error)
}

// Device is what was found. Treat it as read-only.
type Device struct {
	Base   uint16 // zero-based address of "SunS"
	Models []Model
	Notes  []string // what was unusual about the chain
}

// Model is one model of the chain.
type Model struct {
	ID      uint16
	Address uint16  // of its id, zero-based
	Length  uint16  // registers behind id and length
	Label   string  // empty for a model whose layout is not known here
	Common  *Common // of model 1
	layout  *layout
	raw     []uint16 // from the id on, as far as it could be read
}

// Common is who made the device (model 1).
type Common struct {
	Manufacturer, Model, Options, Version, Serial string
}

// NotFoundError says that a device has no SunSpec mark where one may be.
type NotFoundError struct {
	Tried  []uint16
	Errors []error // of the reads that failed
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf(`sunspec: no "SunS" at the addresses %s`, strings.Trim(fmt.Sprint(e.Tried), "[]"))
	if len(e.Errors) == len(e.Tried) {
		return text + fmt.Sprintf("; none of them could be read, the last: %v", e.Errors[len(e.Errors)-1])
	}
	return text + "; the device may not speak SunSpec, or not at this unit id"
}

// Unwrap gives the errors of the reads.
func (e *NotFoundError) Unwrap() []error { return e.Errors }

// The marks and bounds of a chain.
const (
	markHigh, markLow = 0x5375, 0x6E53 // "SunS"
	endModel          = 0xFFFF
	maxModels         = 256
	maxRead           = 50 // registers of one request, within what the most limited devices give
)

// bases are where the mark may be, the likely places first; the last two are devices that are one register off.
func bases() []uint16 { return []uint16{40000, 50000, 0, 39999, 49999} }

// Discover finds the chain of models and reads those whose layout is known. The error is a *NotFoundError when there is no mark, or
// the context's own; a chain that breaks off is no error, but a note.
func Discover(ctx context.Context, r Registers) (Device, error) {
	known, err := layouts()
	if err != nil {
		return Device{}, err
	}
	base, err := findBase(ctx, r)
	if err != nil {
		return Device{}, err
	}
	d := Device{Base: base}
	if base == 39999 || base == 49999 {
		d.note(`"SunS" is at %d, one register before its place; the addresses below are as the device answers`, base)
	}
	if err := d.walk(ctx, r, known); err != nil {
		return d, err
	}
	for i := range d.Models {
		if err := d.fill(ctx, r, &d.Models[i]); err != nil {
			return d, err
		}
	}
	return d, nil
}

func (d *Device) note(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}

func findBase(ctx context.Context, r Registers) (uint16, error) {
	missing := &NotFoundError{Tried: bases()}
	for _, base := range missing.Tried {
		words, err := read(ctx, r, base, 2)
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case err != nil:
			missing.Errors = append(missing.Errors, err)
		case words[0] == markHigh && words[1] == markLow:
			return base, nil
		}
	}
	return 0, missing
}

// read is one request whose answer has the right length.
func read(ctx context.Context, r Registers, address, count uint16) ([]uint16, error) {
	words, err := r.ReadHolding(ctx, address, count)
	if err == nil && len(words) != int(count) {
		err = fmt.Errorf("%d registers came for %d at %d", len(words), count, address)
	}
	return words, err
}

// walk follows the chain from model to model until its end, or until it cannot go on.
func (d *Device) walk(ctx context.Context, r Registers, known map[uint16]*layout) error {
	at := int(d.Base) + 2
	for len(d.Models) < maxModels {
		if at+header > 1<<16 {
			d.note("the chain reaches the last address, 65535, without an end")
			return nil
		}
		words, err := read(ctx, r, uint16(at), header)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return d.brokenOff(ctx, r, uint16(at), err)
		}
		id, length := words[0], words[1]
		switch {
		case id == endModel:
			return nil
		case id == 0:
			d.note("the chain ends at %d with 0 instead of 65535", at)
			return nil
		case at+header+int(length) > 1<<16 || length == 0 && known[id] == nil:
			d.note("the chain was given up at %d: model %d with %d registers cannot be right", at, id, length)
			return nil
		}
		m := Model{ID: id, Address: uint16(at), Length: length, layout: known[id]}
		if m.layout != nil {
			m.Label = m.layout.label
		}
		d.Models = append(d.Models, m)
		at += header + int(length)
	}
	d.note("the chain was given up after %d models", maxModels)
	return nil
}

// brokenOff looks at the one register where a model should begin: some devices end with a single 0 or 65535 there and refuse to read
// two, and some have nothing behind their last model.
func (d *Device) brokenOff(ctx context.Context, r Registers, at uint16, cause error) error {
	words, err := read(ctx, r, at, 1)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && (words[0] == 0 || words[0] == endModel):
		d.note("the chain ends at %d with a single register %d", at, words[0])
	default:
		d.note("the chain has no end: reading at %d gave %v. If that was the line and not the device, models may be missing", at, cause)
	}
	return nil
}

// fill reads a model whose layout is known, in small requests. What cannot be read is noted and left out.
func (d *Device) fill(ctx context.Context, r Registers, m *Model) error {
	if m.layout == nil {
		return nil
	}
	total := header + int(m.Length)
	for len(m.raw) < total {
		count := min(maxRead, total-len(m.raw))
		words, err := read(ctx, r, m.Address+uint16(len(m.raw)), uint16(count))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			d.note("model %d could not be read at %d: %v", m.ID, int(m.Address)+len(m.raw), err)
			break
		}
		m.raw = append(m.raw, words...)
	}
	if len(m.raw) > 1 && (m.raw[0] != m.ID || m.raw[1] != m.Length) {
		return fmt.Errorf("sunspec: model %d at %d: %w", m.ID, m.Address, errMoved)
	}
	if m.ID == 1 {
		m.Common = m.common()
	}
	return nil
}

// errMoved says that two reads of one register disagree.
var errMoved = errors.New("its id or length changed while it was read; the answers of the device or of a gateway are mixed up, so nothing of it can be trusted")

// common reads the texts of model 1.
func (m *Model) common() *Common {
	c := &Common{}
	for _, p := range m.layout.place(int(m.Length)) {
		text := m.text(p)
		switch p.name {
		case "Mn":
			c.Manufacturer = text
		case "Md":
			c.Model = text
		case "Opt":
			c.Options = text
		case "Vr":
			c.Version = text
		case "SN":
			c.Serial = text
		}
	}
	return c
}

// words are the registers of a point as they were read; nil when they were not.
func (m *Model) words(p placed) []uint16 {
	if p.offset+p.size > len(m.raw) {
		return nil
	}
	return m.raw[p.offset : p.offset+p.size]
}

// text is a string of the device up to its first NUL, without blanks around it and without what cannot be printed.
func (m *Model) text(p placed) string {
	var b strings.Builder
	for _, w := range m.words(p) {
		b.WriteByte(byte(w >> 8))
		b.WriteByte(byte(w))
	}
	text, _, _ := strings.Cut(b.String(), "\x00")
	return strings.TrimSpace(strings.ToValidUTF8(text, "?"))
}
