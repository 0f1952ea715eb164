package modbus

import "encoding/binary"

// crcTable is the effect of one byte on the check (MODBUS over Serial Line Specification V1.02, section 6.2.2).
type crcTable [256]uint16

func newCRCTable() *crcTable {
	var t crcTable
	for i := range t {
		crc := uint16(i)
		for range 8 {
			low := crc & 1
			crc >>= 1
			if low != 0 {
				crc ^= 0xA001
			}
		}
		t[i] = crc
	}
	return &t
}

// of is the check of a frame's content. It travels low byte first.
func (t *crcTable) of(content []byte) uint16 {
	crc := uint16(0xFFFF)
	for _, b := range content {
		crc = crc>>8 ^ t[byte(crc)^b]
	}
	return crc
}

// append closes a frame.
func (t *crcTable) append(content []byte) []byte {
	return binary.LittleEndian.AppendUint16(content, t.of(content))
}

// closes reports whether a frame ends with its right check.
func (t *crcTable) closes(frame []byte) bool {
	n := len(frame) - 2
	return n >= 2 && t.of(frame[:n]) == binary.LittleEndian.Uint16(frame[n:])
}
