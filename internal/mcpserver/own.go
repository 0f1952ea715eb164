package mcpserver

import (
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

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
