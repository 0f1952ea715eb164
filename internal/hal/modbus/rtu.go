package modbus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"capd/internal/hal"
)

// rtu is the framing of serial lines, also when they are carried over TCP. Frames end where their length and check say; the time
// between bytes means nothing, because adapters and gateways hold bytes back.
//
// Answers carry no number, so what is still owed is remembered here, across connections: see debts.
type rtu struct {
	char       time.Duration // of one character on the wire; 0 when unknown
	gap        time.Duration // silence before a request
	quiet      time.Duration // silence after which no more bytes of a spoiled answer are expected
	turnaround time.Duration // silence after a broadcast

	crc      *crcTable
	debts    debts
	line     time.Time // when the line was last busy
	deadline time.Time // of the request on the wire
	timeout  time.Duration
	echoes   bool // the line returns what is sent on it
}

func newRTU() *rtu { return &rtu{crc: newCRCTable(), debts: debts{silent: map[byte]int{}}} }

func (r *rtu) encode(unit byte, pdu []byte) []byte {
	frame := make([]byte, 0, rtuOverhead+len(pdu))
	return r.crc.append(append(append(frame, unit), pdu...))
}

func (r *rtu) bare(unit byte, pdu []byte) []byte { return r.encode(unit, pdu) }

func (r *rtu) split(frame []byte) (byte, []byte, error) {
	if len(frame) < rtuOverhead+1 || !r.crc.closes(frame) {
		return 0, nil, protocolf("% X is no frame with a right check", frame)
	}
	return frame[0], frame[1 : len(frame)-2], nil
}

// drain looks at what arrived unasked and forgets it.
func (r *rtu) drain(in *inbox) error {
	if len(in.peek()) > 0 {
		r.line = time.Now()
		r.discard(in)
		in.take(len(in.peek()))
	}
	return nil
}

// ready waits until the line is silent and nothing can come on it that the answer to request could be confused with.
func (r *rtu) ready(ctx context.Context, in *inbox, request []byte, t *turn) error {
	q := questionOf(request)
	if q.unit == 0 && q.echo == nil {
		return &wireError{hal.BadAddress, errors.New("unit 0 is all units of the line at once, which can be written but not read")}
	}
	if err := r.sitOut(ctx, in, q.unit); err != nil {
		return err
	}
	r.debts.forget(max(forgetAfter, 10*t.timeout))
	if r.debts.confuse(q) {
		if err := r.probe(ctx, in, q, t); err != nil {
			return err
		}
	}
	return r.clear(ctx, in, q, t)
}

// forgetAfter is how long an answer is owed at least. Some devices say nothing to a probe; they must not stay unread for ever.
const forgetAfter = 3 * time.Second

// clear waits for silence and sets the deadline of the question that is sent next.
func (r *rtu) clear(ctx context.Context, in *inbox, q question, t *turn) error {
	if err := r.hush(ctx, in, t.timeout); err != nil {
		return err
	}
	now := time.Now()
	sending := r.airtime(len(q.frame))
	r.line, r.timeout = now.Add(sending), t.timeout
	r.deadline = now.Add(sending + t.timeout + r.airtime(q.reach()))
	d, ok := ctx.Deadline()
	if t.hurried = ok && d.Before(r.deadline); t.hurried {
		r.deadline = d
	}
	return until(ctx, in.s, r.deadline)
}

func (r *rtu) airtime(characters int) time.Duration { return time.Duration(characters) * r.char }

// reach is how long an answer may be.
func (q question) reach() int {
	if q.length == 0 {
		return maxRTU
	}
	return q.length
}

// sitOut reads and discards while a unit that fell silent may still speak. One that was silent before as well is taken for dead: only
// its own requests wait for it then.
func (r *rtu) sitOut(ctx context.Context, in *inbox, unit byte) error {
	for r.debts.quarantined(unit, time.Now()) {
		if err := until(ctx, in.s, r.debts.until); err != nil {
			return err
		}
		err := in.fill()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			break
		}
		if err != nil {
			return err
		}
		r.line = time.Now()
		r.discard(in)
	}
	return nil
}

// hush waits until the line has been silent for the gap before a request, at most for limit.
func (r *rtu) hush(ctx context.Context, in *inbox, limit time.Duration) error {
	end := time.Now().Add(limit)
	for {
		if err := r.drain(in); err != nil {
			return err
		}
		rest := r.gap - time.Since(r.line)
		if rest <= 0 {
			return nil
		}
		if time.Now().After(end) {
			return protocolf("the line is never silent for %v: is another master on it, or the baud rate wrong", r.gap)
		}
		if err := nap(ctx, rest); err != nil {
			return err
		}
		if in.poll != nil {
			if err := in.poll(); err != nil && !errors.Is(err, errFlood) {
				return err
			}
		}
	}
}

// until sets a deadline on a stream unless ctx has ended, which would have set its own.
func until(ctx context.Context, s stream, deadline time.Time) error {
	if err := s.SetDeadline(deadline); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// probe asks the unit something whose answer cannot be confused: as units answer in order, it ends what is owed. Its data is not
// used.
func (r *rtu) probe(ctx context.Context, in *inbox, q question, t *turn) error {
	p := questionOf(r.encode(q.unit, r.debts.distinct(q)))
	if err := r.clear(ctx, in, p, t); err != nil {
		return err
	}
	if _, err := in.s.Write(p.frame); err != nil {
		return err
	}
	t.maySent = !t.once // what was sent changes nothing
	if _, err := r.listen(in, p, tolerance{anyUnit: t.tolerance.anyUnit, echo: t.tolerance.echo}); err != nil {
		return fmt.Errorf("an earlier answer is still owed, and the device did not answer whether it may come: %w", err)
	}
	if r.debts.confuse(q) {
		return protocolf("earlier answers are still owed")
	}
	return nil
}

func (r *rtu) receive(in *inbox, request []byte, t tolerance) ([]byte, error) {
	q := questionOf(request)
	if q.unit == 0 {
		return r.broadcast(in, q)
	}
	return r.listen(in, q, t)
}

// broadcast lets the units work for a moment. None of them answers, so the answer that means "sent" is made here.
func (r *rtu) broadcast(in *inbox, q question) ([]byte, error) {
	end := time.Now().Add(r.airtime(len(q.frame)) + r.turnaround)
	if err := in.s.SetDeadline(end); err != nil {
		return nil, err
	}
	for {
		if err := in.fill(); errors.Is(err, os.ErrDeadlineExceeded) {
			break
		} else if err != nil {
			return nil, err
		}
		in.take(len(in.peek()))
	}
	return r.crc.append(append([]byte{0}, q.echo...)), nil
}

// listen waits for the answer to q. The frame is valid until the inbox is used again.
func (r *rtu) listen(in *inbox, q question, t tolerance) ([]byte, error) {
	s := &search{r: r, in: in, q: q, t: t}
	for {
		frame, waiting := s.next(false)
		if frame != nil {
			r.answered(s, frame)
			return frame, nil
		}
		if s.verdict != nil || waiting {
			if err := in.s.SetDeadline(earlier(r.deadline, time.Now().Add(r.quiet))); err != nil {
				return nil, err
			}
		}
		err := in.fill()
		if err == nil {
			r.line = time.Now()
			continue
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, err
		}
		if frame, _ = s.next(true); frame != nil {
			r.answered(s, frame)
			return frame, nil
		}
		return nil, r.unanswered(s, err)
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// answered books an answer.
func (r *rtu) answered(s *search, frame []byte) {
	if s.q.echo == nil {
		r.echoes = s.echoed
	}
	r.debts.settle(s.q, frame[1]&exceptionFlag != 0)
}

// unanswered books what may still come, and says what came instead.
func (r *rtu) unanswered(s *search, err error) error {
	s.conclude()
	r.debts.owe(s.q)
	if s.verdict != nil {
		return s.verdict
	}
	r.debts.wait(s.q.unit, time.Now().Add(r.timeout))
	return err
}
