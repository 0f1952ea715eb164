package registry

import (
	"os"
	"strings"
	"testing"

	"capd/internal/hal"
	"capd/internal/hal/modbus"
)

// TestTheReferenceIsTrue publishes the examples of docs/contracts.md, and looks for every key that a file may have.
func TestTheReferenceIsTrue(t *testing.T) {
	raw, err := os.ReadFile("../../docs/contracts.md")
	if err != nil {
		t.Fatal(err)
	}
	b := newBox(t)
	b.drivers = []hal.Driver{modbus.New()}
	names := map[string]string{"inventory": "assets.d/doc.yaml", "contract": "contracts.d/doc.yaml", "profile": "profiles.d/doc.yaml"}
	found := 0
	for _, part := range strings.Split(string(raw), "```yaml\n")[1:] {
		source, _, _ := strings.Cut(part, "```")
		kind, _, _ := strings.Cut(source, ":")
		b.write(names[kind], source)
		found++
	}
	s := b.publish()
	if found != 3 || len(s.Rejected) > 0 || len(s.Actions) != 2 || len(s.Profiles) != 1 {
		t.Errorf("%d examples, %d actions, %d profiles; rejected %+v", found, len(s.Actions), len(s.Profiles), s.Rejected)
	}
	for _, w := range s.Warnings {
		t.Errorf("a warning about an example: %v", w)
	}
	for _, key := range strings.Fields(`at role witness_for unit scale offset labels range invalid update max_unchanged access nvm device title min max max_step min_step max_rate
		min_interval min_off starts_per_hour lifetime_writes contract tool version asset tags points effect description intents name risk parameters security permissions scopes limits
		max_concurrent rate permits when reason max_age code to_safe execute write value pulse release wait within hold every silence verify expect near tolerance is between changes_by
		increases settle poll handshake token echo min_level refute counts watch self_clearing on_fail withdraw on_degraded answer_within returns profile pinned max_tools top_k deny`) {
		if !strings.Contains(string(raw), "`"+key) && !strings.Contains(string(raw), key+":") && !strings.Contains(string(raw), ", "+key) {
			t.Errorf("the key %s is not in docs/contracts.md", key)
		}
	}
}
