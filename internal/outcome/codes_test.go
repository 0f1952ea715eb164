package outcome_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"capd/internal/outcome"
	"capd/internal/physical"
)

var update = flag.Bool("update", false, "write docs/codes.md anew")

// page is docs/codes.md as the code has it.
func page() string {
	var b strings.Builder
	b.WriteString("# Verdicts, levels and reason codes\n\nWritten from `internal/outcome`; a test keeps it true.\n\n")
	b.WriteString("| verdict | what it says | isError |\n|---|---|---|\n")
	for _, v := range []struct {
		verdict outcome.Verdict
		text    string
	}{
		{outcome.Observed, "a read, with good quality"},
		{outcome.Confirmed, "the witnesses agree that it happened"},
		{outcome.Refuted, "a witness shows that it did not happen"},
		{outcome.Unknown, "no usable evidence either way"},
		{outcome.NotExecuted, "nothing left the box"},
		{outcome.Pending, "still verifying; follow it with explain"},
	} {
		fmt.Fprintf(&b, "| `%s` | %s | %v |\n", v.verdict, v.text, v.verdict.IsError())
	}
	b.WriteString("\n| level | what agreed |\n|---|---|\n| E0 | nothing left the box, or nothing agreed |\n| E1 | the protocol acknowledged |\n" +
		"| E2 | the setpoint reads back |\n| E3 | the device's own status agrees |\n| E4 | an independent sensor agrees |\n| E5 | the effect in the process is seen |\n")
	b.WriteString("\nLayers: `capability` what was asked is no valid request, `policy` a rule or a permit forbids it now, `execution` the wire, " +
		"`verification` the witness, `device` the machine disobeyed. A code can come with another layer than its usual one: a setpoint that does not read back is " +
		"VERIFY_MISMATCH in the layer `execution`.\n")
	b.WriteString("\n| code | usual layer | meaning | next |\n|---|---|---|---|\n")
	for _, c := range outcome.Codes() {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.Code, c.Layer, c.Meaning, c.Next)
	}
	return b.String()
}

func TestThePageOfCodesIsTrue(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "codes.md")
	if *update {
		if err := os.WriteFile(path, []byte(page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != page() {
		t.Errorf("docs/codes.md is out of date (%v); run go test ./internal/outcome -update", err)
	}
}

func TestEveryCodeIsExplainedOnce(t *testing.T) {
	seen := map[outcome.Code]bool{}
	for _, c := range outcome.Codes() {
		if seen[c.Code] || c.Meaning == "" || c.Next == "" || c.Layer == outcome.LayerNone {
			t.Errorf("%s is listed twice or not explained", c.Code)
		}
		seen[c.Code] = true
	}
	if len(seen) != 36 {
		t.Errorf("%d codes; the list of the design has 36", len(seen))
	}
}

func TestLevelsFollowFromRoles(t *testing.T) {
	for role, level := range map[physical.Role]outcome.Level{physical.Setpoint: outcome.E2, physical.Status: outcome.E3, physical.Feedback: outcome.E4,
		physical.Process: outcome.E5, "": outcome.E0} {
		if got := outcome.LevelOf(role); got != level {
			t.Errorf("%s proves %s, want %s", role, got, level)
		}
	}
	for _, text := range []string{"E6", "e4", "", "E", "E44"} {
		if _, ok := outcome.ParseLevel(text); ok {
			t.Errorf("%q is taken for a level", text)
		}
	}
}

func TestASpanSurvivesJSON(t *testing.T) {
	low, err := physical.ParseDecimal("40")
	if err != nil {
		t.Fatal(err)
	}
	high, err := physical.ParseDecimal("79.9")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(outcome.Span{Low: low, High: high})
	if err != nil || string(raw) != "[40,79.9]" {
		t.Fatalf("%s %v", raw, err)
	}
	var back outcome.Span
	if err := json.Unmarshal(raw, &back); err != nil || !back.Low.Equal(low) || !back.High.Equal(high) {
		t.Errorf("%+v %v", back, err)
	}
	for _, bad := range []string{`[1]`, `[1,"2"]`, `{}`, `[1,2,3]`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s was taken for a span", bad)
		}
	}
}
