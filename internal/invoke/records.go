package invoke

import (
	"sync"
	"time"

	"capd/internal/outcome"
)

// keepRequests is how long a request_id answers a repeat; keepAnswers is how many answers stay in memory for explain.
const (
	keepRequests = 24 * time.Hour
	keepAnswers  = 1000
)

// Record is everything capd knows of one invocation.
type Record struct {
	Answer  Answer             `json:"answer"`
	Subject string             `json:"subject"`
	Tool    string             `json:"tool,omitempty"`
	Version string             `json:"version,omitempty"`
	Args    map[string]any     `json:"args,omitempty"`
	Samples []outcome.Evidence `json:"samples,omitempty"`
}

type requestEntry struct {
	id, key string
	at      time.Time
}

// records is the memory of ended invocations: the latest answers, and every request_id of the last day.
type records struct {
	mu       sync.Mutex
	byID     map[string]*Record
	order    []string
	requests map[string]requestEntry // subject \x00 request_id
}

func newRecords() *records {
	return &records{byID: map[string]*Record{}, requests: map[string]requestEntry{}}
}

// put keeps a record, and lets the oldest go.
func (m *records) put(r Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := r.Answer.Invocation
	if _, known := m.byID[id]; !known {
		m.order = append(m.order, id)
	}
	m.byID[id] = &r
	if len(m.order) > keepAnswers {
		delete(m.byID, m.order[0])
		m.order = m.order[1:]
	}
}

// claim binds a request_id to an invocation.
func (m *records) claim(subject, requestID, id, key string, at time.Time) {
	if requestID == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[subject+"\x00"+requestID] = requestEntry{id: id, key: key, at: at}
	for k, e := range m.requests {
		if at.Sub(e.at) > keepRequests {
			delete(m.requests, k)
		}
	}
}

// request finds the invocation that a request_id belongs to.
func (m *records) request(subject, requestID string, now time.Time) (id, key string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.requests[subject+"\x00"+requestID]
	return e.id, e.key, ok && now.Sub(e.at) <= keepRequests
}

func (m *records) get(id string) (Record, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.byID[id]
	if !ok {
		return Record{}, false
	}
	return *r, true
}

func (m *records) answer(id string) (Answer, bool) {
	r, ok := m.get(id)
	return r.Answer, ok
}

// amend adds what was learned later.
func (m *records) amend(id string, a Amendment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.byID[id]; ok {
		changed := *r
		changed.Answer.Amendments = append(append([]Amendment(nil), r.Answer.Amendments...), a)
		m.byID[id] = &changed
	}
}

// rates remembers the admitted calls of each action inside its rate window.
type rates struct {
	mu    sync.Mutex
	calls map[string][]time.Time
}

func newRates() *rates { return &rates{calls: map[string][]time.Time{}} }

func (m *rates) note(action string, now time.Time, window time.Duration) {
	if window == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[action] = append(within(m.calls[action], now, window), now)
}

func (m *rates) recent(action string, now time.Time, window time.Duration) []time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]time.Time(nil), within(m.calls[action], now, window)...)
}

func within(calls []time.Time, now time.Time, window time.Duration) []time.Time {
	for len(calls) > 0 && now.Sub(calls[0]) >= window {
		calls = calls[1:]
	}
	return calls
}

// release frees a request_id whose call was refused: nothing happened, so it may be used again.
func (m *records) release(subject, requestID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.requests, subject+"\x00"+requestID)
}
