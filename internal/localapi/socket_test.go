package localapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"testing"
	"time"

	"capd/internal/localapi"
	"capd/internal/localapi/localtest"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/standing"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantError checks the code of a refused request and gives its text.
func wantError(t testing.TB, err error, code localapi.ErrorCode) string {
	t.Helper()
	e, ok := errors.AsType[*localapi.Error](err)
	if !ok || e.Code != code {
		t.Fatalf("error %v, want %s", err, code)
	}
	return e.Error()
}

func opening(percent int) localapi.CallRequest {
	return localapi.CallRequest{Action: "set_discharge_valve", Args: map[string]any{"opening": percent}}
}

func TestATechnicianMovesAValveAndSeesTheEvidence(t *testing.T) {
	b := localtest.Start(t)
	a, err := b.Client.Call(t.Context(), opening(60))
	must(t, err)
	if a.Verdict != outcome.Confirmed || *a.Level != outcome.E4 || !a.Sent || len(a.Evidence) == 0 {
		t.Fatalf("%s\n%+v", a.Text(), a)
	}
	record, err := b.Client.Explain(t.Context(), a.Invocation, 0)
	must(t, err)
	if record.Answer.Verdict != outcome.Confirmed || record.Tool != "ps07-fcv-04" {
		t.Errorf("record %+v", record)
	}
}

func TestAStuckValveIsRefutedAndStandsInTheStatus(t *testing.T) {
	b := localtest.Start(t)
	b.Machine.Stick()
	a, err := b.Client.Call(t.Context(), opening(60))
	must(t, err)
	if a.Verdict != outcome.Refuted || a.Reason.Code != outcome.VerifyMismatch {
		t.Fatalf("%s", a.Text())
	}
	s, err := b.Client.Status(t.Context())
	must(t, err)
	if len(s.Recent) != 1 || s.Recent[0].Verdict != outcome.Refuted || s.Recent[0].Code != outcome.VerifyMismatch || s.Recent[0].At.IsZero() {
		t.Errorf("recent %+v", s.Recent)
	}
	if s.Alarms.Active == 0 || s.Alarms.Newest == nil {
		t.Errorf("alarms %+v", s.Alarms)
	}
}

func TestARefusedStepNamesTheAllowedSpan(t *testing.T) {
	b := localtest.Start(t)
	a, err := b.Client.Call(t.Context(), opening(5))
	must(t, err)
	if a.Verdict != outcome.NotExecuted || a.Reason.Code != outcome.StepTooLarge || a.Reason.Allowed == nil || a.Reason.Allowed.Low.String() != "25" {
		t.Errorf("%s\n%+v", a.Text(), a.Reason)
	}
	if b.Machine.Writes() != 0 {
		t.Error("something was written")
	}
}

func TestADryRunShowsTheFramesAndWritesNothing(t *testing.T) {
	b := localtest.Start(t)
	req := opening(60)
	req.DryRun = true
	a, err := b.Client.Call(t.Context(), req)
	must(t, err)
	if a.DryRun == nil || len(a.DryRun.Frames) != 1 || b.Machine.Writes() != 0 {
		t.Errorf("%+v, %d writes", a.DryRun, b.Machine.Writes())
	}
}

func TestTheSameRequestIDIsAnsweredFromTheRecord(t *testing.T) {
	b := localtest.Start(t)
	req := opening(60)
	req.RequestID = "shift-7"
	first, err := b.Client.Call(t.Context(), req)
	must(t, err)
	again, err := b.Client.Call(t.Context(), req)
	must(t, err)
	if !again.Repeated || again.Invocation != first.Invocation || b.Machine.Writes() != 1 {
		t.Errorf("repeated %v, %s and %s, %d writes", again.Repeated, first.Invocation, again.Invocation, b.Machine.Writes())
	}
}

func TestACallWithAnUnknownToolOrArgumentSaysWhatWasMeant(t *testing.T) {
	b := localtest.Start(t)
	for _, c := range []struct {
		req  localapi.CallRequest
		hint string
	}{
		{localapi.CallRequest{Action: "set_discharge_valv"}, `did you mean "set_discharge_valve"?`},
		{localapi.CallRequest{Action: "set_discharge_valve", Args: map[string]any{"opning": 60}}, `missing argument "opening"`},
	} {
		a, err := b.Client.Call(t.Context(), c.req)
		must(t, err)
		if a.Verdict != outcome.NotExecuted || !contains(a.Text(), c.hint) {
			t.Errorf("%s\nwant %s", a.Text(), c.hint)
		}
	}
}

func TestACallGoesOnWhenItsCallerLeavesAndExplainFollowsIt(t *testing.T) {
	skipUnderEmulation(t) // the daemon writes to a caller that has left
	b := localtest.Start(t)
	b.Machine.Hold()
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := b.Client.Call(ctx, opening(60))
		left <- err
	}()
	id := waitRunning(t, b)
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left got %v", err)
	}
	r, err := b.Client.Explain(t.Context(), id, 0)
	must(t, err)
	if r.Answer.Verdict != outcome.Pending {
		t.Errorf("verdict %s", r.Answer.Verdict)
	}
	b.Machine.Release()
	r, err = b.Client.Explain(t.Context(), id, 30*time.Second)
	must(t, err)
	if r.Answer.Verdict != outcome.Confirmed {
		t.Errorf("the call of somebody who left ended as %s", r.Answer.Text())
	}
	wantError(t, second(b.Client.Explain(t.Context(), "01890a5d-ac96-774b-bcce-b302099a8057", 0)), localapi.NotFound)
}

func second[T any](_ T, err error) error { return err }

// waitRunning gives the invocation under way as soon as there is one.
func waitRunning(t *testing.T, b *localtest.Box) string {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	limit := time.After(10 * time.Second)
	for {
		if s, err := b.Client.Status(t.Context()); err == nil && len(s.Running) == 1 {
			return s.Running[0].Invocation
		}
		select {
		case <-ticker.C:
		case <-limit:
			t.Fatal("no call came under way")
		}
	}
}

func TestTheStatusIsOneWholeDocument(t *testing.T) {
	b := localtest.Start(t)
	s, err := b.Client.Status(t.Context())
	must(t, err)
	if s.Version != "test" || s.Mode.Mode != standing.Active || s.Mode.By == "" || s.MCPURL == "" || s.PID == 0 || !s.Caller.Technician {
		t.Errorf("head %+v", s)
	}
	if f := s.Snapshot; f.Assets != 2 || f.Points != 4 || f.Contracts != 1 || f.Tools != 2 || f.Profiles != 1 || f.ID == 0 {
		t.Errorf("snapshot %+v", f)
	}
	if len(s.Links) != 1 || s.Links[0].Health != localapi.Healthy || s.Links[0].LatencyMS != 2 || s.Links[0].Errors["timeout"] != 1 || len(s.Links[0].Devices) != 1 {
		t.Errorf("links %+v", s.Links)
	}
	if s.Store.Bytes != 65536 || s.Journal.Segments == 0 {
		t.Errorf("disk %+v %+v", s.Store, s.Journal)
	}
}

func TestAssetsAndPointsAreReadWithQuality(t *testing.T) {
	b := localtest.Start(t)
	all, err := b.Client.Assets(t.Context())
	must(t, err)
	if len(all) != 2 || all[0].ID != "PS07-FCV-04" || len(all[0].Tools) != 2 {
		t.Errorf("assets %+v", all)
	}
	one, err := b.Client.Asset(t.Context(), "PS07-FCV-04")
	must(t, err)
	if len(one.Points) != 2 || one.Points[0].Reading == nil || one.Points[0].Role != physical.Feedback {
		t.Errorf("asset %+v", one)
	}
	r, err := b.Client.Read(t.Context(), "PS07-FCV-04")
	must(t, err)
	if !r.Good || len(r.Readings) != 2 || r.Readings[0].Value.String() != "45" || r.Readings[0].Unit != "%" {
		t.Errorf("readings %+v", r)
	}
	b.Machine.Break(localtest.Position, "no current on the loop")
	r, err = b.Client.Read(t.Context(), localtest.Position)
	must(t, err)
	if r.Good || r.Readings[0].Detail != "no current on the loop" {
		t.Errorf("a broken point: %+v", r)
	}
	for name, hint := range map[string]string{"PS07-FCV-04.positon": "did you mean PS07-FCV-04.position?", "PS07-FCV-40": "did you mean PS07-FCV-04?"} {
		if text := wantError(t, second(b.Client.Read(t.Context(), name)), localapi.NotFound); !contains(text, hint) {
			t.Errorf("%s: %s", name, text)
		}
	}
	wantError(t, second(b.Client.Asset(t.Context(), "nothing/like it?")), localapi.NotFound)
}

func TestToolsAreListedAndFoundInTwoLanguages(t *testing.T) {
	b := localtest.Start(t)
	all, err := b.Client.Tools(t.Context())
	must(t, err)
	if len(all) != 2 || all[0].Name != "set_discharge_valve" || all[0].Risk != "high" || len(all[0].InputSchema) == 0 {
		t.Errorf("tools %+v", all)
	}
	for _, words := range []string{"open the discharge valve to 60 %", "把出口阀开到60%"} {
		f, err := b.Client.Find(t.Context(), localapi.FindRequest{Query: words, Explain: true})
		must(t, err)
		if len(f.Tools) == 0 || f.Tools[0].Name != "set_discharge_valve" || len(f.Tools[0].Why) == 0 || f.Total != 2 {
			t.Errorf("%s: %+v", words, f)
		}
	}
	f, err := b.Client.Find(t.Context(), localapi.FindRequest{Query: "discharge valve", Explain: true, Profile: "reader"})
	must(t, err)
	if f.Permitted != 1 || len(f.Removed) != 1 || f.Tools[0].Name != "valve_status" {
		t.Errorf("with a profile: %+v", f)
	}
	if text := wantError(t, second(b.Client.Find(t.Context(), localapi.FindRequest{Query: "x", Profile: "readr"})), localapi.NotFound); !contains(text,
		"did you mean reader?") {
		t.Error(text)
	}
	wantError(t, second(b.Client.Find(t.Context(), localapi.FindRequest{Query: "  "})), localapi.BadRequest)
}

func TestFoldersThatCannotBeReadStandInTheStatus(t *testing.T) {
	failure := fmt.Errorf("cannot read the contract folder: %w", &fs.PathError{Op: "open", Path: "/etc/capd/contracts.d", Err: fs.ErrNotExist})
	b := localtest.Start(t, func(d *localapi.Deps) { d.Unread = func() error { return failure } })
	s, err := b.Client.Status(t.Context())
	must(t, err)
	if len(s.Rejected) != 1 || s.Rejected[0].File != "/etc/capd/contracts.d" || s.Rejected[0].Kind != "folder" || !contains(s.Rejected[0].Problems[0].Message, "cannot read") {
		t.Errorf("rejected %+v", s.Rejected)
	}
	failure = nil
	if s, err = b.Client.Status(t.Context()); err != nil || s.Rejected == nil || len(s.Rejected) != 0 {
		t.Errorf("rejected %+v, %v", s.Rejected, err)
	}
}

func TestAGroupThatTheBoxDoesNotKnowIsAWarning(t *testing.T) {
	var log bytes.Buffer
	for group, want := range map[string]int{"nosuchgroup": 1, "root": 0, "": 0} {
		log.Reset()
		b := localtest.Start(t, func(d *localapi.Deps) {
			d.Technicians, d.OwnUIDIsTechnician, d.Log = group, false, slog.New(slog.NewTextHandler(&log, nil))
		})
		s, err := b.Client.Status(t.Context())
		must(t, err)
		setup := slices.DeleteFunc(s.Warnings, func(p localapi.Problem) bool { return p.Rule != localapi.RuleSetup })
		if len(setup) != want || want == 1 && (!setup[0].Warning || setup[0].Path != "technicians.group" || !contains(setup[0].Message, group)) {
			t.Errorf("%q: warnings %+v", group, setup)
		}
		if contains(log.String(), "nosuchgroup") != (want == 1) {
			t.Errorf("%q: log %s", group, &log)
		}
	}
}
