package registry

import (
	"slices"

	"capd/internal/document"
	"capd/internal/field"
	"capd/internal/inventory"
)

// inventory checks all inventory files together, because they name each other. While there are problems, files step back to their
// last good version, or out; each turn takes at least one step, so it ends.
func (b *build) inventory() {
	for {
		files := b.of(KindInventory)
		inv, binding, ps := b.checkInventory(files)
		guilty := b.guilty(files, ps)
		if len(guilty) == 0 {
			b.snapshot.Inventory, b.snapshot.Binding = inv, binding
			b.warnings.Add(ps...)
			return
		}
		for _, g := range guilty {
			b.stepBack(g.file, g.problems)
		}
	}
}

// charge is a file that has to step back, and why.
type charge struct {
	file     File
	problems document.Problems
}

// guilty decides which files step back next. A file that lacks only names waits for those with faults of their own: their last
// good version may declare them. A file that is in force already was good beside the others, so if undoing another file mends
// it, that one is to blame.
func (b *build) guilty(files []File, ps document.Problems) []charge {
	var faults, lacks, inForce []charge
	for _, f := range files {
		mine := slices.DeleteFunc(slices.Clone(ps), func(p document.Problem) bool { return p.Pos.File != f.Path })
		c := charge{f, mine}
		switch {
		case mine.Err() == nil:
		case b.standing(f) == unchanged:
			inForce = append(inForce, c)
		case slices.ContainsFunc(mine, func(p document.Problem) bool { return !p.Warning && p.Rule != inventory.RuleUnknown }):
			faults = append(faults, c)
		default:
			lacks = append(lacks, c)
		}
	}
	switch {
	case len(faults) > 0:
		return faults
	case len(lacks) > 0:
		return lacks
	case len(inForce) > 0:
		if c, found := b.culprit(files, ps); found {
			return []charge{c}
		}
	}
	return inForce
}

// culprit finds a changed or new file without which there are fewer faults.
func (b *build) culprit(files []File, ps document.Problems) (charge, bool) {
	for i, f := range files {
		if b.standing(f) == unchanged {
			continue
		}
		without := slices.Delete(slices.Clone(files), i, i+1)
		if old, ok := b.good[f.Path]; ok {
			without = append(without, old)
		}
		_, _, rest := b.checkInventory(without)
		if mended := slices.DeleteFunc(errorsOf(ps), func(p document.Problem) bool { return slices.Contains(rest, p) }); len(mended) > 0 && len(errorsOf(rest)) < len(errorsOf(ps)) {
			why := document.Problem{Pos: document.Pos{File: f.Path}, Rule: "inventory", Message: "as written, it breaks what is in force in other files",
				Hint: "see the problems there; change these files together"}
			return charge{f, append(document.Problems{why}, mended...)}, true
		}
	}
	return charge{}, false
}

func errorsOf(ps document.Problems) document.Problems {
	return slices.DeleteFunc(slices.Clone(ps), func(p document.Problem) bool { return p.Warning })
}

func (b *build) checkInventory(files []File) (*inventory.Inventory, *field.Binding, document.Problems) {
	var nodes []*document.Node
	var all document.Problems
	for _, f := range files {
		n, ps := b.trees.parse(f)
		all.Add(ps...)
		if ps.Err() == nil {
			nodes = append(nodes, n)
		}
	}
	inv, ps := inventory.Parse(nodes...)
	all.Add(ps...)
	binding, ps := field.Bind(inv, b.drivers)
	all.Add(ps...)
	return inv, binding, all
}
