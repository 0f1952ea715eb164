package invoke

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"capd/internal/access"
	"capd/internal/outcome"
	"capd/internal/physical"
)

// Request is one call as a door hands it over.
type Request struct {
	Subject   access.Subject
	Profile   *access.Profile // the view that the door shows this subject; nil is everything permitted
	Action    string          // MCP name
	Args      map[string]any  // without the reserved arguments
	RequestID string
	DryRun    bool
}

// Answer is what every door gives back, as structured content and as the text that Summary makes of it.
type Answer struct {
	Verdict         outcome.Verdict    `json:"verdict"`
	Level           *outcome.Level     `json:"level,omitempty"` // only for actuations
	RefutedAt       *outcome.Level     `json:"refuted_at,omitempty"`
	Sent            bool               `json:"sent"`
	AlreadyThere    bool               `json:"already_there,omitempty"`
	CommandStanding bool               `json:"command_standing"`
	Invocation      string             `json:"invocation"`
	Action          string             `json:"action"`
	Asset           string             `json:"asset,omitempty"`
	Summary         string             `json:"summary"`
	Values          map[string]Reading `json:"values,omitempty"`
	Evidence        []outcome.Evidence `json:"evidence,omitempty"`
	Reason          *Reason            `json:"reason,omitempty"`
	Timings         *Timings           `json:"timings,omitempty"`
	DryRun          *DryRun            `json:"dry_run,omitempty"`
	AfterRestart    bool               `json:"decided_after_restart,omitempty"`
	Repeated        bool               `json:"repeated,omitempty"` // the recorded outcome of an earlier call with this request_id
	Attached        bool               `json:"attached,omitempty"` // the outcome of an identical call that was already running
	Amendments      []Amendment        `json:"amendments,omitempty"`
	Withdrawal      *Withdrawal        `json:"withdrawal,omitempty"` // only where the contract says on_fail: withdraw
	TrueUntil       *time.Time         `json:"true_until,omitempty"` // only with a hold
	Budgets         []budget           `json:"write_budget,omitempty"`
	ArmedBy         string             `json:"armed_by,omitempty"` // the technician whose consent a critical action used up
}

// Reading is one value of a read.
type Reading struct {
	Point   string           `json:"point"`
	Value   physical.Value   `json:"value"`
	Unit    physical.Unit    `json:"unit,omitempty"`
	Quality physical.Quality `json:"quality"`
	Cause   physical.Cause   `json:"cause,omitempty"`
	Detail  string           `json:"detail,omitempty"`
	At      time.Time        `json:"at"`
	AgeMS   int64            `json:"age_ms"`
	Raw     string           `json:"raw,omitempty"`
}

// ReadingOf is a reading as an answer shows it.
func ReadingOf(ref string, r physical.Reading, now time.Time) Reading {
	return Reading{Point: ref, Value: r.Value, Unit: r.Unit, Quality: r.Quality, Cause: r.Cause, Detail: r.Detail, At: r.At,
		AgeMS: max(0, r.Age(now).Milliseconds()), Raw: r.RawHex()}
}

// Reason is why a call did not simply succeed, and what to do next.
type Reason struct {
	Code      outcome.Code  `json:"code"`
	Layer     outcome.Layer `json:"layer"`
	Message   string        `json:"message"`
	Next      string        `json:"next,omitempty"`
	RetrySafe bool          `json:"retry_safe"`
	Allowed   *outcome.Span `json:"allowed,omitempty"`
	After     *time.Time    `json:"after,omitempty"`
}

// Timings says where the time went, in milliseconds.
type Timings struct {
	Started  time.Time `json:"started"`
	ActedMS  int64     `json:"acted_ms"`  // from the first to the last write
	VerifyMS int64     `json:"verify_ms"` // from the end of the act to the verdict
	TotalMS  int64     `json:"total_ms"`
}

// DryRun shows what a call would have done.
type DryRun struct {
	Gates  []string `json:"gates"`
	Frames []string `json:"frames"`
}

// Amendment is what was learned after the answer.
type Amendment struct {
	At      time.Time       `json:"at"`
	Kind    string          `json:"kind"` // late_confirmed, reverted, settled
	Verdict outcome.Verdict `json:"verdict,omitempty"`
	Text    string          `json:"text"`
}

func reasonOf(r *outcome.Refusal) *Reason {
	return &Reason{Code: r.Code, Layer: r.Layer, Message: r.Message, Next: r.Next, RetrySafe: r.RetrySafe, Allowed: r.Allowed, After: r.After}
}

// IsError reports whether MCP's isError goes with the answer.
func (a Answer) IsError() bool { return a.Verdict.IsError() }

// Text is the answer for a reader: the verdict first, in one sentence, then what to do; at most 2 kB.
func (a Answer) Text() string {
	var b strings.Builder
	b.WriteString(a.Summary)
	for _, am := range a.Amendments {
		b.WriteString("\n" + am.Text)
	}
	if a.Reason != nil && a.Reason.Next != "" {
		b.WriteString("\nNext: " + a.Reason.Next + ".")
	}
	if a.Invocation != "" {
		b.WriteString("\nInvocation: " + a.Invocation)
	}
	const most = 2000
	if b.Len() > most {
		return strings.ToValidUTF8(b.String()[:most-3], "") + "..."
	}
	return b.String()
}

// summarize writes the one sentence that says the verdict first.
func summarize(a Answer) string {
	head := strings.ToUpper(string(a.Verdict))
	if a.Level != nil && a.Verdict != outcome.NotExecuted && a.Verdict != outcome.Pending {
		head += " at " + a.Level.String()
	}
	if a.RefutedAt != nil {
		head += " (refuted at " + a.RefutedAt.String() + ")"
	}
	text := head + ": " + a.Action
	if a.AfterRestart {
		text += " (decided after a restart of capd; nothing was sent again)"
	}
	switch {
	case a.Reason != nil:
		text += ": " + string(a.Reason.Code) + ": " + a.Reason.Message
		if !strings.HasSuffix(text, "?") {
			text += "."
		}
		if a.Verdict != outcome.NotExecuted && a.Verdict != outcome.Pending && a.CommandStanding && !a.Reason.RetrySafe {
			text += " Do not repeat."
		}
	case a.DryRun != nil:
		text += ": every gate passed; nothing was sent."
	case a.AlreadyThere:
		text += ": already there; nothing was sent. " + evidenceText(a.Evidence)
	case a.Verdict == outcome.Confirmed:
		text += ": " + evidenceText(a.Evidence)
	case a.Verdict == outcome.Observed:
		text += ": " + valuesText(a.Values)
	}
	if a.Withdrawal != nil {
		text += " " + strings.ToUpper(a.Withdrawal.Text[:1]) + a.Withdrawal.Text[1:] + "."
	}
	if a.CommandStanding && a.Verdict != outcome.Confirmed && a.Verdict != outcome.Pending {
		text += " The command still stands in the machine."
	}
	return text
}

func evidenceText(evidence []outcome.Evidence) string {
	var parts []string
	for i, e := range evidence {
		if e.Phase != "deciding" || e.OK == nil || !*e.OK || toldLater(evidence[i+1:], e.Point) {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s reads %s%s (expected %s)", e.Point, e.Value, unitText(e.Unit), e.Expected))
	}
	return strings.Join(parts, "; ") + "."
}

// toldLater reports whether a point agrees once more: a setpoint that reads back may be an expectation too.
func toldLater(rest []outcome.Evidence, point string) bool {
	return slices.ContainsFunc(rest, func(e outcome.Evidence) bool { return e.Point == point && e.Phase == "deciding" })
}

func unitText(u physical.Unit) string {
	if u == "" || u == "1" {
		return ""
	}
	return " " + string(u)
}
