// Package registry keeps what is in force: the inventory, the contracts and the profiles, checked, compiled and published as one
// immutable Snapshot.
//
// Its promise: Publish is the only function that changes what is active; it takes the whole candidate, and a bad file leaves the
// last good version of that file serving. A Snapshot never changes, so a running call keeps the rules it began with. The
// registry does no I/O on a machine.
package registry

import (
	"slices"
	"time"

	"capd/internal/access"
	"capd/internal/contract"
	"capd/internal/document"
	"capd/internal/expression"
	"capd/internal/field"
	"capd/internal/inventory"
	"capd/internal/verify"
)

// Snapshot is everything in force at one time. It is immutable.
type Snapshot struct {
	ID        uint64 // rises with each publish of this process
	At        time.Time
	Inventory *inventory.Inventory
	Binding   *field.Binding
	Contracts []*contract.Contract // by tool, then version
	Actions   []*Action            // by name
	Profiles  map[string]*access.Profile
	Rejected  []Rejected        // files that are not in force as written
	Warnings  document.Problems // of files that are in force
	byName    map[string]*Action
}

// Rejected is a file that is not in force as it is written on disk.
type Rejected struct {
	File     string            `json:"file"`
	Kind     string            `json:"kind"` // inventory, contract or profile
	Serving  string            `json:"serving"`
	Problems document.Problems `json:"problems"`
}

// Action is one action of one contract, compiled: nothing in it can fail for want of a name, a type or a level.
type Action struct {
	*contract.Action
	Name     string // as MCP shows it
	Contract *contract.Contract
	Asset    *inventory.Asset
	Scope    verify.Scope
	Params   Params
	Permits  []Permit
	Steps    []Step
	Undo     []Step // withdraw
	Shake    *Handshake
	While    *Await // of a hold: what must be so for another assertion; nil is anything
	Plan     *verify.Plan
	Returned []verify.Point // for reads
	Writes   []string       // assets written, in order
	Absolute bool           // repeating it asks for the same state again
}

// Step is one compiled write. A pulse is two: the second is its release.
type Step struct {
	Await   []Await // what is waited for before it
	Point   *field.Bound
	Alias   string
	Value   verify.Target
	Dwell   time.Duration // how long it stands before the release that follows; 0 for a write
	Release bool          // owed to the machine once the write before it may have been sent
	Token   bool          // of a handshake: the value is chosen anew for each call, and Value needs it as TokenParam
}

// TokenParam is the name under which the token of a handshake is known to expressions. No contract can use it.
const TokenParam = "capd_token"

// Handshake is where an action's token is written and echoed.
type Handshake struct{ Token, Echo verify.Point }

// Await is one compiled condition that has to come true before an execution goes on.
type Await struct {
	When    *expression.Program
	Aliases []string // the points it needs
	Within  time.Duration
}

// Permit is one compiled permit.
type Permit struct {
	ID      string
	When    *expression.Program
	Aliases []string // the points it needs
	MaxAge  time.Duration
	Rule    contract.Permit
}

// Action finds an action by its MCP name, nil when there is none.
func (s *Snapshot) Action(name string) *Action { return s.byName[name] }

// Names lists every action's MCP name in order.
func (s *Snapshot) Names() []string {
	names := make([]string, len(s.Actions))
	for i, a := range s.Actions {
		names[i] = a.Name
	}
	return names
}

// Location is where the action's asset stands.
func (a *Action) Location() string { return a.Asset.Location }

// Refs lists the points that an action reads before it acts: the permits' points, the points written (for step and baseline),
// the witnesses and the liveness counters.
func (a *Action) Refs() []string {
	var refs []string
	add := func(ref string) {
		if !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	counter := func(device string) {
		if l, ok := a.Scope.Liveness[device]; ok {
			add(l.Ref)
		}
	}
	for _, p := range a.Permits {
		for _, alias := range p.Aliases {
			add(a.Scope.Points[alias].Ref)
			counter(a.Scope.Points[alias].Device)
		}
	}
	if a.Plan != nil {
		for _, ref := range a.Plan.Points {
			add(ref)
		}
	}
	for _, s := range a.Steps {
		if s.Point.Point.Access != inventory.WriteOnly {
			add(s.Point.Point.Ref)
			counter(s.Point.Point.Device)
		}
	}
	slices.Sort(refs)
	return refs
}

// Lost stands for an action that is no longer in force: it has a name and an asset, so that an old intent can be closed under
// them, and nothing that could run.
func Lost(name, tool, asset string) *Action {
	return &Action{Name: name, Action: &contract.Action{ID: name, Effect: contract.Actuate}, Contract: &contract.Contract{Tool: tool, Asset: asset},
		Asset: &inventory.Asset{ID: asset}}
}
