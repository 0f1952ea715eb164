package modbus

import (
	"errors"
	"io"
	"syscall"
	"time"
)

// stream is an open byte stream with deadlines: a TCP or TLS connection, or a serial port.
type stream interface {
	io.ReadWriteCloser
	SetDeadline(time.Time) error
}

// inbox buffers what a stream delivers, so that framing can look before it takes.
type inbox struct {
	s    stream
	poll func() error // takes what has arrived without waiting; nil where the stream cannot tell
	owed []uint16     // Modbus TCP transactions that may still be answered late
	r, w int
	buf  [2048]byte
}

func newInbox(s stream) *inbox {
	in := &inbox{s: s}
	if sc, ok := s.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			in.poll = in.poller(raw)
		}
	}
	return in
}

// errFlood says that a peer sends without being asked.
var errFlood = errors.New("the device sends without being asked and does not stop")

// poller makes a non-blocking read of all that has arrived: nil when nothing more waits, io.EOF when the peer has closed.
func (in *inbox) poller(raw syscall.RawConn) func() error {
	var n int
	var readErr error
	attempt := func(fd uintptr) bool {
		n, readErr = syscall.Read(int(fd), in.buf[in.w:])
		return true
	}
	return func() error {
		in.compact()
		for in.w < len(in.buf) {
			if err := raw.Read(attempt); err != nil {
				return err
			}
			switch {
			case readErr == syscall.EAGAIN:
				return nil
			case readErr == syscall.EINTR:
				continue
			case readErr != nil:
				return readErr
			case n == 0:
				return io.EOF
			}
			in.w += n
		}
		return errFlood
	}
}

// peek returns what is buffered without taking it.
func (in *inbox) peek() []byte { return in.buf[in.r:in.w] }

// take removes the first n buffered bytes.
func (in *inbox) take(n int) { in.r += n }

// fill waits for bytes, at most until the stream's deadline.
func (in *inbox) fill() error {
	in.compact()
	if in.w == len(in.buf) {
		return errFlood
	}
	n, err := in.s.Read(in.buf[in.w:])
	in.w += n
	if n > 0 {
		return nil
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// need waits until n bytes are buffered and returns them without taking them. n is at most half the buffer.
func (in *inbox) need(n int) ([]byte, error) {
	for in.w-in.r < n {
		in.compact()
		got, err := in.s.Read(in.buf[in.w:])
		in.w += got
		if err != nil && in.w-in.r < n {
			return nil, err
		}
		if got == 0 && err == nil {
			return nil, io.ErrNoProgress
		}
	}
	return in.buf[in.r : in.r+n], nil
}

func (in *inbox) compact() {
	if in.r > 0 {
		in.w = copy(in.buf[:], in.buf[in.r:in.w])
		in.r = 0
	}
}
