package outcome

import (
	"encoding/json"
	"fmt"
	"time"

	"capd/internal/physical"
)

// Refusal is why a call was not carried out, or not proved: the code, where the fault lies, one sentence for a person, and what
// to do next.
type Refusal struct {
	Code      Code
	Layer     Layer
	Message   string
	Next      string
	RetrySafe bool       // true only if surely not sent, or for an absolute write with nothing outstanding
	Allowed   *Span      // the values allowed instead, for OUT_OF_RANGE and STEP_TOO_LARGE
	After     *time.Time // when it may be tried again, for TOO_SOON and RATE_LIMITED
}

// Error makes a Refusal usable where Go wants an error.
func (r *Refusal) Error() string { return string(r.Code) + ": " + r.Message }

// Span is a closed interval of allowed values.
type Span struct{ Low, High physical.Decimal }

// MarshalJSON writes [low, high] as numbers.
func (s Span) MarshalJSON() ([]byte, error) {
	return []byte("[" + s.Low.String() + "," + s.High.String() + "]"), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Span) UnmarshalJSON(b []byte) error {
	var ends []physical.Value
	if err := json.Unmarshal(b, &ends); err != nil {
		return err
	}
	if len(ends) != 2 {
		return fmt.Errorf("a span has two ends, not %d", len(ends))
	}
	low, okLow := ends[0].Number()
	high, okHigh := ends[1].Number()
	if !okLow || !okHigh {
		return fmt.Errorf("the ends of a span are numbers, not %s", b)
	}
	s.Low, s.High = low, high
	return nil
}

// Refuse makes a refusal with the code's usual layer and next step.
func Refuse(code Code, message string) *Refusal {
	info := Info(code)
	return &Refusal{Code: code, Layer: info.Layer, Message: message, Next: info.Next, RetrySafe: true}
}

// Info is the explanation of a code; an unknown one explains itself as INTERNAL.
func Info(code Code) CodeInfo {
	last := CodeInfo{}
	for _, c := range Codes() {
		if c.Code == code {
			return c
		}
		last = c
	}
	return last
}

// Evidence is one reading that had a part in a verdict.
type Evidence struct {
	Point    string           `json:"point"`
	Phase    string           `json:"phase"` // baseline, sample, deciding
	Value    physical.Value   `json:"value"`
	Unit     physical.Unit    `json:"unit,omitempty"`
	Quality  physical.Quality `json:"quality"`
	Cause    physical.Cause   `json:"cause,omitempty"`
	Detail   string           `json:"detail,omitempty"`
	Started  time.Time        `json:"started"`
	At       time.Time        `json:"at"`
	AgeMS    int64            `json:"age_ms"`
	Raw      string           `json:"raw,omitempty"`
	Expected string           `json:"expected,omitempty"`
	OK       *bool            `json:"ok,omitempty"`
	Level    Level            `json:"level"`
}
