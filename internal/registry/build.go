package registry

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"capd/internal/access"
	"capd/internal/contract"
	"capd/internal/document"
	"capd/internal/field"
	"capd/internal/hal"
	"capd/internal/inventory"
)

func emptySnapshot() *Snapshot {
	inv, _ := inventory.Parse()
	binding, _ := field.Bind(inv, nil)
	return &Snapshot{Inventory: inv, Binding: binding, Profiles: map[string]*access.Profile{}, byName: map[string]*Action{}}
}

// build turns a candidate into a snapshot. Each file is in one of three states: as written, its last good version, or out.
type build struct {
	drivers  []hal.Driver
	before   *Snapshot
	good     map[string]File // last good version by path
	use      []File          // what is tried now
	rejected map[string]Rejected
	tools    map[string]*contract.Contract // accepted, by tool and major version
	active   map[string]*contract.Contract // last good, by tool and major version; nil until it is needed
	prepared map[string]prepared           // contracts as written, by path
	warnings document.Problems
	trees    *trees
	schemas  *schemas
	snapshot *Snapshot
}

func newBuild(c Candidate, good map[string]File, parsed *trees, drivers []hal.Driver, before *Snapshot) *build {
	b := &build{drivers: drivers, before: before, good: good, trees: parsed, rejected: map[string]Rejected{}, schemas: newSchemas(), tools: map[string]*contract.Contract{},
		prepared: map[string]prepared{}, snapshot: emptySnapshot()}
	for _, f := range c.Files {
		if f.Err != nil {
			if old, ok := b.reject(f, unreadable(f)); ok {
				b.use = append(b.use, old)
			}
			continue
		}
		b.use = append(b.use, f)
	}
	return b
}

func (b *build) run() *Snapshot {
	parsed := b.parseAll()
	b.inventory()
	b.bindAll(parsed())
	judge(b, KindContract, b.contract, b.acceptContract)
	judge(b, KindProfile, b.profile, func(p *access.Profile) { b.snapshot.Profiles[p.Name] = p })
	b.finish()
	return b.snapshot
}

// judge accepts each file of a kind as it is written, else its last good version. Each file is checked alone, so that a bad one
// never blocks others.
func judge[T any](b *build, kind Kind, check func(File) (T, document.Problems), accept func(T)) {
	for _, f := range b.of(kind) {
		for tried, ok := f, true; ok; {
			v, ps := check(tried)
			if ps.Err() == nil {
				b.warnings.Add(ps...)
				accept(v)
				break
			}
			tried, ok = b.stepBack(tried, ps)
		}
	}
}

// stepBack takes a file out of force and puts its last good version in its place, if there is one that was not tried.
func (b *build) stepBack(f File, ps document.Problems) (File, bool) {
	old, ok := b.reject(f, ps)
	i := slices.IndexFunc(b.use, func(u File) bool { return u.Path == f.Path })
	if ok {
		b.use[i] = old
	} else {
		b.use = slices.Delete(b.use, i, i+1)
	}
	return old, ok
}

// reject notes why a file is not in force as written, and gives the version that serves instead, if there is one.
func (b *build) reject(f File, ps document.Problems) (File, bool) {
	old, ok := b.good[f.Path]
	if f.Err == nil && b.standing(f) == unchanged {
		ps, ok = suspended(ps), false
	}
	if before, twice := b.rejected[f.Path]; twice {
		ps, ok = append(before.Problems, ps...), false
	}
	serving := "nothing"
	if ok {
		serving = "last good version " + old.SHA256()[:12]
	}
	b.rejected[f.Path] = Rejected{File: f.Path, Kind: string(f.Kind), Serving: serving, Problems: ps.Sorted()}
	return old, ok
}

// suspended marks the problems of a version that was in force and no longer fits what stands around it.
func suspended(ps document.Problems) document.Problems {
	out := slices.Clone(ps)
	for i := range out {
		out[i].Message = "suspended: its last good version no longer fits: " + out[i].Message
	}
	return out
}

// standing is a file's right to a name that two files want: what is in force keeps it.
type standing int

const (
	unchanged standing = iota // the last good version itself
	changed
	added
)

func (b *build) standing(f File) standing {
	old, known := b.good[f.Path]
	switch {
	case !known:
		return added
	case bytes.Equal(old.Source, f.Source):
		return unchanged
	default:
		return changed
	}
}

// of lists the files of a kind, those that are in force already first.
func (b *build) of(kind Kind) []File {
	var by [3][]File
	for _, f := range b.use {
		if f.Kind == kind {
			s := b.standing(f)
			by[s] = append(by[s], f)
		}
	}
	return slices.Concat(by[unchanged], by[changed], by[added])
}

func (b *build) finish() {
	for _, path := range inventory.SortedKeys(b.rejected) {
		b.snapshot.Rejected = append(b.snapshot.Rejected, b.rejected[path])
	}
	b.snapshot.Warnings = b.warnings.Sorted()
	slices.SortFunc(b.snapshot.Actions, func(x, y *Action) int { return strings.Compare(x.Name, y.Name) })
	slices.SortFunc(b.snapshot.Contracts, func(x, y *contract.Contract) int {
		return cmp.Or(strings.Compare(x.Tool, y.Tool), x.Version.Compare(y.Version))
	})
}

func (b *build) profile(f File) (*access.Profile, document.Problems) {
	n, ps := b.trees.parse(f)
	if ps.Err() != nil {
		return nil, ps
	}
	p, more := access.ParseProfile(n)
	ps.Add(more...)
	if ps.Err() == nil && b.snapshot.Profiles[p.Name] != nil {
		ps.Add(document.Problem{Pos: n.KeyPos("name"), Path: "name", Rule: ruleCollision,
			Message: fmt.Sprintf("the profile %s is declared in another file too", p.Name), Hint: "rename one of them"})
	}
	return p, ps
}
