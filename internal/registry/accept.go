package registry

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"capd/internal/contract"
	"capd/internal/contract/diff"
	"capd/internal/contract/lint"
	"capd/internal/document"
	"capd/internal/inventory"
	"capd/internal/physical"
)

// ruleCollision is the rule of names that two want.
const ruleCollision = "name_collision"

// BuiltIn is the names of the tools that capd itself serves; no action may have one.
func BuiltIn() []string {
	return []string{"find_tools", "call_read", "call_action", "read_state", "explain", "list_alarms"}
}

// accepted is a contract with its compiled actions.
type accepted struct {
	contract *contract.Contract
	actions  []*Action
}

func (b *build) acceptContract(x accepted) {
	b.tools[major(x.contract)] = x.contract
	b.snapshot.Contracts = append(b.snapshot.Contracts, x.contract)
	b.snapshot.Actions = append(b.snapshot.Actions, x.actions...)
	for _, a := range x.actions {
		b.snapshot.byName[a.Name] = a
	}
}

// major is what one version of a contract replaces another under.
func major(c *contract.Contract) string { return fmt.Sprintf("%s@%d", c.Tool, c.Version.Major) }

// prepared is what one contract file comes to by itself.
type prepared struct {
	path   string
	source []byte
	accepted
	problems document.Problems
}

// each runs work for 0 to n-1 on all processors and waits.
func each(n int, work func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				work(int(i))
			}
		})
	}
	workers.Wait()
}

// parseAll begins to read the form of every contract, on all processors, and gives what waits for it: nearly all of a publish is
// spent here, and nothing in it needs the inventory.
func (b *build) parseAll() (wait func() []prepared) {
	files := b.of(KindContract)
	done := make([]prepared, len(files))
	var group sync.WaitGroup
	group.Go(func() { each(len(files), func(i int) { done[i] = b.parseContract(files[i]) }) })
	return func() []prepared {
		group.Wait()
		return done
	}
}

// bindAll does for every contract whose form is right what needs the inventory and no other contract.
func (b *build) bindAll(parsed []prepared) {
	each(len(parsed), func(i int) { parsed[i] = b.bind(parsed[i]) })
	for _, p := range parsed {
		b.prepared[p.path] = p
	}
}

// parseContract checks a contract's form.
func (b *build) parseContract(f File) prepared {
	p := prepared{path: f.Path, source: f.Source}
	n, ps := b.trees.parse(f)
	if ps.Err() == nil {
		c, more := contract.Parse(n, f.SHA256())
		ps.Add(more...)
		p.contract = c
	}
	if p.problems = ps; ps.Err() != nil {
		p.contract = nil
	}
	return p
}

// bind lints a contract and binds it to the inventory. It changes nothing of the build.
func (b *build) bind(p prepared) prepared {
	if p.contract == nil {
		return p
	}
	ps := slices.Clone(p.problems)
	ps.Add(lint.Check(p.contract, b.snapshot.Inventory, b.kindOf)...)
	actions, more := compile(p.contract, b.snapshot.Inventory, b.snapshot.Binding, b.schemas)
	ps.Add(more...)
	p.actions, p.problems = actions, ps
	return p
}

// contract checks a contract by itself, against the active version, and against the names that others have.
func (b *build) contract(f File) (accepted, document.Problems) {
	p, ok := b.prepared[f.Path]
	if !ok || !bytes.Equal(p.source, f.Source) {
		p = b.bind(b.parseContract(f))
	}
	if p.contract == nil {
		return accepted{}, p.problems
	}
	ps := slices.Clone(p.problems)
	if b.standing(f) != unchanged {
		if old := b.activeVersion(p.contract); old != nil {
			ps.Add(diff.Check(old, p.contract)...)
		}
	}
	ps.Add(b.collisions(p.contract)...)
	return p.accepted, ps
}

// kindOf is the form of a point's value, None for a point that is not bound.
func (b *build) kindOf(ref string) physical.Kind {
	if p := b.snapshot.Binding.Point(ref); p != nil {
		return p.ValueKind
	}
	return physical.None
}

// collisions reports a tool and names of actions that are taken.
func (b *build) collisions(c *contract.Contract) document.Problems {
	var ps document.Problems
	if other := b.tools[major(c)]; other != nil {
		ps.Add(document.Problem{Pos: c.Source.KeyPos("tool"), Path: "tool", Rule: ruleCollision,
			Message: fmt.Sprintf("major version %d of %s is already declared in %s", c.Version.Major, c.Tool, other.File), Hint: "merge the two files, or rename one tool"})
		return ps
	}
	taken := map[string]string{}
	for _, name := range BuiltIn() {
		taken[name] = "capd itself"
	}
	for _, a := range c.Actions {
		name := ToolName(c, a)
		owner := taken[name]
		if other := b.snapshot.byName[name]; other != nil {
			owner = other.Contract.Tool + " in " + other.Contract.File
		}
		if owner != "" {
			ps.Add(document.Problem{Pos: a.Pos, Path: "actions." + a.ID, Rule: ruleCollision,
				Message: fmt.Sprintf("the name %s is already taken by %s", name, owner), Hint: "give this action another name: or the contract another tool:"})
		}
		taken[name] = "the action " + a.ID + " of this file"
	}
	return ps
}

// activeVersion is the last good contract of the same tool and major version, nil when there is none. It may be suspended, or
// have been published before this process started.
func (b *build) activeVersion(c *contract.Contract) *contract.Contract {
	if b.active == nil {
		b.active = b.lastGood()
	}
	return b.active[major(c)]
}

func (b *build) lastGood() map[string]*contract.Contract {
	compiled := map[string]*contract.Contract{}
	for _, c := range b.before.Contracts {
		compiled[c.SHA256] = c
	}
	active := map[string]*contract.Contract{}
	for _, path := range inventory.SortedKeys(b.good) {
		f := b.good[path]
		if f.Kind != KindContract {
			continue
		}
		c := compiled[f.SHA256()]
		if c == nil {
			c = b.parseGood(f)
		}
		if c != nil {
			active[major(c)] = c
		}
	}
	return active
}

// parseGood reads a version that was in force; nil when this capd no longer reads it, and there is nothing to compare with.
func (b *build) parseGood(f File) *contract.Contract {
	n, ps := b.trees.parse(f)
	if ps.Err() != nil {
		return nil
	}
	c, ps := contract.Parse(n, f.SHA256())
	if ps.Err() != nil {
		return nil
	}
	return c
}
