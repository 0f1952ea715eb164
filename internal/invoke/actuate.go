package invoke

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	restored  bool // taken up after a restart

	// Under the corridor's lock:
	intent     journal.Seq   // of the intent, once it is on disk
	sent       bool          // something may have left the box
	superseded bool          // an action to the safe side took over
	armedBy    string        // whose consent a critical action used up
	writing    chan struct{} // closed when the writes under way are over; nil when there are none

	supersede context.CancelCauseFunc
	done      chan struct{} // closed when answer is set
	answer    Answer
}

// plannedWrite is one write with its raw form, computed before anything is sent.
type plannedWrite struct {
	step  registry.Step
	ref   string
	value physical.Value
	raw   []byte
	place string // where the point was when it was planned; "" when nobody knows
}

// actuate finds or starts the run of a call and waits for its answer.
func (c *Corridor) actuate(ctx context.Context, req Request, a *registry.Action, params map[string]any) Answer {
	key, err := callKey(req, a)
	if err != nil {
		return c.refuse(req, a, outcome.Refuse(outcome.InvalidParameter, err.Error()))
	}
	writes, refusal := c.plan(a, params)
	if refusal != nil {
		return c.refuse(req, a, refusal)
	}
	r := &run{id: newID(), subject: req.Subject, action: a, args: req.Args, key: key, requestID: req.RequestID, params: params, writes: writes,
		started: time.Now(), done: make(chan struct{})}
	if req.DryRun {
		return c.dryRun(ctx, r)
	}
	c.recallRequest(ctx, r)
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

// maxArgs bounds the arguments of an actuation in bytes of JSON: intent and outcome carry them, and a journal's record has a limit.
const maxArgs = 64 << 10

// callKey identifies equal calls of one subject.
func callKey(req Request, a *registry.Action) (string, error) {
	args, err := json.Marshal(req.Args)
	if err != nil {
		return "", fmt.Errorf("the arguments cannot be written as JSON: %w", err)
	}
	if len(args) > maxArgs {
		return "", fmt.Errorf("the arguments take %d bytes, and %d is the limit", len(args), maxArgs)
	}
	sum := sha256.Sum256(args)
	return req.Subject.ID + " " + a.Name + " " + hex.EncodeToString(sum[:]), nil
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

// start makes r a running invocation; the caller holds the lock. A superseded run that has not begun to write never will; a write
// under way is not cut, but waited for.
func (c *Corridor) start(r *run, superseded []*run) {
	ctx, supersede := context.WithCancelCause(c.ctx)
	r.supersede = supersede
	c.running[r.id] = r
	c.rates.note(r.action.Name, r.started, r.action.Limits.Rate.Per)
	c.records.claim(r.subject.ID, r.requestID, r.id, r.key, r.started)
	var writing []chan struct{}
	for _, other := range superseded {
		other.superseded = true
		other.supersede(errSuperseded)
		if other.writing != nil {
			writing = append(writing, other.writing)
		}
	}
	c.runs.Go(func() {
		defer supersede(nil)
		defer c.rescue(r)
		for _, over := range writing {
			<-over
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
	record, _, ok := c.records.get(id)
	if !ok {
		refusal := outcome.Refuse(outcome.InvalidParameter, fmt.Sprintf("request_id %q belongs to call %s, whose outcome is not at hand", r.requestID, id))
		refusal.Next, refusal.RetrySafe = "ask explain for that call; do not repeat it under another id", false
		return nil, nil, refusal
	}
	record.Answer.Repeated = true
	return &record.Answer, nil, nil
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
		JournalErr: c.Journal.Stats().Failed, Armed: c.armed(r.action)}
	for _, asset := range assetsOf(r.action) {
		if mark, ok := c.Standing.Unsettled(asset); ok && f.Unsettled == nil {
			f.Unsettled = &mark
		}
	}
	return f
}

// plan computes every value and its raw form, so that nothing can fail between two writes for want of a number.
func (c *Corridor) plan(a *registry.Action, params map[string]any) ([]plannedWrite, *outcome.Refusal) {
	var writes []plannedWrite
	for _, s := range a.Steps {
		w := plannedWrite{step: s, ref: s.Point.Point.Ref, place: placeOf(s.Point)}
		if s.Token { // chosen when the machine has been read
			writes = append(writes, w)
			continue
		}
		v, err := s.Value.Value(params)
		if err != nil {
			return nil, outcome.Refuse(outcome.InvalidParameter, fmt.Sprintf("the value for %s cannot be computed: %v", s.Point.Point.Ref, err))
		}
		raw, err := c.machine.Encode(s.Point.Point.Ref, v)
		if err != nil {
			return nil, guard.NoRawValue(s.Point.Point, err)
		}
		w.value, w.raw = v, raw
		writes = append(writes, w)
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
	stopping := c.ctx.Done()
	for {
		select {
		case <-r.done:
			return r.answer
		case <-timer.C:
		case <-ctx.Done():
		case <-stopping: // the next start verifies what was sent, and explain tells; what was not sent ends at once
			if !c.hasSent(r) {
				stopping = nil
				continue
			}
		}
		return c.pending(r)
	}
}

func (c *Corridor) hasSent(r *run) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return r.sent
}

// pending is the answer for a run that has no verdict yet.
func (c *Corridor) pending(r *run) Answer {
	sent := c.hasSent(r)
	a := Answer{Verdict: outcome.Pending, Sent: sent, CommandStanding: sent, Invocation: r.id, Action: r.action.Name, Asset: r.action.Contract.Asset}
	what := "is being prepared"
	if sent {
		what = "was sent and is still being verified"
	}
	a.Summary = fmt.Sprintf("PENDING: %s %s. Do not repeat; follow it with explain %s.", r.action.Name, what, r.id)
	return a
}

// dryRun goes through every gate and shows the frames. It leaves no trace: nothing is leased, counted, written or journalled.
func (c *Corridor) dryRun(ctx context.Context, r *run) Answer {
	c.mu.Lock()
	f := c.static(r, time.Now())
	c.mu.Unlock()
	no := func(refusal *outcome.Refusal) Answer {
		answer := refused(r.id, r.action.Name, r.action, refusal)
		c.log(r.subject.ID, answer)
		return answer
	}
	if refusal := guard.Admit(f); refusal != nil {
		return no(refusal)
	}
	if _, refusal := c.leases.holders(r); refusal != nil {
		return no(refusal)
	}
	readings, alive := gather(ctx, c.machine, r.action)
	if refusal := guard.Permit(c.fresh(r, readings, alive)); refusal != nil {
		return no(refusal)
	}
	if refusal := c.chooseToken(r, readings); refusal != nil {
		return no(refusal)
	}
	show := &DryRun{Frames: []string{}, Gates: []string{"access", "mode " + string(f.Mode), "lockout", "arm", "rate", "concurrency", "health", "settled", "journal", "lease"}}
	for _, p := range r.action.Permits {
		show.Gates = append(show.Gates, "permit "+p.ID+": "+p.When.Source())
	}
	for _, w := range r.writes {
		show.Gates = append(show.Gates, "envelope of "+w.ref)
		frame, err := c.machine.Preview(w.ref, w.value)
		if err != nil {
			return no(guard.NoRawValue(w.step.Point.Point, err))
		}
		show.Frames = append(show.Frames, frame+pulseText(w))
	}
	level := outcome.E0
	answer := Answer{Verdict: outcome.NotExecuted, Level: &level, Invocation: r.id, Action: r.action.Name, Asset: r.action.Contract.Asset, DryRun: show}
	answer.Summary = summarize(answer)
	return answer
}

// pulseText says of a frame what part of a pulse it is.
func pulseText(w plannedWrite) string {
	switch {
	case w.step.Dwell > 0:
		return ", which stands for " + w.step.Dwell.String()
	case w.step.Release:
		return ", the release"
	default:
		return ""
	}
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
