package tour

import (
	"context"
	"fmt"
)

// Faults plays the plant's faults, each from the start state, against the one right answer.
func (g *Guide) Faults(ctx context.Context, tell func(Step) error) (Report, error) {
	var stops []stop
	for _, c := range faultCases() {
		stops = append(stops, stop{c.name, c.title, c.play})
	}
	stops = append(stops, busStops()...)
	stops = append(stops, stop{"F15", "Daemon killed between write and verification.", killedDaemon})
	return g.run(ctx, stops, tell)
}

// faultCase is one row of the fault table.
type faultCase struct {
	name, title, fault, tool string
	args                     map[string]any
	want                     want
	before                   func(ctx context.Context, g *Guide) error // brings the plant into the state that the call meets
}

func (c faultCase) play(ctx context.Context, g *Guide, s Step) (Step, error) {
	if err := g.fresh(ctx); err != nil {
		return s, err
	}
	if c.before != nil {
		if err := c.before(ctx, g); err != nil {
			return s, err
		}
	}
	if err := g.plant.SetFault(c.fault); err != nil {
		return s, err
	}
	return g.call(ctx, s, c.tool, c.args, c.want)
}

func faultCases() []faultCase {
	refuted := want{verdict: "refuted", level: "E2", refutedAt: "E4", code: "VERIFY_MISMATCH", layer: "device", writes: 1, more: standing}
	moved := want{verdict: "confirmed", level: "E4", writes: 1}
	return []faultCase{
		{name: "F1", title: "XV-03 stuck shut.", fault: "F1", tool: "open_inlet_valve", args: map[string]any{}, want: refuted},
		{name: "F2", title: "FCV-04 sticks at 37 % on its way.", fault: "F2", tool: valve, args: opening(30), want: refuted},
		{name: "F3", title: "The PLC takes the write, the reply is lost.", fault: "F3", tool: valve, args: opening(60), want: moved},
		{name: "F4", title: "The write is lost before the PLC.", fault: "F4", tool: valve, args: opening(60),
			want: want{verdict: "refuted", level: "E0", refutedAt: "E2", code: "VERIFY_MISMATCH", layer: "execution", more: retrySafe}},
		{name: "F5", title: "The coupling of P-01 is broken.", fault: "F5", tool: "start_pump", args: map[string]any{},
			want: want{verdict: "refuted", level: "E3", refutedAt: "E4", code: "VERIFY_MISMATCH", layer: "device", writes: -1, more: standing}},
		{name: "F6a_start_pump", title: "LIT-05 gives NaN; start_pump.", fault: "F6a", tool: "start_pump", args: map[string]any{},
			want: want{verdict: "not_executed", level: "E0", code: "PERMIT_UNKNOWN", layer: "policy"}},
		{name: "F8", title: "The selector stands in local.", fault: "F8", tool: valve, args: opening(60),
			want: want{verdict: "not_executed", level: "E0", code: "LOCAL_MODE", layer: "policy"}},
		{name: "F12", title: "The siren's coil is on, its contact dead.", fault: "F12", tool: "sound_siren", args: map[string]any{"on": true}, want: refuted},
		{name: "F17", title: "The PLC answers after 900 ms.", fault: "F17", tool: valve, args: opening(60), want: moved},
		{name: "F19a", title: "45 asked instead of 4.5.", fault: "F19a", tool: "set_level_setpoint", args: map[string]any{"level": 45},
			want: want{verdict: "not_executed", level: "E0", code: "OUT_OF_RANGE", layer: "capability"}},
		{name: "F19b", title: "A step of 40 % where 20 % is the limit.", fault: "F19b", tool: valve, args: opening(5),
			want: want{verdict: "not_executed", level: "E0", code: "STEP_TOO_LARGE", layer: "policy", more: allowed(25, 65)}},
		{name: "F21a", title: "PLC in STOP before the call.", fault: "F21a", tool: valve, args: opening(60),
			want: want{verdict: "not_executed", level: "E0", code: "PERMIT_UNKNOWN", layer: "policy"}},
		{name: "F21b", title: "PLC goes to STOP right after the write.", fault: "F21b", tool: valve, args: opening(60),
			want: want{verdict: "unknown", level: "E1", code: "FEEDBACK_FROZEN", layer: "verification", writes: 1, more: standing}},
		{name: "F23", title: "60 asked when 60 stands.", fault: "F23", tool: valve, args: opening(60), before: moveTo60,
			want: want{verdict: "confirmed", level: "E4", more: alreadyThere}},
		{name: "F24", title: "The valve hunts around 60 %.", fault: "F24", tool: valve, args: opening(60),
			want: want{verdict: "unknown", level: "E2", code: "VERIFY_TIMEOUT", layer: "device", writes: 1, more: standing}},
		{name: "X7", title: "The closed limit switch of XV-03 is stuck on: both switches say yes.", fault: "X7", tool: "open_inlet_valve", args: map[string]any{},
			want: want{verdict: "unknown", level: "E2", code: "FEEDBACK_BAD", layer: "verification", writes: 1, more: standing}},
	}
}

func retrySafe(a answer) string {
	if a.Reason == nil || !a.Reason.RetrySafe {
		return "retry_safe is not said"
	}
	return ""
}

func alreadyThere(a answer) string {
	if !a.Already || a.Sent {
		return fmt.Sprintf("already_there is %v and sent is %v", a.Already, a.Sent)
	}
	return ""
}

func moveTo60(ctx context.Context, g *Guide) error {
	result, err := g.agent.tool(ctx, valve, opening(60))
	if err != nil {
		return err
	}
	if result.IsError {
		return fmt.Errorf("the valve could not be brought to 60 %%: %s", result.text())
	}
	return nil
}
