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
	lists    *server.StreamableHTTPServer // serves tools/list alone

	mu    sync.Mutex
	views map[string]*view
}

// tool is one tool as lists show it.
type tool struct {
	mcp    mcp.Tool
	action *registry.Action               // nil for capd's own
	weigh  func() (size int, hash uint64) // of its JSON, in bytes; a size of 0: it cannot be written
}

func newTool(t mcp.Tool, a *registry.Action) *tool {
	one := &tool{mcp: t, action: a}
	one.weigh = sync.OnceValues(func() (int, uint64) {
		raw, err := json.Marshal(one.mcp)
		if err != nil {
			return 0, 0
		}
		h := fnv.New64a()
		h.Write(raw) // never fails, hash.Hash
		return len(raw), h.Sum64()
	})
	return one
}

// newState computes the tools of a snapshot. No action has the name of one of capd's own tools: the registry sees to that.
func (s *Server) newState(snapshot *registry.Snapshot) *state {
	st := &state{snapshot: snapshot, policy: s.deps.Policy, config: s.config, tools: make(map[string]*tool, len(snapshot.Actions)), views: map[string]*view{}}
	for _, own := range s.ownTools() {
		st.own = append(st.own, newTool(own.Tool, nil))
	}
	kinds := newOutputs()
	docs := make([]resolve.Doc, 0, len(snapshot.Actions))
	for _, a := range snapshot.Actions {
		st.tools[a.Name] = newTool(kinds.toolOf(a), a)
		docs = append(docs, resolve.DocOf(a))
	}
	st.index = resolve.NewIndex(docs)
	s.serve(st)
	return st
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
	next := s.newState(snapshot)
	s.state.Store(next)
	for _, one := range s.streams.list() {
		one.tell(next.viewAgain(one.caller).print)
	}
}

// serve gives a state MCP servers of its own. mcp-go tells every client of every change of its tools; one that never changes tells
// nobody, and the door tells those whose own list has changed. What is under way stays with the server that it began on, and a
// session of an older revision goes on with the next: who it belongs to is the door's to know.
//
// Lists come from a server that knows no tool: mcp-go copies and sorts all of them for each list, only for the view to replace them.
func (s *Server) serve(st *state) {
	st.mcp, st.http = s.newMCP()
	st.mcp.SetTools(s.handlers(st)...)
	_, st.lists = s.newMCP()
}

func (s *Server) newMCP() (*server.MCPServer, *server.StreamableHTTPServer) {
	m := server.NewMCPServer("capd", s.config.Version, server.WithTitle("capd"), server.WithInstructions(instructions),
		server.WithToolCapabilities(true), server.WithCacheHints(0, mcp.CacheScopePrivate), server.WithToolHandlerMiddleware(s.recovered),
		server.WithToolFilter(permittedTools), server.WithHooks(s.hooks()))
	return m, server.NewStreamableHTTPServer(m, server.WithSessionIdManagerResolver(s.sessions), server.WithDisableLocalhostProtection(true),
		server.WithHeartbeatInterval(heartbeat), server.WithStreamableHTTPLogger(s.deps.Log))
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

// sortedTools lists tools by name.
func sortedTools(m map[string]*tool) []*tool {
	return slices.SortedFunc(maps.Values(m), func(a, b *tool) int { return strings.Compare(a.mcp.Name, b.mcp.Name) })
}
