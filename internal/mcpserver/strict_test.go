package mcpserver_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// rawCall calls a tool with a body in which params and more stand as they are given.
func (s *site) rawCall(name, params, more string) reply {
	s.t.Helper()
	body, header := modernBody(1, "tools/call", map[string]any{"name": name, "arguments": map[string]any{}})
	body = strings.Replace(body, `"arguments":{}`, params, 1)
	body = strings.TrimSuffix(body, "}") + more + "}"
	return s.do(http.MethodPost, "/mcp", "operator", body, header)
}

func TestAMessageThatReadsInTwoWaysIsRefused(t *testing.T) {
	s := newSite(t, siteFiles())
	for what, c := range map[string]struct{ params, more, says string }{
		"a dry run that is none":          {params: `"arguments":{"opening":60,"dry_run":true,"dry_run":false}`, says: `the key "dry_run" is there twice, before line 1, column `},
		"two values":                      {params: `"arguments":{"opening":50,"opening":60}`, says: `"opening" is there twice`},
		"two spellings of one key":        {params: `"arguments":{"opening":50,"\u006fpening":60}`, says: `"opening" is there twice`},
		"deep inside":                     {params: `"arguments":{"opening":[{"a":{"x":1}},{"a":1,"b":[{}],"a":2}]}`, says: `"a" is there twice`},
		"two arguments":                   {params: `"arguments":{"opening":50},"arguments":{"opening":60}`, says: `"arguments" is there twice`},
		"arguments in two cases":          {params: `"arguments":{"opening":50,"dry_run":true},"Arguments":{"opening":60}`, says: `"Arguments" is not "arguments"`},
		"arguments in letters like them":  {params: `"argument\u017f":{"opening":60}`, says: `is not "arguments"`},
		"a name in another case":          {params: `"arguments":{"opening":60},"NAME":"valve_status"`, says: `"NAME" is not "name"`},
		"params in two cases":             {params: `"arguments":{"opening":60}`, more: `,"Params":{"name":"set_valve"}`, says: `"Params" is not "params"`},
		"a method in another case":        {params: `"arguments":{"opening":60}`, more: `,"METHOD":"notifications/cancelled"`, says: `"METHOD" is not "method"`},
		"two ids":                         {params: `"arguments":{"opening":60}`, more: `,"id":2`, says: `"id" is there twice`},
		"two methods, of which one lists": {params: `"arguments":{"opening":60}`, more: `,"method":"tools/call"`, says: `"method" is there twice`},
	} {
		r := s.rawCall("set_valve", c.params, c.more)
		e := r.rpc(t).Error
		if r.status != http.StatusBadRequest || e == nil || !strings.Contains(e.Message, c.says) || !strings.Contains(e.Message, "send each key once") {
			t.Errorf("%s: HTTP %d %s", what, r.status, r.body)
		}
	}
	if n := s.machine.written(); n != 0 {
		t.Errorf("%d writes", n)
	}
	if r := s.rawCall("set_valve", `"arguments":{"opening":60,"Dry_Run":{"name":1,"Name":2,"params":{"Method":1}}}`, ""); r.status != http.StatusOK {
		t.Errorf("keys that differ, below the message: HTTP %d %s", r.status, r.body)
	}
}

func TestANumberBeyondAllRangeIsHeldAgainstTheLimits(t *testing.T) {
	s := newSite(t, siteFiles())
	for number, next := range map[string]string{"1e400": "0 to 100 %", "-1e400": "0 to 100 %", strings.Repeat("9", 400): "0 to 100 %",
		"1e999999999": "the size", "1e-999999999": "the size", "1e99999999999999999999": "the size"} {
		for name, params := range map[string]string{"set_valve": `"arguments":{"opening":` + number + `}`,
			"call_action": `"arguments":{"name":"set_valve","arguments":{"opening":` + number + `}}`} {
			var r toolResult
			s.decode(s.rawCall(name, params, ""), &r)
			a := r.answer(t)
			if a.Verdict != "not_executed" || a.Reason.Code != "OUT_OF_RANGE" || !strings.Contains(a.Reason.Message, `opening" = `) || !strings.Contains(a.Reason.Next, next) {
				t.Errorf("%s %s: %s", name, number[:min(len(number), 12)], r.Structured)
			}
		}
	}
	body, header := modernBody(1, "tools/list", nil)
	huge := s.do(http.MethodPost, "/mcp", "operator", strings.Replace(body, `"id":1`, `"id":1e400`, 1), header)
	if a := huge.rpc(t); a.Error == nil || string(a.ID) == "0" {
		t.Errorf("an id that is no float64: HTTP %d %s", huge.status, huge.body)
	}
	if n := s.machine.written(); n != 0 {
		t.Errorf("%d writes", n)
	}
}

func TestAnOwnToolInsideOfAnotherIsToldToGoStraight(t *testing.T) {
	s := newSite(t, siteFiles())
	for _, outer := range []string{"call_read", "call_action"} {
		for _, inner := range []string{"call_action", "find_tools"} {
			a := s.call("operator", outer, map[string]any{"name": inner}).answer(t)
			if a.Verdict != "not_executed" || strings.Contains(a.Reason.Message, "did you mean") || !strings.Contains(a.Reason.Next, "its own name") {
				t.Errorf("%s of %s: %s", outer, inner, a)
			}
		}
	}
}

func TestTextsStayShortWhateverContractsAndAlarmsSay(t *testing.T) {
	files := siteFiles()
	for name, text := range files {
		files[name] = strings.ReplaceAll(text, "Moves the discharge valve", "Moves the discharge valve "+strings.Repeat("and so on ", 500))
	}
	s := newSite(t, files)
	r := s.call("operator", "find_tools", map[string]any{"query": "discharge valve"})
	if n := len(r.text()); n > 2048 || !strings.Contains(r.text(), "set_valve {") {
		t.Errorf("%d bytes: %s", n, r.text())
	}
	if !slices.Contains(s.list("operator").names(), "set_valve") {
		t.Error("the tool is gone")
	}
}

func TestAnUnknownRevisionIsToldWhichAreKnown(t *testing.T) {
	s := newSite(t, siteFiles())
	header := s.session("operator", "2025-11-25")
	header["Mcp-Protocol-Version"] = "2025-99-99"
	r := s.do(http.MethodPost, "/mcp", "operator", listBody, header)
	if e := r.rpc(t).Error; r.status != http.StatusBadRequest || e == nil || e.Data.Reason != "revision" || !strings.Contains(e.Data.Next, "2025-11-25") {
		t.Errorf("HTTP %d %s", r.status, r.body)
	}
}
