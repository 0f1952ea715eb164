// Package verify proves, by measuring, whether a machine did what it was told.
//
// Its promise: a confirmation rests only on good readings whose request left after the act, from devices that are shown to be
// alive at that time, held through the whole settle time and by every expectation. A contradiction counts only at the deadline,
// or by a refute condition that rose after the act; what a broken sensor shows is not put down to the machine. It never writes, and
// it never mistakes silence for an answer.
package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"capd/internal/contract"
	"capd/internal/expression"
	"capd/internal/outcome"
	"capd/internal/physical"
)

// Point is an alias of a contract, bound to the inventory, as the contract's asset sees it.
type Point struct {
	Alias    string
	Ref      string // ASSET.point
	Role     physical.Role
	Unit     physical.Unit
	Device   string
	Update   time.Duration
	Type     expression.Type
	Readable bool
}

// Liveness is the counter that shows a device alive.
type Liveness struct {
	Ref    string
	Within time.Duration
}

// Scope is everything that a contract's expressions and expectations may name.
type Scope struct {
	Points   map[string]Point // by alias
	Params   map[string]expression.Type
	Liveness map[string]Liveness // by device
}

// Env is the names and types that expressions of this scope may use.
func (s Scope) Env() expression.Env {
	env := expression.Env{}
	for name, t := range s.Params {
		env[name] = t
	}
	for name, p := range s.Points {
		env[name] = p.Type
	}
	return env
}

// Target is a literal, or an expression over parameters and points.
type Target struct {
	literal physical.Value
	program *expression.Program
	source  string
}

// Expectation is one thing that must be seen.
type Expectation struct {
	Point     Point
	Level     outcome.Level
	Kind      contract.ExpectKind
	Target    Target
	Low, High Target
	Tolerance physical.Decimal
	When      *expression.Program
	needs     []Point          // what When and the targets name
	slack     physical.Decimal // how much farther off than that a watch lets it be
}

// Relative reports whether the expectation speaks of a change from the baseline.
func (e *Expectation) Relative() bool {
	return e.Kind == contract.ChangesBy || e.Kind == contract.Increases
}

// Refute is a condition that decides before the deadline.
type Refute struct {
	When   *expression.Program
	Level  outcome.Level
	Hold   time.Duration
	Reason string
	Counts bool
	needs  []Point // what When names
}

// Plan is a compiled verification. It is immutable.
type Plan struct {
	MinLevel             outcome.Level
	Within, Poll, Settle time.Duration
	Expect               []Expectation
	ReadBack             []Point // written points that are read back
	Refute               []Refute
	Watch                *contract.Watch
	Points               []string            // everything one round reads, in order
	liveness             map[string]Liveness // of the devices that a round reads
	witnesses            []Point             // every point that proves something, each once
}

// The defaults of a verification.
const (
	DefaultPoll = 250 * time.Millisecond
	minPoll     = 10 * time.Millisecond
)

// Compile binds a verification to its scope. written lists the aliases that the action writes. The error names the place and
// the reason, and the plan that it returns cannot fail later for want of a name, a type, a unit or a level.
func Compile(v *contract.Verify, written []string, s Scope) (*Plan, error) {
	p := &Plan{MinLevel: v.MinLevel, Within: v.Within, Poll: v.Poll, Settle: v.Settle, Watch: v.Watch, liveness: map[string]Liveness{}}
	if p.Poll < minPoll {
		p.Poll = max(DefaultPoll, minPoll)
	}
	for _, alias := range written {
		if point := s.Points[alias]; point.Readable && !slices.Contains(v.SelfClearing, alias) {
			p.ReadBack = append(p.ReadBack, point)
		}
	}
	for _, e := range v.Expect {
		x, err := compileExpect(e, s)
		if err != nil {
			return nil, fmt.Errorf("%s: expect %s: %w", e.Pos, e.Point, err)
		}
		p.Expect = append(p.Expect, x)
	}
	for _, r := range v.Refute {
		x, err := compileRefute(r, s)
		if err != nil {
			return nil, fmt.Errorf("%s: refute: %w", r.Pos, err)
		}
		p.Refute = append(p.Refute, x)
	}
	p.settle()
	p.collect(s)
	return p, p.reach(v)
}

func compileExpect(e contract.Expect, s Scope) (Expectation, error) {
	point, ok := s.Points[e.Point]
	if !ok {
		return Expectation{}, fmt.Errorf("the contract's points do not name %q; add it under points", e.Point)
	}
	x := Expectation{Point: point, Level: outcome.LevelOf(point.Role), Kind: e.Kind, Tolerance: e.Tolerance}
	if x.Level == outcome.E0 {
		return x, fmt.Errorf("%s is a point of another asset and declares no witness_for this one, so it proves nothing", point.Ref)
	}
	if !point.Readable {
		return x, fmt.Errorf("%s cannot be read", point.Ref)
	}
	want := point.Type
	if e.Kind != contract.Is && want != expression.Number {
		return x, fmt.Errorf("%s needs a number, but %s is a %v; use is", e.Kind, point.Ref, want)
	}
	for _, part := range []struct {
		from contract.Operand
		to   *Target
	}{{e.Target, &x.Target}, {e.Low, &x.Low}, {e.High, &x.High}} {
		t, err := CompileTarget(part.from, s, want)
		if err != nil {
			return x, err
		}
		*part.to = t
	}
	var err error
	if e.When != "" {
		x.When, err = expression.Compile(e.When, s.Env(), expression.Bool)
	}
	x.needs = s.named(x.When, x.Target.program, x.Low.program, x.High.program)
	return x, err
}

// named is the points that programs name, each once.
func (s Scope) named(programs ...*expression.Program) []Point {
	var points []Point
	for _, program := range programs {
		if program == nil {
			continue
		}
		for _, name := range program.Names() {
			if p, ok := s.Points[name]; ok {
				points = append(points, p)
			}
		}
	}
	slices.SortFunc(points, func(x, y Point) int { return strings.Compare(x.Alias, y.Alias) })
	return slices.CompactFunc(points, func(x, y Point) bool { return x.Alias == y.Alias })
}

// CompileTarget compiles a literal or an expression that must give a value of the wanted type.
func CompileTarget(o contract.Operand, s Scope, want expression.Type) (Target, error) {
	if o.IsZero() {
		return Target{}, nil
	}
	if o.Expr == "" {
		if got := TypeOf(o.Literal.Kind()); got != want {
			return Target{}, fmt.Errorf("%s is a %v, but a %v is needed", o.Literal, got, want)
		}
		return Target{literal: o.Literal, source: o.Literal.String()}, nil
	}
	program, err := expression.Compile(o.Expr, s.Env(), want)
	return Target{program: program, source: o.Expr}, err
}

// TypeOf is the expression type of a kind of value.
func TypeOf(k physical.Kind) expression.Type {
	switch k {
	case physical.Number:
		return expression.Number
	case physical.Bool:
		return expression.Bool
	case physical.Text:
		return expression.Text
	default:
		return expression.Unknown
	}
}

func compileRefute(r contract.Refute, s Scope) (Refute, error) {
	program, err := expression.Compile(r.When, s.Env(), expression.Bool)
	if err != nil {
		return Refute{}, err
	}
	x := Refute{When: program, Hold: r.Hold, Reason: r.Reason, Counts: r.Counts, needs: s.named(program)}
	for _, point := range x.needs {
		if level := outcome.LevelOf(point.Role); level > outcome.E0 && (x.Level == outcome.E0 || level < x.Level) {
			x.Level = level
		}
	}
	if x.Level == outcome.E0 {
		return x, fmt.Errorf("%q names no point that proves anything about this asset", r.When)
	}
	return x, nil
}

// settle makes the settle time span at least two updates of each witness, so that one update cannot be counted twice.
func (p *Plan) settle() {
	for _, e := range p.Expect {
		p.Settle = max(p.Settle, 2*e.Point.Update)
	}
	for _, point := range p.ReadBack {
		p.Settle = max(p.Settle, 2*point.Update)
	}
}

// collect lists every point that a round must read: witnesses, read-backs, names in conditions, liveness counters.
func (p *Plan) collect(s Scope) {
	var all []Point
	prove := func(x Point) {
		if !slices.ContainsFunc(p.witnesses, func(y Point) bool { return y.Ref == x.Ref }) {
			p.witnesses = append(p.witnesses, x)
		}
	}
	for _, point := range p.ReadBack {
		prove(point)
	}
	for _, e := range p.Expect {
		prove(e.Point)
		all = append(all, e.needs...)
	}
	for _, r := range p.Refute {
		all = append(all, r.needs...)
	}
	for _, point := range slices.Concat(p.witnesses, all) {
		p.Points = append(p.Points, point.Ref)
		if l, ok := s.Liveness[point.Device]; ok {
			p.liveness[point.Device] = l
			p.Points = append(p.Points, l.Ref)
			p.Poll = max(min(p.Poll, l.Within/2), minPoll) // rounds further apart than the window could never show the counter alive
		}
	}
	slices.Sort(p.Points)
	p.Points = slices.Compact(p.Points)
}

// reach reports a plan that could never confirm at its own minimum level.
func (p *Plan) reach(v *contract.Verify) error {
	best := outcome.E0
	if len(p.ReadBack) > 0 {
		best = outcome.E2
	}
	for _, e := range p.Expect {
		best = max(best, e.Level)
	}
	if best < p.MinLevel {
		return fmt.Errorf("%s: min_level %s cannot be reached: the witnesses named reach %s; add a witness or lower min_level", v.Pos, p.MinLevel, best)
	}
	if p.Settle > p.Within {
		return fmt.Errorf("%s: settle %s (at least two updates of each witness) is longer than within %s; lengthen within", v.Pos, p.Settle, p.Within)
	}
	return nil
}

// NeedsPoint is the first point that the target depends on, "" when it depends on parameters alone.
func (x Target) NeedsPoint(s Scope) string {
	if x.program == nil {
		return ""
	}
	for _, name := range x.program.Names() {
		if _, ok := s.Points[name]; ok {
			return name
		}
	}
	return ""
}

// Names lists the names that the target uses.
func (x Target) Names() []string {
	if x.program == nil {
		return nil
	}
	return x.program.Names()
}

// Shortened is the plan with no more time than one settled look needs, for an act that the device itself refused.
func (p *Plan) Shortened() *Plan {
	short := *p
	short.Within = p.Settle + 4*p.Poll
	for _, l := range p.liveness {
		short.Within = max(short.Within, p.Settle+4*p.Poll+l.Within)
	}
	short.Within = min(short.Within, p.Within)
	return &short
}
