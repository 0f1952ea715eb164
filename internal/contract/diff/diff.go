// Package diff compares two versions of a contract as those who call it see them, and as those who answer for the machine do.
//
// Its promise: a change that can make a call fail that used to work, or that makes the same call do something else, is breaking; a
// change after which a wrong outcome is noticed later, or less surely, is weakened; everything else is compatible. It judges what is
// written: two expressions that mean the same are different. It changes nothing and does no I/O.
package diff

import (
	"fmt"
	"slices"
	"strings"

	"capd/internal/contract"
	"capd/internal/document"
)

// Kind says what a change does to those who rely on the old version.
type Kind string

// The kinds.
const (
	Breaking   Kind = "breaking"
	Weakened   Kind = "weakened"
	Compatible Kind = "compatible"
)

// Change is one difference. Pos is its place in the new version, or the nearest one where something is gone.
type Change struct {
	Kind Kind         `json:"kind"`
	Path string       `json:"path"` // such as actions.set_opening.parameters.opening
	Text string       `json:"text"`
	Pos  document.Pos `json:"-"`
}

// The rules of Check.
const (
	RuleBreaking = "breaking_change"
	RuleWeakened = "weakened"
	RuleVersion  = "version"
)

// Check judges a new version that is to take the place of an old one of the same tool. A breaking change within one major version
// and a version that goes backwards are errors; a weakened proof or protection, and the same version number with other content, are
// warnings.
func Check(old, new *contract.Contract) document.Problems {
	if old.SHA256 != "" && old.SHA256 == new.SHA256 {
		return nil
	}
	at := new.Source.KeyPos("version")
	if new.Version.Compare(old.Version) < 0 {
		return document.Problems{{Pos: at, Path: "version", Rule: RuleVersion, Message: fmt.Sprintf("version %s is older than %s, which is active", new.Version, old.Version),
			Hint: fmt.Sprintf("give it a version above %s", old.Version)}}
	}
	var ps document.Problems
	if new.Version == old.Version {
		next := contract.Version{Major: old.Version.Major, Minor: old.Version.Minor, Patch: old.Version.Patch + 1}
		ps.Add(document.Problem{Pos: at, Path: "version", Rule: RuleVersion, Warning: true,
			Message: fmt.Sprintf("version %s is active with other content", old.Version), Hint: fmt.Sprintf("raise it to %s at least", next)})
	}
	for _, c := range Compare(old, new) {
		switch {
		case c.Kind == Breaking && new.Version.Major == old.Version.Major:
			ps.Add(document.Problem{Pos: at, Path: c.Path, Rule: RuleBreaking, Message: "breaking change since " + old.Version.String() + ": " + c.Text,
				Hint: fmt.Sprintf("raise the major version to %d", old.Version.Major+1)})
		case c.Kind == Weakened:
			ps.Add(document.Problem{Pos: c.Pos, Path: c.Path, Rule: RuleWeakened, Warning: true, Message: "weaker than " + old.Version.String() + ": " + c.Text,
				Hint: "keep it if that is what you mean"})
		}
	}
	return ps
}

// Compare lists what differs, in the order of the old version's actions. Two contracts of equal meaning have no changes.
func Compare(old, new *contract.Contract) []Change {
	c := &comparison{old: old, new: new}
	if old.Asset != new.Asset {
		c.add(Breaking, new.Source.KeyPos("asset"), "asset", "it belongs to %s instead of %s", new.Asset, old.Asset)
	}
	if old.Title != new.Title || !slices.Equal(old.Tags, new.Tags) {
		c.add(Compatible, new.Source.KeyPos("title"), "title", "title or tags changed")
	}
	kept := map[*contract.Action]bool{}
	for _, a := range old.Actions {
		b := c.counterpart(a)
		if b == nil {
			c.add(Breaking, new.Source.KeyPos("actions"), "actions."+a.ID, "the action %s (%s) is gone", a.ID, old.MCPName(a))
			continue
		}
		kept[b] = true
		c.action(a, b)
	}
	for _, b := range new.Actions {
		if !kept[b] {
			c.add(Compatible, b.Pos, "actions."+b.ID, "the action %s is new", b.ID)
		}
	}
	return c.changes
}

// comparison is one run of Compare.
type comparison struct {
	old, new *contract.Contract
	changes  []Change
}

func (c *comparison) add(kind Kind, pos document.Pos, path, format string, args ...any) {
	c.changes = append(c.changes, Change{Kind: kind, Path: path, Text: fmt.Sprintf(format, args...), Pos: pos})
}

// counterpart is the new form of an action: the one with its id, else the one that agents call by the same name.
func (c *comparison) counterpart(a *contract.Action) *contract.Action {
	if b := c.new.Action(a.ID); b != nil {
		return b
	}
	i := slices.IndexFunc(c.new.Actions, func(b *contract.Action) bool { return c.new.MCPName(b) == c.old.MCPName(a) })
	if i < 0 {
		return nil
	}
	return c.new.Actions[i]
}

// pair is an action in both versions.
type pair struct {
	*comparison
	a, b *contract.Action
	path string
}

// note adds a change at a key of the new action.
func (p pair) note(kind Kind, key, format string, args ...any) {
	p.add(kind, p.b.Source.KeyPos(key), p.path+"."+key, format, args...)
}

func (c *comparison) action(a, b *contract.Action) {
	p := pair{c, a, b, "actions." + b.ID}
	if from, to := c.old.MCPName(a), c.new.MCPName(b); from != to {
		p.note(Breaking, "name", "agents know it as %s, and it is now %s", from, to)
	} else if a.ID != b.ID {
		p.note(Compatible, "name", "the action %s is now %s, under the same name", a.ID, b.ID)
	}
	if a.Title != b.Title || a.Description != b.Description || !slices.Equal(a.Intents, b.Intents) {
		p.note(Compatible, "description", "title, description or intents changed")
	}
	p.effect()
	p.parameters()
	p.returns()
	p.security()
	p.execution()
	p.permits()
	p.verification()
}

func (p pair) effect() {
	a, b := p.a, p.b
	if a.Effect != b.Effect {
		p.note(Breaking, "effect", "the effect changed from %s to %s", a.Effect, b.Effect)
	}
	switch rank := riskRank(b.Risk) - riskRank(a.Risk); {
	case rank > 0:
		p.note(Breaking, "risk", "the risk rose from %s to %s", a.Risk, b.Risk)
	case rank < 0:
		p.note(Weakened, "risk", "the risk fell from %s to %s", a.Risk, b.Risk)
	}
	switch {
	case a.ToSafe && !b.ToSafe:
		p.note(Breaking, "to_safe", "it is no longer the way to the safe side, so it can be refused")
	case !a.ToSafe && b.ToSafe:
		p.note(Weakened, "to_safe", "as the way to the safe side it skips most gates")
	}
}

func riskRank(r contract.Risk) int {
	return slices.Index([]contract.Risk{contract.Info, contract.Low, contract.Medium, contract.High, contract.Critical}, r)
}

func (p pair) returns() {
	if gone := missing(p.a.Returns, p.b.Returns); len(gone) > 0 {
		p.note(Breaking, "returns", "it no longer returns %s", strings.Join(gone, ", "))
	}
	if more := missing(p.b.Returns, p.a.Returns); len(more) > 0 {
		p.note(Compatible, "returns", "it returns %s as well", strings.Join(more, ", "))
	}
	for _, alias := range p.a.Returns {
		from, to := p.old.Points[alias].Ref, p.new.Points[alias].Ref
		if slices.Contains(p.b.Returns, alias) && from != to {
			p.note(Breaking, "returns", "%s is now %s instead of %s", alias, to, from)
		}
	}
}

func (p pair) security() {
	for _, s := range []struct {
		what     string
		from, to []string
	}{{"permission", p.a.Permissions, p.b.Permissions}, {"scope", p.a.Scopes, p.b.Scopes}} {
		for _, name := range missing(s.to, s.from) {
			p.note(Breaking, "security", "it needs the %s %s as well", s.what, name)
		}
		for _, name := range missing(s.from, s.to) {
			p.note(Weakened, "security", "it no longer needs the %s %s", s.what, name)
		}
	}
}

// missing lists what is in from and not in to.
func missing(from, to []string) []string {
	return slices.DeleteFunc(slices.Clone(from), func(s string) bool { return slices.Contains(to, s) })
}
