package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// MaxPayload is the largest payload of a record in bytes of JSON.
const MaxPayload = 1 << 20

// Format is the version of the segments that this program writes and reads.
const Format = 1

// Seq numbers records without gaps from 1 on; it orders them, whatever the clock did.
type Seq uint64

// Hash is a link of the chain, a SHA-256. It is stored whole: 32 bytes beside some hundred of JSON cost nothing that
// one sync does not dwarf, and a cut hash would have to be argued for in every audit.
type Hash [sha256.Size]byte

// Kind says what a record tells. The list is closed; its numbers are in files and never change.
type Kind uint8

// The kinds of records.
const (
	Intent     Kind = 1 // something is about to be done to a machine
	Progress   Kind = 2 // advisory, between an intent and its outcome
	Outcome    Kind = 3 // what came out
	Amendment  Kind = 4 // what became known after the outcome
	Obligation Kind = 5 // something is owed to a machine, or was discharged
	Event      Kind = 6 // anything else worth keeping: a lockout, a publication, an alarm
)

// String returns the kind's name in lower case.
func (k Kind) String() string {
	switch k {
	case Intent:
		return "intent"
	case Progress:
		return "progress"
	case Outcome:
		return "outcome"
	case Amendment:
		return "amendment"
	case Obligation:
		return "obligation"
	case Event:
		return "event"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

func (k Kind) known() bool { return k >= Intent && k <= Event }

// Record is one entry of the journal.
type Record struct {
	Seq     Seq
	Kind    Kind
	Time    time.Time // of the wall clock when it was written, UTC; may jump
	Payload json.RawMessage
	Hash    Hash // covers this record and all before it

	durable Seq // the last record that was surely on disk when this one was written
}

// A segment is a header and records back to back, numbers little endian. The header keeps its layout in every
// format:
//
//	magic [8], format uint32, index uint32, first sequence uint64, made at int64 (Unix ns),
//	hash of the last record before the segment [32], SHA-256 of all these [32]
//
// A record:
//
//	mark [2], kind uint8, zero uint8, payload length uint32, sequence uint64, time int64 (Unix ns),
//	last durable sequence uint64, CRC-32C of all these uint32, payload, hash [32]
//
// The hash is SHA-256 over the hash before (of the record, or in the header), the record's head and its payload. The
// CRC is there to trust the length before the payload is read: without it a flipped length looks like a torn write.
const (
	magic      = "capdjrnl"
	headerBody = 64
	headerSize = headerBody + sha256.Size

	mark       = "\xCA\x7D" // not valid UTF-8, so JSON text does not contain it
	recordHead = 36
	recordMin  = recordHead + sha256.Size
)

// header is the head of a segment.
type header struct {
	index uint32
	first Seq
	made  int64
	prev  Hash
}

func (h header) encode() ([]byte, Hash) {
	b := append(make([]byte, 0, headerSize), magic...)
	b = binary.LittleEndian.AppendUint32(b, Format)
	b = binary.LittleEndian.AppendUint32(b, h.index)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.first))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.made))
	b = append(b, h.prev[:]...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...), sum
}

// errFormat is a sound header of another format.
type errFormat uint32

func (e errFormat) Error() string { return fmt.Sprintf("format %d", uint32(e)) }

func decodeHeader(b []byte) (header, Hash, error) {
	var h header
	if len(b) < headerSize || string(b[:len(magic)]) != magic {
		return h, Hash{}, errors.New("it does not begin as a journal segment")
	}
	sum := sha256.Sum256(b[:headerBody])
	if !bytes.Equal(sum[:], b[headerBody:headerSize]) {
		return h, sum, errors.New("its header has a wrong hash")
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != Format {
		return h, sum, errFormat(v)
	}
	h.index = binary.LittleEndian.Uint32(b[12:])
	h.first = Seq(binary.LittleEndian.Uint64(b[16:]))
	h.made = int64(binary.LittleEndian.Uint64(b[24:]))
	copy(h.prev[:], b[32:])
	return h, sum, nil
}

func castagnoli(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// encode appends the record, linked to prev, and sets its hash.
func (r *Record) encode(dst []byte, prev Hash) []byte {
	start := len(dst)
	dst = append(dst, mark...)
	dst = append(dst, byte(r.Kind), 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(r.Payload)))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.Seq))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.Time.UnixNano()))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(r.durable))
	dst = binary.LittleEndian.AppendUint32(dst, castagnoli(dst[start:]))
	dst = append(dst, r.Payload...)
	r.Hash = link(prev, dst[start:])
	return append(dst, r.Hash[:]...)
}

func link(prev Hash, record []byte) (sum Hash) {
	h := sha256.New()
	h.Write(prev[:]) // a hash never fails to write
	h.Write(record)
	h.Sum(sum[:0])
	return sum
}

// errShort: the bytes end before the record does.
var errShort = errors.New("it is cut short")

// decodeHead reads the head of the record at the start of b and returns the record's whole length.
func decodeHead(b []byte) (r Record, size int, err error) {
	if len(b) < recordHead {
		return r, 0, errShort
	}
	length := binary.LittleEndian.Uint32(b[4:])
	r.Kind = Kind(b[2])
	r.Seq = Seq(binary.LittleEndian.Uint64(b[8:]))
	r.Time = time.Unix(0, int64(binary.LittleEndian.Uint64(b[16:]))).UTC()
	r.durable = Seq(binary.LittleEndian.Uint64(b[24:]))
	switch {
	case string(b[:len(mark)]) != mark || binary.LittleEndian.Uint32(b[32:]) != castagnoli(b[:32]):
		return r, 0, errors.New("its head has a wrong checksum")
	case !r.Kind.known() || b[3] != 0 || length > MaxPayload:
		return r, 0, fmt.Errorf("it has %v.%d and %d bytes of payload, which this capd does not write", r.Kind, b[3], length)
	}
	return r, recordMin + int(length), nil
}

// decode reads the record at the start of b, which must be number seq and linked to prev. The payload is a copy.
func decode(b []byte, prev Hash, seq Seq) (r Record, size int, err error) {
	r, size, err = decodeHead(b)
	if err != nil {
		return r, 0, err
	}
	if r.Seq != seq {
		return r, 0, fmt.Errorf("it has sequence %d", r.Seq)
	}
	if len(b) < size {
		return r, 0, errShort
	}
	body := b[:size-sha256.Size]
	r.Hash = link(prev, body)
	if !bytes.Equal(r.Hash[:], b[len(body):size]) {
		return r, 0, errors.New("its hash does not follow from the record and the one before it")
	}
	r.Payload = bytes.Clone(body[recordHead:])
	return r, size, nil
}
