package mcpserver

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limits bounds what one subject may ask for: requests in time, and requests open at once.
type limits struct {
	rate     rate.Limit
	burst    int
	inFlight int

	mu   sync.Mutex
	each map[string]*allowance // by subject id
}

type allowance struct {
	bucket *rate.Limiter
	open   int
	last   time.Time
}

func newLimits(c Config) *limits {
	return &limits{rate: rate.Limit(c.Rate), burst: c.Burst, inFlight: c.MaxInFlight, each: map[string]*allowance{}}
}

// manySubjects is when allowances that are full again are forgotten.
const manySubjects = 1024

// enter takes one request in; leave must be called when it ends, if there is no failure.
func (l *limits) enter(subject string, now time.Time) (leave func(), f *failure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(subject, now)
	if a.open >= l.inFlight {
		return nil, tooMany("open_requests", time.Second, fmt.Sprintf("%d requests of this caller are open, which is the limit", a.open), "wait for their answers")
	}
	reserved := a.bucket.ReserveN(now, 1)
	if delay := reserved.DelayFrom(now); delay > 0 {
		reserved.CancelAt(now)
		return nil, tooMany("rate", delay, fmt.Sprintf("this caller sends more than %g requests per second", float64(l.rate)), "slow down; Retry-After says when")
	}
	a.open++
	return func() { l.leave(a) }, nil
}

func (l *limits) leave(a *allowance) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.open--
}

// of finds a subject's allowance; the caller holds the lock.
func (l *limits) of(subject string, now time.Time) *allowance {
	a := l.each[subject]
	if a == nil {
		if len(l.each) >= manySubjects {
			l.forget(now)
		}
		a = &allowance{bucket: rate.NewLimiter(l.rate, l.burst)}
		l.each[subject] = a
	}
	a.last = now
	return a
}

// forget drops the allowances that nobody has used until they were full again.
func (l *limits) forget(now time.Time) {
	full := time.Duration(float64(l.burst)/float64(l.rate)*float64(time.Second)) + time.Minute
	for id, a := range l.each {
		if a.open == 0 && now.Sub(a.last) > full {
			delete(l.each, id)
		}
	}
}

func tooMany(reason string, retry time.Duration, message, next string) *failure {
	return &failure{status: http.StatusTooManyRequests, code: codeRefused, reason: reason, message: message, next: next, retry: max(retry, time.Second)}
}
