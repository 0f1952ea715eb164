package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"capd/internal/access"
)

// GuardConfig is what the guard of a door lets through.
type GuardConfig struct {
	AllowedOrigins []string // scheme://host[:port], besides pages of the loopback
	AllowedHosts   []string // host or host:port, besides the loopback's names with the port that is served
	// Authenticate gives the subject of a token's secret, or an error that is shown to the caller.
	Authenticate func(secret string) (access.Subject, error)
	// Local gives the subject of a caller without a token. With it the guard stands at a local socket: no page of a browser has any
	// business there, and the Host header has no meaning but "capd", "localhost" or nothing.
	Local func(context.Context) (access.Subject, error)
	Log   *slog.Logger
}

// guardian is plain HTTP: it knows nothing of MCP.
type guardian struct {
	GuardConfig
	next http.Handler
	now  rate.Sometimes // bounds what refused callers write into the log
}

// Guard puts the checks of Host, Origin and Authorization in front of a handler, which finds the subject with SubjectOf.
// It refuses with 403 a foreign Host (DNS rebinding) or Origin, with 401 a missing or bad token; the body is a JSON-RPC error.
func Guard(c GuardConfig, next http.Handler) http.Handler {
	return &guardian{GuardConfig: c, next: next, now: rate.Sometimes{First: 20, Interval: time.Second}}
}

type subjectKey struct{}

// SubjectOf is the subject that the guard recognised.
func SubjectOf(ctx context.Context) (access.Subject, bool) {
	s, ok := ctx.Value(subjectKey{}).(access.Subject)
	return s, ok
}

func (g *guardian) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	origin := r.Header.Get("Origin")
	f := g.checkHost(r)
	if f == nil {
		f = g.checkOrigin(r, origin)
	}
	if f != nil {
		f.write(w, nil)
		return
	}
	if origin != "" {
		allowOrigin(w.Header(), origin)
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	subject, f := g.authenticate(r)
	if f != nil {
		g.now.Do(func() { g.Log.InfoContext(r.Context(), "caller refused", "reason", f.reason, "remote", r.RemoteAddr) })
		f.write(w, nil)
		return
	}
	// A door for agents never makes a technician, whoever vouches for the caller.
	subject.Technician = false
	g.next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), subjectKey{}, subject)))
}

// checkHost refuses names that a web page could have bound to this address.
func (g *guardian) checkHost(r *http.Request) *failure {
	if g.Local != nil {
		if r.Host == "" || r.Host == "capd" || isLoopbackName(hostOf(r.Host)) {
			return nil
		}
		return foreignHost(r.Host, `send "Host: capd" on the socket`)
	}
	if isLoopbackName(hostOf(r.Host)) && portOf(r.Host, "80") == servedPort(r) || listsHost(g.AllowedHosts, r.Host) {
		return nil
	}
	return foreignHost(r.Host, "call the address that capd listens on, or name this host in mcp.allowed_hosts of capd.yaml")
}

func foreignHost(host, next string) *failure {
	return &failure{status: http.StatusForbidden, code: codeRefused, reason: "host", message: fmt.Sprintf("the Host %q is not a name of this server", clip(host)), next: next}
}

func listsHost(allowed []string, host string) bool {
	host = strings.ToLower(host)
	return slices.Contains(allowed, host) || slices.ContainsFunc(allowed, func(a string) bool {
		_, _, err := net.SplitHostPort(a)
		return err != nil && hostOf(a) == hostOf(host)
	})
}

// checkOrigin refuses web pages that nobody allowed. A program sends no Origin.
func (g *guardian) checkOrigin(r *http.Request, origin string) *failure {
	if origin == "" || slices.Contains(g.AllowedOrigins, strings.ToLower(origin)) {
		return nil
	}
	next := "name this origin in mcp.allowed_origins of capd.yaml, or call from a program"
	if g.Local != nil {
		next = "call from a program"
	} else if u, err := url.Parse(origin); err == nil && isLoopbackName(u.Hostname()) && isLoopbackName(hostOf(r.Host)) {
		return nil // a page of this very computer
	}
	return &failure{status: http.StatusForbidden, code: codeRefused, reason: "origin",
		message: fmt.Sprintf("pages of %q may not call here", clip(origin)), next: next}
}

// allowOrigin answers a browser's question whether an allowed page may read the answer (fetch.spec.whatwg.org, CORS protocol).
func allowOrigin(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Methods", "POST, GET, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name")
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate, Retry-After")
	h.Set("Access-Control-Max-Age", "600")
}

// authenticate finds the subject of a request: by its token, or at a local socket by the user that the kernel names.
func (g *guardian) authenticate(r *http.Request) (access.Subject, *failure) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 && g.Local != nil {
		subject, err := g.Local(r.Context())
		if err != nil {
			return access.Subject{}, unauthorized("local", "", err.Error(), "make a token with: capd token create")
		}
		return subject, nil
	}
	if len(values) == 0 {
		return access.Subject{}, unauthorized("token_missing", "", "this server needs a token, and the request has no Authorization header",
			`make a token with "capd token create" and send "Authorization: Bearer <token>"`)
	}
	scheme, secret, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return access.Subject{}, unauthorized("scheme", "invalid_request", "the Authorization header is not one bearer token",
			`send "Authorization: Bearer <token>" once`)
	}
	subject, err := g.Authenticate(strings.TrimSpace(secret))
	if err != nil {
		return access.Subject{}, unauthorized(tokenReason(err), "invalid_token", err.Error(), "make a new token with: capd token create")
	}
	return subject, nil
}

func tokenReason(err error) string {
	for _, known := range []struct {
		err    error
		reason string
	}{{access.ErrMalformed, "token_malformed"}, {access.ErrUnknown, "token_unknown"}, {access.ErrExpired, "token_expired"}, {access.ErrRevoked, "token_revoked"}} {
		if errors.Is(err, known.err) {
			return known.reason
		}
	}
	return "token"
}

// unauthorized is a 401 with the challenge of RFC 6750, section 3.
func unauthorized(reason, challenge, message, next string) *failure {
	value := `Bearer realm="capd"`
	if challenge != "" {
		value += fmt.Sprintf(`, error=%q, error_description=%q`, challenge, reason)
	}
	return &failure{status: http.StatusUnauthorized, code: codeRefused, reason: reason, message: message, next: next,
		header: http.Header{"Www-Authenticate": {value}}}
}

// hostOf is the name of host[:port] in lower case, without brackets.
func hostOf(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	return strings.ToLower(host)
}

func portOf(hostport, none string) string {
	if _, port, err := net.SplitHostPort(hostport); err == nil {
		return port
	}
	return none
}

// servedPort is the port that the connection came in on.
func servedPort(r *http.Request) string {
	address, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if address == nil {
		return ""
	}
	return portOf(address.String(), "")
}

func isLoopbackName(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// clip bounds what a message repeats of a request.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
