package localapi_test

import (
	"strings"
	"testing"
	"time"

	"capd/internal/localapi"
	"capd/internal/localapi/localtest"
	"capd/internal/outcome"
)

func stroke(percent int) localapi.CallRequest {
	return localapi.CallRequest{Action: localtest.Critical, Args: map[string]any{"opening": percent}}
}

func withCritical(t *testing.T) *localtest.Box {
	b := localtest.Start(t)
	b.WriteCritical(t)
	_, err := b.Client.Reload(t.Context())
	must(t, err)
	return b
}

func wantNotArmed(t *testing.T, b *localtest.Box, percent int) {
	t.Helper()
	before := b.Machine.Writes()
	a, err := b.Client.Call(t.Context(), stroke(percent))
	must(t, err)
	if a.Verdict != outcome.NotExecuted || a.Reason.Code != outcome.NotArmed || b.Machine.Writes() != before {
		t.Errorf("%s", a.Text())
	}
}

func TestACriticalActionNeedsAConsentForEachCall(t *testing.T) {
	b := withCritical(t)
	wantNotArmed(t, b, 50)
	armed, err := b.Client.Arm(t.Context(), localtest.Critical, time.Minute, "seen from the gallery")
	must(t, err)
	if armed.Arm.Asset != "PS07-FCV-04" || armed.Arm.Until.Sub(armed.Arm.At) != time.Minute {
		t.Errorf("%+v", armed)
	}
	dry := stroke(50)
	dry.DryRun = true
	if a, err := b.Client.Call(t.Context(), dry); err != nil || a.DryRun == nil {
		t.Errorf("a dry run: %v %s", err, a.Text())
	}
	a, err := b.Client.Call(t.Context(), stroke(90)) // a refusal by another gate uses no consent up
	must(t, err)
	if a.Reason == nil || a.Reason.Code != outcome.StepTooLarge {
		t.Errorf("%s", a.Text())
	}
	a, err = b.Client.Call(t.Context(), stroke(50))
	must(t, err)
	if a.Verdict != outcome.Confirmed || a.ArmedBy != armed.Arm.By {
		t.Errorf("armed by %q: %s", a.ArmedBy, a.Text())
	}
	wantNotArmed(t, b, 55)
	a, err = b.Client.Call(t.Context(), stroke(50)) // stands already, but nobody consented
	must(t, err)
	if a.Reason == nil || a.Reason.Code != outcome.NotArmed {
		t.Errorf("%s", a.Text())
	}
}

func TestAConsentIsForTheContractAsItWasRead(t *testing.T) {
	b := withCritical(t)
	_, err := b.Client.Arm(t.Context(), localtest.Critical, time.Minute, "seen from the gallery")
	must(t, err)
	b.Edit(t, "contracts.d/stroke.yaml", func(text string) string {
		return strings.Replace(strings.Replace(text, "1.0.0", "1.0.1", 1), "tolerance: 1.5", "tolerance: 1.4", 1)
	})
	r, err := b.Client.Reload(t.Context())
	must(t, err)
	if len(r.Changed) == 0 {
		t.Fatalf("%+v", r)
	}
	wantNotArmed(t, b, 50)
}

func TestOnlyWhatNeedsAConsentCanBeArmed(t *testing.T) {
	b := withCritical(t)
	_, err := b.Client.Arm(t.Context(), "set_discharge_valve", time.Minute, "x")
	wantError(t, err, localapi.BadRequest)
	_, err = b.Client.Arm(t.Context(), "nothing", time.Minute, "x")
	wantError(t, err, localapi.NotFound)
	_, err = b.Client.Arm(t.Context(), localtest.Critical, 2*time.Hour, "x")
	if text := wantError(t, err, localapi.BadRequest); !strings.Contains(text, "1h") {
		t.Error(text)
	}
	_, err = b.Client.Disarm(t.Context(), localtest.Critical)
	wantError(t, err, localapi.NotFound)
}
