// Package lint looks for contracts that are well formed and yet unwise: actuations that nothing proves, numbers without unit or
// limit, texts that would mislead an agent, secrets.
//
// Its promise: every rule is a pure function of a contract and an inventory, every problem names its place in the contract and what
// to write instead, and the same contract always gives the same problems. It never repeats what parsing and publishing report
// (unknown points, types, schemas, levels): where a name is unknown, its rules stay silent. It does no I/O and knows no protocol.
package lint

import (
	"fmt"

	"capd/internal/contract"
	"capd/internal/document"
	"capd/internal/inventory"
	"capd/internal/physical"
)

// Rule looks for one kind of mistake.
type Rule struct {
	ID      string // as problems carry it, such as VER-NONE
	Title   string // the mistake, in one sentence
	Warning bool   // whether a contract with it may still be in force
	Check   func(*Pass)
}

// Rules lists every rule, in the order in which they run.
func Rules() []Rule {
	return []Rule{
		{"DESC-MISSING", "an action or a parameter has no description", true, descriptionMissing},
		{"DESC-LONG", "a description is longer than an agent's context should pay for", true, descriptionLong},
		{"TEXT-INJECTION", "a text reads like an instruction to the model instead of a description", true, textInjection},
		{"SECRET", "a password, token or key stands in the contract", false, secret},
		{"VER-NONE", "an actuation has no verification", false, verificationNone},
		{"VER-ECHO", "a verification only reads back what the action itself wrote", false, verificationEcho},
		{"VER-WINDOW", "the verification's window is too short for its settle time", true, verificationWindow},
		{"VER-PENDING", "the verification may take longer than a call waits", true, verificationPending},
		{"VER-ENDLESS", "a verification keeps its asset for longer than a day", false, verificationEndless},
		{"VER-WIDE", "a tolerance is as wide as the range of what is written", false, verificationWide},
		{"VER-STILL", "a tolerance is not below the smallest move", true, verificationStill},
		{"ANSWER-LONG", "a call waits longer than clients do", true, answerLong},
		{"UNIT-PARAM", "a numeric parameter of an actuation has no unit", false, unitOfParameter},
		{"UNIT-DIFFERS", "a parameter and the point it stands for have different units", false, unitDiffers},
		{"UNIT-POINT", "an actuation writes a number that has no unit", false, unitOfPoint},
		{"UNIT-READ", "a read returns a number that has no unit", true, unitOfRead},
		{"RANGE-PARAM", "a numeric parameter of an actuation has no limits", false, rangeOfParameter},
		{"RANGE-POINT", "an actuation writes a number that has no envelope", false, rangeOfPoint},
		{"RANGE-WIDER", "a parameter or a literal goes beyond the envelope of the point it is written to", false, rangeWider},
		{"RANGE-EMPTY", "a parameter's minimum is above its maximum", false, rangeEmpty},
		{"LABEL-UNKNOWN", "a condition compares a point with a label that it does not have", false, labelUnknown},
		{"PERMIT-TWICE", "two permits of an action have one id", false, permitTwice},
		{"PERMIT-AGE", "a permit says nothing of how old its readings may be", true, permitAge},
		{"PERMIT-NONE", "a critical action has no permit", true, permitNone},
		{"PERMIT-SAFE", "a permit can block the way to the safe side", true, permitSafe},
		{"SEC-NONE", "an actuation needs no permission", false, permissionNone},
		{"TOGGLE", "an action's effect depends on the state it finds", false, toggle},
	}
}

// Kinds tells the form of a point's value, None where it is not known. ref is ASSET.point.
type Kinds func(ref string) physical.Kind

// Run applies every rule, in the order of the file. What form a point's value has is taken from what the inventory says of it; a
// point of which nothing is known passes.
func Run(c *contract.Contract, inv *inventory.Inventory) document.Problems {
	return Check(c, inv, func(string) physical.Kind { return physical.None })
}

// Check is Run for a caller that knows the forms of the points, because drivers have looked at them.
func Check(c *contract.Contract, inv *inventory.Inventory, kinds Kinds) document.Problems {
	var all document.Problems
	for _, rule := range Rules() {
		pass := &Pass{Contract: c, Inventory: inv, kinds: kinds, rule: rule}
		rule.Check(pass)
		all.Add(pass.problems...)
	}
	return all.Sorted()
}

// Pass is one contract under the eyes of one rule.
type Pass struct {
	Contract  *contract.Contract
	Inventory *inventory.Inventory
	kinds     Kinds
	rule      Rule
	problems  document.Problems
}

// report adds a problem of the rule.
func (p *Pass) report(pos document.Pos, path, hint, format string, args ...any) {
	p.problems.Add(document.Problem{Pos: pos, Path: path, Rule: p.rule.ID, Message: fmt.Sprintf(format, args...), Hint: hint, Warning: p.rule.Warning})
}

// reportAt reports at a key of an action.
func (p *Pass) reportAt(a *contract.Action, key, hint, format string, args ...any) {
	p.report(a.Source.KeyPos(key), "actions."+a.ID+"."+key, hint, format, args...)
}

// point is what an alias stands for, nil when it or its point is unknown.
func (p *Pass) point(alias string) *inventory.Point {
	a, ok := p.Contract.Points[alias]
	if !ok {
		return nil
	}
	return p.Inventory.Point(a.Ref)
}

// motions lists the actions that change the world.
func (p *Pass) motions() []*contract.Action {
	var all []*contract.Action
	for _, a := range p.Contract.Actions {
		if a.Moves() {
			all = append(all, a)
		}
	}
	return all
}

// kind is the form of a point's value: as the caller knows it, else as far as the inventory shows it.
func (p *Pass) kind(pt *inventory.Point) physical.Kind {
	if k := p.kinds(pt.Ref); k != physical.None {
		return k
	}
	e := pt.Envelope
	switch {
	case len(pt.Labels) > 0:
		return physical.Text
	case pt.Unit != "" || pt.Scaled || pt.Range != nil:
		return physical.Number
	case e != nil && (e.Min != nil || e.Max != nil || e.MaxStep != nil || e.MinStep != nil || e.MaxRate != nil):
		return physical.Number
	default:
		return physical.None
	}
}
