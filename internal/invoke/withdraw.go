package invoke

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"capd/internal/contract"
	"capd/internal/outcome"
	"capd/internal/registry"
)

// Withdrawal is what became of the steps that take back a command which was not confirmed.
type Withdrawal struct {
	Done bool   `json:"done"` // every step was written and reads back
	Text string `json:"text"`
}

// mustWithdraw reports whether a command stands that its contract wants taken back. After a restart nothing is: the machine may have
// moved on, and only a person knows.
func mustWithdraw(r *run, a Answer) bool {
	return r.action.OnFail == contract.WithdrawFail && a.CommandStanding && !r.restored && a.Reason != nil && a.Reason.Code != outcome.Superseded &&
		(a.Verdict == outcome.Refuted || a.Verdict == outcome.Unknown)
}

// withdraw runs the contract's withdraw steps, each once and in order, and reads them back.
func (c *Corridor) withdraw(ctx context.Context, r *run, a *Answer) {
	c.obligation(r, "withdrawal owed", string(a.Reason.Code))
	text, err := "", error(nil)
	for _, s := range r.action.Undo {
		if err = c.takeBack(ctx, r, s); err != nil {
			text = fmt.Sprintf("the withdrawal failed at %s: %v", s.Point.Point.Ref, err)
			break
		}
	}
	if err == nil {
		text = "the command was withdrawn, and the withdrawal reads back"
		a.CommandStanding = false
	}
	a.Withdrawal = &Withdrawal{Done: err == nil, Text: text}
	c.obligation(r, "withdrawal ended", text)
	a.Summary = summarize(*a)
}

// takeBack writes one step and looks for its raw value for as long as a read-back may take.
func (c *Corridor) takeBack(ctx context.Context, r *run, s registry.Step) error {
	ref := s.Point.Point.Ref
	v, err := s.Value.Value(r.params)
	if err != nil {
		return err
	}
	want, err := c.machine.Encode(ref, v)
	if err != nil {
		return err
	}
	if why := c.mayNotHold(r); why != "" {
		return errors.New(why)
	}
	if refusal := c.beginWrite(ctx, r); refusal != nil { // an action to the safe side, or the end of capd, comes first
		return refusal
	}
	ctx = context.WithoutCancel(ctx)
	writes := []plannedWrite{{step: s, ref: ref, value: v, raw: want}}
	paused := c.holds.release(writes, false)
	err = safely(func() error { return c.send(ctx, writes[0]) })
	sent := err == nil || !surelyNotSent(err)
	if !sent {
		writes = nil
	}
	c.overtake(r, paused, writes, err == nil)
	c.endWrite(r)
	if !sent {
		return err
	}
	c.used(writes, nil)
	const looks = 8
	for range looks {
		if got := c.machine.Read(ctx, []string{ref})[ref]; got.Good() && bytes.Equal(got.Raw, want) {
			return nil
		}
		sleep(c.ctx, max(r.action.Plan.Poll, 10*time.Millisecond))
	}
	return fmt.Errorf("it does not read back %s", v)
}
