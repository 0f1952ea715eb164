package invoke

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"capd/internal/access"
	"capd/internal/guard"
	"capd/internal/journal"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/registry"
)

// run is one actuation, from admission to its outcome.
type run struct {
	id        string
	subject   access.Subject
	action    *registry.Action
	args      map[string]any
	key       string // identity of an equal call
	requestID string
	params    map[string]any
	writes    []plannedWrite
	started   time.Time
	restored  bool        // taken up after a restart
	intent    journal.Seq // of the intent, once it is on disk

	supersede context.CancelCauseFunc
	acting    chan struct{} // closed when the act is over
	done      chan struct{} // closed when answer is set
	answer    Answer
}

// plannedWrite is one write with its raw form, computed before anything is sent.
type plannedWrite struct {
	step  registry.Step
	ref   string
	value physical.Value
	raw   []byte
}

// actuate finds or starts the run of a call and waits for its answer.
func (c *Corridor) actuate(ctx context.Context, req Request, a *registry.Action, params map[string]any) Answer {
	key, err := callKey(req, a)
	if err != nil {
		return c.refuse(req, a, outcome.Refuse(outcome.InvalidParameter, "the arguments cannot be written as JSON: "+err.Error()))
	}
	writes, refusal := c.plan(a, params)
	if refusal != nil {
		return c.refuse(req, a, refusal)
	}
	r := &run{id: newID(), subject: req.Subject, action: a, args: req.Args, key: key, requestID: req.RequestID, params: params, writes: writes,
		started: time.Now(), acting: make(chan struct{}), done: make(chan struct{})}
	if req.DryRun {
		return c.dryRun(ctx, req, r)
	}
	found, attached, refusal := c.begin(r)
	switch {
	case refusal != nil:
		return c.refuse(req, a, refusal)
	case found != nil:
		return *found
	case attached != nil:
		answer := c.await(ctx, attached)
		answer.Attached = true
		return answer
	}
	return c.await(ctx, r)
}

// callKey identifies equal calls of one subject.
func callKey(req Request, a *registry.Action) (string, error) {
	args, err := json.Marshal(req.Args)
	return req.Subject.ID + "\x00" + a.Name + "\x00" + string(args), err
}

// begin admits a run and starts it, or finds what already answers the call: the recorded outcome of its request_id, or an equal
// call in flight. All three are decided under one lock, so that two equal calls cannot both start.
func (c *Corridor) begin(r *run) (found *Answer, attached *run, refusal *outcome.Refusal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.requestID != "" {
		found, running, refusal := c.byRequestID(r)
		if found != nil || running != nil || refusal != nil {
			return found, running, refusal
		}
	}
	for _, other := range c.running {
		if other.key == r.key && (r.requestID == "" || other.requestID == r.requestID) {
			return nil, other, nil
		}
	}
	if c.closing {
		return nil, nil, outcome.Refuse(outcome.Busy, "capd is stopping; nothing new is begun")
	}
	if refusal := c.admit(r); refusal != nil {
		return nil, nil, refusal
	}
	superseded, refusal := c.leases.take(r)
	if refusal != nil {
		return nil, nil, refusal
	}
	c.start(r, superseded)
	return nil, nil, nil
}

// start makes r a running invocation; the caller holds the lock.
func (c *Corridor) start(r *run, superseded []*run) {
	ctx, supersede := context.WithCancelCause(c.ctx)
	r.supersede = supersede
	c.running[r.id] = r
	c.rates.note(r.action.Name, r.started, r.action.Limits.Rate.Per)
	c.records.claim(r.subject.ID, r.requestID, r.id, r.key, r.started)
	for _, other := range superseded {
		other.supersede(errSuperseded)
	}
	c.runs.Go(func() {
		defer supersede(nil)
		for _, other := range superseded {
			<-other.acting // a write under way is never cut
		}
		c.execute(ctx, r)
	})
}

// byRequestID answers a repeat from the records. With other arguments the id is refused.
func (c *Corridor) byRequestID(r *run) (*Answer, *run, *outcome.Refusal) {
	id, key, ok := c.records.request(r.subject.ID, r.requestID, time.Now())
	if !ok {
		return nil, nil, nil
	}
	if key != r.key {
		return nil, nil, outcome.Refuse(outcome.InvalidParameter,
			fmt.Sprintf("request_id %q was already used for another call (%s); use a new id", r.requestID, id))
	}
	if running := c.running[id]; running != nil {
		return nil, running, nil
	}
	answer, ok := c.records.answer(id)
	if !ok {
		return nil, nil, outcome.Refuse(outcome.InvalidParameter, fmt.Sprintf("request_id %q belongs to call %s, whose outcome is being decided; ask explain", r.requestID, id))
	}
	answer.Repeated = true
	return &answer, nil, nil
}

func (c *Corridor) admit(r *run) *outcome.Refusal {
	return guard.Admit(c.static(r, time.Now()))
}

// static gathers the facts of the first gate; the caller holds the lock.
func (c *Corridor) static(r *run, now time.Time) guard.Static {
	running := 0
	for _, other := range c.running {
		if other.action.Name == r.action.Name {
			running++
		}
	}
	f := guard.Static{Now: now, Subject: r.subject, Action: r.action, Visible: true, Mode: c.Standing.Mode().Mode, Lockouts: c.lockouts(r.action),
		Calls: c.rates.recent(r.action.Name, now, r.action.Limits.Rate.Per), Running: running, Health: c.Breakers.State(r.action.Name),
		JournalErr: c.Journal.Stats().Failed}
	if mark, ok := c.Standing.Unsettled(r.action.Contract.Asset); ok {
		f.Unsettled = &mark
	}
	return f
}

// plan computes every value and its raw form, so that nothing can fail between two writes for want of a number.
func (c *Corridor) plan(a *registry.Action, params map[string]any) ([]plannedWrite, *outcome.Refusal) {
	var writes []plannedWrite
	for _, s := range a.Steps {
		v, err := s.Value.Value(params)
		if err != nil {
			return nil, outcome.Refuse(outcome.InvalidParameter, fmt.Sprintf("the value for %s cannot be computed: %v", s.Point.Point.Ref, err))
		}
		raw, err := c.machine.Encode(s.Point.Point.Ref, v)
		if err != nil {
			return nil, outcome.Refuse(outcome.OutOfRange, err.Error())
		}
		writes = append(writes, plannedWrite{step: s, ref: s.Point.Point.Ref, value: v, raw: raw})
	}
	return writes, nil
}

// await waits for a run's answer as long as the caller and the contract want to wait; then the answer is pending.
func (c *Corridor) await(ctx context.Context, r *run) Answer {
	limit := r.action.AnswerIn
	if c.AnswerWithin > 0 {
		limit = min(limit, c.AnswerWithin)
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-r.done:
		return r.answer
	case <-timer.C:
	case <-ctx.Done():
	case <-c.ctx.Done(): // capd stops: the next start verifies, and explain tells
	}
	return r.pending()
}

func (r *run) pending() Answer {
	a := Answer{Verdict: outcome.Pending, Invocation: r.id, Action: r.action.Name, Asset: r.action.Contract.Asset}
	a.Summary = fmt.Sprintf("PENDING: %s is still being verified. Do not repeat; follow it with explain %s.", r.action.Name, r.id)
	return a
}

// dryRun goes through every gate and shows the frames; nothing is leased, written or journalled as an intent.
func (c *Corridor) dryRun(ctx context.Context, req Request, r *run) Answer {
	c.mu.Lock()
	f := c.static(r, time.Now())
	c.mu.Unlock()
	if refusal := guard.Admit(f); refusal != nil {
		return c.refuse(req, r.action, refusal)
	}
	readings, alive := gather(ctx, c.machine, r.action)
	if refusal := guard.Permit(c.fresh(r, readings, alive)); refusal != nil {
		return c.refuse(req, r.action, refusal)
	}
	show := &DryRun{Gates: []string{"access", "mode " + string(f.Mode), "lockout", "arm", "rate", "concurrency", "health", "settled", "journal"}}
	for _, p := range r.action.Permits {
		show.Gates = append(show.Gates, "permit "+p.ID+": "+p.When.Source())
	}
	for _, w := range r.writes {
		show.Gates = append(show.Gates, "envelope of "+w.ref)
		frame, err := c.machine.Preview(w.ref, w.value)
		if err != nil {
			return c.refuse(req, r.action, outcome.Refuse(outcome.OutOfRange, err.Error()))
		}
		show.Frames = append(show.Frames, frame)
	}
	level := outcome.E0
	answer := Answer{Verdict: outcome.NotExecuted, Level: &level, Invocation: r.id, Action: r.action.Name, Asset: r.action.Contract.Asset, DryRun: show}
	answer.Summary = summarize(answer)
	return answer
}

// standsAlready reports whether every written point already reads the raw value asked for.
func standsAlready(writes []plannedWrite, readings map[string]physical.Reading) bool {
	for _, w := range writes {
		if r := readings[w.ref]; !r.Good() || !bytes.Equal(r.Raw, w.raw) {
			return false
		}
	}
	return len(writes) > 0
}
