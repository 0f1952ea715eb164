package invoke

import (
	"fmt"
	"runtime/debug"

	"capd/internal/hal"
	"capd/internal/outcome"
)

// rescue, deferred, ends a run whose code panicked. The daemon goes on; the caller is told INTERNAL; and an intent that is on disk
// stays open, so that the next start verifies what the machine did.
func (c *Corridor) rescue(r *run) {
	cause := recover()
	if cause == nil {
		return
	}
	c.Log.Error("a defect of capd", "invocation", r.id, "action", r.action.Name, "cause", cause, "stack", string(debug.Stack()))
	sent := c.hasSent(r)
	a := refused(r.id, r.action.Name, r.action, outcome.Refuse(outcome.Internal, "capd failed before anything was sent"))
	if sent {
		a = defect(r.id, r.action.Name, "capd failed while it acted or verified; the command may have been sent")
		a.Asset, a.Level, a.Sent, a.CommandStanding, a.AfterRestart = r.action.Contract.Asset, new(outcome.E0), true, true, r.restored
		a.Summary = summarize(a)
	}
	c.holds.end(r)
	c.records.put(Record{Answer: a, Subject: r.subject.ID, Name: r.subject.Name, Tool: r.action.Contract.Tool, Version: r.action.Contract.Version.String(), Args: r.args})
	if sent {
		c.unsettle(r, "a defect of capd")
		c.raise(r, outcome.Internal, "standing", a.Summary)
	} else {
		c.records.release(r.subject.ID, r.requestID)
	}
	c.log(r.subject.ID, a)
	c.abandon(r, a)
}

// abandon ends a run without an outcome on disk.
func (c *Corridor) abandon(r *run, a Answer) {
	c.mu.Lock()
	if r.writing != nil {
		close(r.writing)
		r.writing = nil
		c.acts.Done()
	}
	ended := c.running[r.id] != r
	c.mu.Unlock()
	c.leaveOpen(r)
	if !ended {
		c.end(r, a)
	}
}

// leaveOpen keeps the intent of a run without an outcome on disk in the journal, for the next start.
func (c *Corridor) leaveOpen(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.intent > 0 && (c.abandoned == 0 || r.intent < c.abandoned) {
		c.abandoned = r.intent
	}
}

// survive, deferred, keeps a panic of work in the background from ending the daemon.
func (c *Corridor) survive(what, invocation string) {
	if cause := recover(); cause != nil {
		c.Log.Error("a defect of capd", "in", what, "invocation", invocation, "cause", cause, "stack", string(debug.Stack()))
	}
}

// safely runs one piece of work whose defects must not end what it belongs to. After one nobody knows what was sent.
func safely(work func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &hal.Error{Kind: hal.Protocol, MaySent: true, Err: fmt.Errorf("a defect of capd: %v", cause)}
		}
	}()
	return work()
}

// answerDefect, deferred, answers a call whose code panicked in the caller's own goroutine.
func (c *Corridor) answerDefect(req Request, a *Answer) {
	cause := recover()
	if cause == nil {
		return
	}
	c.Log.Error("a defect of capd", "action", req.Action, "subject", req.Subject.ID, "cause", cause, "stack", string(debug.Stack()))
	*a = defect(newID(), req.Action, "capd failed while it answered")
}

// defect is the answer of a capd that failed: nothing is known, and nothing may be repeated on its word.
func defect(id, action, text string) Answer {
	r := outcome.Refuse(outcome.Internal, text)
	r.Next, r.RetrySafe = "read the state before anything else, and report this with the invocation", false
	a := Answer{Verdict: outcome.Unknown, Invocation: id, Action: clipTo(action, 100), Reason: reasonOf(r)}
	a.Summary = summarize(a)
	return a
}
