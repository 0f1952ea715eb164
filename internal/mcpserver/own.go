package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"capd/internal/contract"
	"capd/internal/health"
	"capd/internal/invoke"
	"capd/internal/outcome"
	"capd/internal/registry"
	"capd/internal/resolve"
)

// Names of capd's own tools.
const (
	toolFind       = "find_tools"
	toolCallRead   = "call_read"
	toolCallAction = "call_action"
	toolReadState  = "read_state"
	toolExplain    = "explain"
	toolAlarms     = "list_alarms"
)

// instructions is what every client is told about this server.
const instructions = `capd stands between you and machines. A tool here moves or reads a real machine, and the answer says what was measured, not what was sent.
Read the verdict first: observed (a read), confirmed (witnesses agree), refuted (they disagree), unknown (no usable evidence), not_executed (nothing left the box), pending (still verifying; follow it with explain). The level E0 to E5 says how far the evidence reaches.
Never repeat an actuation after refuted, unknown or pending unless reason.retry_safe is true; read the state or explain the invocation instead. Give each actuation a request_id of your own: the same id never acts twice. dry_run shows the gates and sends nothing.
The list of tools may be short. Search the others with find_tools by intent, in any language, then call them by name, or with call_read and call_action.
capd is not a safety function. Do not use it where a wrong or missing answer could hurt somebody.`

// Limits of the own tools' arguments.
const (
	mostFound     = 50
	defaultFound  = 5
	longestName   = 128
	longestWait   = 60 // seconds
	mostAlarms    = 100
	longestSearch = resolve.MaxQuery
)

// ownTools are capd's own tools, in the order of lists.
func (s *Server) ownTools() []server.ServerTool {
	reads := mcp.ToolAnnotation{ReadOnlyHint: new(true), OpenWorldHint: new(false)}
	moves := mcp.ToolAnnotation{ReadOnlyHint: new(false), DestructiveHint: new(true), IdempotentHint: new(false), OpenWorldHint: new(true)}
	name := told("string", "Name of the tool, as find_tools gives it")
	return []server.ServerTool{
		ownTool(toolFind, "Find tools", "Finds tools by what you want to do, in your own words and any language, best first, with their schemas.", reads,
			input([]string{"query"}, object{"query": told("string", "What you want to do"),
				"top_k":  object{"type": "integer", "minimum": 1, "maximum": mostFound, "default": defaultFound},
				"effect": oneOf("read", "actuate", "configure"), "asset": told("string", "Only tools of this asset")}), foundSchema(), s.find),
		ownTool(toolCallRead, "Call a reading tool", "Calls a tool that only reads, by its name; for tools that are not in your list.", reads,
			input([]string{"name"}, object{"name": name, "arguments": typed("object")}), readAnswerSchema(), s.callRead),
		ownTool(toolCallAction, "Call an acting tool", "Calls a tool that moves a machine or changes settings, by its name; for tools that are not in your list. The answer says what was measured.", moves,
			input([]string{"name"}, object{"name": name, "arguments": typed("object"),
				registry.ArgRequestID: object{"type": "string", "minLength": 1, "maxLength": maxRequestID, "description": "Your own id of this request; the same id never acts twice"},
				registry.ArgDryRun:    told("boolean", "true: check every gate, send nothing")}), actuationAnswerSchema(), s.callAction),
		ownTool(toolReadState, "Read the state of an asset", "Reads all points of an asset, or one, with unit, quality and age.", reads,
			input([]string{"asset"}, object{"asset": told("string", "Id of the asset, such as PS07-FCV-04"), "point": told("string", "Only this point")}), readAnswerSchema(), s.readState),
		ownTool(toolExplain, "Explain a call", "Tells everything that is known of one of your calls: verdict, evidence, every sample. Waits for a pending verdict.", reads,
			input([]string{"invocation"}, object{"invocation": told("string", "The invocation of the answer"),
				"wait_s": object{"type": "integer", "minimum": 0, "maximum": longestWait, "default": 0, "description": "Seconds to wait for a verdict"}}), recordSchema(), s.explain),
		ownTool(toolAlarms, "List alarms", "Lists what people must look at, the newest first.", reads,
			input(nil, object{"active_only": object{"type": "boolean", "default": true}}), alarmsSchema(), s.listAlarms),
	}
}

func ownTool(name, title, description string, a mcp.ToolAnnotation, in, out object, h server.ToolHandlerFunc) server.ServerTool {
	return server.ServerTool{Handler: h, Tool: mcp.Tool{Name: name, Title: title, Description: description, Annotations: a,
		RawInputSchema: rawSchema(in), RawOutputSchema: rawSchema(out)}}
}

func input(required []string, properties object) object {
	s := schemaOf(required, properties)
	s["additionalProperties"] = false
	return s
}

// foundTool is one result of find_tools.
type foundTool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Asset       string          `json:"asset"`
	Effect      contract.Effect `json:"effect"`
	Risk        contract.Risk   `json:"risk"`
	InputSchema json.RawMessage `json:"input_schema"`
	Why         []string        `json:"why"`
}

type foundTools struct {
	Tools     []foundTool    `json:"tools"`
	Permitted int            `json:"permitted"` // tools that this caller may call
	Refused   *invoke.Answer `json:"refused,omitempty"`
}

func foundSchema() object {
	one := schemaOf([]string{"name", "title", "description", "asset", "effect", "risk", "input_schema", "why"}, object{
		"name": typed("string"), "title": typed("string"), "description": typed("string"), "asset": typed("string"), "effect": typed("string"),
		"risk": typed("string"), "input_schema": typed("object"), "why": object{"type": "array", "items": typed("string"), "description": "What matched"}})
	return schemaOf([]string{"tools", "permitted"}, object{"tools": object{"type": "array", "items": one}, "permitted": typed("integer"), "refused": typed("object")})
}

// find searches the permitted tools.
func (s *Server) find(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	c, args := callerOf(ctx), newArguments(r.Params.RawArguments)
	query := args.needText("query", longestSearch, "say what you want to do")
	top := args.integer("top_k", 1, mostFound, defaultFound)
	effect := args.choice("effect", "read", "actuate", "configure")
	asset := args.text("asset", longestName)
	refusal := args.done()
	if refusal == nil && asset != "" && c.view.assets()[asset] == nil {
		refusal = c.unknownAsset(asset)
	}
	if refusal != nil {
		a := refusedAnswer(toolFind, refusal)
		return structured(foundTools{Tools: []foundTool{}, Permitted: len(c.view.permitted), Refused: &a}, a.Text(), true)
	}
	found := c.view.state.index.Resolve(resolve.Request{Query: query, TopK: int(top), Tags: c.view.tags(), Allowed: func(id string) (bool, string) {
		t := c.view.permitted[id]
		return t != nil && (effect == "" || string(t.action.Effect) == effect) && (asset == "" || t.action.Contract.Asset == asset), "asked"
	}})
	out := foundTools{Tools: []foundTool{}, Permitted: len(c.view.permitted)}
	for _, one := range found.Tools {
		a := c.view.permitted[one.ID].action
		out.Tools = append(out.Tools, foundTool{Name: a.Name, Title: titleOf(a), Description: describe(a), Asset: a.Contract.Asset, Effect: a.Effect, Risk: a.Risk,
			InputSchema: a.Params.Public, Why: append([]string{}, one.Why...)})
	}
	return structured(out, foundText(out), false)
}

func foundText(f foundTools) string {
	if len(f.Tools) == 0 {
		return fmt.Sprintf("No tool found among %d; try other words, or leave effect and asset out.", f.Permitted)
	}
	var b strings.Builder
	for _, t := range f.Tools {
		fmt.Fprintf(&b, "%s (%s, %s, %s): %s\n", t.Name, t.Asset, t.Effect, t.Risk, t.Title)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// callRead calls a tool that only reads.
func (s *Server) callRead(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args := newArguments(r.Params.RawArguments)
	name, inner := args.needText("name", longestName, "name a tool of find_tools"), args.object("arguments")
	if refusal := args.done(); refusal != nil {
		return refused(toolCallRead, refusal)
	}
	t := callerOf(ctx).view.permitted[name]
	if t != nil && t.action.Moves() {
		return refused(name, misdirected(name+" moves a machine or changes settings", elsewhere(t)))
	}
	return s.call(ctx, name, inner)
}

// callAction calls a tool that acts, unless it is critical.
func (s *Server) callAction(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args := newArguments(r.Params.RawArguments)
	name, inner := args.needText("name", longestName, "name a tool of find_tools"), args.object("arguments")
	for _, reserved := range []string{registry.ArgRequestID, registry.ArgDryRun} {
		if v := args.get(reserved); v != nil {
			if _, twice := inner[reserved]; twice {
				args.refuse(outcome.Refuse(outcome.InvalidParameter, fmt.Sprintf("%s is given twice, beside arguments and in them", reserved)))
			} else if inner != nil {
				inner[reserved] = v
			}
		}
	}
	if refusal := args.done(); refusal != nil {
		return refused(toolCallAction, refusal)
	}
	t := callerOf(ctx).view.permitted[name]
	if t != nil && (!t.action.Moves() || t.action.Risk == contract.Critical) {
		what := name + " only reads"
		if t.action.Moves() {
			what = name + " is critical"
		}
		return refused(name, misdirected(what, elsewhere(t)))
	}
	return s.call(ctx, name, inner)
}

func elsewhere(t *tool) string {
	switch {
	case !t.action.Moves():
		return "call it with call_read, or by its own name"
	case t.action.Risk == contract.Critical:
		return "call it by its own name"
	default:
		return "call it with call_action, or by its own name"
	}
}

func misdirected(what, next string) *outcome.Refusal {
	r := outcome.Refuse(outcome.InvalidParameter, what)
	r.Next = next
	return r
}

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
	c, args := callerOf(ctx), newArguments(r.Params.RawArguments)
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
	c, args := callerOf(ctx), newArguments(r.Params.RawArguments)
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
		if b.Len() > 1800 {
			fmt.Fprintf(&b, "\nand %d more", l.Total-i)
			break
		}
		fmt.Fprintf(&b, "\n%s %s since %s: %s", strings.ToUpper(string(a.Severity)), a.Key, a.Since.UTC().Format(time.RFC3339), a.Text)
		if !a.Active() {
			b.WriteString(" (cleared)")
		}
	}
	return b.String()
}
