// Package tour walks a newcomer, and a test, through what capd does: it plays an MCP client against a running demo, switches the
// plant's faults on, and checks every answer against the one right answer.
//
// Its promise: a step is ok only if the answer, and where it matters the plant's own count of writes, are exactly as expected.
package tour

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Step is one thing that was tried, what was expected and what came.
type Step struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Call     string   `json:"call,omitempty"`
	Expected string   `json:"expected"`
	Got      string   `json:"got"`
	Verdict  string   `json:"verdict,omitempty"`
	Level    string   `json:"level,omitempty"`
	Refuted  string   `json:"refuted_at,omitempty"`
	Code     string   `json:"code,omitempty"`
	Layer    string   `json:"layer,omitempty"`
	Writes   int      `json:"writes"` // what the plant counted during the step
	OK       bool     `json:"ok"`
	Missed   []string `json:"missed,omitempty"` // the expectations that were not met
	Text     string   `json:"text,omitempty"`   // what the agent read
}

// Report is the whole tour.
type Report struct {
	Steps []Step `json:"steps"`
	OK    bool   `json:"ok"`
}

// answer is the structured content of an actuation or a read, as the tour reads it.
type answer struct {
	Verdict    string `json:"verdict"`
	Level      string `json:"level"`
	RefutedAt  string `json:"refuted_at"`
	Sent       bool   `json:"sent"`
	Already    bool   `json:"already_there"`
	Standing   bool   `json:"command_standing"`
	Restarted  bool   `json:"decided_after_restart"`
	ArmedBy    string `json:"armed_by"`
	Invocation string `json:"invocation"`
	Values     map[string]struct {
		Value   any    `json:"value"`
		Unit    string `json:"unit"`
		Quality string `json:"quality"`
		AgeMS   *int64 `json:"age_ms"`
	} `json:"values"`
	Evidence []struct {
		Point string `json:"point"`
		Phase string `json:"phase"`
		Value any    `json:"value"`
	} `json:"evidence"`
	Budgets []struct {
		Used int64 `json:"used"`
	} `json:"write_budget"`
	Reason *struct {
		Code      string      `json:"code"`
		Layer     string      `json:"layer"`
		Message   string      `json:"message"`
		RetrySafe bool        `json:"retry_safe"`
		Allowed   *[2]float64 `json:"allowed"`
	} `json:"reason"`
}

func parseAnswer(r toolResult) (answer, error) {
	var a answer
	if err := json.Unmarshal(r.Structured, &a); err != nil {
		return a, fmt.Errorf("structured content: %w", err)
	}
	return a, nil
}

// want is the one right answer; empty fields are not looked at.
type want struct {
	verdict, level, refutedAt, code, layer string
	writes                                 int // -1: not looked at
	says                                   []string
	more                                   func(answer) string // "" when it holds, else what does not
}

func (w want) String() string {
	parts := []string{w.verdict}
	for _, p := range []struct{ label, text string }{{"", w.level}, {"refuted at ", w.refutedAt}, {"", w.code}, {"layer ", w.layer}} {
		if p.text != "" {
			parts = append(parts, p.label+p.text)
		}
	}
	if w.writes >= 0 {
		parts = append(parts, fmt.Sprintf("%d write(s) counted by the plant", w.writes))
	}
	return strings.Join(parts, ", ")
}

// judge fills a step from an answer.
func (w want) judge(s Step, r toolResult, a answer, writes int) Step {
	s.Expected, s.Verdict, s.Level, s.Refuted, s.Writes, s.Text = w.String(), a.Verdict, a.Level, a.RefutedAt, writes, r.text()
	if a.Reason != nil {
		s.Code, s.Layer = a.Reason.Code, a.Reason.Layer
	}
	got := want{verdict: s.Verdict, level: s.Level, refutedAt: s.Refuted, code: s.Code, layer: s.Layer, writes: -1}
	if w.writes >= 0 {
		got.writes = writes
	}
	s.Got = got.String()
	miss := func(ok bool, format string, args ...any) {
		if !ok {
			s.Missed = append(s.Missed, fmt.Sprintf(format, args...))
		}
	}
	miss(a.Verdict == w.verdict, "verdict %q instead of %q", a.Verdict, w.verdict)
	miss(w.level == "" || a.Level == w.level, "level %q instead of %q", a.Level, w.level)
	miss(a.RefutedAt == w.refutedAt, "refuted at %q instead of %q", a.RefutedAt, w.refutedAt)
	miss(s.Code == w.code, "code %q instead of %q", s.Code, w.code)
	miss(w.layer == "" || s.Layer == w.layer, "layer %q instead of %q", s.Layer, w.layer)
	miss(w.writes < 0 || writes == w.writes, "%d writes counted instead of %d", writes, w.writes)
	isError := w.verdict != "confirmed" && w.verdict != "observed" && w.verdict != "pending"
	miss(r.IsError == isError, "isError is %v", r.IsError)
	for _, text := range w.says {
		miss(strings.Contains(r.text(), text), "the text does not say %q", text)
	}
	if w.more != nil {
		if text := w.more(a); text != "" {
			s.Missed = append(s.Missed, text)
		}
	}
	s.OK = len(s.Missed) == 0
	return s
}

// Print writes a step as the transcript shows it.
func (s Step) Print(w io.Writer) error {
	mark := "ok  "
	if !s.OK {
		mark = "FAIL"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", mark, s.Title)
	if s.Call != "" {
		fmt.Fprintf(&b, "       agent> %s\n", s.Call)
	}
	for _, line := range strings.Split(strings.TrimSpace(s.Text), "\n") {
		if line != "" && !strings.HasPrefix(line, "Invocation:") {
			fmt.Fprintf(&b, "       capd>  %s\n", line)
		}
	}
	fmt.Fprintf(&b, "       got    %s\n", s.Got)
	if !s.OK {
		fmt.Fprintf(&b, "       wanted %s\n", s.Expected)
		for _, m := range s.Missed {
			fmt.Fprintf(&b, "       missed %s\n", m)
		}
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}
