package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"testing"
	"time"
)

// sealHeader gives a changed header its right hash.
func sealHeader(b []byte) {
	sum := sha256.Sum256(b[:headerBody])
	copy(b[headerBody:], sum[:])
}

func TestRecordRoundTrip(t *testing.T) {
	prev := Hash{1, 2, 3}
	want := Record{Seq: 7, Kind: Amendment, Time: time.Unix(0, -5).UTC(), Payload: json.RawMessage(`{"a":1}`), durable: 6}
	b := want.encode([]byte("before"), prev)
	got, size, err := decode(b[6:], prev, 7)
	if err != nil || size != len(b)-6 || got.Seq != 7 || got.Kind != Amendment || !got.Time.Equal(want.Time) ||
		string(got.Payload) != `{"a":1}` || got.Hash != want.Hash || got.durable != 6 {
		t.Fatalf("%+v, %d, %v", got, size, err)
	}
	if _, _, err := decode(b[6:], Hash{}, 7); err == nil {
		t.Error("a record linked to another one was taken")
	}
	if _, _, err := decode(b[6:], prev, 8); err == nil {
		t.Error("a record of another sequence was taken")
	}
}

func TestKindsHaveNames(t *testing.T) {
	want := []string{"intent", "progress", "outcome", "amendment", "obligation", "event"}
	for i, name := range want {
		if got := Kind(i + 1); got.String() != name || !got.known() {
			t.Errorf("kind %d is %v", i+1, got)
		}
	}
	if k := Kind(7); k.known() || k.String() != "kind(7)" {
		t.Error(k)
	}
}

func FuzzDecodeRecord(f *testing.F) {
	prev := Hash{9}
	r := Record{Seq: 1, Kind: Intent, Time: time.Unix(1, 2), Payload: json.RawMessage(`{"n":1}`)}
	good := r.encode(nil, prev)
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add(append(bytes.Clone(good), 0))
	f.Add([]byte(mark))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, size, err := decode(b, prev, 1)
		if err != nil {
			isTorn(b, 0, 1, err)
			return
		}
		// What decodes is what encodes: no byte of a record is free.
		if size > len(b) || !bytes.Equal(got.encode(nil, prev), b[:size]) {
			t.Fatalf("%x decodes to %+v", b, got)
		}
	})
}

func FuzzDecodeHeader(f *testing.F) {
	good, _ := header{index: 3, first: 9, made: 5, prev: Hash{1}}.encode()
	f.Add(good)
	f.Add(good[:50])
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= headerSize {
			sealHeader(b)
		}
		h, _, err := decodeHeader(b)
		if err != nil {
			return
		}
		if again, _ := h.encode(); !bytes.Equal(again, b[:headerSize]) {
			t.Fatalf("%x decodes to %+v", b, h)
		}
	})
}

// FuzzSegment opens a journal whose only segment is made of any bytes behind a sound header: it opens with a chain
// that verifies, or is an error; it never panics.
func FuzzSegment(f *testing.F) {
	_, first, _ := small(f)
	f.Add(first[headerSize:])
	f.Add(first[headerSize : len(first)-40])
	f.Add(make([]byte, 100))
	f.Fuzz(func(t *testing.T, body []byte) {
		dir := t.TempDir()
		write(t, segmentPath(dir, 1), append(bytes.Clone(first[:headerSize]), body...))
		j, err := Open(t.Context(), dir, Options{})
		if err != nil {
			return
		}
		add(t, j, Event, 1, "")
		if _, err := j.Verify(t.Context()); err != nil {
			t.Fatal(err)
		}
		closeNow(t, j)
	})
}
