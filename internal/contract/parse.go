package contract

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"capd/internal/document"
	"capd/internal/outcome"
)

// FormatVersion is the value of the `contract` key that this package reads.
const FormatVersion = "capd/v1"

// MaxName is the longest MCP name, in characters.
const MaxName = 48

var (
	toolPattern    = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,47}$`)
	namePattern    = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
	mcpPattern     = regexp.MustCompile(`^[a-z0-9_-]{1,48}$`)
	versionPattern = regexp.MustCompile(`^(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})$`)
	ratePattern    = regexp.MustCompile(`^([1-9]\d{0,5})/(second|minute|hour)$`)
	// reserved is the words of the language of expressions (expr-lang/expr, parser/lexer): as a name each means something else.
	reserved = regexp.MustCompile(`^(and|or|not|in|true|false|nil|let|if|else|matches|contains)$`)
)

// Parse reads one contract file.
func Parse(n *document.Node, sha256 string) (*Contract, document.Problems) {
	var ps document.Problems
	m := document.NewMap(n, &ps)
	m.Required("contract", "tool", "version", "title", "asset", "actions")
	m.Enum("contract", FormatVersion)
	c := &Contract{Tool: text(m, "tool"), Version: parseVersion(m), Title: text(m, "title"), Asset: text(m, "asset"), Tags: m.Strings("tags"),
		Points: parsePoints(m.Map("points"), &ps), SHA256: sha256, File: n.Pos().File, Pos: n.Pos(), Source: n}
	if c.Tool != "" && !toolPattern.MatchString(c.Tool) {
		m.Problem("tool", "the tool id %q is not allowed; use a-z, 0-9 and -, at most 48", c.Tool)
	}
	if actions := m.Map("actions"); actions != nil {
		found := 0
		actions.Each(func(id string, n *document.Node) {
			found++
			if !namePattern.MatchString(id) {
				actions.Problem(id, "the action id %q is not allowed; use a-z, 0-9 and _, at most 48", id)
				return
			}
			c.Actions = append(c.Actions, parseAction(id, n, &ps))
		})
		if m.Node("actions").Kind() == document.Mapping && found == 0 {
			m.Problem("actions", "a contract needs at least one action")
		}
	}
	m.Done()
	return c, ps
}

// text reads a text that may not be empty.
func text(m *document.Map, key string) string {
	n := m.Node(key)
	s := m.String(key)
	if n.Kind() == document.String && strings.TrimSpace(s) == "" {
		m.Problem(key, "%s is empty", key)
	}
	return s
}

func parseVersion(m *document.Map) Version {
	s := text(m, "version")
	v, ok := ParseVersion(s)
	if !ok && strings.TrimSpace(s) != "" {
		m.Problem("version", "%q is not a version; write MAJOR.MINOR.PATCH such as 1.0.0", s)
	}
	return v
}

func parsePoints(m *document.Map, ps *document.Problems) map[string]Alias {
	points := map[string]Alias{}
	if m == nil {
		return points
	}
	m.Each(func(name string, n *document.Node) {
		if !namePattern.MatchString(name) {
			m.Problem(name, "the name %q is not allowed in expressions; use a-z, 0-9 and _", name)
			return
		}
		if reserved.MatchString(name) {
			m.Problem(name, "the name %q is a word of expressions; choose another", name)
			return
		}
		points[name] = Alias{Name: name, Ref: m.String(name), Pos: n.Pos()}
	})
	return points
}

func parseAction(id string, n *document.Node, ps *document.Problems) *Action {
	m := document.NewMap(n, ps)
	m.Required("effect", "description")
	a := &Action{ID: id, Name: text(m, "name"), Title: m.String("title"), Description: m.String("description"), Intents: m.Strings("intents"),
		Effect:     Effect(m.Enum("effect", string(Read), string(Actuate), string(Configure))),
		Risk:       Risk(m.Enum("risk", string(Info), string(Low), string(Medium), string(High), string(Critical))),
		Parameters: m.Node("parameters"), Returns: m.Strings("returns"), OnFail: OnFail(m.Enum("on_fail", string(Leave), string(WithdrawFail))),
		OnDegraded: m.Enum("on_degraded", "refuse", "alarm"), ToSafe: m.Bool("to_safe"), AnswerIn: m.Duration("answer_within"), Pos: n.Pos(), Source: n}
	if a.Name != "" && !mcpPattern.MatchString(a.Name) {
		m.Problem("name", "the name %q is not allowed; use a-z, 0-9, _ and -, at most %d", a.Name, MaxName)
	}
	parseSecurity(a, m.Map("security"))
	a.Limits = parseLimits(m.Map("limits"))
	a.Permits = parsePermits(m, ps)
	a.Execute = parseSteps("execute", m, ps)
	a.Withdraw = parseSteps("withdraw", m, ps)
	a.Hold = parseHold(a, m, ps)
	a.Verify = parseVerify(m, ps)
	if a.Effect != "" {
		checkShape(a, m)
	}
	applyDefaults(a)
	m.Done()
	return a
}

// The defaults of an action.
const (
	DefaultAnswerWithin = 45 * time.Second // how long a call waits for its verdict
	DefaultPoll         = 250 * time.Millisecond
)

func applyDefaults(a *Action) {
	if a.Risk == "" {
		if a.Risk = Info; a.Moves() {
			a.Risk = High
		}
	}
	if a.OnFail == "" {
		a.OnFail = Leave
	}
	if a.OnDegraded == "" {
		a.OnDegraded = "refuse"
	}
	if a.AnswerIn == 0 {
		a.AnswerIn = DefaultAnswerWithin
	}
	if a.Verify != nil && a.Verify.Poll == 0 {
		a.Verify.Poll = DefaultPoll
	}
}

// checkShape holds the keys of an action against its effect.
func checkShape(a *Action, m *document.Map) {
	if a.Moves() {
		checkMotion(a, m)
		return
	}
	if len(a.Returns) == 0 {
		m.Problem("effect", "a read needs returns: [points]")
	}
	for _, key := range []string{"execute", "verify", "permits", "withdraw", "on_fail", "to_safe", "hold"} {
		if m.Has(key) {
			m.Problem(key, "%s belongs to actuations; remove it, or set effect: actuate", key)
		}
	}
}

func checkMotion(a *Action, m *document.Map) {
	steps := m.Node("execute")
	if steps == nil || steps.Kind() == document.List && len(steps.Items()) == 0 {
		m.Problem("effect", "an action with effect %s needs execute steps", a.Effect)
	}
	if m.Has("returns") {
		m.Problem("returns", "returns belongs to reads; an actuation answers with its evidence")
	}
	if undo := m.Node("withdraw"); a.OnFail == WithdrawFail && (undo == nil || undo.Kind() == document.List && len(undo.Items()) == 0) {
		m.Problem("on_fail", "on_fail: withdraw needs withdraw: [steps]")
	}
	if len(a.Withdraw) > 0 && a.OnFail != WithdrawFail {
		m.Problem("withdraw", "the withdraw steps would never run; add on_fail: withdraw, or remove them")
	}
}

func parseSecurity(a *Action, m *document.Map) {
	if m == nil {
		return
	}
	a.Permissions, a.Scopes = m.Strings("permissions"), m.Strings("scopes")
	m.Done()
}

// maxConcurrent bounds limits.max_concurrent; a number above it limits nothing.
const maxConcurrent = 1000

func parseLimits(m *document.Map) Limits {
	if m == nil {
		return Limits{}
	}
	var l Limits
	if n := m.Int("max_concurrent"); n < 0 || n > maxConcurrent || n == 0 && m.Node("max_concurrent").Kind() == document.Number {
		m.Problem("max_concurrent", "max_concurrent must be 1 to %d; leave it out for no limit", maxConcurrent)
	} else {
		l.MaxConcurrent = int(n)
	}
	if s := text(m, "rate"); s != "" {
		l.Rate = parseRate(m, s)
	}
	m.Done()
	return l
}

func parseRate(m *document.Map, text string) Rate {
	parts := ratePattern.FindStringSubmatch(text)
	if parts == nil {
		m.Problem("rate", "%q is not a rate; write COUNT/second, COUNT/minute or COUNT/hour, such as 10/minute", text)
		return Rate{}
	}
	count, err := strconv.Atoi(parts[1])
	if err != nil {
		m.Problem("rate", "%q is not a rate: %v", text, err)
	}
	per := map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour}[parts[2]]
	return Rate{Count: count, Per: per}
}

func parsePermits(m *document.Map, ps *document.Problems) []Permit {
	var permits []Permit
	for _, n := range m.List("permits") {
		e := document.NewMap(n, ps)
		e.Required("when", "reason")
		p := Permit{ID: e.String("id"), When: text(e, "when"), MaxAge: e.Duration("max_age"), Reason: text(e, "reason"), Pos: n.Pos(),
			Code: outcome.Code(e.Enum("code", string(outcome.Interlocked), string(outcome.LocalMode), string(outcome.LockedOut), string(outcome.NotArmed)))}
		if p.Code == "" {
			p.Code = outcome.Interlocked
		}
		if p.ID == "" {
			p.ID = strings.ToLower(string(p.Code))
		}
		e.Done()
		permits = append(permits, p)
	}
	return permits
}
