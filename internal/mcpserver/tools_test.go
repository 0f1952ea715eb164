package mcpserver_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"capd/internal/health"
	"capd/internal/invoke"
	"capd/internal/mcpserver"
	"capd/internal/physical"
	"capd/internal/registry"
	"capd/internal/standing"
)

func own(more ...string) []string {
	return append([]string{"find_tools", "call_read", "call_action", "read_state", "explain", "list_alarms"}, more...)
}

func ownOfReaders(more ...string) []string {
	return append([]string{"find_tools", "call_read", "read_state", "explain", "list_alarms"}, more...)
}

func TestAListShowsWhatTheTokenPermits(t *testing.T) {
	s := newSite(t, siteFiles())
	for token, want := range map[string][]string{
		"operator":  own("set_valve", "valve_status"),
		"commander": own("purge_valve", "set_valve", "valve_status"),
		"viewer":    ownOfReaders("valve_status"),
		"reader":    ownOfReaders("valve_status"),
		"ps09":      ownOfReaders("read_pump_speed"),
		"stranger":  ownOfReaders(),
	} {
		first, again := s.list(token), s.list(token)
		if got := first.names(); !slices.Equal(got, want) {
			t.Errorf("%s sees %v, not %v", token, got, want)
		}
		if !slices.Equal(first.names(), again.names()) {
			t.Errorf("%s: a second list differs", token)
		}
		if first.CacheScope != "private" || first.TTL == nil {
			t.Errorf("%s: cacheScope %q, ttl %v", token, first.CacheScope, first.TTL)
		}
	}
}

func TestAListDescribesEachTool(t *testing.T) {
	s := newSite(t, siteFiles())
	l := s.list("operator")
	for _, tool := range l.Tools {
		compile(t, tool.InputSchema)
		compile(t, tool.OutputSchema)
		if tool.Title == "" || tool.Description == "" {
			t.Errorf("%s has no title or description", tool.Name)
		}
	}
	valve := l.Tools[slices.Index(l.names(), "set_valve")]
	for _, want := range []string{"Moves the discharge valve", "PS07-FCV-04", "high risk"} {
		if !strings.Contains(valve.Description, want) {
			t.Errorf("the description does not say %q: %s", want, valve.Description)
		}
	}
	if schema := string(valve.InputSchema); !strings.Contains(schema, "request_id") || strings.Contains(schema, "x-unit") || !strings.Contains(schema, "(unit: %)") {
		t.Errorf("input schema: %s", schema)
	}
	a := valve.Annotations
	if a["readOnlyHint"] != false || a["destructiveHint"] != true || a["idempotentHint"] != true || a["openWorldHint"] != true {
		t.Errorf("annotations of an actuation: %v", a)
	}
	status := l.Tools[slices.Index(l.names(), "valve_status")].Annotations
	if status["readOnlyHint"] != true || status["openWorldHint"] != false {
		t.Errorf("annotations of a read: %v", status)
	}
}

func TestALongListIsCutToThePinnedAndTheBest(t *testing.T) {
	files := plantOf(8) // 16 tools
	files["reader.yaml"] = "profile: capd/v1\nname: shift\ntitle: Shift\npinned: [v_0007_set, v_0003_status]\ntop_k: 2\nmax_tools: 5\n"
	s := newSite(t, files, func(d *mcpserver.Deps) { d.Config.MaxTools, d.Config.TopK = 10, 3 })
	if got := s.list("operator").names(); !slices.Equal(got, own("v_0000_set", "v_0000_status", "v_0001_set")) {
		t.Errorf("without a profile: %v", got)
	}
	got := s.listAt("/mcp/p/shift", "operator").names()
	if len(got) != 6+4 || !slices.Equal(got[6:8], []string{"v_0007_set", "v_0003_status"}) {
		t.Errorf("with a profile: %v", got)
	}
	if got := s.list("viewer").names(); len(got) != 5+8 {
		t.Errorf("what is short enough is listed whole: %v", got)
	}
	if a := s.tryCall("operator", "v_0005_status", nil).answer(t); a.Verdict == "not_executed" {
		t.Errorf("a tool that is not listed: %v", a)
	}
	small := newSite(t, files, func(d *mcpserver.Deps) { d.Config.MaxTools, d.Config.ListBytes = 10, 20000 })
	if n := len(small.list("operator").Tools); n <= 6 || n >= 6+12 {
		t.Errorf("a list of 20000 bytes has %d tools", n)
	}
}

func TestNoActionCanHaveTheNameOfAnOwnTool(t *testing.T) {
	s := newSite(t, siteFiles())
	for _, tool := range s.list("commander").names()[:6] {
		if !slices.Contains(registry.BuiltIn(), tool) {
			t.Errorf("the registry lets an action be called %s", tool)
		}
	}
}

func TestAProfileInTheURLNarrows(t *testing.T) {
	s := newSite(t, siteFiles())
	if got := s.listAt("/mcp/p/reader", "operator").names(); !slices.Equal(got, ownOfReaders("valve_status")) {
		t.Errorf("the operator sees %v through the profile", got)
	}
	if got := s.listAt("/mcp/p/reader", "reader").names(); !slices.Equal(got, ownOfReaders("valve_status")) {
		t.Errorf("the reader sees %v at its own profile", got)
	}
	body, header := modernBody(1, "tools/list", nil)
	for path, token := range map[string]string{"/mcp/p/other": "reader", "/mcp/p/raeder": "operator"} {
		r := s.do(http.MethodPost, path, token, body, header)
		if r.status != http.StatusForbidden || r.rpc(t).Error == nil {
			t.Errorf("%s with the token of %s: HTTP %d %s", path, token, r.status, r.body)
		}
	}
	if r := s.do(http.MethodPost, "/mcp/p/raeder", "operator", body, header); !strings.Contains(string(r.body), `did you mean \"reader\"`) {
		t.Errorf("no suggestion: %s", r.body)
	}
}

func TestACallIsConfirmedByTheMachine(t *testing.T) {
	s := newSite(t, siteFiles())
	r := s.call("operator", "set_valve", map[string]any{"opening": 60})
	if a := r.answer(t); a.String() != "confirmed E4 -" || !a.Sent || r.IsError || !strings.HasPrefix(r.text(), "CONFIRMED at E4") {
		t.Errorf("%v, isError %v: %s", a, r.IsError, r.text())
	}
	read := s.call("viewer", "valve_status", nil)
	position := read.answer(t).Values["position"]
	if position.Value != 60.0 || position.Unit != "%" || position.Quality != "good" || position.AgeMS == nil {
		t.Errorf("position: %+v", position)
	}
}

func TestAStuckMachineRefutesTheCall(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteFiles())
	s.machine.stick()
	r := s.call("operator", "set_valve", map[string]any{"opening": 60})
	if a := r.answer(t); a.String() != "refuted E2 VERIFY_MISMATCH" || a.RefutedAt != "E4" || !r.IsError {
		t.Errorf("%v, isError %v", a, r.IsError)
	}
	if !strings.Contains(r.text(), "Do not repeat") {
		t.Errorf("the text does not warn: %s", r.text())
	}
}

func TestACallIsRefusedBeforeAnythingIsSent(t *testing.T) {
	s := newSite(t, siteFiles())
	for _, c := range []struct {
		args       map[string]any
		code, says string
	}{
		{map[string]any{"opening": 160}, "OUT_OF_RANGE", "100"},
		{map[string]any{"opening": 5}, "STEP_TOO_LARGE", "25"},
		{map[string]any{"opening": "wide"}, "INVALID_PARAMETER", "opening"},
		{map[string]any{"opening": true}, "INVALID_PARAMETER", "boolean"},
		{map[string]any{}, "INVALID_PARAMETER", "missing argument"},
		{map[string]any{"openning": 60}, "INVALID_PARAMETER", "openning"},
		{map[string]any{"opening": 60, "request_id": 5}, "INVALID_PARAMETER", "request_id"},
		{map[string]any{"opening": 60, "request_id": strings.Repeat("x", 200)}, "INVALID_PARAMETER", "request_id"},
		{map[string]any{"opening": 60, "dry_run": "yes"}, "INVALID_PARAMETER", "dry_run"},
	} {
		r := s.call("operator", "set_valve", c.args)
		a := r.answer(t)
		if a.Verdict != "not_executed" || a.Reason == nil || a.Reason.Code != c.code || !r.IsError || !strings.Contains(r.text(), c.says) {
			t.Errorf("%v: %v: %s", c.args, a, r.text())
		}
	}
	s.machine.set("PS07-PLC-01.mode", physical.TextOf("local"))
	if a := s.call("operator", "set_valve", map[string]any{"opening": 60}).answer(t); a.String() != "not_executed E0 LOCAL_MODE" {
		t.Errorf("in local: %v", a)
	}
	s.machine.set("PS07-PLC-01.mode", physical.TextOf("remote"))
	must(t, s.standing.SetMode(standing.Observe, "test"))
	if a := s.call("operator", "set_valve", map[string]any{"opening": 60}).answer(t); a.String() != "not_executed E0 OBSERVE_MODE" {
		t.Errorf("in observe: %v", a)
	}
	if n := s.machine.written(); n != 0 {
		t.Errorf("%d writes", n)
	}
}

func TestARequestIDNeverActsTwice(t *testing.T) {
	s := newSite(t, siteFiles())
	first := s.call("operator", "set_valve", map[string]any{"opening": 60, "request_id": "r1"}).answer(t)
	second := s.call("operator", "set_valve", map[string]any{"opening": 60.0, "request_id": "r1"}).answer(t)
	if first.Invocation != second.Invocation || !second.Repeated || s.machine.written() != 1 {
		t.Errorf("first %v, second %v, %d writes", first, second, s.machine.written())
	}
}

func TestADryRunShowsFramesAndSendsNothing(t *testing.T) {
	s := newSite(t, siteFiles())
	a := s.call("operator", "set_valve", map[string]any{"opening": 60, "dry_run": true}).answer(t)
	if a.DryRun == nil || len(a.DryRun.Frames) != 1 || s.machine.written() != 0 {
		t.Errorf("%+v, %d writes", a.DryRun, s.machine.written())
	}
}

func TestAHiddenToolIsAsUnknownAsOneThatDoesNotExist(t *testing.T) {
	s := newSite(t, siteFiles())
	for token, name := range map[string]string{"viewer": "set_valve", "operator": "purge_valve", "stranger": "valve_status", "reader": "set_valve"} {
		hidden := s.ask(token, "tools/call", map[string]any{"name": name, "arguments": map[string]any{"opening": 60}}).rpc(t)
		if hidden.Error == nil || hidden.Error.Code != -32602 || !strings.Contains(hidden.Error.Message, "there is no tool") {
			t.Errorf("%s calls %s: %+v %s", token, name, hidden.Error, hidden.Result)
		}
		r := s.call(token, "call_read", map[string]any{"name": name, "arguments": map[string]any{}})
		if !r.IsError || !strings.Contains(r.text(), "there is no tool") {
			t.Errorf("%s reaches %s through call_read: %s", token, name, r.text())
		}
	}
	unknown := s.ask("operator", "tools/call", map[string]any{"name": "set_vlave"}).rpc(t)
	if unknown.Error == nil || !strings.Contains(unknown.Error.Message, `did you mean "set_valve"`) {
		t.Errorf("no suggestion: %+v", unknown.Error)
	}
	if r := s.call("operator", "call_action", map[string]any{"name": "purge_valve"}); !strings.Contains(r.text(), "there is no tool") {
		t.Errorf("the operator reaches purge_valve through call_action: %s", r.text())
	}
	if a := s.ask("viewer", "tools/call", map[string]any{"name": "call_action", "arguments": map[string]any{"name": "set_valve"}}).rpc(t); a.Error == nil {
		t.Errorf("the viewer has call_action: %s", a.Result)
	}
	if s.machine.written() != 0 {
		t.Error("something was written")
	}
}

func TestCallReadAndCallActionKeepReadingAndActingApart(t *testing.T) {
	s := newSite(t, siteFiles())
	if a := s.call("operator", "call_read", map[string]any{"name": "valve_status"}).answer(t); a.Verdict != "observed" {
		t.Errorf("call_read: %v", a)
	}
	if a := s.call("operator", "call_action", map[string]any{"name": "set_valve", "arguments": map[string]any{"opening": 60}, "request_id": "a"}).answer(t); a.String() != "confirmed E4 -" {
		t.Errorf("call_action: %v", a)
	}
	for _, c := range []struct {
		token, tool, name, next string
	}{
		{"operator", "call_read", "set_valve", "call_action"},
		{"operator", "call_action", "valve_status", "call_read"},
		{"commander", "call_action", "purge_valve", "by its own name"},
		{"commander", "call_read", "purge_valve", "by its own name"},
	} {
		r := s.call(c.token, c.tool, map[string]any{"name": c.name})
		if a := r.answer(t); a.Verdict != "not_executed" || !strings.Contains(a.Reason.Next, c.next) {
			t.Errorf("%s of %s: %v: %s", c.tool, c.name, a, r.text())
		}
	}
	for _, bad := range []map[string]any{{"name": "set_valve", "arguments": []int{1}}, {"arguments": map[string]any{}}, {"name": 5}, {"name": "set_valve", "opening": 60},
		{"name": "set_valve", "arguments": map[string]any{"opening": 60, "request_id": "a"}, "request_id": "b"}} {
		if a := s.call("operator", "call_action", bad).answer(t); a.String() != "not_executed E0 INVALID_PARAMETER" {
			t.Errorf("%v: %v", bad, a)
		}
	}
	if a := s.call("commander", "purge_valve", nil).answer(t); a.String() != "not_executed E0 NOT_ARMED" {
		t.Errorf("a critical action by its own name: %v", a)
	}
	if s.machine.written() != 1 {
		t.Errorf("%d writes", s.machine.written())
	}
}

func TestToolsAreFoundByIntent(t *testing.T) {
	s := newSite(t, siteFiles())
	type found struct {
		Tools []struct {
			Name, Asset, Effect, Risk string
			Why                       []string
			InputSchema               any `json:"input_schema"`
		}
	}
	for query, want := range map[string]string{"open the outlet valve halfway": "set_valve", "把出口阀开到一半": "set_valve", "how far is the valve open": "valve_status"} {
		var f found
		s.into(s.call("operator", "find_tools", map[string]any{"query": query}), &f)
		if len(f.Tools) == 0 || f.Tools[0].Name != want || f.Tools[0].Asset != "PS07-FCV-04" || len(f.Tools[0].Why) == 0 || f.Tools[0].InputSchema == nil {
			t.Errorf("%s: %+v", query, f.Tools)
		}
	}
	if text := s.call("operator", "find_tools", map[string]any{"query": "open the valve"}).text(); !strings.Contains(text, "set_valve {dry_run?: boolean, opening: number, request_id?: string}: Moves") {
		t.Errorf("the text does not tell how to call it: %s", text)
	}
	var f found
	s.into(s.call("operator", "find_tools", map[string]any{"query": "valve", "effect": "read", "asset": "PS07-FCV-04"}), &f)
	if len(f.Tools) != 1 || f.Tools[0].Name != "valve_status" {
		t.Errorf("narrowed: %+v", f.Tools)
	}
	s.into(s.call("viewer", "find_tools", map[string]any{"query": "open the valve", "top_k": 50}), &f)
	for _, tool := range f.Tools {
		if tool.Effect != "read" {
			t.Errorf("a viewer finds %s", tool.Name)
		}
	}
	for _, bad := range []map[string]any{{}, {"query": 5}, {"query": "valve", "top_k": 0}, {"query": "valve", "top_k": "five"}, {"query": "valve", "top_k": 1.5},
		{"query": "valve", "effect": "destroy"}, {"query": "valve", "asset": "PS07-FCV-4"}, {"qeury": "valve"}} {
		r := s.call("operator", "find_tools", bad)
		if !r.IsError || r.text() == "" {
			t.Errorf("%v is accepted: %s", bad, r.text())
		}
	}
}

func TestStateIsReadOfVisibleAssetsOnly(t *testing.T) {
	s := newSite(t, siteFiles())
	all := s.call("operator", "read_state", map[string]any{"asset": "PS07-FCV-04"}).answer(t)
	if all.Verdict != "observed" || len(all.Values) != 2 {
		t.Errorf("whole asset: %+v", all)
	}
	one := s.call("operator", "read_state", map[string]any{"asset": "PS07-FCV-04", "point": "position"}).answer(t)
	if len(one.Values) != 1 || one.Values["position"].Unit != "%" {
		t.Errorf("one point: %+v", one)
	}
	other := s.call("operator", "read_state", map[string]any{"asset": "PS07-PLC-01"}).answer(t)
	if len(other.Values) != 1 || other.Values["mode"].Value != "remote" {
		t.Errorf("of another asset only the point that an action of the caller looks at: %+v", other.Values)
	}
	for _, c := range []struct {
		token      string
		args       map[string]any
		code, says string
	}{
		{"operator", map[string]any{"asset": "PS07-FCV-40"}, "UNKNOWN_ASSET", "PS07-FCV-04"},
		{"operator", map[string]any{"asset": "discharge valve"}, "UNKNOWN_ASSET", "PS07-FCV-04"},
		{"operator", map[string]any{"asset": "PS07-FCV-04", "point": "positon"}, "UNKNOWN_ASSET", `did you mean "position"`},
		{"operator", map[string]any{}, "INVALID_PARAMETER", "PS07-FCV-04"},
		{"operator", map[string]any{"asset": 7}, "INVALID_PARAMETER", "asset"},
		{"ps09", map[string]any{"asset": "PS07-FCV-04"}, "UNKNOWN_ASSET", "PS09-P-01"},
		{"stranger", map[string]any{"asset": "PS07-FCV-04"}, "UNKNOWN_ASSET", "no asset is visible"},
		{"operator", map[string]any{"asset": "PS07-PLC-01", "point": "hours"}, "UNKNOWN_ASSET", "mode"},
	} {
		r := s.call(c.token, "read_state", c.args)
		if a := r.answer(t); a.Reason == nil || a.Reason.Code != c.code || !strings.Contains(r.text(), c.says) || !r.IsError {
			t.Errorf("%s %v: %s", c.token, c.args, r.text())
		}
	}
	if text := s.call("ps09", "read_state", map[string]any{"asset": "PS07-FCV-04"}).text(); strings.Contains(text, "did you mean") {
		t.Errorf("a hidden asset is suggested: %s", text)
	}
}

func TestExplainTellsOnlyOfOnesOwnCalls(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteFiles())
	s.machine.stick()
	told := s.call("operator", "set_valve", map[string]any{"opening": 60}).answer(t)
	id := told.Invocation
	var record struct {
		Answer  answer
		Samples []any
	}
	s.into(s.call("operator", "explain", map[string]any{"invocation": id, "wait_s": 1}), &record)
	if record.Answer.Verdict != told.Verdict || told.Verdict == "confirmed" || len(record.Samples) == 0 {
		t.Errorf("%+v with %d samples", record.Answer, len(record.Samples))
	}
	for _, c := range []struct {
		token string
		args  map[string]any
	}{{"commander", map[string]any{"invocation": id}}, {"operator", map[string]any{"invocation": "nonsense"}}, {"operator", map[string]any{}},
		{"operator", map[string]any{"invocation": id, "wait_s": 61}}, {"operator", map[string]any{"invocation": id, "wait_s": -1}}} {
		if r := s.call(c.token, "explain", c.args); !r.IsError {
			t.Errorf("%s %v: %s", c.token, c.args, r.text())
		}
	}
}

func TestAlarmsAreOfVisibleThingsOnly(t *testing.T) {
	s := newSite(t, siteFiles())
	for _, a := range []health.Alarm{
		{Key: "valve", Asset: "PS07-FCV-04", Action: "set_valve", Text: "stuck"},
		{Key: "pump", Asset: "PS09-P-01", Text: "hot"},
		{Key: "box", Text: "disk almost full", Severity: health.Critical},
	} {
		_, err := s.alarms.Raise(a)
		must(t, err)
	}
	keys := func(token string, args map[string]any) []string {
		var l struct{ Alarms []struct{ Key string } }
		s.into(s.call(token, "list_alarms", args), &l)
		var out []string
		for _, a := range l.Alarms {
			out = append(out, a.Key)
		}
		return out
	}
	if got := keys("operator", nil); !slices.Equal(got, []string{"box", "valve"}) {
		t.Errorf("operator: %v", got)
	}
	if got := keys("ps09", nil); !slices.Equal(got, []string{"box", "pump"}) {
		t.Errorf("ps09: %v", got)
	}
	if _, err := s.alarms.Clear("valve", "tech"); err != nil {
		t.Fatal(err)
	}
	if got := keys("operator", nil); !slices.Equal(got, []string{"box"}) {
		t.Errorf("after clearing: %v", got)
	}
	if got := keys("operator", map[string]any{"active_only": false}); !slices.Equal(got, []string{"box", "valve"}) {
		t.Errorf("with cleared ones: %v", got)
	}
	if r := s.call("operator", "list_alarms", map[string]any{"active_only": "no"}); !r.IsError {
		t.Error("a text is taken for a flag")
	}
}

// defective is a corridor that breaks.
type defective struct{ *invoke.Corridor }

func (defective) Call(context.Context, invoke.Request) invoke.Answer { panic("boom") }

func TestADefectIsAnsweredAndNothingIsPromised(t *testing.T) {
	s := newSite(t, siteFiles(), func(d *mcpserver.Deps) { d.Corridor = defective{} })
	r := s.call("operator", "set_valve", map[string]any{"opening": 60})
	if a := r.answer(t); a.Verdict != "unknown" || a.Reason.Code != "INTERNAL" || !r.IsError || strings.Contains(r.text(), "boom") {
		t.Errorf("%v: %s", a, r.text())
	}
	if names := s.list("operator").names(); len(names) != 8 {
		t.Errorf("afterwards: %v", names)
	}
}
