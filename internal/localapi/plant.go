package localapi

import (
	"context"
	"slices"
	"time"

	"capd/internal/inventory"
	"capd/internal/invoke"
	"capd/internal/registry"
)

// readTimeout bounds a fresh read.
const readTimeout = 15 * time.Second

func (s *Server) assets(c call) (any, error) {
	if _, err := query(c.Request); err != nil {
		return nil, err
	}
	snapshot := s.Snapshots.Snapshot()
	visible := s.visible(c.who)
	all := []Asset{}
	for _, id := range snapshot.Inventory.AssetIDs() {
		all = append(all, s.assetOf(snapshot.Inventory.Assets[id], visible))
	}
	return map[string][]Asset{"assets": all}, nil
}

func (s *Server) asset(c call) (any, error) {
	if _, err := query(c.Request); err != nil {
		return nil, err
	}
	a, err := findAsset(s.Snapshots.Snapshot(), c.PathValue("id"))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	doc := s.assetOf(a, s.visible(c.who))
	for _, name := range inventory.SortedKeys(a.Points) {
		p := a.Points[name]
		point := Point{Name: name, Ref: p.Ref, Title: p.Title, Role: p.Role, Access: string(p.Access), Unit: p.Unit}
		if r, ok := s.Machine.Last(p.Ref); ok {
			reading := invoke.ReadingOf(p.Ref, r, now)
			point.Reading = &reading
		}
		doc.Points = append(doc.Points, point)
	}
	return doc, nil
}

func (s *Server) assetOf(a *inventory.Asset, visible []*registry.Action) Asset {
	doc := Asset{ID: a.ID, Title: a.Title, Class: a.Class, Location: a.Location, Aliases: a.Aliases, Device: a.Device,
		Lockouts: s.Standing.For(a.ID, a.Location)}
	if mark, ok := s.Standing.Unsettled(a.ID); ok {
		doc.Unsettled = &mark
	}
	for _, action := range visible {
		if action.Contract.Asset == a.ID {
			doc.Tools = append(doc.Tools, action.Name)
		}
	}
	return doc
}

func findAsset(snapshot *registry.Snapshot, id string) (*inventory.Asset, error) {
	if a := snapshot.Inventory.Assets[id]; a != nil {
		return a, nil
	}
	return nil, unknown("asset", clip(id), snapshot.Inventory.AssetIDs(), "capd assets lists all")
}

// points reads one point, or all that can be read of an asset, afresh. Callers that ask at the same time share a reading.
func (s *Server) points(c call) (any, error) {
	if _, err := query(c.Request); err != nil {
		return nil, err
	}
	asset, points, err := findPoints(s.Snapshots.Snapshot(), c.PathValue("ref"))
	if err != nil {
		return nil, err
	}
	refs := make([]string, len(points))
	for i, p := range points {
		refs[i] = p.Ref
	}
	ctx, cancel := context.WithTimeout(c.Context(), readTimeout)
	defer cancel()
	readings := s.Machine.ReadCached(ctx, refs, 0)
	doc, now := Readings{Asset: asset.ID, Good: true, Readings: []invoke.Reading{}}, time.Now()
	for _, ref := range refs {
		r, ok := readings[ref]
		if !ok {
			return nil, problem(Internal, "", "%s was not read", ref)
		}
		doc.Good = doc.Good && r.Good()
		doc.Readings = append(doc.Readings, invoke.ReadingOf(ref, r, now))
	}
	return doc, nil
}

func findPoints(snapshot *registry.Snapshot, ref string) (*inventory.Asset, []*inventory.Point, error) {
	inv := snapshot.Inventory
	if p := inv.Point(ref); p != nil {
		if p.Access == inventory.WriteOnly {
			return nil, nil, problem(BadRequest, "read a feedback point of the asset instead", "%s can only be written", ref)
		}
		return inv.Assets[p.Asset], []*inventory.Point{p}, nil
	}
	a := inv.Assets[ref]
	if a == nil {
		return nil, nil, unknown("point", clip(ref), slices.Concat(inv.Refs(), inv.AssetIDs()), "write ASSET.point, or ASSET alone for all its points; capd assets lists all")
	}
	var points []*inventory.Point
	for _, name := range inventory.SortedKeys(a.Points) {
		if p := a.Points[name]; p.Access != inventory.WriteOnly {
			points = append(points, p)
		}
	}
	if len(points) == 0 {
		return nil, nil, problem(BadRequest, "", "%s has no point that can be read", ref)
	}
	return a, points, nil
}
