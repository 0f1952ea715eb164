// Package invoke is the corridor: every call of every door goes through it, from admission to the outcome on disk.
//
// Its promise: the gates in their order; the intent on disk before anything is sent; each write sent once; the act and its
// verification detached from the caller; an outcome on disk for every intent, after a crash too, without sending anything again.
// It never answers "done" without the evidence of package verify, and it knows no protocol.
package invoke

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"capd/internal/access"
	"capd/internal/document"
	"capd/internal/guard"
	"capd/internal/hal"
	"capd/internal/health"
	"capd/internal/journal"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/registry"
	"capd/internal/standing"
)

// Machine is the plant as the corridor needs it; package field is one.
type Machine interface {
	// Read reads every point afresh.
	Read(ctx context.Context, refs []string) map[string]physical.Reading
	// ReadCached answers from readings not older than maxAge, else afresh.
	ReadCached(ctx context.Context, refs []string, maxAge time.Duration) map[string]physical.Reading
	// Write sends one value once. The error is a *hal.Error, or says why the value cannot be written at all.
	Write(ctx context.Context, ref string, v physical.Value) (hal.Ack, error)
	// Encode is the raw form that a write would have; Preview is its frame as text. Neither does I/O.
	Encode(ref string, v physical.Value) ([]byte, error)
	Preview(ref string, v physical.Value) (string, error)
}

// Snapshots gives what is in force now.
type Snapshots interface{ Snapshot() *registry.Snapshot }

// Deps is everything the corridor works with.
type Deps struct {
	Snapshots    Snapshots
	Machine      Machine
	Journal      Journal
	Policy       access.Policy
	Standing     *standing.Standing
	Breakers     *health.Breakers
	Alarms       *health.Alarms
	Log          *slog.Logger
	AnswerWithin time.Duration // how long a call waits at most before it answers pending; 0 is the contract's own time
}

// Corridor runs calls.
type Corridor struct {
	Deps
	machine Machine
	leases  *leases
	records *records
	rates   *rates
	vigils  *vigils
	holds   *holds

	ctx       context.Context // ends verifications when the corridor closes
	stop      context.CancelFunc
	mu        sync.Mutex
	closing   bool
	abandoned journal.Seq     // the oldest intent whose run a defect ended; 0 for none
	running   map[string]*run // by invocation
	recalling chan struct{}   // holds one token while the journal is searched
	acts      sync.WaitGroup  // writes under way
	runs      sync.WaitGroup  // whole runs
}

// New makes a corridor. The context bounds everything that it runs in the background.
func New(ctx context.Context, d Deps) *Corridor {
	ctx, stop := context.WithCancel(ctx)
	return &Corridor{Deps: d, machine: d.Machine, leases: newLeases(), records: newRecords(), rates: newRates(), vigils: newVigils(), holds: newHolds(),
		ctx: ctx, stop: stop, running: map[string]*run{}, recalling: make(chan struct{}, 1)}
}

func newID() string {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.NewString() // the clock or the entropy failed: a random id is still unique
	}
	return id.String()
}

// Call runs one call and answers. The caller's context ends only the caller's waiting.
func (c *Corridor) Call(ctx context.Context, req Request) (answer Answer) {
	defer c.answerDefect(req, &answer)
	a := c.Snapshots.Snapshot().Action(req.Action)
	if a == nil {
		return c.refuse(req, nil, unknownAction(req.Action, c.Visible(req.Subject, req.Profile)))
	}
	if ok, rule := guard.Visible(c.Policy, req.Subject, req.Profile, a); !ok {
		return c.refuse(req, a, guard.Admit(guard.Static{Subject: req.Subject, Action: a, Rule: rule}))
	}
	params, refusal := a.Params.Check(req.Args)
	if refusal != nil {
		return c.refuse(req, a, refusal)
	}
	if !a.Moves() {
		return c.read(ctx, a)
	}
	return c.actuate(ctx, req, a, params)
}

// Visible lists the actions that a subject may see, by name: the one view that lists, find_tools and calls share.
func (c *Corridor) Visible(s access.Subject, p *access.Profile) []*registry.Action {
	var out []*registry.Action
	for _, a := range c.Snapshots.Snapshot().Actions {
		if ok, _ := guard.Visible(c.Policy, s, p, a); ok {
			out = append(out, a)
		}
	}
	return out
}

func unknownAction(name string, visible []*registry.Action) *outcome.Refusal {
	names := make([]string, len(visible))
	for i, a := range visible {
		names[i] = a.Name
	}
	text := fmt.Sprintf("there is no tool %q", clipTo(name, 100))
	if near := document.Suggest(name, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	r := outcome.Refuse(outcome.InvalidParameter, text)
	r.Next = "search with find_tools"
	return r
}

// refuse answers a call that was not carried out, and notes it.
func (c *Corridor) refuse(req Request, a *registry.Action, r *outcome.Refusal) Answer {
	answer := refused(newID(), req.Action, a, r)
	c.note(req, answer)
	return answer
}

func refused(id, name string, a *registry.Action, r *outcome.Refusal) Answer {
	r.Message = clipTo(r.Message, 1000) // it may quote what a caller sent
	level := outcome.E0
	answer := Answer{Verdict: outcome.NotExecuted, Level: &level, Invocation: id, Action: clipTo(name, 100), Reason: reasonOf(r)}
	if a != nil {
		answer.Asset = a.Contract.Asset
	}
	answer.Summary = summarize(answer)
	return answer
}

// Close ends the corridor: it admits nothing new, waits for writes under way until ctx ends, and lets verifications go; the next
// start takes them up again from their intents.
func (c *Corridor) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	done := make(chan struct{})
	go func() {
		c.acts.Wait()
		c.stop()
		c.runs.Wait()
		c.vigils.wait()
		c.holds.wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	c.stop() // a pulse that still stands is released now
	last := time.NewTimer(lastWords)
	defer last.Stop()
	select {
	case <-done:
		return nil
	case <-last.C:
		return fmt.Errorf("invoke: writes were still under way when the time to stop was over: %w", ctx.Err())
	}
}

// lastWords is how long the releases of pulses may take after the time to stop is over.
const lastWords = 2 * time.Second
