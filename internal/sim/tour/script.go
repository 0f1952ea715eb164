package tour

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// valve is the tool that most stops use.
const valve = "set_discharge_valve"

// mostListed is 20 permitted tools (max_tools) and capd's own six.
const mostListed = 26

func opening(percent float64) map[string]any { return map[string]any{"opening": percent} }

// Script is the newcomer's tour.
func (g *Guide) Script(ctx context.Context, tell func(Step) error) (Report, error) {
	return g.run(ctx, []stop{
		{"list_operator", "An operator's agent asks which tools there are: few, and always the same.", listOperator},
		{"list_viewer", "A viewer's agent asks the same and sees no tool that moves anything.", listViewer},
		{"find_english", "Tools are found by intent, in English ...", func(ctx context.Context, g *Guide, s Step) (Step, error) {
			return g.find(ctx, s, "open the outlet valve halfway")
		}},
		{"find_chinese", "... and in Chinese.", func(ctx context.Context, g *Guide, s Step) (Step, error) {
			return g.find(ctx, s, "出口阀开到一半")
		}},
		{"read_level", "A read comes with unit, quality and age.", readLevel},
		{"confirmed", "The valve stands at 45 %. Move it to 60 %: done means that the position transmitter says so.", moveValve},
		{"step_too_large", "From 60 % to 5 % is too large a step: refused before anything is sent.", stepTooLarge},
		{"out_of_range", "160 % is no opening at all.", outOfRange},
		{"stuck", "The valve sticks on its way. The PLC acknowledged the write; the machine did not obey.", stuckValve},
		{"local_mode", "Somebody at the station turns the selector to local.", localMode},
		{"locked_out", "A technician locks the valve for work on it.", lockedOut},
		{"not_armed", "The drive of pump 1 has tripped. Resetting it is critical: an agent alone may not.", notArmed},
		{"armed", "A technician looks at the pump and arms one reset. Now it runs, and is proved.", armedReset},
		{"armed_once", "The consent was for one call.", armedOnce},
		{"reply_lost", "The PLC takes the write, but its reply is lost. Nothing is sent twice; the feedback decides.", replyLost},
		{"plc_stopped_before", "The PLC stands in STOP: reads go on, but they are old news.", plcStoppedBefore},
		{"plc_stopped_after", "The PLC goes to STOP right after the write: nobody can know, and capd says so.", plcStoppedAfter},
		{"killed", "The daemon is killed the moment the plant has taken the write. After the restart it verifies, and sends nothing.", killedDaemon},
	}, tell)
}

func listOperator(ctx context.Context, g *Guide, s Step) (Step, error) {
	if err := g.fresh(ctx); err != nil {
		return s, err
	}
	names, err := g.agent.listTools(ctx)
	if err != nil {
		return s, err
	}
	again, err := g.agent.listTools(ctx)
	if err != nil {
		return s, err
	}
	s = listing(s, names, []string{"find_tools", "read_level", valve, "stop_pump"}, nil, mostListed)
	if strings.Join(names, " ") != strings.Join(again, " ") {
		s.OK, s.Missed = false, append(s.Missed, "a second list differs")
	}
	return s, nil
}

func listViewer(ctx context.Context, g *Guide, s Step) (Step, error) {
	names, err := g.look.listTools(ctx)
	if err != nil {
		return s, err
	}
	return listing(s, names, []string{"find_tools", "read_level"}, []string{valve, "start_pump", "stop_pump", "set_level_setpoint"}, mostListed), nil
}

func (g *Guide) find(ctx context.Context, s Step, query string) (Step, error) {
	s.Call = fmt.Sprintf("find_tools {\"query\":%q}", query)
	s.Expected = valve + " first"
	result, err := g.agent.tool(ctx, "find_tools", map[string]any{"query": query})
	if err != nil {
		return s, err
	}
	var found struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(result.Structured, &found); err != nil {
		return s, err
	}
	var names []string
	for _, t := range found.Tools {
		names = append(names, t.Name)
	}
	s.Got = strings.Join(names, ", ")
	if s.OK = len(names) > 0 && names[0] == valve; !s.OK {
		s.Missed = []string{"the first is not " + valve}
	}
	return s, nil
}

func readLevel(ctx context.Context, g *Guide, s Step) (Step, error) {
	return g.call(ctx, s, "read_level", map[string]any{}, want{verdict: "observed", writes: 0, more: func(a answer) string {
		level, ok := a.Values["level"]
		if !ok || level.Unit != "m" || level.Quality != "good" || level.AgeMS == nil {
			return fmt.Sprintf("level has no unit m, good quality and age: %+v", level)
		}
		return ""
	}})
}

func moveValve(ctx context.Context, g *Guide, s Step) (Step, error) {
	return g.call(ctx, s, valve, opening(60), want{verdict: "confirmed", level: "E4", writes: 1, says: []string{"CONFIRMED"}, more: func(a answer) string {
		if len(a.Evidence) == 0 || !a.Sent {
			return "no evidence, or not sent"
		}
		return ""
	}})
}

// allowed checks the span that a refusal names.
func allowed(low, high float64) func(answer) string {
	return func(a answer) string {
		if a.Reason == nil || a.Reason.Allowed == nil || *a.Reason.Allowed != [2]float64{low, high} {
			return fmt.Sprintf("allowed is not [%g, %g]", low, high)
		}
		return ""
	}
}

func stepTooLarge(ctx context.Context, g *Guide, s Step) (Step, error) {
	return g.call(ctx, s, valve, opening(5), want{verdict: "not_executed", level: "E0", code: "STEP_TOO_LARGE", layer: "policy", more: allowed(40, 80)})
}

func outOfRange(ctx context.Context, g *Guide, s Step) (Step, error) {
	return g.call(ctx, s, valve, opening(160), want{verdict: "not_executed", level: "E0", code: "OUT_OF_RANGE", layer: "capability", says: []string{"160", "100"}})
}

func stuckValve(ctx context.Context, g *Guide, s Step) (Step, error) {
	return g.fault(ctx, s, "F2", valve, opening(30), want{verdict: "refuted", level: "E2", refutedAt: "E4", code: "VERIFY_MISMATCH", layer: "device",
		writes: 1, says: []string{"REFUTED", "3", "Do not repeat"}, more: standing})
}

func standing(a answer) string {
	if !a.Standing {
		return "command_standing is not said"
	}
	return ""
}

func localMode(ctx context.Context, g *Guide, s Step) (Step, error) {
	return g.fault(ctx, s, "F8", valve, opening(60), want{verdict: "not_executed", level: "E0", code: "LOCAL_MODE", layer: "policy",
		says: []string{"The PLC selector is not in remote"}})
}

func lockedOut(ctx context.Context, g *Guide, s Step) (Step, error) {
	if err := g.fresh(ctx); err != nil {
		return s, err
	}
	const reason = "packing is being replaced"
	if err := g.box.Lock(ctx, "PS07-FCV-04", reason); err != nil {
		return s, err
	}
	s, err := g.call(ctx, s, valve, opening(60), want{verdict: "not_executed", level: "E0", code: "LOCKED_OUT", layer: "policy", says: []string{reason, "locked by"}})
	if unlock := g.box.Unlock(ctx, "PS07-FCV-04"); err == nil {
		err = unlock
	}
	return s, err
}

// reset is the critical tool of the demo.
const reset = "reset_vfd_fault"

// tripped is the plant's fault of a drive that has tripped.
const tripped = "X4"

func notArmed(ctx context.Context, g *Guide, s Step) (Step, error) {
	return g.fault(ctx, s, tripped, reset, map[string]any{}, want{verdict: "not_executed", level: "E0", code: "NOT_ARMED", layer: "policy", says: []string{"technician"}})
}

func armedReset(ctx context.Context, g *Guide, s Step) (Step, error) {
	if err := g.box.Arm(ctx, reset, "the pump was looked at, its coupling turns freely"); err != nil {
		return s, err
	}
	return g.call(ctx, s, reset, map[string]any{}, want{verdict: "confirmed", level: "E3", writes: 2, more: func(a answer) string {
		if a.ArmedBy == "" {
			return "armed_by is not said"
		}
		return ""
	}})
}

func armedOnce(ctx context.Context, g *Guide, s Step) (Step, error) {
	return g.call(ctx, s, reset, map[string]any{}, want{verdict: "not_executed", level: "E0", code: "NOT_ARMED", layer: "policy"})
}

func replyLost(ctx context.Context, g *Guide, s Step) (Step, error) {
	return g.fault(ctx, s, "F3", valve, opening(60), want{verdict: "confirmed", level: "E4", writes: 1})
}

func plcStoppedBefore(ctx context.Context, g *Guide, s Step) (Step, error) {
	return g.fault(ctx, s, "F21a", valve, opening(60), want{verdict: "not_executed", level: "E0", code: "PERMIT_UNKNOWN", layer: "policy"})
}

func plcStoppedAfter(ctx context.Context, g *Guide, s Step) (Step, error) {
	return g.fault(ctx, s, "F21b", valve, opening(60), want{verdict: "unknown", level: "E1", code: "FEEDBACK_FROZEN", layer: "verification", writes: 1, more: standing})
}

func killedDaemon(ctx context.Context, g *Guide, s Step) (Step, error) {
	if err := g.fresh(ctx); err != nil {
		return s, err
	}
	before := g.plant.Counters().Writes
	args := opening(60)
	args["request_id"] = fmt.Sprintf("tour-%d", time.Now().UnixNano())
	if err := g.killOnWrite(ctx, valve, args); err != nil {
		return s, err
	}
	result, err := g.agent.tool(ctx, valve, args)
	if err != nil {
		return s, err
	}
	return g.judge(s, valve, args, want{verdict: "confirmed", level: "E4", writes: 1, more: func(a answer) string {
		if !a.Restarted {
			return "decided_after_restart is not said"
		}
		return ""
	}}, result, before)
}
