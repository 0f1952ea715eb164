package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"capd/internal/contract"
	"capd/internal/document"
	"capd/internal/expression"
	"capd/internal/field"
	"capd/internal/inventory"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/verify"
)

// compiler binds one contract to one inventory and collects what does not fit.
type compiler struct {
	schemas  *schemas
	inv      *inventory.Inventory
	binding  *field.Binding
	contract *contract.Contract
	points   map[string]verify.Point
	bound    map[string]*field.Bound
	liveness map[string]verify.Liveness
	problems document.Problems
}

// Compile binds a contract to an inventory. Without problems every action is ready to run.
func Compile(c *contract.Contract, inv *inventory.Inventory, b *field.Binding) ([]*Action, document.Problems) {
	return compile(c, inv, b, nil)
}

func compile(c *contract.Contract, inv *inventory.Inventory, b *field.Binding, cache *schemas) ([]*Action, document.Problems) {
	k := &compiler{schemas: cache, inv: inv, binding: b, contract: c, points: map[string]verify.Point{}, bound: map[string]*field.Bound{},
		liveness: map[string]verify.Liveness{}}
	asset := inv.Assets[c.Asset]
	if asset == nil {
		k.add(c.Source.KeyPos("asset"), "asset", "unknown_asset", fmt.Sprintf("there is no asset %q", c.Asset), didYouMean(c.Asset, inv.AssetIDs()))
		return nil, k.problems
	}
	for _, name := range inventory.SortedKeys(c.Points) {
		k.bindPoint(c.Points[name])
	}
	var actions []*Action
	for _, a := range c.Actions {
		actions = append(actions, k.action(a, asset))
	}
	if k.problems.Err() != nil {
		return nil, k.problems
	}
	return actions, k.problems
}

func (k *compiler) add(pos document.Pos, path, rule, message, hint string) {
	k.problems.Add(document.Problem{Pos: pos, Path: path, Rule: rule, Message: message, Hint: hint})
}

func didYouMean(name string, among []string) string {
	if near := document.Suggest(name, among); near != "" {
		return "did you mean " + near + "?"
	}
	return "declare it in the inventory, or correct the name"
}

func (k *compiler) bindPoint(a contract.Alias) {
	b := k.binding.Point(a.Ref)
	if b == nil {
		k.add(a.Pos, "points."+a.Name, "unknown_point", fmt.Sprintf("there is no point %q", a.Ref), didYouMean(a.Ref, k.inv.Refs()))
		return
	}
	p := b.Point
	k.bound[a.Name] = b
	k.points[a.Name] = verify.Point{Alias: a.Name, Ref: p.Ref, Role: p.RoleFor(k.contract.Asset), Unit: p.Unit, Device: p.Device,
		Update: p.Update, Type: verify.TypeOf(b.ValueKind), Readable: p.Access != inventory.WriteOnly}
	if d := k.inv.Devices[p.Device]; d.Liveness != nil {
		k.liveness[p.Device] = verify.Liveness{Ref: d.Liveness.Point, Within: d.Liveness.Within}
	}
}

func (k *compiler) action(a *contract.Action, asset *inventory.Asset) *Action {
	params, problems := compileParams(a, k.schemas)
	k.problems.Add(problems...)
	x := &Action{Action: a, Name: ToolName(k.contract, a), Contract: k.contract, Asset: asset, Params: params,
		Scope: verify.Scope{Points: k.points, Params: params.Types, Liveness: k.liveness}}
	if len(x.Name) > contract.MaxName {
		k.add(a.Pos, "actions."+a.ID, "name", fmt.Sprintf("the name %s has %d characters, and %d is the limit", x.Name, len(x.Name), contract.MaxName),
			"give this action a shorter name:")
	}
	for _, name := range params.names {
		if _, clash := k.contract.Points[name]; clash {
			k.add(a.Pos, "actions."+a.ID, "name_clash", fmt.Sprintf("%q is both a parameter and a point", name), "rename one of them")
		}
	}
	if a.Moves() {
		k.motion(x)
	}
	for _, alias := range a.Returns {
		p, ok := k.points[alias]
		if !ok {
			k.unknownAlias(a.Pos, "actions."+a.ID+".returns", alias)
			continue
		}
		if !p.Readable {
			k.add(a.Pos, "actions."+a.ID+".returns", "unknown_point", p.Ref+" cannot be read", "leave it out")
		}
		x.Returned = append(x.Returned, p)
	}
	return x
}

func (k *compiler) unknownAlias(pos document.Pos, path, alias string) {
	if _, declared := k.contract.Points[alias]; declared {
		return // its own problem was reported where it is declared
	}
	k.add(pos, path, "unknown_point", fmt.Sprintf("the contract's points do not name %q", alias),
		didYouMean(alias, inventory.SortedKeys(k.contract.Points)))
}

func (k *compiler) motion(x *Action) {
	a := x.Action
	x.Absolute = true
	x.Steps = k.steps(a.Execute, x, "execute")
	k.alone(x)
	x.Undo = k.steps(a.Withdraw, x, "withdraw")
	var written []string
	for _, s := range x.Steps {
		if x.Absolute = x.Absolute && !s.Release && !s.Token; !slices.Contains(written, s.Alias) {
			written = append(written, s.Alias)
		}
	}
	for _, s := range slices.Concat(x.Steps, x.Undo) { // what withdraw may write is leased and looked at for lockouts as well
		if asset := s.Point.Point.Asset; !slices.Contains(x.Writes, asset) {
			x.Writes = append(x.Writes, asset)
		}
	}
	slices.Sort(x.Writes)
	for _, p := range a.Permits {
		k.permit(x, p)
	}
	if a.Hold != nil && a.Hold.While != "" {
		program, aliases := k.condition(x, a.Hold.While, a.Hold.Pos, "actions."+a.ID+".hold.while", "condition of the hold")
		x.While = &Await{When: program, Aliases: aliases}
	}
	if a.Verify == nil || k.pointsMissing() {
		return
	}
	for _, e := range a.Verify.Expect {
		if e.Kind == contract.ChangesBy || e.Kind == contract.Increases {
			x.Absolute = false
		}
	}
	scope, echoes := k.proof(x)
	plan, err := verify.Compile(k.shaken(a), written, scope)
	if err != nil {
		hint := ""
		if len(echoes) > 0 {
			hint = strings.Join(echoes, " and ") + " only reads back what was written, because it lies in the same memory; name a point that does not"
		}
		k.add(a.Verify.Pos, "actions."+a.ID+".verify", "verification", stripPos(err), hint)
		return
	}
	x.Plan = plan
}

// proof is the scope of a verification: a point in the memory that the action writes only reads back what was written, whatever its
// role says.
func (k *compiler) proof(x *Action) (scope verify.Scope, echoes []string) {
	scope = k.tokenScope(x)
	scope.Points = maps.Clone(k.points)
	for _, alias := range inventory.SortedKeys(k.points) {
		p := scope.Points[alias]
		if slices.ContainsFunc(x.Steps, func(s Step) bool { return s.Point.Shares(k.bound[alias]) }) && p.Role != "" && p.Role != physical.Setpoint {
			p.Role = physical.Setpoint
			scope.Points[alias] = p
			echoes = append(echoes, p.Ref)
		}
	}
	return scope, echoes
}

// pointsMissing reports whether an alias could not be bound, which explains every later problem.
func (k *compiler) pointsMissing() bool { return len(k.points) != len(k.contract.Points) }

// stripPos removes the leading position of an error text, because the problem carries it.
func stripPos(err error) string {
	text := err.Error()
	if i := strings.Index(text, ": "); i > 0 && strings.Contains(text[:i], ":") {
		return text[i+2:]
	}
	return text
}

func (k *compiler) steps(steps []contract.Step, x *Action, where string) []Step {
	var out []Step
	for _, s := range steps {
		b, ok := k.bound[s.Write]
		if !ok {
			k.unknownAlias(s.Pos, "actions."+x.ID+"."+where, s.Write)
			continue
		}
		path := "actions." + x.ID + "." + where + "." + s.Write
		if !b.Point.Access.Writes() {
			k.add(s.Pos, path, "access", b.Point.Ref+" is read only", "set access: read_write in the inventory if it may be written")
			continue
		}
		if b.Point.Role != physical.Setpoint {
			k.add(s.Pos, path, "role", fmt.Sprintf("%s has role %s", b.Point.Ref, b.Point.Role), "only points with role setpoint are written")
		}
		if s.Shakes() {
			out = append(out, k.handshake(x, s, b, path))
			continue
		}
		step := Step{Point: b, Alias: s.Write, Dwell: s.For, Value: k.target(x, s, s.Value, b, path)}
		for _, w := range s.Await {
			program, aliases := k.condition(x, w.When, w.Pos, "actions."+x.ID+"."+where, "wait")
			step.Await = append(step.Await, Await{When: program, Aliases: aliases, Within: w.Within})
		}
		out = append(out, step)
		if s.Pulses() {
			out = append(out, Step{Point: b, Alias: s.Write, Release: true, Value: k.target(x, s, s.Release, b, path)})
		}
	}
	return out
}

// alone holds that the point of a pulse or a token is not written under another name besides.
func (k *compiler) alone(x *Action) {
	for _, s := range x.Steps {
		ref := s.Point.Point.Ref
		i := slices.IndexFunc(x.Steps, func(o Step) bool { return o.Alias != s.Alias && o.Point.Point.Ref == ref })
		if i >= 0 && (s.Dwell > 0 || s.Token) {
			k.add(x.Pos, "actions."+x.ID+".execute."+s.Alias, "alone", fmt.Sprintf("%s is written as %q besides; a pulse or a token needs its point for itself",
				ref, x.Steps[i].Alias), "write it once")
		}
	}
}

// target compiles a value that is written.
func (k *compiler) target(x *Action, s contract.Step, value contract.Operand, b *field.Bound, path string) verify.Target {
	target, err := verify.CompileTarget(value, x.Scope, verify.TypeOf(b.ValueKind))
	if err != nil {
		k.add(s.Pos, path, "value", err.Error(), x.Params.untyped())
		return target
	}
	if name := target.NeedsPoint(x.Scope); name != "" {
		k.add(s.Pos, path, "value", fmt.Sprintf("the value depends on the point %q", name), "a written value may depend on parameters alone")
	}
	return target
}

func (k *compiler) permit(x *Action, p contract.Permit) {
	program, aliases := k.condition(x, p.When, p.Pos, "actions."+x.ID+".permits."+p.ID, "permit")
	x.Permits = append(x.Permits, Permit{ID: p.ID, When: program, Aliases: aliases, MaxAge: p.MaxAge, Rule: p})
}

// condition compiles a condition on readings, and gives the points that it needs.
func (k *compiler) condition(x *Action, when string, pos document.Pos, path, what string) (*expression.Program, []string) {
	program, err := expression.Compile(when, x.Scope.Env(), expression.Bool)
	if err != nil {
		k.add(pos, path, what, err.Error(), "")
		return nil, nil
	}
	var aliases []string
	for _, name := range program.Names() {
		p, ok := k.points[name]
		if !ok {
			continue
		}
		if !p.Readable {
			k.add(pos, path, what, p.Ref+" cannot be read", "leave it out")
		}
		aliases = append(aliases, name)
	}
	if len(aliases) == 0 {
		k.add(pos, path, what, "the "+what+" looks at no point", "name at least one point in when")
	}
	return program, aliases
}

// Level is the highest evidence level that the action's witnesses can show; E0 for a read.
func (a *Action) Level() outcome.Level {
	best := outcome.E0
	if a.Plan == nil {
		return best
	}
	for _, e := range a.Plan.Expect {
		best = max(best, e.Level)
	}
	if len(a.Plan.ReadBack) > 0 {
		best = max(best, outcome.E2)
	}
	return best
}

// ToolName is an action's MCP name: its own, or tool_action; with _v2 and so on from major version 2.
func ToolName(c *contract.Contract, a *contract.Action) string {
	name := c.MCPName(a)
	if c.Version.Major >= 2 {
		name += fmt.Sprintf("_v%d", c.Version.Major)
	}
	return name
}
