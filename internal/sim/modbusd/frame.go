package modbusd

import "encoding/binary"

const (
	minFrame = 4   // unit, function, CRC
	maxFrame = 256 // serial line guide 1.02, section 2.5.1
	crcStart = 0xFFFF
)

// CRC returns the check of a serial frame; it travels low byte first (serial line guide 1.02, section 6.2.2).
func CRC(frame []byte) uint16 {
	crc := uint16(crcStart)
	for _, b := range frame {
		crc = crcAdd(crc, b)
	}
	return crc
}

func crcAdd(crc uint16, b byte) uint16 {
	crc ^= uint16(b)
	for range 8 {
		low := crc & 1
		crc >>= 1
		if low != 0 {
			crc ^= 0xA001
		}
	}
	return crc
}

// AppendFrame appends unit, PDU and CRC as one serial frame.
func AppendFrame(dst []byte, unit byte, pdu []byte) []byte {
	start := len(dst)
	dst = append(append(dst, unit), pdu...)
	return binary.LittleEndian.AppendUint16(dst, CRC(dst[start:]))
}

// framer finds request frames in the bytes of a serial line by function, length and CRC; gaps between bytes mean nothing while a frame
// may still become whole.
type framer struct{ buf []byte }

func (f *framer) add(b []byte) { f.buf = append(f.buf, b...) }

// next takes the first whole frame out of the line, together with any noise before it. A function with an unknown length is recognised
// only where the line begins. silent says that no more bytes come: then what cannot become whole is noise too, and
// without a frame the line is empty afterwards. The frame is valid until the next add.
func (f *framer) next(silent bool) ([]byte, bool) {
	for at := 0; at+minFrame <= len(f.buf); at++ {
		b := f.buf[at:]
		n, known := requestLength(b)
		if !known && (at == 0 || silent) {
			n = crcLength(b)
		}
		unfinished := n > len(b) || known && n == 0
		if unfinished && !silent {
			break
		}
		if n > 0 && !unfinished && valid(b[:n]) {
			f.buf = b[n:]
			return b[:n], true
		}
	}
	keep := 2 * maxFrame
	if silent {
		keep = 0
	}
	f.buf = f.buf[max(0, len(f.buf)-keep):]
	return nil, false
}

// requestLength returns the length that a request beginning with b has, CRC included; 0 while the bytes that tell it are still
// to come. It knows nothing about functions that the server does not execute.
func requestLength(b []byte) (n int, known bool) {
	switch b[1] {
	case ReadCoils, ReadDiscreteInputs, ReadHoldingRegisters, ReadInputRegisters, WriteSingleCoil, WriteSingleRegister:
		return 8, true
	case WriteMultipleCoils, WriteMultipleRegisters:
		return counted(b, 6), true
	case MaskWriteRegister:
		return 10, true
	case ReadWriteRegisters:
		return counted(b, 10), true
	case EncapsulatedInterface:
		if b[2] == meiDeviceID {
			return 7, true
		}
	}
	return 0, false
}

// counted returns the length of a frame whose byte count stands at b[at], or 0 if that is still to come.
func counted(b []byte, at int) int {
	if len(b) <= at {
		return 0
	}
	return at + 1 + int(b[at]) + 2
}

// crcLength returns the shortest length at which b is a frame with a good CRC, 0 if there is none: the only way to tell the end
// of a function with an unknown length.
func crcLength(b []byte) int {
	crc := uint16(crcStart)
	for n := range min(len(b), maxFrame) - 1 {
		if n >= minFrame-2 && crc == binary.LittleEndian.Uint16(b[n:]) {
			return n + 2
		}
		crc = crcAdd(crc, b[n])
	}
	return 0
}

func valid(frame []byte) bool {
	n := len(frame) - 2
	return CRC(frame[:n]) == binary.LittleEndian.Uint16(frame[n:])
}
