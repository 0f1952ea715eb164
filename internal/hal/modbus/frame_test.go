package modbus

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"capd/internal/hal/modbus/faultserver"
)

// recorded is a stream that delivers bytes in pieces and then ends.
type recorded struct {
	left  []byte
	piece int
}

func (r *recorded) Read(p []byte) (int, error) {
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.piece)], r.left)
	r.left = r.left[n:]
	return n, nil
}

func (*recorded) Write(p []byte) (int, error) { return len(p), nil }
func (*recorded) Close() error                { return nil }
func (*recorded) SetDeadline(time.Time) error { return nil }

func FuzzReceive(f *testing.F) {
	right := faultserver.Frame(7, 1, []byte{3, 2, 0, 42})
	f.Add(right, uint8(1))
	f.Add(append(faultserver.Frame(6, 1, []byte{3, 2, 0, 1}), right...), uint8(5))
	f.Add([]byte{0, 7, 0, 0, 0, 71, 1, 3}, uint8(0))
	f.Add([]byte{0, 7, 0, 0, 0xFF, 0xFF, 1, 3}, uint8(200))
	f.Fuzz(func(t *testing.T, stream []byte, piece uint8) {
		request := encodeMBAP(7, 1, []byte{3, 0, 1, 0, 1})
		in := newInbox(&recorded{left: stream, piece: 1 + int(piece)})
		m := &mbap{}
		frame, err := m.receive(in, request, tolerance{})
		if err != nil {
			return
		}
		if frame[0] != 0 || frame[1] != 7 || !bytes.Contains(stream, frame) || len(frame) > mbapHeader+maxPDU {
			t.Fatalf("% X is no answer to 7", frame)
		}
		unit, pdu, err := m.split(frame)
		if err != nil || len(pdu) == 0 || unit != frame[6] {
			t.Fatalf("% X was received but cannot be split: %v", frame, err)
		}
	})
}

// ended is a recorded stream whose time is up at its end.
type ended struct{ recorded }

func (e *ended) Read(p []byte) (int, error) {
	n, err := e.recorded.Read(p)
	if err != nil {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

func FuzzReceiveRTU(f *testing.F) {
	right := faultserver.FrameRTU(1, []byte{3, 2, 0, 42})
	f.Add(right, []byte{3, 0, 1, 0, 1}, uint8(1), false)
	f.Add(slices.Concat([]byte{0, 1, 3}, right), []byte{3, 0, 1, 0, 1}, uint8(5), false)
	f.Add(slices.Concat(faultserver.FrameRTU(2, []byte{3, 9, 1, 3, 2, 0, 42, 1, 1, 1, 1}), right), []byte{3, 0, 1, 0, 1}, uint8(200), true)
	f.Add(slices.Repeat([]byte{1, 3, 2}, 90), []byte{3, 0, 1, 0, 1}, uint8(200), false)
	f.Add(slices.Repeat([]byte{1, 1, 3, 2}, 600), []byte{1, 3, 0, 0, 20}, uint8(255), false)
	f.Add(faultserver.FrameRTU(1, []byte{6, 0, 1, 0, 7}), []byte{6, 0, 1, 0, 7}, uint8(9), false)
	f.Add(faultserver.FrameRTU(1, []byte{43, 14, 2, 0x82, 0, 0, 1, 0, 1, 65}), []byte{43, 14, 2, 0}, uint8(9), false)
	f.Fuzz(func(t *testing.T, stream, pdu []byte, piece uint8, longer bool) {
		if len(pdu) < 5 && (len(pdu) < 4 || pdu[0] != fcEncapsulated) || requestLength(append([]byte{1}, pdu...)) != len(pdu)+3 {
			return
		}
		r := newRTU()
		r.deadline = time.Now().Add(time.Hour)
		in := newInbox(&ended{recorded{left: stream, piece: 1 + int(piece)}})
		frame, err := r.receive(in, r.encode(1, pdu), tolerance{longer: longer})
		if err != nil {
			return
		}
		unit, got, err := r.split(frame)
		if err != nil || unit != 1 || !bytes.Contains(stream, frame) {
			t.Fatalf("% X is no answer (%v)", frame, err)
		}
		if got[0] != pdu[0] && got[0] != pdu[0]|exceptionFlag {
			t.Fatalf("% X answers % X", got, pdu)
		}
		if pdu[0] >= 1 && pdu[0] <= fcReadWriteRegisters && pdu[0]&exceptionFlag == 0 && verifyPDU(pdu, got, longer) != nil {
			t.Fatalf("% X is taken for an answer to % X", got, pdu)
		}
	})
}

func FuzzFrameLengths(f *testing.F) {
	f.Add(faultserver.FrameRTU(1, []byte{43, 14, 2, 0x82, 0, 0, 1, 0, 1, 65}))
	f.Add([]byte{1, 16, 0, 1, 0, 1, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		for _, n := range []int{replyLength(b), requestLength(b)} {
			if n != partial && n != 0 && (n < rtuOverhead+1 || n > maxRTU) {
				t.Fatalf("% X begins a frame of %d bytes", b, n)
			}
			if n == partial && len(b) >= maxRTU {
				t.Fatalf("% X is not enough to tell a length", b)
			}
		}
	})
}

func FuzzSplit(f *testing.F) {
	f.Add(encodeMBAP(1, 1, []byte{3, 2, 0, 42}))
	f.Add([]byte{0, 1, 0, 0, 0, 1, 1})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, frame []byte) {
		unit, pdu, err := (&mbap{}).split(frame)
		if err == nil && !bytes.Equal(encodeMBAP(uint16(frame[0])<<8|uint16(frame[1]), unit, pdu), frame) {
			t.Fatalf("% X is not what it was split into", frame)
		}
	})
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte{3, 0, 1, 0, 1}, []byte{3, 2, 0, 42}, false)
	f.Add([]byte{1, 0, 0, 0, 20}, []byte{1, 3, 1, 2, 3}, false)
	f.Add([]byte{6, 0, 1, 0, 1}, []byte{0x86, 2}, false)
	f.Add([]byte{16, 0, 1, 0, 1, 2, 0, 1}, []byte{16, 0, 1, 0, 1}, true)
	f.Add([]byte{22, 0, 4, 0, 0xF2, 0, 0x25}, []byte{22, 0, 5, 0xFF, 0xFF, 0, 0}, false)
	f.Fuzz(func(t *testing.T, request, reply []byte, longer bool) {
		if verifyPDU(request, reply, longer) != nil {
			return
		}
		if reply[0]&^exceptionFlag != request[0] {
			t.Fatalf("% X answers % X", reply, request)
		}
		if reply[0] == request[0] && request[0] <= fcReadInputRegisters && len(reply) < 3 && (request[3] != 0 || request[4] != 0) {
			t.Fatalf("% X is enough for % X", reply, request)
		}
	})
}

// TestVerify holds every kind of answer against its request, without what goburrow checks besides.
func TestVerify(t *testing.T) {
	for _, c := range []struct {
		request, reply string
		ok             bool
	}{
		{"03 0001 0002", "03 04 00000000", true},
		{"03 0001 0002", "03 02 0000", false},
		{"03 0001 0002", "03 06 000000000000", false},
		{"03 0001 0002", "03 04 000000", false},
		{"03 0001 0002", "03", false},
		{"03 0001 0002", "04 04 00000000", false},
		{"03 0001 0002", "83 02", true},
		{"03 0001 0002", "84 02", false},
		{"03 0001 0002", "83", false},
		{"03 0001 0002", "83 02 00", false},
		{"03 0001 0002", "", false},
		{"01 0000 0014", "01 03 FFFFFF", true},
		{"02 0000 0014", "02 02 FFFF", false},
		{"02 0000 0008", "02 01 FF", true},
		{"05 0004 FF00", "05 0004 FF00", true},
		{"05 0004 FF00", "05 0004 0000", false},
		{"06 0004 AAAA", "06 0004 AAAA", true},
		{"06 0004 AAAA", "06 0004 0001", false},
		{"06 0004 AAAA", "06 0000 AAAA", false},
		{"06 0004 AAAA", "06 AAAA", false},
		{"0F 0004 0001 01 01", "0F 0004 0001", true},
		{"0F 0004 0001 01 01", "0F 0004 0002", false},
		{"10 0004 0001 02 0007", "10 0004 0001", true},
		{"10 0004 0001 02 0007", "10 0005 0001", false},
		{"10 0004 0001 02 0007", "10 0004 0001 02 0007", false},
		{"16 0004 00F2 0025", "16 0004 00F2 0025", true},
		{"16 0004 00F2 0025", "16 0005 FFFF 0000", false},
		{"17 0000 0001 0000 0001 02 0007", "17 02 0007", true},
		{"17 0000 0001 0000 0001 02 0007", "17 04 00070000", false},
		{"17 0000 0001", "17 02 0000", false},
		{"2B 0E 02 00", "2B 0E 02 82 00 00 01 00 01 41", true},
		{"2B 0E 02 00", "2B 0E 02 82 00 00 02 00 01 41", false},
		{"2B 0E 02 00", "2B 0E 02 82 00 00 01 00 01 41 42", false},
		{"2B 0E 02 00", "2B 0D 02 82 00 00 00", false},
		{"14 0000 0001", "14 02 0000", false}, // no check, no trust
	} {
		if err := verifyPDU(unhex(t, c.request), unhex(t, c.reply), false); (err == nil) != c.ok {
			t.Errorf("%s answers %s: %v", c.reply, c.request, err)
		}
	}
	if err := verifyPDU(unhex(t, "03 0001 0001"), unhex(t, "03 04 00000000"), true); err != nil {
		t.Error(err)
	}
}

func TestInboxNeverWaitsForWhatItHas(t *testing.T) {
	in := newInbox(&recorded{left: []byte("abcdefgh"), piece: 3})
	for _, want := range []string{"ab", "cde", "f"} {
		got, err := in.need(len(want))
		if err != nil || string(got) != want {
			t.Fatalf("got %q, %v", got, err)
		}
		in.take(len(want))
	}
	if _, err := in.need(3); !errors.Is(err, io.EOF) || string(in.peek()) != "gh" {
		t.Errorf("left %q, %v", in.peek(), err)
	}
}
