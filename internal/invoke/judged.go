package invoke

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"capd/internal/hal"
	"capd/internal/outcome"
	"capd/internal/verify"
)

// judged is what a decision about the machine comes to in the light of the act: what was sent, left out, refused, taken over, or not
// known after a restart. It never makes a verdict better.
func judged(ctx context.Context, r *run, plan *verify.Plan, act verify.Act, result actResult, d verify.Decision) verify.Decision {
	d = explainUnfinished(refusedByDevice(explainLostReply(d, result), result.err), result.err)
	switch {
	case errors.Is(context.Cause(ctx), errSuperseded) && d.Verdict != outcome.Confirmed:
		d = supersededDecision(d)
	case r.restored:
		d = afterRestart(d)
	}
	if d.Verdict == outcome.Confirmed && r.pulses() && (r.restored || !act.Acked) && verify.ShownBefore(plan, act) {
		return nobodyKnows(d, "the machine shows what was expected, but it did before the call too, so nobody knows whether the pulse came")
	}
	return d
}

// nobodyKnows is the decision about a machine whose state does not tell what became of the command.
func nobodyKnows(d verify.Decision, message string) verify.Decision {
	return verify.Decision{Verdict: outcome.Unknown, Level: d.Level, Code: outcome.OutcomeUnknown, Layer: outcome.LayerExecution, Absent: d.Absent,
		Evidence: d.Evidence, Message: message}
}

func supersededDecision(d verify.Decision) verify.Decision {
	return verify.Decision{Verdict: outcome.Unknown, Level: d.Level, Code: outcome.Superseded, Layer: outcome.LayerPolicy,
		Message: "an action to the safe side took over before the verdict", Absent: d.Absent, Evidence: d.Evidence}
}

// afterRestart softens a refutation: whether the command was sent is not known, nor who has moved the machine since.
func afterRestart(d verify.Decision) verify.Decision {
	if d.Verdict != outcome.Refuted {
		return d
	}
	d.Verdict, d.RefutedAt, d.Code, d.Layer, d.Counts = outcome.Unknown, nil, outcome.OutcomeUnknown, outcome.LayerExecution, false
	d.Message = "capd ended between the intent and the verdict, so nobody knows whether it was sent: " + d.Message
	return d
}

// explainLostReply names the wire when no reply came and no witness could be heard either.
func explainLostReply(d verify.Decision, result actResult) verify.Decision {
	if result.err == nil || d.Verdict != outcome.Unknown || d.Code != outcome.DeviceOffline {
		return d
	}
	d.Code, d.Layer = outcome.OutcomeUnknown, outcome.LayerExecution
	d.Message = fmt.Sprintf("the command may have reached the machine (%v), and no witness can be heard: %s", result.err, d.Message)
	return d
}

// explainUnfinished says which steps were left out. Without them nothing is confirmed, whatever the machine shows; and unless it failed
// to come to what was waited for, nothing is held against it.
func explainUnfinished(d verify.Decision, err error) verify.Decision {
	cut, ok := errors.AsType[*unfinishedError](err)
	if !ok {
		return d
	}
	blames := d.Verdict == outcome.Refuted && (cut.kept || !cut.vain && d.Layer == outcome.LayerDevice)
	if d.Verdict == outcome.Confirmed {
		d.Message = "the machine shows what was expected, but not because of this call"
	}
	if d.Verdict == outcome.Confirmed || blames {
		d = nobodyKnows(d, d.Message)
	}
	d.Counts = d.Counts && cut.vain
	why := cut.why
	if e := hal.AsError(err); e != nil && strings.Contains(d.Message, e.Error()) {
		why = strings.TrimSuffix(why, ": "+e.Error())
	}
	d.Message = why + "; " + d.Message
	return d
}

// refusedByDevice sharpens the decision after an exception: the device itself said no, and its setpoint agrees.
func refusedByDevice(d verify.Decision, err error) verify.Decision {
	e := hal.AsError(err)
	if e == nil || d.Verdict != outcome.Refuted || d.RefutedAt == nil || *d.RefutedAt != outcome.E2 {
		return d
	}
	switch e.Kind {
	case hal.Exception:
		d.Code = outcome.DeviceException
	case hal.BusyDevice:
		d.Code = outcome.DeviceBusy
	case hal.Gateway:
		d.Code = outcome.DeviceOffline
	default:
		return d
	}
	d.Layer, d.Counts = outcome.LayerExecution, false
	d.Message = e.Error() + "; " + d.Message
	return d
}
