package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"capd/internal/access"
	"capd/internal/inventory"
	"capd/internal/registry"
	"capd/internal/resolve"
)

// state is everything that one snapshot gives this door, computed once per publish. It is immutable but for the views, which are
// computed when a caller first needs one.
type state struct {
	snapshot *registry.Snapshot
	policy   access.Policy
	config   Config
	tools    map[string]*tool // actions by name
	index    *resolve.Index
	own      []*tool // capd's own tools, in the order of lists
	mcp      *server.MCPServer
	http     *server.StreamableHTTPServer

	mu    sync.Mutex
	views map[string]*view
}

// tool is one tool as lists show it.
type tool struct {
	mcp    mcp.Tool
	action *registry.Action // nil for capd's own
	size   int              // of its JSON, in bytes
	hash   uint64           // of its JSON
}

func newTool(t mcp.Tool, a *registry.Action) (*tool, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	h := fnv.New64a()
	h.Write(raw) // never fails, hash.Hash
	return &tool{mcp: t, action: a, size: len(raw), hash: h.Sum64()}, nil
}

// newState computes the tools of a snapshot. It gives the names of actions that cannot be shown, with the reason.
func (s *Server) newState(snapshot *registry.Snapshot) (*state, map[string]string) {
	st := &state{snapshot: snapshot, policy: s.deps.Policy, config: s.config, tools: make(map[string]*tool, len(snapshot.Actions)), views: map[string]*view{}}
	left := map[string]string{}
	reserved := map[string]bool{}
	for _, own := range s.ownTools() {
		t, err := newTool(own.Tool, nil)
		if err != nil {
			left[own.Tool.Name] = err.Error()
			continue
		}
		reserved[own.Tool.Name] = true
		st.own = append(st.own, t)
	}
	docs := make([]resolve.Doc, 0, len(snapshot.Actions))
	for _, a := range snapshot.Actions {
		if reserved[a.Name] {
			left[a.Name] = "the name belongs to a tool of capd itself; give the action another name"
			continue
		}
		t, err := newTool(toolOf(a), a)
		if err != nil {
			left[a.Name] = err.Error()
			continue
		}
		st.tools[a.Name] = t
		docs = append(docs, docOf(a))
	}
	st.index = resolve.NewIndex(docs)
	return st, left
}

// Publish makes a snapshot what callers see. Older snapshots than the one in force are passed over. Callers with an open event stream
// hear of it if their own list has changed.
func (s *Server) Publish(snapshot *registry.Snapshot) {
	s.publishing.Lock()
	defer s.publishing.Unlock()
	before := s.state.Load()
	if before != nil && snapshot.ID < before.snapshot.ID {
		return
	}
	next, left := s.newState(snapshot)
	for _, name := range inventory.SortedKeys(left) {
		s.deps.Log.Warn("an action is not offered over MCP", "action", name, "reason", left[name])
	}
	s.serve(next)
	s.state.Store(next)
	for _, one := range s.streams.list() {
		one.tell(next.viewAgain(one.caller).print)
	}
}

// serve gives a state an MCP server of its own. mcp-go tells every client of every change of its tools; one that never changes tells
// nobody, and the door tells those whose own list has changed. What is under way stays with the server that it began on, and a
// session of an older revision goes on with the next: who it belongs to is the door's to know.
func (s *Server) serve(st *state) {
	st.mcp = server.NewMCPServer("capd", s.config.Version, server.WithTitle("capd"), server.WithInstructions(instructions),
		server.WithToolCapabilities(true), server.WithCacheHints(0, mcp.CacheScopePrivate), server.WithRecovery(),
		server.WithToolFilter(permittedTools), server.WithHooks(s.hooks()))
	st.mcp.SetTools(s.handlers(st)...)
	st.http = server.NewStreamableHTTPServer(st.mcp, server.WithSessionIdManagerResolver(s.sessions),
		server.WithDisableLocalhostProtection(true), server.WithHeartbeatInterval(heartbeat), server.WithStreamableHTTPLogger(s.deps.Log))
}

// heartbeat keeps the event streams of the older revisions open across network gear that drops what is silent.
const heartbeat = 25 * time.Second

// hooks are the places where mcp-go asks us.
func (s *Server) hooks() *server.Hooks {
	h := &server.Hooks{}
	h.AddAfterListTools(func(ctx context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
		result.Tools = callerOf(ctx).listed()
	})
	h.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, r *mcp.SubscriptionsListenRequest) {
		s.streams.bind(ctx, r.Params.Notifications.ToolsListChanged)
	})
	h.AddOnError(func(ctx context.Context, _ any, method mcp.MCPMethod, _ any, err error) {
		if errors.Is(err, server.ErrToolNotFound) || errors.Is(err, context.Canceled) {
			return
		}
		s.deps.Log.DebugContext(ctx, "mcp request answered with an error", "method", string(method), "error", err)
	})
	return h
}

// handlers is what mcp-go must know of each tool: that there is one of the name. What a caller sees of it comes from its view.
func (s *Server) handlers(st *state) []server.ServerTool {
	all := make([]server.ServerTool, 0, len(st.tools)+len(st.own))
	for _, own := range s.ownTools() {
		all = append(all, server.ServerTool{Tool: mcp.Tool{Name: own.Tool.Name}, Handler: own.Handler})
	}
	for name := range st.tools {
		all = append(all, server.ServerTool{Tool: mcp.Tool{Name: name}, Handler: s.callNamed})
	}
	return all
}

// docOf is an action as the ranking reads it.
func docOf(a *registry.Action) resolve.Doc {
	d := resolve.Doc{ID: a.Name, Name: a.Name, Title: titleOf(a), Description: a.Description, Intents: a.Intents, Tags: a.Contract.Tags,
		Aliases: a.Asset.Aliases, Assets: []string{a.Asset.ID, a.Asset.Title, a.Asset.Class, strings.ReplaceAll(a.Asset.Location, "/", " ")}}
	var schema struct {
		Properties map[string]struct {
			Description string `json:"description"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(a.Params.Public, &schema); err != nil {
		return d // a schema whose properties have no text adds none
	}
	for _, name := range inventory.SortedKeys(schema.Properties) {
		if name != registry.ArgRequestID && name != registry.ArgDryRun {
			d.Parameters = append(d.Parameters, name+" "+schema.Properties[name].Description)
		}
	}
	return d
}

// sortedTools lists tools by name.
func sortedTools(m map[string]*tool) []*tool {
	return slices.SortedFunc(maps.Values(m), func(a, b *tool) int { return strings.Compare(a.mcp.Name, b.mcp.Name) })
}
