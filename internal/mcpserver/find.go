package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"capd/internal/contract"
	"capd/internal/inventory"
	"capd/internal/invoke"
	"capd/internal/outcome"
	"capd/internal/registry"
	"capd/internal/resolve"
)

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
	c, args := callerOf(ctx), newArguments(sentArguments(ctx, r.Params.RawArguments))
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

// foundText is for clients that show their model no structured content: enough to call what was found.
func foundText(f foundTools) string {
	if len(f.Tools) == 0 {
		return fmt.Sprintf("No tool found among %d; try other words, or leave effect and asset out.", f.Permitted)
	}
	var b strings.Builder
	for i, t := range f.Tools {
		if b.Len() > longestText {
			fmt.Fprintf(&b, "and %d more\n", len(f.Tools)-i)
			break
		}
		b.WriteString(oneOfList(fmt.Sprintf("%s %s: %s", t.Name, signature(t.InputSchema), t.Description)) + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// The text of a list ends after longestText bytes and one of its entries has at most longestEntry, so that all of it stays below 2 kB.
const (
	longestText  = 1300
	longestEntry = 700
)

// oneOfList is an entry of a list as its text shows it.
func oneOfList(text string) string {
	if len(text) > longestEntry {
		return strings.ToValidUTF8(text[:longestEntry-3], "") + "..."
	}
	return text
}

// signature is the arguments of a tool in short, such as {opening: number, speed?: number}.
func signature(raw json.RawMessage) string {
	var schema struct {
		Required   []string `json:"required"`
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		return "{...}" // not a schema of the usual form: input_schema has it
	}
	var parts []string
	for _, name := range inventory.SortedKeys(schema.Properties) {
		mark := "?"
		if slices.Contains(schema.Required, name) {
			mark = ""
		}
		kind, _ := schema.Properties[name].Type.(string)
		parts = append(parts, name+mark+": "+cmp.Or(kind, "any"))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// callRead calls a tool that only reads.
func (s *Server) callRead(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	args := newArguments(sentArguments(ctx, r.Params.RawArguments))
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
	args := newArguments(sentArguments(ctx, r.Params.RawArguments))
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
