package show_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"capd/internal/access"
	"capd/internal/health"
	"capd/internal/invoke"
	"capd/internal/localapi"
	"capd/internal/localapi/show"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/standing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// noon is now in every text.
func noon() time.Time { return time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC) }

func before(d time.Duration) time.Time { return noon().Add(-d) }

const call1 = "01890a5d-ac96-774b-bcce-b302099a8057"

// golden compares a text with its file and checks what holds for every text.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if that is meant, run the test with -update\n--- got\n%s--- want\n%s", path, got, want)
	}
	checkText(t, got)
}

func checkText(t *testing.T, got string) {
	t.Helper()
	if !utf8.ValidString(got) || !strings.HasSuffix(got, "\n") || strings.HasSuffix(got, "\n\n") || strings.ContainsAny(got, "\t\r\x1b\x00") {
		t.Errorf("the text is not clean: %q", got)
	}
	for line := range strings.Lines(got) {
		if n := show.Columns(strings.TrimSuffix(line, "\n")); n > show.Width {
			t.Errorf("%d columns: %s", n, line)
		}
		if strings.HasSuffix(line, " \n") {
			t.Errorf("spaces at the end: %q", line)
		}
	}
}

func level(l outcome.Level) *outcome.Level { return &l }

func yes() *bool { b := true; return &b }

func no() *bool { return new(bool) }

func lockouts() []standing.Lockout {
	return []standing.Lockout{{Target: "PS07-FCV-04", By: "wang", Reason: "replacing the actuator", At: before(2 * time.Hour)},
		{Target: "plant/ps07/inlet", By: "li", Reason: "年度检修，进水口有人作业，请勿操作；检修结束后由本人解锁，任何问题请致电值班室", At: before(50 * time.Hour)}}
}

func running() []invoke.Running {
	return []invoke.Running{{Invocation: call1, Action: "set_discharge_valve", Asset: "PS07-FCV-04", Subject: "shift-agent",
		Since: before(3 * time.Second), Verdict: outcome.Pending}}
}

func rejected() []localapi.RejectedFile {
	return []localapi.RejectedFile{{File: "/etc/capd/contracts.d/xv-03.yaml", Kind: "contract", Serving: "last good version 0a1b2c3d4e5f",
		Problems: []localapi.Problem{
			{File: "/etc/capd/contracts.d/xv-03.yaml", Line: 2, Column: 1, Path: "tags", Rule: "style", Message: "no tags", Warning: true},
			{File: "/etc/capd/contracts.d/xv-03.yaml", Line: 12, Column: 5, Path: "actions.open.verify.min_levl", Rule: "unknown_key",
				Message: `key "min_levl" is not known here`, Hint: `did you mean "min_level"?`},
			{File: "/etc/capd/contracts.d/xv-03.yaml", Line: 3, Column: 10, Path: "version", Rule: "value", Message: `"one" is no version`}}}}
}

func calm() localapi.Status {
	return localapi.Status{Version: "1.2.3", PID: 4711, UptimeS: 260_000, MCPURL: "http://127.0.0.1:7420/mcp", Caller: localapi.Caller{Name: "root", Technician: true},
		Mode:     standing.ModeState{Mode: standing.Active, By: "wang", At: before(72 * time.Hour)},
		Snapshot: localapi.Published{ID: 3, At: before(5 * time.Minute), Assets: 9, Points: 41, Contracts: 5, Tools: 12, Profiles: 1},
		Links: []localapi.Link{{ID: "PLC-NET", Transport: "modbus_tcp", Health: localapi.Healthy, Transactions: 120_431, Failed: 2,
			Errors: map[string]uint64{"timeout": 1, "crc": 1},
			LastOK: before(time.Second), LatencyMS: 2.31, Devices: []localapi.Device{{ID: "PS07-PLC", Health: localapi.Healthy, Points: 31, Polled: 20,
				LastGood: before(time.Second)}}}},
		Journal: localapi.JournalState{Segments: 1, Bytes: 3_100_000, Last: 900, Durable: 900}, Store: localapi.StoreState{Bytes: 65_536}}
}

func troubled() localapi.Status {
	s := calm()
	s.Caller = localapi.Caller{UID: 1000, Name: "visitor"}
	s.Mode = standing.ModeState{Mode: standing.Observe, By: "configuration", At: before(time.Minute)}
	s.Journal.Failed = "journal failed: write /var/lib/capd/journal/00000001: no space left on device"
	s.Lockouts, s.Running, s.Rejected, s.Suspended = lockouts(), running(), rejected(), []string{}
	s.Unsettled = []standing.Mark{{Asset: "PS07-XV-03", Invocation: call1, Why: "the gateway was lost right after the write",
		At: before(4 * time.Minute)}}
	s.Degraded = []health.State{{Action: "start_pump", Degraded: true, Failures: 3, Since: before(10 * time.Minute),
		Reason: "VERIFY_MISMATCH: PS07-P-01.speed settled at 0 Hz, expected 35 Hz"},
		{Action: "set_level", Degraded: true, By: "wang", Since: before(30 * time.Hour), Reason: "transmitter is being calibrated"}}
	s.Alarms = localapi.AlarmCount{Active: 2, Worst: health.Critical, Dropped: 1, Newest: &health.Alarm{ID: 8, Key: "degraded:start_pump",
		Text:     "start_pump is degraded after 3 failed verifications",
		Severity: health.Critical, Since: before(10 * time.Minute), Count: 1}}
	s.Warnings = []localapi.Problem{{File: "a", Rule: "x", Message: "y", Warning: true},
		{File: "capd.yaml", Path: "technicians.group", Rule: localapi.RuleSetup, Message: "this box has no group nosuchgroup", Hint: "groupadd it", Warning: true}}
	s.Links = append(s.Links, localapi.Link{ID: "BUS-1", Transport: "modbus_rtu", Health: localapi.Offline, Transactions: 40, Failed: 40,
		Errors: map[string]uint64{"timeout": 40}, Devices: []localapi.Device{
			{ID: "PS07-VFD", Health: localapi.Offline, Points: 9, Bad: 9, LastGood: before(26 * time.Minute), PausedUntil: noon().Add(20 * time.Second)},
			{ID: "PS07-PM", Health: localapi.Frozen, Points: 4, LastGood: before(time.Second), Liveness: &localapi.Liveness{Counter: "PS07-PM-08.counter",
				Frozen: true, LastMove: before(12 * time.Minute)}}}},
		localapi.Link{ID: "NET-2", Transport: "modbus_tcp", Health: localapi.Unused})
	s.Recent = []localapi.Outcome{
		{Invocation: call1, At: before(9 * time.Minute), Action: "start_pump", Asset: "PS07-P-01", Subject: "token:a1b2c3d4", Verdict: outcome.Refuted,
			Level: level(outcome.E2), Sent: true, Code: outcome.VerifyMismatch,
			Amended: "the speed reached 35 Hz after the answer"},
		{Invocation: call1, At: before(30 * time.Hour), Action: "set_discharge_valve", Asset: "PS07-FCV-04", Subject: "uid:0", Verdict: outcome.NotExecuted,
			Level: level(outcome.E0), Code: outcome.StepTooLarge},
		{Invocation: call1, At: before(40 * time.Hour), Action: "set_discharge_valve", Asset: "PS07-FCV-04", Subject: "uid:0", Verdict: outcome.Confirmed,
			Level: level(outcome.E4)}}
	return s
}

func TestStatus(t *testing.T) {
	golden(t, "status_calm", show.Status(calm(), noon()))
	golden(t, "status_troubled", show.Status(troubled(), noon()))
}

func evidence() []outcome.Evidence {
	return []outcome.Evidence{
		{Point: "PS07-FCV-04.position", Phase: "baseline", Value: physical.IntOf(45), Unit: "%", Quality: physical.Good, At: before(9 * time.Second)},
		{Point: "PS07-FCV-04.setpoint", Phase: "deciding", Value: physical.IntOf(60), Unit: "%", Quality: physical.Good, Expected: "60", OK: yes(),
			Level: outcome.E2, At: before(2 * time.Second)},
		{Point: "PS07-FCV-04.position", Phase: "deciding", Value: physical.FloatOf(45.2), Unit: "%", Quality: physical.Good, Expected: "60 within 1.5",
			OK: no(), Level: outcome.E4, At: before(time.Second)},
		{Point: "PS07-FIT-07.flow", Phase: "deciding", Quality: physical.Bad, Cause: physical.CauseInvalid, Detail: "the device sent 0x8000",
			Expected: "above 10", OK: no(), Level: outcome.E5, At: noon()}}
}

func refuted() invoke.Answer {
	return invoke.Answer{Verdict: outcome.Refuted, Level: level(outcome.E2), RefutedAt: level(outcome.E4), Sent: true, CommandStanding: true,
		Invocation: call1,
		Action:     "set_discharge_valve", Asset: "PS07-FCV-04", Evidence: evidence(),
		Summary: "REFUTED at E2 (refuted at E4): set_discharge_valve: VERIFY_MISMATCH: PS07-FCV-04.position settled at 45.2 %, expected 60 % within 1.5. Do not repeat. The command still stands in the machine.",
		Reason:  &invoke.Reason{Code: outcome.VerifyMismatch, Layer: outcome.LayerDevice, Message: "m", Next: "look at the machine; do not repeat blindly"},
		Timings: &invoke.Timings{Started: before(10 * time.Second), ActedMS: 4, VerifyMS: 9400, TotalMS: 9500}}
}

func TestAnswers(t *testing.T) {
	golden(t, "answer_refuted", show.Answer(refuted(), noon()))
	after := noon().Add(90 * time.Second)
	golden(t, "answer_step_too_large", show.Answer(invoke.Answer{Verdict: outcome.NotExecuted, Level: level(outcome.E0), Invocation: call1,
		Action:  "set_discharge_valve",
		Summary: "NOT_EXECUTED: set_discharge_valve: STEP_TOO_LARGE: 5 % is 40 % away from 45 %, and 20 % is the limit of one step.",
		Reason: &invoke.Reason{Code: outcome.StepTooLarge, Next: "ask for a value inside `allowed`", RetrySafe: true, After: &after,
			Allowed: &outcome.Span{Low: decimal(t, "25"), High: decimal(t, "65")}}}, noon()))
	golden(t, "answer_dry_run", show.Answer(invoke.Answer{Verdict: outcome.NotExecuted, Level: level(outcome.E0), Invocation: call1,
		Action:  "set_discharge_valve",
		Summary: "NOT_EXECUTED: set_discharge_valve: every gate passed; nothing was sent.",
		DryRun: &invoke.DryRun{Gates: []string{"access", "mode active", `permit remote: mode == "remote"`},
			Frames: []string{"PS07-PLC unit 1: 06 00 64 02 58"}}}, noon()))
	golden(t, "answer_read", show.Answer(invoke.Answer{Verdict: outcome.Unknown, Invocation: call1, Action: "valve_status",
		Summary: "UNKNOWN: valve_status: FEEDBACK_BAD: PS07-FCV-04.position has no good value.",
		Values:  readings()}, noon()))
}

func decimal(t *testing.T, text string) physical.Decimal {
	t.Helper()
	d, err := physical.ParseDecimal(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func readings() map[string]invoke.Reading {
	return map[string]invoke.Reading{
		"position": {Point: "PS07-FCV-04.position", Quality: physical.Bad, Cause: physical.CauseInvalid,
			Detail: "the device sent 0x8000, which means no value", At: before(time.Second), AgeMS: 1000, Raw: "8000"},
		"setpoint": {Point: "PS07-FCV-04.setpoint", Value: physical.IntOf(60), Unit: "%", Quality: physical.Good, At: before(210 * time.Millisecond),
			AgeMS: 210, Raw: "0258"},
		"remote": {Point: "PS07-FCV-04.remote", Value: physical.FlagOf(true), Quality: physical.Good, At: before(time.Hour), AgeMS: 3_600_000, Raw: "01"}}
}

func TestExplain(t *testing.T) {
	a := refuted()
	a.Amendments = []invoke.Amendment{{At: noon(), Kind: "late_confirmed", Verdict: outcome.Confirmed,
		Text: "Later: PS07-FCV-04.position reached 60 % 40 s after the answer."}}
	var samples []outcome.Evidence
	for i := range 30 {
		samples = append(samples, outcome.Evidence{Point: "PS07-FCV-04.position", Phase: "sample", Value: physical.IntOf(int64(45 + i/10)), Unit: "%",
			Quality: physical.Good, Expected: "60 within 1.5",
			OK: no(), Level: outcome.E4, At: before(9 * time.Second).Add(time.Duration(i) * 250 * time.Millisecond)})
	}
	golden(t, "explain", show.Record(invoke.Record{Answer: a, Subject: "token:a1b2c3d4", Tool: "ps07-fcv-04", Version: "1.0.0",
		Args: map[string]any{"opening": 60}, Samples: samples}, noon()))
}

func TestLocks(t *testing.T) {
	golden(t, "locked", show.Locked(localapi.Locked{Lockout: standing.Lockout{Target: "PS07-FCV-04", By: "zhao", Reason: "seal is leaking", At: noon()},
		Others: lockouts()[:1], Running: running()}, noon()))
	golden(t, "unlocked", show.Unlocked(localapi.Unlocked{Lockout: lockouts()[0], Forced: true, Others: lockouts()[1:]}, noon()))
	golden(t, "lockouts", show.Lockouts(lockouts(), noon()))
	golden(t, "lockouts_none", show.Lockouts(nil, noon()))
}

func TestBoxAnswers(t *testing.T) {
	was := standing.ModeState{Mode: standing.Observe, By: "configuration", At: before(time.Hour)}
	is := standing.ModeState{Mode: standing.Shadow, By: "wang", At: noon()}
	golden(t, "box", strings.Join([]string{
		show.Mode(was, noon()), show.ModeChange(localapi.ModeChange{Before: was, Now: is}),
		show.Settled(localapi.Settled{Asset: "PS07-XV-03"}), show.Settled(localapi.Settled{Asset: "PS07-XV-03", Mark: &standing.Mark{Invocation: call1,
			Why: "no answer"}}),
		show.ToolHealth(localapi.ToolHealth{Now: health.State{Action: "start_pump", Degraded: true, Reason: "bearing noise"}}),
		show.ToolHealth(localapi.ToolHealth{Before: health.State{Degraded: true, Reason: "bearing noise"}, Now: health.State{Action: "start_pump"}}),
		show.ToolHealth(localapi.ToolHealth{Now: health.State{Action: "start_pump"}}),
	}, ""))
	golden(t, "reloaded", show.Reloaded(localapi.Reloaded{Before: 3, Now: 4, Added: []string{"open_inlet"}, Changed: []string{"start_pump", "stop_pump"},
		Removed: []string{"old"}, Rejected: rejected(),
		Warnings: []localapi.Problem{{File: "/etc/capd/assets.d/ps07.yaml", Line: 9, Column: 3, Rule: "no_update",
			Message: "the point has no update period", Warning: true}}}))
	golden(t, "reloaded_good", show.Reloaded(localapi.Reloaded{Before: 3, Now: 4}))
}

func TestAlarms(t *testing.T) {
	all := []health.Alarm{
		{ID: 8, Key: "degraded:start_pump", Code: outcome.Degraded, Asset: "PS07-P-01", Action: "start_pump", Invocation: call1,
			Text:     "start_pump is degraded after 3 failed verifications: PS07-P-01.speed settled at 0 Hz, expected 35 Hz within 0.5 Hz",
			Severity: health.Critical, Since: before(10 * time.Minute), Last: before(time.Minute), Count: 4},
		{ID: 7, Key: "reverted", Text: "\x1b[2J\nPS07-FCV-04 was moved by hand", Severity: health.Warning, Since: before(30 * time.Hour), Count: 1,
			ClearedBy: "wang"}}
	golden(t, "alarms", show.Alarms(all, noon()))
	golden(t, "alarms_none", show.Alarms(nil, noon())+show.Cleared(all[0]))
}

func tokens() []access.Token {
	return []access.Token{
		{ID: "a1b2c3d4", Name: "shift-agent", Roles: []string{"operator"}, Scopes: []string{"site:ps07"}, Profile: "reader", Created: before(time.Hour),
			Expires: noon().Add(24 * time.Hour)},
		{ID: "b1b2c3d4", Name: "old", Roles: []string{"viewer", "operator"}, Created: before(time.Hour), Expires: before(time.Minute)},
		{ID: "c1b2c3d4", Name: "lost", Tenant: "east", Roles: []string{"viewer"}, Scopes: []string{"*"}, Created: before(time.Hour),
			Revoked: before(3 * time.Hour)}}
}

func TestTokens(t *testing.T) {
	golden(t, "tokens", show.Tokens(tokens(), noon()))
	golden(t, "tokens_none", show.Tokens(nil, noon()))
	golden(t, "token_new", show.NewToken(localapi.NewToken{Secret: "capd_" + strings.Repeat("a", 56), Token: tokens()[0]})+show.Revoked(tokens()[2]))
}

func tools() []localapi.Tool {
	return []localapi.Tool{
		{Name: "set_discharge_valve", Title: "Set the discharge valve", Asset: "PS07-FCV-04", Effect: "actuate", Risk: "high", Degraded: true},
		{Name: "valve_status", Title: "阀门状态", Asset: "PS07-FCV-04", Effect: "read", Risk: "info"}}
}

func TestTools(t *testing.T) {
	golden(t, "tools", show.Tools(tools()))
	golden(t, "tools_none", show.Tools(nil))
	found := localapi.Found{Query: "出口阀", Total: 12, Permitted: 9, Tools: []localapi.FoundTool{
		{Tool: tools()[1], Stage: "pinned"}, {Tool: tools()[0], Score: 7.125, Stage: "ranked", Why: []string{"intents: 出口阀", "name: 阀 ~ valve"}}}}
	golden(t, "found", show.Found(found, false))
	found.Removed = map[string]int{"permission pump:write": 2, "scope": 1}
	golden(t, "found_explained", show.Found(found, true))
	golden(t, "found_nothing", show.Found(localapi.Found{Query: "teapot"}, false))
}

func TestPlant(t *testing.T) {
	all := []localapi.Asset{
		{ID: "PS07-FCV-04", Title: "Discharge control valve", Class: "control_valve", Location: "plant/ps07/discharge", Aliases: []string{"出口调节阀",
			"discharge valve"}, Device: "PS07-PLC",
			Tools: []string{"set_discharge_valve", "valve_status"}, Lockouts: lockouts()[:1], Unsettled: &standing.Mark{Why: "no answer",
				At: before(time.Minute)}},
		{ID: "PS07-PLC-01", Title: "Station PLC", Location: "plant/ps07/control"}}
	golden(t, "assets", show.Assets(all))
	golden(t, "assets_none", show.Assets(nil))
	one := all[0]
	reading := readings()["setpoint"]
	one.Points = []localapi.Point{{Name: "position", Ref: "PS07-FCV-04.position", Role: physical.Feedback, Access: "read"},
		{Name: "setpoint", Ref: "PS07-FCV-04.setpoint", Role: physical.Setpoint, Access: "read_write", Reading: &reading}}
	golden(t, "asset", show.Asset(one, noon()))
	golden(t, "readings", show.Readings(localapi.Readings{Readings: []invoke.Reading{readings()["position"], readings()["setpoint"]}}))
}

func FuzzTexts(f *testing.F) {
	f.Add("PS07-FCV-04", "replacing the actuator")
	f.Add(strings.Repeat("阀", 90), "a\x1b[31mred\nline\ttab \xff")
	f.Add("", strings.Repeat("word ", 60)+strings.Repeat("x", 300))
	f.Fuzz(func(t *testing.T, name, text string) {
		if len(name)+len(text) > 4000 {
			return
		}
		s := troubled()
		s.Lockouts = append(s.Lockouts, standing.Lockout{Target: name, By: name, Reason: text, At: noon()})
		s.Degraded = append(s.Degraded, health.State{Action: name, Degraded: true, Reason: text})
		s.Recent = append(s.Recent, localapi.Outcome{Action: name, Asset: name, Subject: text, Amended: text})
		s.Rejected[0].Problems = append(s.Rejected[0].Problems, localapi.Problem{File: name, Line: 1, Rule: text, Message: text, Hint: name})
		checkText(t, show.Status(s, noon()))
	})
}
