package localapi

import (
	"slices"
	"strings"
	"sync"

	"capd/internal/access"
	"capd/internal/document"
	"capd/internal/guard"
	"capd/internal/health"
	"capd/internal/inventory"
	"capd/internal/registry"
	"capd/internal/resolve"
)

// Bounds of a search.
const (
	defaultFound = 5
	maxFound     = 100
)

// visible lists the actions that a person may see, by name.
func (s *Server) visible(who peer) []*registry.Action {
	return s.Corridor.Visible(who.subject(s.Policy), nil)
}

func (s *Server) tools(c call) (any, error) {
	if _, err := query(c.Request); err != nil {
		return nil, err
	}
	all := []Tool{}
	for _, a := range s.visible(c.who) {
		all = append(all, s.toolOf(a))
	}
	return map[string][]Tool{"tools": all}, nil
}

func (s *Server) toolOf(a *registry.Action) Tool {
	return Tool{Name: a.Name, Title: titleOf(a), Description: a.Description, Asset: a.Contract.Asset, Location: a.Location(), Effect: string(a.Effect),
		Risk: string(a.Risk), ToSafe: a.ToSafe, Contract: a.Contract.Tool + "@" + a.Contract.Version.String(),
		Degraded: s.Breakers.State(a.Name).Degraded, InputSchema: a.Params.Public}
}

func titleOf(a *registry.Action) string {
	if a.Title != "" {
		return a.Title
	}
	return a.Contract.Title
}

// find searches as an agent's find_tools does, over what the caller may see; with a profile, as an agent of that profile would.
func (s *Server) find(c call) (any, error) {
	given, err := query(c.Request, "q", "explain", "limit", "profile")
	if err != nil {
		return nil, err
	}
	limit, err := number(given, "limit", defaultFound, maxFound)
	if err != nil {
		return nil, err
	}
	why, err := flag(given, "explain")
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(given["q"]) == "" {
		return nil, problem(BadRequest, `say what the tool shall do: capd tools find "open the discharge valve"`, "the words to search for are missing")
	}
	snapshot := s.Snapshots.Snapshot()
	profile, err := findProfile(snapshot, given["profile"])
	if err != nil {
		return nil, err
	}
	return s.resolve(snapshot, c.who.subject(s.Policy), profile, given["q"], limit, why), nil
}

func (s *Server) resolve(snapshot *registry.Snapshot, subject access.Subject, profile *access.Profile, words string, limit int, why bool) Found {
	request := resolve.Request{Query: words, TopK: limit, Allowed: func(id string) (bool, string) {
		return guard.Visible(s.Policy, subject, profile, snapshot.Action(id))
	}}
	if profile != nil {
		request.Pinned, request.Tags = profile.Pinned, profile.Tags
	}
	result := s.search.index(snapshot).Resolve(request)
	found := Found{Query: words, Total: result.Total, Permitted: result.Filtered, Tools: []FoundTool{}}
	if why {
		found.Removed = result.Removed
	}
	for _, r := range result.Tools {
		tool := FoundTool{Tool: s.toolOf(snapshot.Action(r.ID)), Score: r.Score, Stage: r.Stage}
		if why {
			tool.Why = r.Why
		}
		found.Tools = append(found.Tools, tool)
	}
	return found
}

// findProfile gives a profile by name; no name is no profile.
func findProfile(snapshot *registry.Snapshot, name string) (*access.Profile, error) {
	if name == "" {
		return nil, nil
	}
	if p := snapshot.Profiles[name]; p != nil {
		return p, nil
	}
	known := inventory.SortedKeys(snapshot.Profiles)
	next := "the profiles are " + strings.Join(known, ", ")
	if len(known) == 0 {
		next = "there are no profiles in force"
	}
	return nil, unknown("profile", clip(name), known, next)
}

// searcher keeps the index of the latest snapshot that was searched.
type searcher struct {
	mu   sync.Mutex
	of   *registry.Snapshot
	kept *resolve.Index
}

func (x *searcher) index(snapshot *registry.Snapshot) *resolve.Index {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.of != snapshot {
		docs := make([]resolve.Doc, len(snapshot.Actions))
		for i, a := range snapshot.Actions {
			docs[i] = resolve.DocOf(a)
		}
		x.of, x.kept = snapshot, resolve.NewIndex(docs)
	}
	return x.kept
}

func (s *Server) degrade(c call) (any, error) {
	return s.changeHealth(c, "degrade", func(action, reason string) error { return s.Breakers.Degrade(action, c.who.name, reason) })
}

func (s *Server) restore(c call) (any, error) {
	return s.changeHealth(c, "restore", func(action, _ string) error { return s.Breakers.Restore(action, c.who.name) })
}

func (s *Server) changeHealth(c call, event string, apply func(action, reason string) error) (any, error) {
	reason := ""
	take := func(m *document.Map) { reason = m.String("reason") }
	if event == "degrade" {
		if err := body(c.Request, required(take, "reason")); err != nil {
			return nil, err
		}
	} else if err := optional(c.Request, take); err != nil {
		return nil, err
	}
	name, err := s.findMoving(c.PathValue("name"))
	if err != nil {
		return nil, err
	}
	before := s.Breakers.State(name)
	if err := apply(name, reason); err != nil {
		return nil, err
	}
	s.note(c, event, change{Target: name, Reason: reason})
	return ToolHealth{Before: before, Now: s.Breakers.State(name)}, nil
}

// findMoving finds an action that can be degraded: one that moves something. One that is no longer in force can be restored as long as it
// is on record.
func (s *Server) findMoving(name string) (string, error) {
	snapshot := s.Snapshots.Snapshot()
	if a := snapshot.Action(name); a != nil {
		if a.Moves() {
			return name, nil
		}
		return "", problem(BadRequest, "only actions that move something are taken out of service", "%s only reads", name)
	}
	if slices.ContainsFunc(s.Breakers.States(), func(st health.State) bool { return st.Action == name }) {
		return name, nil
	}
	var moving, own []string
	for _, a := range snapshot.Actions {
		if a.Moves() {
			moving = append(moving, a.Name)
		}
		if a.Moves() && a.Contract.Tool == name {
			own = append(own, a.Name)
		}
	}
	if len(own) > 0 {
		return "", problem(NotFound, "name one of its actions: "+strings.Join(own, ", "), "%s is a contract, not a tool", name)
	}
	return "", unknown("tool", clip(name), moving, "capd tools list shows all")
}
