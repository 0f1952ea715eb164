package modbus

import (
	"bytes"
	"fmt"
)

// found is what stands at the head of the inbox.
type found uint8

const (
	foundNoise   found = iota
	foundPart          // it may become a frame: more bytes are needed
	foundForeign       // a whole frame of another unit
	foundEcho          // the request itself, returned by the line
	foundStrange       // a whole frame of the unit that answers something else
	foundDamaged       // the whole answer, with a wrong check
	foundAnswer
)

// search finds the answer to one question among the bytes of a line.
type search struct {
	r  *rtu
	in *inbox
	q  question
	t  tolerance

	echoed  bool
	verdict error  // what came instead of the answer, nil as long as nothing of the unit came
	garbled []byte // bytes that are no frame, from the first that could begin the answer
}

// next takes what does not belong to the answer out of the inbox, and the answer when it is whole. With final no more bytes come, so
// what is unfinished is noise. waiting means that an answer stands behind something unfinished.
func (s *search) next(final bool) (frame []byte, waiting bool) {
	for {
		b := s.in.peek()
		if len(b) == 0 {
			return nil, false
		}
		kind, n := s.look(b)
		switch kind {
		case foundAnswer:
			s.in.take(n)
			return b[:n], false
		case foundPart:
			if !final {
				return nil, s.ahead(b[1:])
			}
			s.unfinished(b)
			s.garble(b[0])
		case foundNoise:
			s.garble(b[0])
		case foundEcho:
			s.echoed = true
		case foundStrange:
			s.stranger(b[:n])
		case foundDamaged:
			if !s.ahead(b[1:]) {
				s.verdict = &crcError{text: "the answer's check is wrong"}
			}
		}
		s.in.take(n)
	}
}

// ahead reports whether an answer stands in b.
func (s *search) ahead(b []byte) bool {
	for ; len(b) > 1; b = b[1:] {
		if kind, _ := s.look(b); kind == foundAnswer {
			return true
		}
	}
	return false
}

// stranger books a frame of the unit that is no answer to the question: the late answer to an earlier one, or nonsense.
func (s *search) stranger(frame []byte) {
	if !s.r.late(frame) {
		s.verdict = protocolf("the device sent % X, which answers another request", frame)
	}
}

// unfinished books the beginning of an answer that ends too early.
func (s *search) unfinished(b []byte) {
	if s.verdict == nil && len(b) > 2 && b[0] == s.q.unit && b[1] == s.q.fc && s.reaches(b) {
		s.verdict = &crcError{text: "the answer ends too early", late: true}
	}
}

// look tells what b begins with, and how many bytes of it that is.
func (s *search) look(b []byte) (found, int) {
	switch {
	case bytes.HasPrefix(b, s.q.frame) && !s.isAnswer():
		return foundEcho, len(s.q.frame)
	case len(b) < len(s.q.frame) && bytes.HasPrefix(s.q.frame, b):
		return foundPart, 1
	}
	if b[0] == s.q.unit || s.t.anyUnit {
		return s.own(b)
	}
	return s.whole(b, foundForeign, replyLength(b), requestLength(b))
}

// isAnswer reports whether the request seen again is the answer to it: unless the line echoes and has not done so yet.
func (s *search) isAnswer() bool {
	return s.q.answersItself() && (s.echoed || !s.t.echo && !s.r.echoes)
}

// own looks at bytes that begin with the unit.
func (s *search) own(b []byte) (found, int) {
	n := replyLength(b)
	switch {
	case n == 0 || n == partial:
		return s.whole(b, foundStrange, n)
	case b[1] == s.q.fc|exceptionFlag:
		return s.mine(b, 5)
	case b[1] == s.q.fc && (n == s.q.length || s.q.length == 0 || s.t.longer && n > s.q.length):
		return s.mine(b, n)
	default:
		return s.whole(b, foundStrange, n)
	}
}

// mine looks at bytes that have the head of the answer.
func (s *search) mine(b []byte, n int) (found, int) {
	switch {
	case len(b) < n:
		return foundPart, 1
	case !s.r.crc.closes(b[:n]):
		return foundDamaged, 1
	case s.q.echo != nil && b[1] == s.q.fc && !bytes.Equal(b[1:n-2], s.q.echo):
		return foundStrange, n
	default:
		return foundAnswer, n
	}
}

// garble remembers a byte that belongs to no frame.
func (s *search) garble(b byte) {
	if len(s.garbled) > 0 && len(s.garbled) < maxRTU || len(s.garbled) == 0 && b == s.q.unit {
		s.garbled = append(s.garbled, b)
	}
}

// conclude gives the bytes that are no frame a name when the time is up and nothing better came.
func (s *search) conclude() {
	if s.verdict != nil || len(s.garbled) < rtuOverhead+1 {
		return
	}
	for n := rtuOverhead + 1; n <= len(s.garbled); n++ {
		if s.r.crc.closes(s.garbled[:n]) {
			s.verdict = &protocolError{text: fmt.Sprintf("the device sent % X, which has not the form of an answer", s.garbled[:n]), late: true}
			return
		}
	}
	s.verdict = &crcError{text: fmt.Sprintf("%d bytes came that are no answer", len(s.garbled)), late: true}
}

// reaches reports whether b, which is unfinished, has the head of the answer.
func (s *search) reaches(b []byte) bool {
	n := replyLength(b)
	return n == s.q.length || n == partial || s.q.length == 0
}

// whole looks for a frame of one of these lengths.
func (s *search) whole(b []byte, kind found, lengths ...int) (found, int) {
	open := false
	for _, n := range lengths {
		switch {
		case n == 0:
		case n == partial || n > len(b):
			open = true
		case s.r.crc.closes(b[:n]):
			return kind, n
		}
	}
	if open {
		return foundPart, 1
	}
	return foundNoise, 1
}

// questionBehind is what a frame would answer, as far as it tells.
func questionBehind(frame []byte) question {
	q := question{unit: frame[0], fc: frame[1], length: len(frame)}
	switch q.fc {
	case fcReadCoils, fcReadDiscreteInputs, fcReadHoldingRegisters, fcReadInputRegisters, fcReadWriteRegisters:
	case fcEncapsulated:
		q.length = 0
	default:
		q.echo = frame[1 : len(frame)-2]
	}
	return q
}

// discard takes whole frames and noise out of the inbox while nothing is asked, and books late answers.
func (r *rtu) discard(in *inbox) {
	for b := in.peek(); len(b) > 0; b = in.peek() {
		s := search{r: r}
		kind, n := s.whole(b, foundStrange, replyLength(b), requestLength(b))
		if kind == foundPart {
			return
		}
		if kind == foundStrange {
			r.late(b[:n])
		}
		in.take(n)
	}
}

// late books an answer that came after its time. It reports whether one was owed.
func (r *rtu) late(frame []byte) bool {
	q := questionBehind(frame)
	if q.fc&exceptionFlag == 0 {
		return r.debts.drop(q.alike)
	}
	q.fc &^= exceptionFlag
	return r.debts.drop(q.sameFunction)
}
