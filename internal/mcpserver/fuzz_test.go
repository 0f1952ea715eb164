package mcpserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func FuzzMessage(f *testing.F) {
	for _, body := range []string{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`{"jsonrpc":"2.0","id":"x","result":{}}`, `{"jsonrpc":"2.0","method":"m","params":[1]}`, `{"id":{}}`, `[]`, `{`, "\n\n{\"a\":x}", `{"jsonrpc":"2.0","id":1,"METHOD":"m"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":[1e400,-1e999 , 9]}}}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, failure := parseMessage(http.Header{}, body)
		if failure == nil {
			failure = strictlySound(t, body)
		}
		if m.id != nil && !json.Valid(m.id) {
			t.Errorf("an id that is not JSON: %q", m.id)
		}
		if failure == nil {
			if !json.Valid(body) || m.method == "" && m.id == nil {
				t.Errorf("%q is taken as %+v", body, m)
			}
			return
		}
		if raw, err := json.Marshal(failure.body(m.id)); err != nil || failure.status < 400 || failure.message == "" || len(raw) > 4096 {
			t.Errorf("%q: %v, status %d, %d bytes: %s", body, err, failure.status, len(raw), raw)
		}
	})
}

// strictlySound is strictly, whose huge numbers must leave a body that is JSON again and holds none.
func strictlySound(t *testing.T, body []byte) *failure {
	huge, failure := strictly(body)
	if failure != nil || len(huge) == 0 {
		return failure
	}
	_, plain := readable(&http.Request{}, body, huge)
	if again, failure := strictly(plain); !json.Valid(plain) || failure != nil || len(again) > 0 {
		t.Errorf("%q became %q: %v, %d huge numbers", body, plain, failure, len(again))
	}
	return nil
}

func FuzzArguments(f *testing.F) {
	for _, raw := range []string{`{"opening":60.0}`, `{"a":{"b":[1e300,-0]}}`, `null`, `[1]`, `{"a":1e999}`, `{"a":0.` + strings.Repeat("0", 500) + `1}`, ``} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		args, refusal := decodeArguments(raw)
		if refusal != nil {
			if refusal.Message == "" {
				t.Error("a refusal without a word")
			}
			return
		}
		once, err := json.Marshal(args)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		again, refusal := decodeArguments(once)
		if refusal != nil {
			t.Fatalf("%s is refused the second time: %v", once, refusal)
		}
		if twice, err := json.Marshal(again); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("two spellings: %s and %s", once, twice)
		}
	})
}

func FuzzEvents(f *testing.F) {
	for _, stream := range []string{"event: message\ndata: {}\n\n", "data: a\ndata: b\n\n", "data:", ":\n\n\n", "data: {}\r\n\r\n"} {
		f.Add([]byte(stream))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		given := 0
		err := readEvents(bytes.NewReader(stream), func(data []byte) { given += len(data) })
		if given > len(stream) {
			t.Errorf("%d bytes of data in %d bytes, error %v", given, len(stream), err)
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\n"))
	f.Add([]byte("no end"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var got []byte
		for l := range readLines(t.Context(), bytes.NewReader(in)) {
			got = append(got, l.text...)
		}
		if !bytes.Equal(got, in) {
			t.Errorf("%q became %q", in, got)
		}
	})
}
