package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	segmentSuffix = ".log"
	newSuffix     = ".new" // of a segment that is not complete yet
	indexDigits   = 8
)

// Report says what a pass over the journal found.
type Report struct {
	Segments int
	Records  int
	Bytes    int64
	First    Seq  // 0 if there is no record
	Last     Seq  // 0 if there was never a record
	Head     Hash // the end of the chain: noted elsewhere, it proves the journal was not cut or rewritten
	Torn     *Torn
}

// Torn is the end of the newest segment that a crash cut off in mid-write. None of it had been acknowledged as on
// disk by Append.
type Torn struct {
	File   string
	Offset int64
	Bytes  int64 // that were lost
}

// segment is one file of the journal.
type segment struct {
	path   string
	index  uint32
	first  Seq
	size   int64
	newest time.Time // of its last record
}

func segmentPath(dir string, index uint32) string {
	return filepath.Join(dir, fmt.Sprintf("%0*d%s", indexDigits, index, segmentSuffix))
}

// listSegments returns the segments of a folder, which must follow each other.
func listSegments(dir string) ([]segment, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	var list []segment
	for _, e := range entries {
		digits, ok := strings.CutSuffix(e.Name(), segmentSuffix)
		index, err := strconv.ParseUint(digits, 10, 32)
		if !ok || len(digits) != indexDigits || err != nil {
			continue
		}
		s := segment{path: filepath.Join(dir, e.Name()), index: uint32(index)}
		if n := len(list); n > 0 && s.index != list[n-1].index+1 {
			return nil, &DamagedError{File: segmentPath(dir, list[n-1].index+1), Reason: "the segment is missing"}
		}
		list = append(list, s)
	}
	return list, nil
}

// Read goes through a journal that this process does not own, such as a backup, and changes nothing. It calls fn,
// which may be nil, for every record in order and stops at its first error. The whole chain is verified from the
// first segment on. It returns *DamagedError where the chain breaks; a torn end is in the report. While a daemon
// writes, the record it is writing looks torn.
func Read(ctx context.Context, dir string, fn func(Record) error) (Report, error) {
	list, err := listSegments(dir)
	if err != nil {
		return Report{}, err
	}
	s := scanner{visit: fn}
	for i := range list {
		if err := s.segment(ctx, &list[i], noLimit, i == len(list)-1); err != nil {
			return s.report, err
		}
	}
	return s.report, nil
}

const noLimit = -1

// scanner verifies segments one after the other.
type scanner struct {
	visit  func(Record) error
	next   Seq  // the sequence that must come
	hash   Hash // that it must be linked to
	record Hash // of the record before it; zero when that was not seen
	report Report
}

// segment verifies one segment, or its first limit bytes, and fills in what seg lacks. Only the newest segment may
// end torn: the others were complete on disk before the next one came into being.
func (s *scanner) segment(ctx context.Context, seg *segment, limit int64, newest bool) error {
	data, err := readUpTo(seg.path, limit)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := s.header(data, seg); err != nil {
		return err
	}
	s.report.Segments++
	at := headerSize
	for at < len(data) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("journal: read %s: %w", seg.path, err)
		}
		r, size, err := decode(data[at:], s.hash, s.next)
		if err != nil && newest && isTorn(data, at, s.next, err) {
			s.report.Torn = &Torn{File: seg.path, Offset: int64(at), Bytes: int64(len(data) - at)}
			break
		}
		if err != nil {
			return &DamagedError{File: seg.path, Offset: int64(at), Seq: s.next, Reason: err.Error()}
		}
		if err := s.take(r, seg); err != nil {
			return err
		}
		at += size
	}
	seg.size = int64(at)
	s.report.Bytes += seg.size
	return nil
}

func (s *scanner) take(r Record, seg *segment) error {
	if s.report.Records == 0 {
		s.report.First = r.Seq
	}
	s.report.Records++
	s.report.Last, s.report.Head = r.Seq, r.Hash
	s.next, s.hash, s.record = r.Seq+1, r.Hash, r.Hash
	seg.newest = r.Time
	if s.visit == nil {
		return nil
	}
	return s.visit(r)
}

// header verifies the head of a segment and that it continues the one before it. What stands before the first
// segment was deleted by retention and is taken from its header.
func (s *scanner) header(data []byte, seg *segment) error {
	h, sum, err := decodeHeader(data)
	var format errFormat
	if errors.As(err, &format) {
		return &FormatError{File: seg.path, Have: int(format), Want: Format}
	}
	switch {
	case err != nil:
	case h.index != seg.index:
		err = fmt.Errorf("it is segment %d by its header", h.index)
	case h.first == 0:
		err = errors.New("its first sequence is 0")
	case s.report.Segments > 0 && (h.first != s.next || h.prev != s.hash):
		err = fmt.Errorf("it does not continue the segment before it: it begins with sequence %d", h.first)
	}
	if err != nil {
		return &DamagedError{File: seg.path, Seq: s.next, Reason: err.Error()}
	}
	s.next, s.hash = h.first, sum
	s.report.Last, s.report.Head = h.first-1, sum
	seg.first, seg.newest = h.first, time.Unix(0, h.made)
	return nil
}

// readUpTo reads a file, or its first limit bytes, which must be there.
func readUpTo(path string, limit int64) (data []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	if limit != noLimit {
		size = limit
	}
	if size > maxSegmentFile {
		return nil, fmt.Errorf("%s has %d bytes; a segment has at most %d", path, size, maxSegmentFile)
	}
	data = make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return data, nil
}

// lostRun is how many zero bytes in a row say that a part of a write never reached the disk: file systems show zeros
// for it. A sound record has fewer (23, in a head with small numbers and a clock at its epoch).
const lostRun = 32

// isTorn decides whether the bytes from at on, where record seq does not decode, are what a crash left of writes that
// were not acknowledged yet. They are if the file ends within the record, or if a part of it never came to disk. They
// are not, and the damage is real, if a later record tells that seq had been durable, or if everything is there and
// differs.
func isTorn(data []byte, at int, seq Seq, problem error) bool {
	if errors.Is(problem, errShort) {
		return true
	}
	for i := at + 1; i+recordMin <= len(data); i++ {
		later, _, err := decodeHead(data[i:])
		if err == nil && later.Seq > seq && later.durable >= seq {
			return false
		}
	}
	return bytes.Contains(data[at:], make([]byte, lostRun))
}
