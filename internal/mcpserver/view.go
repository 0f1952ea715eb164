package mcpserver

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"capd/internal/access"
	"capd/internal/contract"
	"capd/internal/document"
	"capd/internal/guard"
	"capd/internal/inventory"
	"capd/internal/registry"
	"capd/internal/resolve"
)

// caller is who calls, and what this caller sees at this URL.
type caller struct {
	subject access.Subject
	view    *view
}

type callerKey struct{}

// callerOf is the caller of a request, nil outside of one.
func callerOf(ctx context.Context) *caller {
	c, _ := ctx.Value(callerKey{}).(*caller)
	return c
}

// listed is what tools/list shows; nothing without a caller.
func (c *caller) listed() []mcp.Tool {
	if c == nil {
		return []mcp.Tool{}
	}
	return c.view.listed
}

// permittedTools is the fence inside mcp-go: a tool that the caller may not call is neither listed nor called, whatever the door let
// through. mcp-go asks with all tools for a list, and with the one tool of a call.
func permittedTools(ctx context.Context, tools []mcp.Tool) []mcp.Tool {
	c := callerOf(ctx)
	if c == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(tools), func(t mcp.Tool) bool { return !c.view.callable(t.Name) })
}

// view is what one subject may see of one snapshot through one profile. It is immutable.
type view struct {
	state     *state
	profile   *access.Profile
	permitted map[string]*tool // actions that the subject may call
	own       []*tool          // of capd's own tools
	listed    []mcp.Tool
	print     uint64 // fingerprint of listed
	assets    func() map[string]*seenAsset
}

// mostViews bounds the views that are kept; there are few subjects and fewer profiles.
const mostViews = 256

// viewOf gives the view of a subject through a profile, nil for none.
func (st *state) viewOf(s access.Subject, p *access.Profile) *view {
	key := viewKey(s, p)
	st.mu.Lock()
	v := st.views[key]
	st.mu.Unlock()
	if v != nil {
		return v
	}
	v = st.newView(s, p)
	st.mu.Lock()
	defer st.mu.Unlock()
	if len(st.views) >= mostViews {
		clear(st.views)
	}
	st.views[key] = v
	return v
}

// viewAgain gives the view that the subject of an earlier snapshot has of this one.
func (st *state) viewAgain(c *caller) *view {
	if c.view.profile == nil {
		return st.viewOf(c.subject, nil)
	}
	if p := st.snapshot.Profiles[c.view.profile.Name]; p != nil {
		return st.viewOf(c.subject, p)
	}
	return &view{state: st, profile: c.view.profile, assets: func() map[string]*seenAsset { return nil }} // the profile is gone: nothing
}

// viewKey holds everything of a subject that a view depends on.
func viewKey(s access.Subject, p *access.Profile) string {
	var b strings.Builder
	b.WriteString(s.ID)
	for _, list := range [][]string{s.Roles, s.Scopes} {
		b.WriteByte(0)
		for _, one := range list {
			b.WriteString(one)
			b.WriteByte(1)
		}
	}
	b.WriteByte(0)
	b.WriteString(s.Tenant)
	if p != nil {
		b.WriteByte(0)
		b.WriteString(p.Name)
	}
	return b.String()
}

func (st *state) newView(s access.Subject, p *access.Profile) *view {
	v := &view{state: st, profile: p, permitted: map[string]*tool{}}
	for name, t := range st.tools {
		if ok, _ := guard.Visible(st.policy, s, p, t.action); ok {
			v.permitted[name] = t
		}
	}
	for _, t := range st.own {
		if t.mcp.Name != toolCallAction || v.moves() {
			v.own = append(v.own, t)
		}
	}
	v.list()
	v.assets = sync.OnceValue(v.seeAssets)
	return v
}

// moves reports whether call_action has anything to call.
func (v *view) moves() bool {
	for _, t := range v.permitted {
		if t.action.Moves() && t.action.Risk != contract.Critical {
			return true
		}
	}
	return false
}

// callable reports whether a tool may be called by its own name.
func (v *view) callable(name string) bool {
	return v.permitted[name] != nil || slices.ContainsFunc(v.own, func(t *tool) bool { return t.mcp.Name == name })
}

func (v *view) suggestTool(name string) string {
	names := inventory.SortedKeys(v.permitted)
	for _, t := range v.own {
		names = append(names, t.mcp.Name)
	}
	return document.Suggest(name, names)
}

// list chooses what tools/list shows: capd's own tools, then all permitted ones if they are few, else as many of the chosen as the
// bound of bytes lets in.
func (v *view) list() {
	tools, whole := v.chosen()
	left := v.state.config.ListBytes
	h := fnv.New64a()
	for i, t := range append(slices.Clone(v.own), tools...) {
		size, hash := t.weigh()
		if left -= size; size == 0 || !whole && left < 0 && i >= len(v.own) {
			continue
		}
		v.listed = append(v.listed, t.mcp)
		h.Write(binary.BigEndian.AppendUint64(nil, hash)) // never fails, hash.Hash
	}
	v.print = h.Sum64()
}

// chosen is all permitted tools by name, if they are few, else the pinned ones of the profile and those that rank first for it.
func (v *view) chosen() (tools []*tool, whole bool) {
	most, top, pinned, tags, query := v.state.config.MaxTools, v.state.config.TopK, []string(nil), []string(nil), ""
	if p := v.profile; p != nil {
		pinned, tags, query = p.Pinned, p.Tags, strings.Join(append([]string{p.Title}, p.Tags...), " ")
		if p.MaxTools > 0 {
			most = p.MaxTools
		}
		if p.TopK > 0 {
			top = p.TopK
		}
	}
	if len(v.permitted) <= most {
		return sortedTools(v.permitted), true
	}
	request := resolve.Request{Query: query, TopK: top, Pinned: pinned, Tags: tags, Allowed: v.allows}
	found := v.state.index.Resolve(request).Tools
	if len(found) < top+len(pinned) { // the profile's words find too few: fill up in the order of names
		request.Query = ""
		found = append(found, v.state.index.Resolve(request).Tools...)
	}
	for _, r := range found {
		t := v.permitted[r.ID]
		if !slices.Contains(tools, t) && len(tools) < min(most, top+len(pinned)) {
			tools = append(tools, t)
		}
	}
	return tools, false
}

// allows is the policy as the ranking asks for it.
func (v *view) allows(id string) (bool, string) { return v.permitted[id] != nil, "policy" }

// seenAsset is what a caller may read of an asset.
type seenAsset struct {
	asset  *inventory.Asset
	whole  bool            // one of its own actions is visible
	points map[string]bool // else only the points that visible actions touch
}

// sees reports whether a point may be read.
func (s *seenAsset) sees(point string) bool { return s.whole || s.points[point] }

// seeAssets is the rule of visibility for assets and points, made of the one for actions: an asset is visible whole if one of its
// actions is; of any other asset only the points are that a visible action touches.
func (v *view) seeAssets() map[string]*seenAsset {
	seen := map[string]*seenAsset{}
	at := func(asset *inventory.Asset) *seenAsset {
		if seen[asset.ID] == nil {
			seen[asset.ID] = &seenAsset{asset: asset, points: map[string]bool{}}
		}
		return seen[asset.ID]
	}
	inv := v.state.snapshot.Inventory
	for _, t := range v.permitted {
		at(t.action.Asset).whole = true
		for _, ref := range pointsOf(t.action) {
			if p := inv.Point(ref); p != nil {
				at(inv.Assets[p.Asset]).points[p.Name] = true
			}
		}
	}
	return seen
}

// pointsOf is what an action reads or writes.
func pointsOf(a *registry.Action) []string {
	refs := a.Refs()
	for _, p := range a.Returned {
		refs = append(refs, p.Ref)
	}
	return refs
}
