package modbusd

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// quiet is the silence after which an unfinished frame is given up; longer than the 16 ms in which USB adapters hold bytes back.
const quiet = 50 * time.Millisecond

// Line says how fast a serial line is.
type Line struct {
	// Char is the time of one character on the wire, 11 bits with parity; 0 does not pace. With pacing, a request counts as received only after
	// the time its characters take, 3.5 characters pass before the reply, and the reply's bytes come as the wire would bring them.
	Char time.Duration
	// Sleep passes at most a few milliseconds, to be given where the runtime's timers, a millisecond late, are too coarse; nil uses timers
	// alone. It may return early.
	Sleep func(time.Duration)
}

// fine is the rest of a wait that Line.Sleep passes.
const fine = 2 * time.Millisecond

// ServeRTU answers as the slaves of the serial line rw until ctx ends; then it closes rw and returns nil. Another error means that the
// line failed. Frames with a bad CRC and replies of the Handler to a broadcast (unit 0) are dropped, as on a real line.
func ServeRTU(ctx context.Context, rw io.ReadWriteCloser, h Handler, line Line) error {
	ctx, cancel := context.WithCancel(ctx)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer rw.Close()
	defer cancel()
	defer context.AfterFunc(ctx, func() { rw.Close() })()
	r := &rtu{rw: rw, handler: h, line: line}
	arrivals := make(chan arrival)
	reader.Go(func() { receive(ctx, rw, arrivals) })
	err := r.loop(ctx, arrivals)
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("modbusd: serial line: %w", err)
}

// arrival is what one read of the line brought.
type arrival struct {
	bytes []byte
	at    time.Time
	err   error
}

func receive(ctx context.Context, r io.Reader, out chan<- arrival) {
	for {
		buf := make([]byte, maxFrame)
		n, err := r.Read(buf)
		select {
		case out <- arrival{buf[:n], time.Now(), err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

type rtu struct {
	rw      io.Writer
	handler Handler
	line    Line
	framer  framer
	began   time.Time // when the first byte of the frame in the framer came
}

func (r *rtu) loop(ctx context.Context, arrivals <-chan arrival) error {
	silence := time.NewTimer(quiet)
	defer silence.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case a := <-arrivals:
			if len(r.framer.buf) == 0 {
				r.began = a.at
			}
			r.framer.add(a.bytes)
			if err := r.answerAll(ctx, false); err != nil {
				return err
			}
			if a.err != nil {
				return a.err
			}
			silence.Reset(quiet)
		case <-silence.C:
			if err := r.answerAll(ctx, true); err != nil {
				return err
			}
		}
	}
}

// answerAll answers the whole frames in the line; silent as in [framer.next].
func (r *rtu) answerAll(ctx context.Context, silent bool) error {
	for {
		frame, ok := r.framer.next(silent)
		if !ok {
			return nil
		}
		if err := r.answer(ctx, frame); err != nil {
			return err
		}
		r.began = time.Now()
	}
}

func (r *rtu) answer(ctx context.Context, frame []byte) error {
	received := r.began.Add(r.chars(len(frame)))
	if err := r.line.waitUntil(ctx, received); err != nil {
		return err
	}
	unit, pdu := frame[0], frame[1:len(frame)-2]
	served := time.Now()
	reply := r.handler.Serve(ctx, unit, pdu)
	if reply == nil || unit == 0 {
		return nil
	}
	began := received.Add(time.Since(served)).Add(r.line.Char * 7 / 2)
	return r.send(ctx, AppendFrame(nil, unit, reply), began)
}

// send writes a frame that begins at the given time in pieces, each when the line would have brought its last byte. All times follow from
// the beginning, so that late timers do not add up.
func (r *rtu) send(ctx context.Context, frame []byte, began time.Time) error {
	piece := len(frame)
	if r.line.Char > 0 {
		piece = 8
	}
	for sent := 0; sent < len(frame); {
		end := min(sent+piece, len(frame))
		if err := r.line.waitUntil(ctx, began.Add(r.chars(end))); err != nil {
			return err
		}
		if _, err := r.rw.Write(frame[sent:end]); err != nil {
			return err
		}
		sent = end
	}
	return nil
}

func (r *rtu) chars(n int) time.Duration { return time.Duration(n) * r.line.Char }

// waitUntil waits for t, or less if ctx ends.
func (l Line) waitUntil(ctx context.Context, t time.Time) error {
	coarse := time.Until(t)
	if l.Sleep != nil {
		coarse -= fine
	}
	if coarse > 0 {
		timer := time.NewTimer(coarse)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for rest := time.Until(t); rest > 0 && l.Sleep != nil; rest = time.Until(t) {
		l.Sleep(rest)
	}
	return ctx.Err()
}
