package lint

import (
	"slices"
	"strconv"
	"strings"

	"capd/internal/contract"
	"capd/internal/document"
	"capd/internal/expression"
	"capd/internal/inventory"
	"capd/internal/physical"
)

// condition is a place where the contract compares.
type condition struct {
	source string
	pos    document.Pos
	path   string
}

// conditions lists what an action compares: permits, what it waits for, and what proves or refutes it.
func conditions(a *contract.Action) []condition {
	var all []condition
	add := func(source string, pos document.Pos, path string) {
		if source != "" {
			all = append(all, condition{source, pos, "actions." + a.ID + "." + path})
		}
	}
	for _, permit := range a.Permits {
		add(permit.When, permit.Pos, "permits."+permit.ID)
	}
	for _, s := range slices.Concat(a.Execute, a.Withdraw) {
		for _, w := range s.Await {
			add(w.When, w.Pos, "execute.wait")
		}
		add(s.Value.Expr, s.Pos, "execute."+s.Write)
		add(s.Release.Expr, s.Pos, "execute."+s.Write)
	}
	if a.Verify == nil {
		return all
	}
	for _, e := range a.Verify.Expect {
		for _, source := range []string{e.When, e.Target.Expr, e.Low.Expr, e.High.Expr} {
			add(source, e.Pos, "verify.expect."+e.Point)
		}
	}
	for _, r := range a.Verify.Refute {
		add(r.When, r.Pos, "verify.refute")
	}
	return all
}

// labelUnknown finds comparisons with a label that the point never shows: != would always be true, so that a permit lets everything pass.
func labelUnknown(p *Pass) {
	for _, a := range p.Contract.Actions {
		env := p.names(a)
		for _, c := range conditions(a) {
			program, err := expression.Compile(c.source, env, expression.Unknown)
			if err != nil {
				continue // publishing tells it
			}
			for _, alias := range program.Names() {
				for _, text := range program.Texts(alias) {
					p.labelled(alias, text, c)
				}
			}
		}
		p.labelsExpected(a)
	}
}

// labelsExpected looks at a text that an expectation wants, as in is: '"remote"'.
func (p *Pass) labelsExpected(a *contract.Action) {
	if a.Verify == nil {
		return
	}
	for _, e := range a.Verify.Expect {
		program, err := expression.Compile(e.Target.Expr, expression.Env{}, expression.Text)
		if e.Target.Expr == "" || err != nil {
			continue
		}
		if text, err := program.Eval(nil); err == nil {
			if text, ok := text.(string); ok {
				p.labelled(e.Point, text, condition{pos: e.Pos, path: "actions." + a.ID + ".verify.expect." + e.Point})
			}
		}
	}
}

func (p *Pass) labelled(alias, text string, c condition) {
	pt := p.point(alias)
	if pt == nil || len(pt.Labels) == 0 {
		return
	}
	var labels []string
	for _, code := range inventory.SortedKeys(pt.Labels) {
		labels = append(labels, pt.Labels[code])
	}
	if slices.Contains(labels, text) {
		return
	}
	hint := "its labels are " + strings.Join(labels, ", ")
	if near := document.Suggest(text, labels); near != "" {
		hint = "did you mean " + strconv.Quote(near) + "? " + hint
	}
	p.report(c.pos, c.path, hint, "%s is never %q, so the comparison decides nothing", pt.Ref, text)
}

// names are the names of an action's expressions whose type is known.
func (p *Pass) names(a *contract.Action) expression.Env {
	env := parameterTypes(a)
	types := map[physical.Kind]expression.Type{physical.Number: expression.Number, physical.Bool: expression.Bool, physical.Text: expression.Text}
	for alias := range p.Contract.Points {
		if pt := p.point(alias); pt != nil {
			if t, ok := types[p.kind(pt)]; ok {
				env[alias] = t
			}
		}
	}
	return env
}

func permitTwice(p *Pass) {
	for _, a := range p.motions() {
		seen := map[string]bool{}
		for _, permit := range a.Permits {
			if seen[permit.ID] {
				p.report(permit.Pos, "actions."+a.ID+".permits."+permit.ID, "give each permit an id of its own: answers and the journal name it", "there are two permits %s", permit.ID)
			}
			seen[permit.ID] = true
		}
	}
}
