package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"capd/internal/invoke"
	"capd/internal/outcome"
	"capd/internal/registry"
)

// callNamed carries out a call of an action by its own name.
func (s *Server) callNamed(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args, refusal := decodeArguments(sentArguments(ctx, r.Params.RawArguments))
	if refusal != nil {
		return refused(r.Params.Name, refusal)
	}
	return s.call(ctx, r.Params.Name, args)
}

// call brings a call into the corridor. The reserved arguments of an actuation are the door's; everything else is the contract's.
func (s *Server) call(ctx context.Context, name string, args map[string]any) (*mcp.CallToolResult, error) {
	c := callerOf(ctx)
	t := c.view.permitted[name]
	if t == nil {
		return refused(name, c.unknownTool(name))
	}
	req := invoke.Request{Subject: c.subject, Profile: c.view.profile, Action: name, Args: args}
	if t.action.Moves() {
		if refusal := takeReserved(&req); refusal != nil {
			return refused(name, refusal)
		}
	}
	ctx, done := s.waits.with(ctx)
	defer done()
	return result(s.deps.Corridor.Call(ctx, req))
}

// recovered keeps a defect in one call from taking the request down without an answer. The call may have been carried out by then.
func (s *Server) recovered(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
		defer func() {
			if cause := recover(); cause != nil {
				s.deps.Log.ErrorContext(ctx, "a defect of capd", "tool", r.Params.Name, "cause", cause, "stack", string(debug.Stack()))
				refusal := outcome.Refuse(outcome.Internal, "capd failed while it answered; the call may have been carried out")
				refusal.Next, refusal.RetrySafe = "read the state before anything else, and report this", false
				a := refusedAnswer(r.Params.Name, refusal)
				a.Verdict, a.Summary = outcome.Unknown, strings.Replace(a.Summary, "NOT_EXECUTED", "UNKNOWN", 1)
				result, err = structured(a, a.Text(), true)
			}
		}()
		return next(ctx, r)
	}
}

// takeReserved moves request_id and dry_run out of the arguments.
func takeReserved(req *invoke.Request) *outcome.Refusal {
	if v, given := req.Args[registry.ArgRequestID]; given {
		text, ok := v.(string)
		if !ok || text == "" || len(text) > maxRequestID {
			return wrongArgument(registry.ArgRequestID, v, fmt.Sprintf("a text of 1 to %d characters", maxRequestID))
		}
		req.RequestID = text
	}
	if v, given := req.Args[registry.ArgDryRun]; given {
		flag, ok := v.(bool)
		if !ok {
			return wrongArgument(registry.ArgDryRun, v, "true or false")
		}
		req.DryRun = flag
	}
	delete(req.Args, registry.ArgRequestID)
	delete(req.Args, registry.ArgDryRun)
	return nil
}

// maxRequestID bounds a request_id in bytes, as the public schemas do in characters.
const maxRequestID = 128

func (c *caller) unknownTool(name string) *outcome.Refusal {
	text := fmt.Sprintf("there is no tool %q", clip(name))
	switch near := c.view.suggestTool(name); near {
	case "":
	case name:
		return misdirected(name+" is a tool of capd itself", "call it by its own name")
	default:
		text += fmt.Sprintf("; did you mean %q", near)
	}
	r := outcome.Refuse(outcome.InvalidParameter, text)
	r.Next = "search with find_tools"
	return r
}

// result is an answer as MCP carries it.
func result(a invoke.Answer) (*mcp.CallToolResult, error) {
	return structured(a, a.Text(), a.IsError())
}

// structured is any document as the result of a tool, with its text.
func structured(document any, text string, isError bool) (*mcp.CallToolResult, error) {
	raw, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("the answer cannot be written as JSON: %w", err)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.NewTextContent(text)}, StructuredContent: json.RawMessage(raw), IsError: isError}, nil
}

// refused is the answer to a call that never reached the corridor.
func refused(action string, r *outcome.Refusal) (*mcp.CallToolResult, error) {
	return result(refusedAnswer(action, r))
}

func refusedAnswer(action string, r *outcome.Refusal) invoke.Answer {
	level := outcome.E0
	return invoke.Answer{Verdict: outcome.NotExecuted, Level: &level, Action: action,
		Summary: fmt.Sprintf("NOT_EXECUTED: %s: %s: %s.", action, r.Code, r.Message),
		Reason:  &invoke.Reason{Code: r.Code, Layer: r.Layer, Message: r.Message, Next: r.Next, RetrySafe: r.RetrySafe, Allowed: r.Allowed, After: r.After}}
}
