package invoke

import (
	"strings"
	"time"

	"capd/internal/health"
	"capd/internal/outcome"
	"capd/internal/verify"
)

// maxSamples bounds the samples that an outcome keeps for explain.
const maxSamples = 200

// concluded says what stands behind an answer.
type concluded struct {
	intended bool // an intent is on disk
	counts   bool // a failure is physical
	act      verify.Act
}

// decided makes an answer of a verification's decision.
func (c *Corridor) decided(r *run, d verify.Decision, sent bool) Answer {
	level := d.Level
	a := Answer{Verdict: d.Verdict, Level: &level, RefutedAt: d.RefutedAt, Sent: sent, AlreadyThere: !sent && d.Verdict == outcome.Confirmed,
		CommandStanding: sent && !d.Absent, Invocation: r.id, Action: r.action.Name, Asset: r.action.Contract.Asset, Evidence: d.Evidence,
		AfterRestart: r.restored && d.Verdict != outcome.Pending}
	if d.Code != outcome.OK {
		a.Reason = &Reason{Code: d.Code, Layer: d.Layer, Message: d.Message, Next: next(d), RetrySafe: retrySafe(r, d)}
	}
	a.Summary = summarize(a)
	return a
}

// retrySafe is true only for an absolute write that is surely not outstanding any more, because everything written reads back otherwise,
// and that nobody else has taken back: two that write against each other help no machine.
func retrySafe(r *run, d verify.Decision) bool {
	return r.action.Absolute && d.Absent && !(d.Code == outcome.VerifyMismatch && d.Layer == outcome.LayerDevice)
}

func next(d verify.Decision) string {
	switch {
	case !d.Absent || d.Code != outcome.VerifyMismatch:
		return outcome.Info(d.Code).Next
	case d.Layer == outcome.LayerExecution:
		return "the command did not reach the machine; it may be asked again"
	default:
		return "find out who or what changed the setpoint before asking again"
	}
}

// conclude ends a run: health and alarms, outcome on disk, lease back, answer out, and a watch where the contract wants one.
func (c *Corridor) conclude(r *run, a Answer, trial *verify.Trial, k concluded) {
	if a.Timings == nil {
		a.Timings = &Timings{}
	}
	a.Timings.Started, a.Timings.TotalMS = r.started, time.Since(r.started).Milliseconds()
	if a.Verdict != outcome.Confirmed {
		c.holds.end(r) // a command that is not confirmed is not re-asserted
	}
	a.TrueUntil, a.Budgets, a.ArmedBy = c.trueUntil(r), c.budgets(r), r.armedBy
	var samples []outcome.Evidence
	if trial != nil {
		samples = trial.Samples(maxSamples)
	}
	switch {
	case k.intended:
		c.consequences(r, a, k)
	case a.AlreadyThere: // a fresh proof of the state, though of no move
		c.settle(r, "confirmed by "+r.id)
	}
	if err := c.record(r, a, samples, k.intended); err != nil {
		c.raise(r, outcome.JournalFailed, "journal", "the outcome of "+r.id+" is not on disk: "+err.Error())
		c.Log.Error("outcome not on disk", "invocation", r.id, "error", err)
		c.leaveOpen(r)
	}
	c.log(r.subject.ID, a)
	c.keepWatch(r, a, k) // before the lease is free: the next command ends it
	c.end(r, a)
}

// end gives back what a run holds and lets its callers have the answer.
func (c *Corridor) end(r *run, a Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, r.id)
	c.needOldest()
	c.leases.release(r)
	r.answer = a
	close(r.done)
}

// consequences draws the breaker, the unsettled mark and the alarm from an outcome. Only physical failures count for the breaker.
func (c *Corridor) consequences(r *run, a Answer, k concluded) {
	name := r.action.Name
	switch a.Verdict {
	case outcome.Confirmed:
		_, err := c.Breakers.Record(name, health.Verification{OK: true, Invocation: r.id})
		c.keep(err)
		c.settle(r, "confirmed by "+r.id)
		return
	case outcome.NotExecuted:
		return
	case outcome.Unknown:
		c.unsettle(r, clip(a.Reason.Message))
	}
	if a.Reason.Code == outcome.Superseded {
		return
	}
	if k.counts {
		tripped, err := c.Breakers.Record(name, health.Verification{Reason: clip(a.Reason.Message), Invocation: r.id})
		c.keep(err)
		if tripped {
			c.raise(r, outcome.Degraded, "degraded", name+" is out of service after failed verifications in a row: "+a.Reason.Message)
		}
	}
	if a.CommandStanding || a.Withdrawal != nil || r.restored {
		c.raise(r, a.Reason.Code, "standing", a.Summary)
	}
}

// settle takes back what earlier calls left open: the state of the assets is proved.
func (c *Corridor) settle(r *run, by string) {
	for _, what := range []string{"standing", "reverted"} {
		c.clear(alarmKey(r.action.Name, what), by)
	}
	if !c.Breakers.State(r.action.Name).Degraded {
		c.clear(alarmKey(r.action.Name, "degraded"), by)
	}
	for _, asset := range assetsOf(r.action) {
		c.keep(c.Standing.Settle(asset, by))
	}
}

// unsettle marks every asset that the action writes, and its own.
func (c *Corridor) unsettle(r *run, why string) {
	for _, asset := range assetsOf(r.action) {
		c.keep(c.Standing.Unsettle(asset, r.id, why))
	}
}

// keep logs a state that could not be kept: the outcome itself is not touched by it.
func (c *Corridor) keep(err error) {
	if err != nil {
		c.Log.Error("state not kept", "error", err)
	}
}

func alarmKey(action, what string) string { return action + "/" + what }

func (c *Corridor) raise(r *run, code outcome.Code, what, text string) {
	_, err := c.Alarms.Raise(health.Alarm{Key: alarmKey(r.action.Name, what), Code: code, Asset: r.action.Contract.Asset, Action: r.action.Name,
		Invocation: r.id, Text: clip(text)})
	c.keep(err)
}

func (c *Corridor) clear(key, by string) {
	_, err := c.Alarms.Clear(key, by)
	c.keep(err)
}

// clip bounds a text for states that are kept for people.
func clip(text string) string { return clipTo(text, 400) }

// clipTo bounds a text that may quote a caller or a device, in bytes.
func clipTo(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// log is the one line that the corridor writes of every call.
func (c *Corridor) log(subject string, a Answer) {
	attrs := []any{"invocation", a.Invocation, "action", a.Action, "asset", a.Asset, "subject", subject, "verdict", a.Verdict}
	if a.Level != nil {
		attrs = append(attrs, "level", a.Level.String())
	}
	if a.Reason != nil {
		attrs = append(attrs, "code", a.Reason.Code, "message", a.Reason.Message)
	}
	c.Log.Info("call", attrs...)
}
