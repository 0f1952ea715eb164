package mcpserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"capd/internal/health"
	"capd/internal/invoke"
	"capd/internal/outcome"
)

// recordSchema is an invoke.Record.
func recordSchema() object {
	answer := schemaOf([]string{"verdict", "summary", "sent", "command_standing"}, object{
		"verdict": oneOf("observed", "confirmed", "refuted", "unknown", "not_executed", "pending"), "level": levels(), "summary": typed("string"),
		"sent": typed("boolean"), "command_standing": typed("boolean"), "evidence": object{"type": "array"}, "reason": typed("object"), "amendments": object{"type": "array"}})
	answer["description"] = "What the call would answer now"
	return schemaOf([]string{"answer", "subject"}, object{"answer": answer, "subject": typed("string"), "tool": typed("string"), "version": typed("string"),
		"args": typed("object"), "samples": object{"type": "array", "items": typed("object")}})
}

// explain tells everything of one invocation.
func (s *Server) explain(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	c, args := callerOf(ctx), newArguments(sentArguments(ctx, r.Params.RawArguments))
	id := args.needText("invocation", longestName, "give the invocation of an answer")
	wait := args.integer("wait_s", 0, longestWait, 0)
	if refusal := args.done(); refusal != nil {
		return s.notExplained(refusal)
	}
	ctx, done := s.waits.with(ctx)
	defer done()
	found, ok := s.deps.Corridor.Explain(ctx, c.subject, id, time.Duration(wait)*time.Second)
	if !ok {
		refusal := outcome.Refuse(outcome.InvalidParameter, fmt.Sprintf("no call of yours has the invocation %q", clip(id)))
		refusal.Next = "use the invocation of an answer; the latest 1000 calls are kept"
		return s.notExplained(refusal)
	}
	return structured(found, found.Answer.Text(), false)
}

func (s *Server) notExplained(refusal *outcome.Refusal) (*mcp.CallToolResult, error) {
	a := refusedAnswer(toolExplain, refusal)
	return structured(invoke.Record{Answer: a}, a.Text(), true)
}

type alarmList struct {
	Alarms  []health.Alarm `json:"alarms"`
	Total   int            `json:"total"` // of this caller's, with those that are left out
	Refused *invoke.Answer `json:"refused,omitempty"`
}

func alarmsSchema() object {
	one := schemaOf([]string{"key", "text", "severity", "since"}, object{"key": typed("string"), "code": typed("string"), "asset": typed("string"), "action": typed("string"),
		"invocation": typed("string"), "text": typed("string"), "severity": oneOf("info", "warning", "critical"), "since": typed("string"), "last": typed("string"),
		"count": typed("integer"), "cleared_by": typed("string"), "cleared_at": typed("string")})
	return schemaOf([]string{"alarms", "total"}, object{"alarms": object{"type": "array", "items": one}, "total": typed("integer"), "refused": typed("object")})
}

// listAlarms lists the alarms of what the caller sees, and those of the box.
func (s *Server) listAlarms(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	c, args := callerOf(ctx), newArguments(sentArguments(ctx, r.Params.RawArguments))
	activeOnly := args.flag("active_only", true)
	if refusal := args.done(); refusal != nil {
		a := refusedAnswer(toolAlarms, refusal)
		return structured(alarmList{Alarms: []health.Alarm{}, Refused: &a}, a.Text(), true)
	}
	out := alarmList{Alarms: []health.Alarm{}}
	for _, a := range s.deps.Alarms.List(!activeOnly) {
		if !c.view.seesAlarm(a) {
			continue
		}
		if out.Total++; len(out.Alarms) < mostAlarms {
			out.Alarms = append(out.Alarms, a)
		}
	}
	return structured(out, alarmsText(out, activeOnly), false)
}

// seesAlarm reports whether an alarm is about something that the caller sees, or about the box itself.
func (v *view) seesAlarm(a health.Alarm) bool {
	if a.Action != "" && v.state.tools[a.Action] != nil {
		return v.permitted[a.Action] != nil
	}
	return a.Asset == "" || v.assets()[a.Asset] != nil
}

func alarmsText(l alarmList, activeOnly bool) string {
	if l.Total == 0 && activeOnly {
		return "No active alarms."
	}
	if l.Total == 0 {
		return "No alarms."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d alarm(s).", l.Total)
	for i, a := range l.Alarms {
		if b.Len() > longestText {
			fmt.Fprintf(&b, "\nand %d more", l.Total-i)
			break
		}
		state := strings.ToUpper(string(a.Severity))
		if !a.Active() {
			state = "cleared " + state
		}
		b.WriteString("\n" + oneOfList(fmt.Sprintf("%s %s since %s: %s", state, a.Key, a.Since.UTC().Format(time.RFC3339), a.Text)))
	}
	return b.String()
}
