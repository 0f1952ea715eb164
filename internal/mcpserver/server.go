// Package mcpserver is door 1: MCP over HTTP and over a unix socket, revision 2026-07-28 and the older ones on one endpoint, and the
// bridge that carries it to standard input and output.
//
// Its promise: a caller sees and reaches only what the one visibility function permits; what it sees depends on its token and the
// URL alone; every call goes through the corridor and is answered with its verdict; whatever else comes over the wire is answered
// with an error that names the place and the next step. It never decides about a machine, never makes anybody a technician, and
// never keeps or shows the secret of a token.
package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"capd/internal/access"
	"capd/internal/health"
	"capd/internal/inventory"
	"capd/internal/invoke"
	"capd/internal/registry"
)

// Corridor is the way of every call; package invoke has it.
type Corridor interface {
	Call(ctx context.Context, req invoke.Request) invoke.Answer
	Explain(ctx context.Context, s access.Subject, id string, wait time.Duration) (invoke.Record, bool)
	ReadState(ctx context.Context, asset *inventory.Asset, points []*inventory.Point) invoke.Answer
}

// Snapshots gives what is in force now; package registry has it.
type Snapshots interface{ Snapshot() *registry.Snapshot }

// Alarms lists alarms, the newest first; package health has it.
type Alarms interface{ List(all bool) []health.Alarm }

// Config bounds the door. A zero field has the default that its comment gives.
type Config struct {
	Version        string        // of capd, as clients see it; default "dev"
	AllowedOrigins []string      // scheme://host[:port] of web pages that may call, besides pages of the loopback
	AllowedHosts   []string      // host or host:port in the Host header, besides the loopback's names
	MaxTools       int           // up to so many permitted tools are all listed, where the profile says nothing else; default 20
	TopK           int           // of more, so many are listed besides the pinned ones; default 12
	ListBytes      int           // bound of a cut list's JSON, in bytes; default 65536
	BodyLimit      int64         // of a request, in bytes; default 262144
	Rate           float64       // requests per second of one subject; default 200
	Burst          int           // requests at once of one subject, on top of the rate; default 400
	MaxInFlight    int           // open requests of one subject, streams included; default 64
	MaxSessions    int           // sessions of the older revisions in all; default 1024
	SessionsEach   int           // sessions of one subject; default 32
	SessionIdle    time.Duration // after which a session without a stream may make room; default 30 minutes
}

func (c Config) withDefaults() Config {
	c.Version = cmp.Or(c.Version, "dev")
	c.MaxTools, c.TopK, c.ListBytes = cmp.Or(c.MaxTools, 20), cmp.Or(c.TopK, 12), cmp.Or(c.ListBytes, 64<<10)
	c.BodyLimit, c.Rate, c.Burst, c.MaxInFlight = cmp.Or(c.BodyLimit, 256<<10), cmp.Or(c.Rate, 200), cmp.Or(c.Burst, 400), cmp.Or(c.MaxInFlight, 64)
	c.MaxSessions, c.SessionsEach = cmp.Or(c.MaxSessions, 1024), cmp.Or(c.SessionsEach, 32)
	c.SessionIdle = cmp.Or(c.SessionIdle, 30*time.Minute)
	return c
}

// Deps is everything the door works with. Local may be nil: then callers of the socket need a token.
type Deps struct {
	Corridor  Corridor
	Snapshots Snapshots
	Policy    access.Policy
	Alarms    Alarms
	// Authenticate gives the subject of a token's secret, or why there is none; its error is shown to the caller.
	Authenticate func(secret string) (access.Subject, error)
	// Local gives the subject of a user of this computer who calls on the unix socket without a token.
	Local  func(ctx context.Context, uid uint32) (access.Subject, error)
	Log    *slog.Logger
	Config Config
}

func (d Deps) check() error {
	var missing []string
	for _, need := range []struct {
		name string
		ok   bool
	}{{"Corridor", d.Corridor != nil}, {"Snapshots", d.Snapshots != nil}, {"Alarms", d.Alarms != nil},
		{"Authenticate", d.Authenticate != nil}, {"Log", d.Log != nil}} {
		if !need.ok {
			missing = append(missing, need.name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("mcpserver: the door cannot be built without %s", strings.Join(missing, ", "))
	}
	return nil
}

// Server is the door. It is safe for concurrent use.
type Server struct {
	deps     Deps
	config   Config
	sessions *sessions
	streams  *streams
	limits   *limits
	waits    *waits

	state      atomic.Pointer[state]
	publishing sync.Mutex
}

// New builds the door over what is in force now. Later snapshots come through Publish.
func New(d Deps) (*Server, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	s := &Server{deps: d, config: d.Config.withDefaults(), waits: &waits{}}
	s.sessions = newSessions(s.config)
	s.streams = newStreams()
	s.limits = newLimits(s.config)
	s.Publish(d.Snapshots.Snapshot())
	return s, nil
}

// Handler serves /mcp and /mcp/p/<profile> to callers with a token.
func (s *Server) Handler() http.Handler { return s.door(nil) }

// Close ends the event streams and the waiting of every call: a call whose verdict is still open answers pending at once. Requests
// that come later are refused. It does not wait; the http.Server's Shutdown does.
func (s *Server) Close() { s.waits.close() }
