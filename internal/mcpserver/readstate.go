package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"capd/internal/document"
	"capd/internal/inventory"
	"capd/internal/outcome"
)

// readState reads the points of one asset that the caller may see.
func (s *Server) readState(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	c, args := callerOf(ctx), newArguments(sentArguments(ctx, r.Params.RawArguments))
	name, point := args.text("asset", longestName), args.text("point", longestName)
	refusal := args.done()
	if refusal == nil && name == "" {
		refusal = outcome.Refuse(outcome.InvalidParameter, `argument "asset" is missing; `+c.assetHint())
	}
	if refusal != nil {
		return refused(toolReadState, refusal)
	}
	seen := c.view.assets()[name]
	if seen == nil {
		return refused(toolReadState, c.unknownAsset(name))
	}
	points, refusal := seen.choose(point)
	if refusal != nil {
		return refused(toolReadState, refusal)
	}
	return result(s.deps.Corridor.ReadState(ctx, seen.asset, points))
}

// choose gives the readable points of an asset in order, or the one that is asked for.
func (s *seenAsset) choose(name string) ([]*inventory.Point, *outcome.Refusal) {
	var all []*inventory.Point
	var names []string
	for _, key := range inventory.SortedKeys(s.asset.Points) {
		if p := s.asset.Points[key]; s.sees(key) && p.Access != inventory.WriteOnly {
			all, names = append(all, p), append(names, key)
		}
	}
	name = strings.TrimPrefix(name, s.asset.ID+".")
	if i := slices.Index(names, name); i >= 0 {
		return all[i : i+1], nil
	}
	if name == "" && len(all) > 0 {
		return all, nil
	}
	text := fmt.Sprintf("%s has no point %q that can be read", s.asset.ID, clip(name))
	if near := document.Suggest(name, names); near != "" {
		text += fmt.Sprintf("; did you mean %q", near)
	} else if len(names) > 0 {
		text += "; it has " + listed(names)
	}
	return nil, outcome.Refuse(outcome.UnknownAsset, text)
}

// unknownAsset refuses a name that is no id of an asset that the caller sees; titles and aliases lead to the id.
func (c *caller) unknownAsset(name string) *outcome.Refusal {
	text := fmt.Sprintf("there is no asset %q", clip(name))
	if near := c.suggestAsset(name); near != "" {
		text += fmt.Sprintf("; did you mean %q", near)
	} else {
		text += "; " + c.assetHint()
	}
	return outcome.Refuse(outcome.UnknownAsset, text)
}

func (c *caller) suggestAsset(name string) string {
	seen := c.view.assets()
	ids := inventory.SortedKeys(seen)
	if near := document.Suggest(name, ids); near != "" {
		return near
	}
	for _, id := range ids {
		asset := seen[id].asset
		if document.Suggest(name, append([]string{asset.Title}, asset.Aliases...)) != "" {
			return id
		}
	}
	return ""
}

// assetHint lists the assets that the caller sees.
func (c *caller) assetHint() string {
	ids := inventory.SortedKeys(c.view.assets())
	if len(ids) == 0 {
		return "no asset is visible with this token"
	}
	return "the assets are " + listed(ids)
}

// listed joins names, the first few of many.
func listed(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// tags are the tags that rank first in this view.
func (v *view) tags() []string {
	if v.profile == nil {
		return nil
	}
	return v.profile.Tags
}
