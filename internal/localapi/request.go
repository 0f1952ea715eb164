package localapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"capd/internal/document"
)

// MaxBody is the largest body of a request, in bytes.
const MaxBody = 256 << 10

// writeTime is how long a caller may take to read an answer.
const writeTime = 30 * time.Second

// checkShape refuses what a browser could have sent: a page on the network must not reach the box through somebody's browser.
func checkShape(r *http.Request) *Error {
	if len(r.Header.Values("Origin")) > 0 {
		return problem(Forbidden, "use capd on the command line, or leave the header out", "requests with an Origin header are refused")
	}
	host, _, _ := strings.Cut(r.Host, ":")
	switch strings.ToLower(host) {
	case "", "capd", "localhost":
		return nil
	}
	return problem(Forbidden, "use the Host capd or localhost", "the Host %q is not this socket", clip(r.Host))
}

// clip shortens what a caller gave for a message.
func clip(text string) string {
	const most = 60
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

// body reads the object in a request strictly: take asks for the keys it knows; any other, one that is there twice, a value of the
// wrong kind or a second document is an error that names its place.
func body(r *http.Request, take func(*document.Map)) error {
	raw, err := io.ReadAll(r.Body)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge()
	}
	if err != nil {
		return problem(BadRequest, "", "the body cannot be read: %v", err)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return problem(BadRequest, "send one JSON object", "the body is empty")
	}
	node, problems := document.Parse("body.json", raw)
	if problems.Err() == nil {
		m := document.NewMap(node, &problems)
		take(m)
		m.Done()
	}
	return badBody(problems)
}

// bounded is the body of a request up to its limit. One that is announced to be larger is none: it is refused at once, not when so much
// of it has come.
func bounded(w http.ResponseWriter, req *http.Request) io.ReadCloser {
	if req.ContentLength > MaxBody {
		return http.MaxBytesReader(w, io.NopCloser(bytes.NewReader([]byte{0})), 0) // its first byte is beyond the limit
	}
	return http.MaxBytesReader(w, req.Body, MaxBody)
}

func tooLarge() *Error {
	return problem(TooLarge, "send less", "the body is larger than %d bytes", MaxBody)
}

// badBody makes one problem of a body an error: a key nobody knows before one that is missing, because it often is that one misspelt;
// the others show next time.
func badBody(problems document.Problems) error {
	serious := slices.DeleteFunc(slices.Clone(problems), func(p document.Problem) bool { return p.Warning })
	if len(serious) == 0 {
		return nil
	}
	p := serious[max(0, slices.IndexFunc(serious, func(p document.Problem) bool { return p.Rule == document.RuleUnknownKey }))]
	place := fmt.Sprintf("line %d, column %d of the body", p.Pos.Line, p.Pos.Column)
	if p.Path != "" {
		place += ", " + p.Path
	}
	return problem(BadRequest, p.Hint, "%s: %s", place, p.Message)
}

// none is the take of a body without keys; an empty body is allowed too.
func none(*document.Map) {}

// optional is body for requests that may come without one.
func optional(r *http.Request, take func(*document.Map)) error {
	if r.ContentLength == 0 {
		return nil
	}
	return body(r, take)
}

// query reads the query of a request; keys that are not known are errors, as in bodies.
func query(r *http.Request, known ...string) (map[string]string, error) {
	given := map[string]string{}
	for key, values := range r.URL.Query() {
		found := false
		for _, k := range known {
			found = found || k == key
		}
		switch {
		case !found && len(known) == 0:
			return nil, problem(BadRequest, "leave it out", "the parameter %q is not known here", clip(key))
		case !found:
			next := "known are " + strings.Join(known, ", ")
			if near := document.Suggest(key, known); near != "" {
				next = "did you mean " + near + "?"
			}
			return nil, problem(BadRequest, next, "the parameter %q is not known here", clip(key))
		case len(values) > 1:
			return nil, problem(BadRequest, "give it once", "the parameter %s is there %d times", key, len(values))
		}
		given[key] = values[0]
	}
	return given, nil
}

// number reads a whole number of a query, from 0 to most.
func number(given map[string]string, key string, absent, most int) (int, error) {
	text, ok := given[key]
	if !ok {
		return absent, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, problem(BadRequest, fmt.Sprintf("give a whole number from 0 to %d", most), "%s is %q", key, clip(text))
	}
	return n, nil
}

// flag reads a yes or no of a query: 1, true, 0 or false.
func flag(given map[string]string, key string) (bool, error) {
	switch given[key] {
	case "", "0", "false":
		return false, nil
	case "1", "true":
		return true, nil
	}
	return false, problem(BadRequest, "give 1 or 0", "%s is %q", key, clip(given[key]))
}
