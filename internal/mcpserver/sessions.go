package mcpserver

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// sessions remembers who opened a session of the older revisions. mcp-go checks neither the owner of a session nor, on GET and
// DELETE, that it exists; so the door asks here first.
type sessions struct {
	most, each int
	idle       time.Duration

	mu  sync.Mutex
	all map[string]*session
}

type session struct {
	owner string // subject id
	last  time.Time
	open  int // event streams
}

func newSessions(c Config) *sessions {
	return &sessions{most: c.MaxSessions, each: c.SessionsEach, idle: c.SessionIdle, all: map[string]*session{}}
}

var errNoSession = errors.New("there is no such session")

// ResolveSessionIdManager gives mcp-go the sessions of a request's caller. Without a caller, it is the door that cleans up.
func (s *sessions) ResolveSessionIdManager(r *http.Request) server.SessionIdManager {
	if r != nil {
		if c := callerOf(r.Context()); c != nil {
			return ownSessions{s, c.subject.ID}
		}
	}
	return ownSessions{s, ""}
}

type ownSessions struct {
	*sessions
	owner string
}

// Generate opens a session.
func (s ownSessions) Generate() string {
	raw := make([]byte, 16)
	rand.Read(raw) // never fails, crypto/rand
	id := hex.EncodeToString(raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[id] = &session{owner: s.owner, last: time.Now()}
	return id
}

// Validate looks whether a session is open.
func (s ownSessions) Validate(id string) (bool, error) {
	if !s.owns(s.owner, id) {
		return false, errNoSession
	}
	return false, nil
}

// Terminate ends a session.
func (s ownSessions) Terminate(id string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, id)
	return false, nil
}

// owns reports whether a session is open and belongs to a subject, and notes that it is in use.
func (s *sessions) owns(owner, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[id]
	if one == nil || one.owner != owner {
		return false
	}
	one.last = time.Now()
	return true
}

// listen notes that an event stream of a session is open; the function it gives notes the end.
func (s *sessions) listen(id string) (done func()) {
	s.count(id, 1)
	return func() { s.count(id, -1) }
}

func (s *sessions) count(id string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[id]; one != nil {
		one.open += n
		one.last = time.Now()
	}
}

// surplus lists the sessions to end so that an owner may open one more: those that have idled too long, and then the ones used
// least lately, of this owner or of all.
func (s *sessions) surplus(owner string, now time.Time) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var own, others, ended []string
	for id, one := range s.all {
		switch {
		case one.open == 0 && now.Sub(one.last) > s.idle:
			ended = append(ended, id)
		case one.owner == owner:
			own = append(own, id)
		default:
			others = append(others, id)
		}
	}
	ended, own = s.oldest(ended, own, len(own)-s.each+1)
	ended, _ = s.oldest(ended, append(own, others...), len(own)+len(others)-s.most+1)
	return ended
}

// oldest moves the n least lately used of some sessions to those that end; the caller holds the lock.
func (s *sessions) oldest(ended, some []string, n int) (moreEnded, rest []string) {
	if n <= 0 {
		return ended, some
	}
	slices.SortFunc(some, func(a, b string) int {
		x, y := s.all[a], s.all[b]
		return cmp.Or(cmp.Compare(min(x.open, 1), min(y.open, 1)), x.last.Compare(y.last), cmp.Compare(a, b))
	})
	return append(ended, some[:n]...), some[n:]
}
