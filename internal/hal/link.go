package hal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"capd/internal/physical"
)

// Idler is a Conn that wants to know when nothing has happened for a while, such as to end an idle connection.
type Idler interface {
	// IdleAfter is how long after a transaction Idle is due; 0 for never. It never changes.
	IdleAfter() time.Duration
	// Idle is called once per quiet period, by the link's worker.
	Idle()
}

// LinkOptions are the limits of a Link. Zero values take the defaults.
type LinkOptions struct {
	Queue      int           // waiting transactions per class (writes, calls, polls); default 64
	BackoffMin time.Duration // first pause of the polls of a silent device; default 500 ms
	BackoffMax time.Duration // longest pause; default 30 s
	Log        *slog.Logger  // default: discard
}

// grace is how long a caller whose deadline has passed waits for the Conn, which has the same deadline, to tell what became of its
// transaction.
const grace = 250 * time.Millisecond

// class is a transaction's place in the order of service.
type class int

const (
	write class = iota
	call
	poll
	classes
)

// Link serves one wire: one transaction at a time, writes first, then calls, then polls, each in the order of arrival. A worker runs
// them, but a read that finds a quick wire idle runs in its caller's goroutine (see Prompt). It is safe for concurrent use.
type Link struct {
	id     string
	conn   Conn
	prompt bool // the Conn is a Prompt that is able to
	o      LinkOptions
	wake   chan struct{} // holds one token when there may be something to do for the worker
	done   chan struct{} // closed when the worker has closed the Conn
	end    error         // of Conn.Close; readable after done

	mu      sync.Mutex
	queue   [classes][]*job
	busy    bool               // somebody uses the Conn: the worker, or a caller for a read of its own
	warm    bool               // the last transaction was answered, and there was no quiet period since
	last    time.Time          // end of the last transaction
	abort   context.CancelFunc // ends the transaction on the wire; nil between transactions
	closing bool
	cut     bool // Close may not wait any more: nothing new reaches the wire
	pauses  pauses
	count   counters
	opened  time.Time
}

// job is one transaction on its way through a Link.
type job struct {
	ctx    context.Context
	class  class
	device string
	at     []Address
	raw    physical.Value

	done    chan struct{} // closed when the fields below are final
	samples []Sample
	ack     Ack
	err     error
}

// NewLink starts the worker of a link. Close ends it.
func NewLink(id string, c Conn, o LinkOptions) *Link {
	if o.Queue <= 0 {
		o.Queue = 64
	}
	if o.BackoffMin <= 0 {
		o.BackoffMin = 500 * time.Millisecond
	}
	if o.BackoffMax < o.BackoffMin {
		o.BackoffMax = max(30*time.Second, o.BackoffMin)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Log = o.Log.With("link", id)
	p, ok := c.(Prompt)
	l := &Link{
		id: id, conn: c, prompt: ok && p.Prompt(), o: o, wake: make(chan struct{}, 1), done: make(chan struct{}),
		pauses: newPauses(o.BackoffMin, o.BackoffMax), count: newCounters(), opened: time.Now(),
	}
	go l.work()
	return l
}

// ID is the link's name in the inventory.
func (l *Link) ID() string { return l.id }

// Read reads points of one device on behalf of a caller: always tried, after writes and before polls. It answers one sample for
// each address, in the same order. at must not change while it runs.
func (l *Link) Read(ctx context.Context, device string, at []Address) []Sample {
	return l.read(ctx, call, device, at)
}

// Poll reads like Read, last in the order of service. While the device is backed off after silence it fails at once with a
// *BackedOffError inside.
func (l *Link) Poll(ctx context.Context, device string, at []Address) []Sample {
	return l.read(ctx, poll, device, at)
}

func (l *Link) read(ctx context.Context, c class, device string, at []Address) []Sample {
	if len(at) == 0 {
		return nil
	}
	if t := l.seize(ctx, device); t != nil {
		return l.readHere(t, device, at)
	}
	j := &job{ctx: ctx, class: c, device: device, at: at, done: make(chan struct{})}
	started := time.Now()
	if err := l.serve(j); err != nil {
		return failed(j, err, started)
	}
	return j.samples
}

// Write sends one raw value once. The error is an *Error: MaySent tells whether the device may have got it. If ctx ends while the
// write is on the wire, the write is completed all the same and its outcome is lost.
func (l *Link) Write(ctx context.Context, device string, at Address, raw physical.Value) (Ack, error) {
	j := &job{ctx: ctx, class: write, device: device, at: []Address{at}, raw: raw, done: make(chan struct{})}
	if err := l.serve(j); err != nil {
		return Ack{}, l.failure(j, err)
	}
	return j.ack, j.err
}

// Preview shows the frames a write would send, when the driver can. It does not wait for the wire: a Previewer has to allow it at
// any time.
func (l *Link) Preview(device string, at Address, raw physical.Value) (string, error) {
	if p, ok := l.conn.(Previewer); ok {
		return p.Preview(device, at, raw)
	}
	return "", fmt.Errorf("link %s shows no frames", l.id)
}

// Close admits nothing more, drops waiting polls, lets writes and calls finish, then closes the Conn. When ctx ends first, the
// transaction on the wire is cut short and the waiting ones fail as not sent.
func (l *Link) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closing = true
	l.discard(poll)
	l.mu.Unlock()
	l.signal()
	select {
	case <-l.done:
		return l.end
	case <-ctx.Done():
	}
	l.mu.Lock()
	for c := range classes {
		l.discard(c)
	}
	l.cut = true
	if l.abort != nil {
		l.abort()
	}
	l.mu.Unlock()
	<-l.done
	return errors.Join(fmt.Errorf("link %s was cut short while draining: %w", l.id, context.Cause(ctx)), l.end)
}

// discard fails the waiting jobs of a class. The caller holds mu.
func (l *Link) discard(c class) {
	for _, j := range l.queue[c] {
		l.finish(j, &Error{Kind: Closed, Err: errClosing})
	}
	l.queue[c] = nil
}

var errClosing = errors.New("the link is closing")

// finish ends a job that never reached the wire.
func (l *Link) finish(j *job, e *Error) {
	err := l.failure(j, e)
	j.err = err
	if j.class != write {
		j.samples = failed(j, err, time.Now())
	}
	close(j.done)
}

// serve queues a job and waits for it. A non-nil error came instead of the Conn's own result.
func (l *Link) serve(j *job) *Error {
	if e := l.admit(j); e != nil {
		return l.failure(j, e)
	}
	select {
	case <-j.done:
		return nil
	case <-j.ctx.Done():
	}
	if l.withdraw(j) {
		return l.failure(j, &Error{Kind: Timeout, Err: fmt.Errorf("gave up while waiting for the link: %w", context.Cause(j.ctx))})
	}
	if j.settles() {
		return nil
	}
	return l.failure(j, &Error{Kind: Timeout, MaySent: true, Err: fmt.Errorf("gave up while the transaction ran: %w", context.Cause(j.ctx))})
}

// settles reports whether the result of a job whose caller's time is up is there, after a grace if a deadline ended the time.
func (j *job) settles() bool {
	select {
	case <-j.done:
		return true
	default:
	}
	if !errors.Is(j.ctx.Err(), context.DeadlineExceeded) {
		return false
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-j.done:
		return true
	case <-timer.C:
		return false
	}
}

func (l *Link) admit(j *job) *Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closing:
		return &Error{Kind: Closed, Err: errClosing}
	case j.ctx.Err() != nil:
		return &Error{Kind: Timeout, Err: context.Cause(j.ctx)}
	case len(l.queue[j.class]) >= l.o.Queue:
		l.count.errors[QueueFull]++
		return &Error{Kind: QueueFull, Err: fmt.Errorf("%d transactions wait on link %s already; try again later", l.o.Queue, l.id)}
	}
	if e := l.pausedPoll(j); e != nil {
		return e
	}
	l.queue[j.class] = append(l.queue[j.class], j)
	if !l.busy { // who uses the Conn looks at the queue in the end
		l.signal()
	}
	return nil
}

// waiting is the number of jobs in the queue. The caller holds mu.
func (l *Link) waiting() int {
	n := 0
	for _, q := range l.queue {
		n += len(q)
	}
	return n
}

// pausedPoll refuses the poll of a backed-off device. The caller holds mu.
func (l *Link) pausedPoll(j *job) *Error {
	if j.class != poll {
		return nil
	}
	return l.pauses.refuse(j.device, time.Now())
}

// withdraw takes a job out of the queue; false when it already left it.
func (l *Link) withdraw(j *job) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.queue[j.class], j)
	if i < 0 {
		return false
	}
	l.queue[j.class] = slices.Delete(l.queue[j.class], i, i+1)
	return true
}

func (l *Link) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// failure completes an error with the job's device and operation.
func (l *Link) failure(j *job, e *Error) *Error {
	if e.Device == "" {
		e.Device = j.device
	}
	if e.Op == "" {
		verb := "read "
		if j.class == write {
			verb = "write "
		}
		e.Op = verb + j.at[0].String()
	}
	return e
}

// failed answers every point of a read with the same error, under its own name.
func failed(j *job, e *Error, started time.Time) []Sample {
	samples := make([]Sample, len(j.at))
	for i, a := range j.at {
		own := *e
		own.Op = "read " + a.String()
		samples[i] = FailedSample(&own, started)
	}
	return samples
}
