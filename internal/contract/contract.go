// Package contract holds what a tool promises: its actions, and for each the capability, the execution and the verification.
//
// Its promise: what Parse returns without problems has the right shape and knows its lines; whether its points, units and levels
// exist is decided when it is bound to an inventory, never here. It does no I/O and does not know any protocol.
package contract

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"capd/internal/document"
	"capd/internal/outcome"
	"capd/internal/physical"
)

// Contract is one file, one tool, one version.
type Contract struct {
	Tool    string
	Version Version
	Title   string
	Asset   string
	Tags    []string
	Points  map[string]Alias // by the name used in expressions
	Actions []*Action        // in file order
	File    string
	SHA256  string
	Pos     document.Pos
	Source  *document.Node // as written, for the places of keys; nil when built by hand
}

// MCPName is an action's name for agents, without the suffix of its major version: its own, or tool_action.
func (c *Contract) MCPName(a *Action) string {
	if a.Name != "" {
		return a.Name
	}
	return strings.ReplaceAll(c.Tool, "-", "_") + "_" + a.ID
}

// Alias is a name of the contract for a point of the inventory.
type Alias struct {
	Name string
	Ref  string // ASSET.point
	Pos  document.Pos
}

// Version is a semantic version (semver.org 2.0.0, without pre-release and build).
type Version struct{ Major, Minor, Patch int }

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// ParseVersion reads MAJOR.MINOR.PATCH; false for anything else.
func ParseVersion(text string) (Version, bool) {
	parts := versionPattern.FindStringSubmatch(text)
	if parts == nil {
		return Version{}, false
	}
	var v Version
	for i, to := range []*int{&v.Major, &v.Minor, &v.Patch} {
		n, err := strconv.Atoi(parts[i+1])
		if err != nil {
			return Version{}, false
		}
		*to = n
	}
	return v, true
}

// Compare is negative, zero or positive as v is older, equal or newer.
func (v Version) Compare(w Version) int {
	for _, d := range []int{v.Major - w.Major, v.Minor - w.Minor, v.Patch - w.Patch} {
		if d != 0 {
			return d
		}
	}
	return 0
}

// Effect is what an action does to the world.
type Effect string

// The effects.
const (
	Read      Effect = "read"
	Actuate   Effect = "actuate"
	Configure Effect = "configure"
)

// Risk is how much harm an action could do.
type Risk string

// The risks, in rising order.
const (
	Info     Risk = "info"
	Low      Risk = "low"
	Medium   Risk = "medium"
	High     Risk = "high"
	Critical Risk = "critical"
)

// Action is one thing the tool can do.
type Action struct {
	ID          string
	Name        string // the MCP name, when the file gives one
	Title       string
	Effect      Effect
	Risk        Risk
	Description string
	Intents     []string
	Parameters  *document.Node // JSON Schema 2020-12 with x- keys; nil when the action takes none
	Returns     []string       // aliases, for a read
	Permissions []string
	Scopes      []string
	Limits      Limits
	Permits     []Permit
	Execute     []Step
	Verify      *Verify
	OnFail      OnFail
	Withdraw    []Step
	OnDegraded  string // refuse or alarm
	ToSafe      bool
	Hold        *Hold
	AnswerIn    time.Duration // how long a call waits for the verdict before it answers pending
	Pos         document.Pos
	Source      *document.Node // as written, for the places of keys; nil when built by hand
}

// Moves reports whether the action changes the world.
func (a *Action) Moves() bool { return a.Effect != Read }

// Limits bounds calls of one action.
type Limits struct {
	MaxConcurrent int
	Rate          Rate
}

// Rate is Count calls in each Per; the zero Rate does not limit.
type Rate struct {
	Count int
	Per   time.Duration
}

// Permit is a condition on fresh readings that must hold before acting.
type Permit struct {
	ID     string
	When   string
	MaxAge time.Duration
	Code   outcome.Code
	Reason string
	Pos    document.Pos
}

// Operand is a literal or an expression.
type Operand struct {
	Literal physical.Value
	Expr    string
	Pos     document.Pos
}

// IsZero reports that nothing was written.
func (o Operand) IsZero() bool { return o.Expr == "" && o.Literal.IsZero() }

// Step is one write of an execution: Value goes to the point whose alias Write is. A pulse is a write that is taken back: Release
// follows after For.
type Step struct {
	Await   []Await // what is waited for before it, in order
	Write   string
	Value   Operand
	For     time.Duration // how long a pulse stands; 0 for a write
	Release Operand       // of a pulse
	Echo    string        // of a handshake: the alias of the point in which the machine repeats the token that Write takes
	Pos     document.Pos
}

// Shakes reports whether the step is a handshake: capd chooses its value, a token that the machine has to echo.
func (s Step) Shakes() bool { return s.Echo != "" }

// Pulses reports whether the step takes back what it writes.
func (s Step) Pulses() bool { return s.For > 0 }

// Await is a condition on fresh readings that has to come true before an execution goes on.
type Await struct {
	When   string
	Within time.Duration
	Pos    document.Pos
}

// Verify is how the box proves that it happened.
type Verify struct {
	MinLevel outcome.Level
	Within   time.Duration
	Poll     time.Duration
	Settle   time.Duration
	Expect   []Expect
	Refute   []Refute
	Watch    *Watch
	// SelfClearing lists aliases of points that the device itself resets, so that they are not read back.
	SelfClearing []string
	Pos          document.Pos
}

// ExpectKind is the form of an expectation.
type ExpectKind string

// The forms.
const (
	Near      ExpectKind = "near"       // within Tolerance of Target
	Is        ExpectKind = "is"         // equal to Target
	Between   ExpectKind = "between"    // from Low to High
	ChangesBy ExpectKind = "changes_by" // baseline plus Target, within Tolerance
	Increases ExpectKind = "increases"  // above the baseline by more than Tolerance
)

// Expect is one expectation of one witness.
type Expect struct {
	Point     string
	Kind      ExpectKind
	Target    Operand
	Low, High Operand
	Tolerance physical.Decimal
	When      string // condition of validity; "" means always
	Pos       document.Pos
}

// Refute is a condition that, once it rises after the act and holds, decides before the deadline.
type Refute struct {
	When   string
	Hold   time.Duration
	Reason string
	Counts bool // whether it counts for the breaker
	Pos    document.Pos
}

// Watch keeps an eye on a confirmed state.
type Watch struct {
	For       time.Duration
	Tolerance physical.Decimal
}

// OnFail is what happens to a command that was not confirmed.
type OnFail string

// The reactions.
const (
	Leave        OnFail = "leave"
	WithdrawFail OnFail = "withdraw"
)

// Action finds an action by id, nil when there is none.
func (c *Contract) Action(id string) *Action {
	for _, a := range c.Actions {
		if a.ID == id {
			return a
		}
	}
	return nil
}
