package invoke_test

import (
	"testing"
	"time"

	"capd/internal/access"
	"capd/internal/guard"
	"capd/internal/invoke"
	"capd/internal/standing"
)

// BenchmarkAdmission is what every call passes before anything is read: the name, the visibility, the arguments, the first gate.
func BenchmarkAdmission(b *testing.B) {
	s := newStation(b)
	policy := access.NewPolicy(map[string][]string{"operator": {"*:read", "*:write"}})
	subject, args := operator(), opening(60)
	b.ReportAllocs()
	for b.Loop() {
		a := s.registry.Snapshot().Action("set_discharge_valve")
		if ok, rule := guard.Visible(policy, subject, nil, a); !ok {
			b.Fatal(rule)
		}
		if _, refusal := a.Params.Check(args); refusal != nil {
			b.Fatal(refusal)
		}
		if refusal := guard.Admit(guard.Static{Now: time.Now(), Subject: subject, Action: a, Visible: true, Mode: standing.Active}); refusal != nil {
			b.Fatal(refusal)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// BenchmarkRead is a whole read through the corridor, answered from polled readings.
func BenchmarkRead(b *testing.B) {
	s := newStation(b)
	b.ReportAllocs()
	for b.Loop() {
		if a := s.corridor.Call(b.Context(), invoke.Request{Subject: operator(), Action: "read_flow"}); a.IsError() {
			b.Fatal(a.Text())
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}
