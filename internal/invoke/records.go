package invoke

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"capd/internal/outcome"
)

// keepRequests is how long a request_id answers a repeat. The others bound what memory keeps of calls: outcomes, refusals, and the
// outcomes that keep their samples; the journal has the rest.
const (
	keepRequests = 24 * time.Hour
	keepOutcomes = 1000
	keepRefusals = 200
	keepSamples  = 50
)

// Record is everything capd knows of one invocation.
type Record struct {
	Answer  Answer             `json:"answer"`
	Subject string             `json:"subject"`
	Name    string             `json:"subject_name,omitempty"` // of the subject, when it called
	Tool    string             `json:"tool,omitempty"`
	Version string             `json:"version,omitempty"`
	Args    map[string]any     `json:"args,omitempty"`
	Samples []outcome.Evidence `json:"samples,omitempty"`
}

// By is who called, for people.
func (r Record) By() string { return cmp.Or(r.Name, r.Subject) }

type requestEntry struct {
	id, key string
	at      time.Time
}

// entry is a record in memory.
type entry struct {
	Record
	number  uint64 // rises with each record
	trimmed bool   // its samples are in the journal alone
}

// records is the memory of ended invocations: the latest outcomes, the latest refusals, which push out no outcome, and every
// request_id of the last day.
type records struct {
	mu       sync.Mutex
	byID     map[string]*entry
	latest   uint64
	outcomes []string                // oldest first
	refusals []string                // oldest first
	requests map[string]requestEntry // subject \x00 request_id
}

func newRecords() *records {
	return &records{byID: map[string]*entry{}, requests: map[string]requestEntry{}}
}

// put keeps a record, and lets the oldest of its kind go.
func (m *records) put(r Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := r.Answer.Invocation
	m.latest++
	if _, known := m.byID[id]; known {
		m.byID[id].Record, m.byID[id].trimmed = r, false
		return
	}
	m.byID[id] = &entry{Record: r, number: m.latest}
	if r.Answer.Verdict == outcome.NotExecuted {
		m.refusals = m.push(m.refusals, id, keepRefusals)
		return
	}
	m.outcomes = m.push(m.outcomes, id, keepOutcomes)
	if n := len(m.outcomes) - keepSamples; n > 0 {
		if old := m.byID[m.outcomes[n-1]]; len(old.Samples) > 0 {
			old.Samples, old.trimmed = nil, true
		}
	}
}

// push adds an id to a list and forgets what no longer fits. The caller holds mu.
func (m *records) push(list []string, id string, most int) []string {
	list = append(list, id)
	for len(list) > most {
		delete(m.byID, list[0])
		list = list[1:]
	}
	return list
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

// get finds a record; whole is false when its samples are in the journal alone.
func (m *records) get(id string) (r Record, whole, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.byID[id]
	if !ok {
		return Record{}, false, false
	}
	return e.Record, !e.trimmed, true
}

// recent lists the latest records, newest first.
func (m *records) recent(limit int) []Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	limit = max(0, min(limit, len(m.byID)))
	all := make([]*entry, 0, 2*limit)
	for _, list := range [][]string{m.outcomes, m.refusals} {
		for _, id := range list[max(0, len(list)-limit):] {
			all = append(all, m.byID[id])
		}
	}
	slices.SortFunc(all, func(a, b *entry) int { return cmp.Compare(b.number, a.number) })
	var out []Record
	for _, e := range all[:min(limit, len(all))] {
		out = append(out, e.Record)
	}
	return out
}

// amend adds what was learned later.
func (m *records) amend(id string, a Amendment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.byID[id]; ok {
		e.Answer.Amendments = append(slices.Clone(e.Answer.Amendments), a)
	}
}

// release frees a request_id whose call was refused: nothing happened, so it may be used again.
func (m *records) release(subject, requestID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.requests, subject+"\x00"+requestID)
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
