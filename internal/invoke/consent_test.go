package invoke_test

import (
	"strings"
	"testing"
	"time"

	"capd/internal/invoke"
	"capd/internal/standing"
)

// arm consents to one call.
func (b *bubble) arm(action string) {
	b.t.Helper()
	a := b.registry.Snapshot().Action(action)
	_, err := b.standing.Arm(standing.Arm{Action: a.Name, Asset: a.Contract.Asset, Contract: a.Contract.SHA256, By: "mei", Reason: "seen"}, time.Hour)
	must(b.t, err)
}

func TestAWithdrawalNeedsNoConsentOfItsOwn(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.wants("unarmed", b.call("seal_latch", nil), "not_executed E0 - NOT_ARMED policy")
		b.arm("seal_latch")
		out := b.start(invoke.Request{Action: "seal_latch"})
		time.Sleep(2 * time.Second)
		b.arm("seal_latch") // to the next call
		a := <-out
		if a.Withdrawal == nil || !a.Withdrawal.Done || a.ArmedBy != "mei" {
			t.Errorf("%s %+v", a.Text(), a.Withdrawal)
		}
		b.wantWritten(lit, "LATCH.lamp=false")
		if len(b.standing.Arms()) != 1 {
			t.Error("the withdrawal used up another consent")
		}
	})
}

func TestAConsentIsForOneCall(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.set(func(m *machine) { m.values["LATCH.closed"] = on() })
		b.arm("seal_latch")
		dry := b.ask(invoke.Request{Action: "seal_latch", DryRun: true})
		req := invoke.Request{Action: "seal_latch", RequestID: "one"}
		first, second := b.start(req), b.start(req)
		time.Sleep(100 * time.Millisecond)
		b.wants("other", b.ask(invoke.Request{Action: "seal_latch", Subject: agent("b")}), "not_executed E0 - BUSY policy")
		x, y := <-first, <-second
		if dry.DryRun == nil || x.Invocation != y.Invocation || x.ArmedBy != "mei" || shape(x) != "confirmed E4 - - -" {
			t.Errorf("%s\n%s\n%s", dry.Text(), x.Text(), y.Text())
		}
		if again := b.ask(req); again.Invocation != x.Invocation || !again.Repeated {
			t.Errorf("%s", again.Text())
		}
		b.wants("without another", b.call("seal_latch", nil), "not_executed E0 - NOT_ARMED policy")
		b.wantWritten(lit)
		b.arm("seal_latch")
		if a := b.call("seal_latch", nil); !a.AlreadyThere || len(b.standing.Arms()) != 1 {
			t.Errorf("%s, %d consents", a.Text(), len(b.standing.Arms()))
		}
		b.write("contracts.d/l.yaml", strings.Replace(paperLatch, "1.0.0", "1.0.1", 1))
		b.publish()
		b.wants("edited", b.call("seal_latch", nil), "not_executed E0 - NOT_ARMED policy")
		b.restart()
		if len(b.standing.Arms()) != 0 {
			t.Error("a consent survived the restart")
		}
	})
}
