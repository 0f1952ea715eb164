package invoke_test

import (
	"strings"
	"testing"
	"time"

	"capd/internal/invoke"
	"capd/internal/outcome"
	"capd/internal/physical"
)

func turn(to float64) invoke.Request {
	return invoke.Request{Action: "turn_latch", Args: map[string]any{"to": to}}
}

func TestAHandshakeIsConfirmedByItsEcho(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.wants("turn", b.ask(turn(30)), "confirmed E4 - - -")
		b.wantWritten("LATCH.angle=30", "LATCH.token=1") // 10 is outside the envelope of the token
		b.wants("again", b.ask(turn(30)), "confirmed E4 - - -")
		b.wants("on", b.ask(turn(40)), "confirmed E4 - - -")
		b.wantWritten("LATCH.angle=30", "LATCH.token=1", "LATCH.angle=30", "LATCH.token=2", "LATCH.angle=40", "LATCH.token=3")
	})
}

func TestAMachineThatDoesNotTakeTheTokenIsRefuted(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.deaf = true
		a := b.ask(turn(30))
		if b.wants("turn", a, "refuted E2 E3 VERIFY_MISMATCH device"); a.Reason.RetrySafe || !strings.Contains(a.Text(), "LATCH.echo") {
			t.Errorf("%s", a.Text())
		}
	})
}

func TestAnOldEchoIsNoAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.deaf = true
		b.machine.values["LATCH.token"], b.machine.values["LATCH.echo"] = physical.IntOf(4), physical.IntOf(5) // 5 is next, and is shown already
		b.machine.values["LATCH.turned"] = physical.IntOf(30)
		if a := b.ask(turn(30)); a.Verdict == outcome.Confirmed {
			t.Errorf("%s", a.Text())
		}
		b.wantWritten("LATCH.angle=30", "LATCH.token=1")
	})
}

func TestWithoutBothReadingsNoTokenIsChosen(t *testing.T) {
	for _, ref := range []string{"LATCH.token", "LATCH.echo"} {
		inBubble(t, func(t *testing.T, b *bubble) {
			b.machine.bad[ref] = physical.CauseInvalid
			b.wants("turn", b.ask(turn(30)), "not_executed E0 - PERMIT_UNKNOWN policy")
			b.wantWritten()
		})
	}
}

func TestASetpointThatIsNotAcknowledgedGetsNoHandshake(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.machine.hook(onNth("LATCH.angle", 1, lost))
		if a := b.ask(turn(30)); a.Verdict == outcome.Confirmed {
			t.Errorf("%s", a.Text())
		}
		b.wantWritten("LATCH.angle=30")
	})
}

func TestAHandshakeIsVerifiedAfterACrash(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		out := b.start(turn(30))
		time.Sleep(900 * time.Millisecond)
		b.crash()
		b.wants("after the crash", b.explained((<-out).Invocation, time.Minute), "confirmed E4 - - -")
		b.wantWritten("LATCH.angle=30", "LATCH.token=1")
	})
}

func TestAnUnsettledAssetGetsNoHandshake(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		must(t, b.standing.Unsettle("LATCH", "x", "no answer"))
		b.wants("turn", b.ask(turn(30)), "not_executed E0 - UNSETTLED policy")
	})
}

func TestADryRunShowsTheToken(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		req := turn(30)
		req.DryRun = true
		if a := b.ask(req); a.DryRun == nil || len(a.DryRun.Frames) != 2 || a.DryRun.Frames[1] != "LATCH.token=1" {
			t.Errorf("%+v %s", a.DryRun, a.Text())
		}
	})
}
