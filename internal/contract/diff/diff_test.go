package diff

import (
	"fmt"
	"strings"
	"testing"

	"capd/internal/contract"
	"capd/internal/document"
)

const base = `contract: capd/v1
tool: valve
version: 1.2.0
title: Valve
asset: VALVE
tags: [valve]
points: {setpoint: VALVE.setpoint, position: VALVE.position, mode: PLC.mode, flow: FLOW.flow}
actions:
  read:
    effect: read
    description: Reads the valve.
    returns: [position, flow]
  move:
    effect: actuate
    risk: high
    description: Moves the valve.
    parameters:
      type: object
      additionalProperties: false
      required: [opening]
      properties:
        opening: {type: number, minimum: 0, maximum: 100, x-unit: "%", description: Opening}
        speed: {type: [number, string], enum: [1, 2, 3], default: 1}
        name: {type: string, minLength: 1, maxLength: 10}
    security: {permissions: [valve:write], scopes: ["site:x"]}
    limits: {max_concurrent: 1, rate: 10/minute}
    permits:
      - {id: remote, when: 'mode == "remote"', max_age: 1s, reason: Not in remote}
      - {id: flow, when: 'flow < 10', max_age: 1s, reason: Flow}
    execute: [{write: setpoint, value: opening}]
    on_fail: withdraw
    withdraw: [{write: setpoint, value: 0}]
    hold: {every: 1s, for: 10m, silence: It closes}
    verify:
      min_level: E4
      within: 15s
      settle: 1s
      expect:
        - {point: position, near: opening, tolerance: 1.5}
        - {point: flow, between: [1, 9]}
        - {point: flow, increases: true, tolerance: 2}
      refute: [{when: 'flow > 50', reason: Burst}]
      watch: {for: 60s, tolerance: 3}
`

func parse(t testing.TB, file, source string) *contract.Contract {
	t.Helper()
	n, ps := document.Parse(file, []byte(source))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	c, ps := contract.Parse(n, fmt.Sprint(len(source))+source)
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

// edit replaces one text of the base contract after another.
func edit(t testing.TB, edits ...string) string {
	t.Helper()
	source := base
	for i := 0; i < len(edits); i += 2 {
		if strings.Count(source, edits[i]) != 1 {
			t.Fatalf("%q stands %d times in the base", edits[i], strings.Count(source, edits[i]))
		}
		source = strings.Replace(source, edits[i], edits[i+1], 1)
	}
	return source
}

func TestEveryChangeHasItsKind(t *testing.T) {
	cases := map[string]struct {
		from, to string
		want     string // kind path: part of the text
	}{
		"nothing":                      {"Moves the valve.", "Moves the valve.", ""},
		"asset":                        {"asset: VALVE", "asset: PUMP", "breaking asset: it belongs to PUMP instead of VALVE"},
		"title":                        {"title: Valve", "title: The valve", "compatible title: title or tags changed"},
		"action gone":                  {"  read:\n    effect: read\n    description: Reads the valve.\n    returns: [position, flow]\n", "", "breaking actions.read: the action read (valve_read) is gone"},
		"action new":                   {"actions:\n", "actions:\n  state: {effect: read, description: State, returns: [flow]}\n", "compatible actions.state: the action state is new"},
		"id under another name":        {"  read:\n    effect: read\n", "  look:\n    effect: read\n", "breaking actions.read: the action read (valve_read) is gone\ncompatible actions.look: the action look is new"},
		"id under the same name":       {"  read:\n    effect: read\n", "  look:\n    name: valve_read\n    effect: read\n", "compatible actions.look.name: the action read is now look"},
		"mcp name":                     {"  read:\n    effect: read\n", "  read:\n    name: look\n    effect: read\n", "breaking actions.read.name: agents know it as valve_read, and it is now look"},
		"description":                  {"Moves the valve.", "Moves it.", "compatible actions.move.description: title, description or intents changed"},
		"effect":                       {"effect: actuate", "effect: configure", "breaking actions.move.effect: the effect changed from actuate to configure"},
		"risk up":                      {"risk: high", "risk: critical", "breaking actions.move.risk: the risk rose from high to critical"},
		"risk down":                    {"risk: high", "risk: medium", "weakened actions.move.risk: the risk fell from high to medium"},
		"to safe":                      {"risk: high", "risk: high\n    to_safe: true", "weakened actions.move.to_safe: as the way to the safe side"},
		"returned point gone":          {"returns: [position, flow]", "returns: [position]", "breaking actions.read.returns: it no longer returns flow"},
		"returned point more":          {"returns: [position, flow]", "returns: [position, flow, mode]", "compatible actions.read.returns: it returns mode as well"},
		"returned point is another":    {"flow: FLOW.flow", "flow: FLOW.other", "breaking actions.read.returns: flow is now FLOW.other instead of FLOW.flow\n" + strings.Repeat("weakened actions.move.verify.expect: it no longer looks at FLOW.flow\n", 2)},
		"parameter gone":               {"        name: {type: string, minLength: 1, maxLength: 10}\n", "", "breaking actions.move.parameters: the parameter name is gone"},
		"parameter new":                {"        name: {", "        why: {type: string}\n        name: {", "compatible actions.move.parameters.properties.why: the parameter why is new"},
		"parameter new and required":   {"required: [opening]\n      properties:\n", "required: [opening, why]\n      properties:\n        why: {type: string}\n", "breaking actions.move.parameters.properties.why: the parameter why is new and required"},
		"parameter now required":       {"required: [opening]", "required: [opening, name]", "breaking actions.move.parameters.properties.name: the parameter name is now required"},
		"minimum up":                   {"minimum: 0", "minimum: 5", "breaking actions.move.parameters.properties.opening: the range of opening is narrower: minimum 5 instead of 0"},
		"minimum excluded":             {"minimum: 0", "exclusiveMinimum: 0", "breaking actions.move.parameters.properties.opening: the range of opening is narrower"},
		"minimum excluded but lower":   {"minimum: 0", "exclusiveMinimum: -1", ""},
		"minimum down":                 {"minimum: 0", "minimum: -5", ""},
		"minimum gone":                 {"minimum: 0, ", "", ""},
		"maximum down":                 {"maximum: 100", "maximum: 90.5", "breaking actions.move.parameters.properties.opening: the range of opening is narrower: maximum 90.5 instead of 100"},
		"maximum up":                   {"maximum: 100", "maximum: 100.0", ""},
		"maximum new":                  {"type: [number, string], ", "type: [number, string], maximum: 9, ", "breaking actions.move.parameters.properties.speed: the range of speed is narrower: maximum 9 instead of nothing"},
		"length shorter":               {"maxLength: 10", "maxLength: 9", "breaking actions.move.parameters.properties.name: the range of name is narrower: maxLength 9 instead of 10"},
		"length longer":                {"minLength: 1", "minLength: 2", "breaking actions.move.parameters.properties.name: the range of name is narrower: minLength 2 instead of 1"},
		"pattern new":                  {"minLength: 1", "minLength: 1, pattern: '^a'", `breaking actions.move.parameters.properties.name: pattern of name changed from nothing to "^a"`},
		"type narrower":                {"opening: {type: number", "opening: {type: integer", "breaking actions.move.parameters.properties.opening: opening no longer takes a value of type number"},
		"type fewer":                   {"type: [number, string]", "type: number", "breaking actions.move.parameters.properties.speed: speed no longer takes a value of type string"},
		"type more":                    {"name: {type: string", "name: {type: [string, integer]", ""},
		"type gone":                    {"name: {type: string, ", "name: {", ""},
		"enum fewer":                   {"enum: [1, 2, 3]", "enum: [1, 3]", "breaking actions.move.parameters.properties.speed: speed no longer takes 2"},
		"enum more":                    {"enum: [1, 2, 3]", "enum: [1, 2, 3.0, 4]", ""},
		"enum new":                     {"minLength: 1", "minLength: 1, enum: [a, b]", "breaking actions.move.parameters.properties.name: name now takes listed values alone"},
		"enum gone":                    {"enum: [1, 2, 3], ", "", ""},
		"unit":                         {`x-unit: "%"`, "x-unit: mm", `breaking actions.move.parameters.properties.opening: x-unit of opening changed from "%" to "mm"`},
		"default":                      {"default: 1", "default: 2", "breaking actions.move.parameters.properties.speed: default of speed changed from 1 to 2"},
		"parameter's description":      {"description: Opening", "description: How far", "compatible actions.move.parameters.properties.opening: the description of opening changed"},
		"permission more":              {"[valve:write]", "[valve:write, valve:move]", "breaking actions.move.security: it needs the permission valve:move as well"},
		"permission gone":              {"[valve:write]", "[]", "weakened actions.move.security: it no longer needs the permission valve:write"},
		"scope more":                   {`["site:x"]`, `["site:x", "site:y"]`, "breaking actions.move.security: it needs the scope site:y as well"},
		"scope gone":                   {`["site:x"]`, `[]`, "weakened actions.move.security: it no longer needs the scope site:x"},
		"rate up":                      {"10/minute", "1/second", "weakened actions.move.limits: limits are wider"},
		"rate down":                    {"10/minute", "599/hour", ""},
		"concurrency up":               {"max_concurrent: 1", "max_concurrent: 2", "weakened actions.move.limits: limits are wider"},
		"permit gone":                  {"      - {id: flow, when: 'flow < 10', max_age: 1s, reason: Flow}\n", "", "weakened actions.move.permits: the permit flow (flow < 10) is gone"},
		"permit asks something else":   {"'flow < 10'", "'flow < 20'", `weakened actions.move.permits.flow: the permit flow asks "flow < 20" instead of "flow < 10"`},
		"permit takes older readings":  {"'flow < 10', max_age: 1s", "'flow < 10', max_age: 2s", "weakened actions.move.permits.flow: the permit flow takes older readings: max_age 2s instead of 1s"},
		"permit takes any reading":     {"'flow < 10', max_age: 1s", "'flow < 10'", "weakened actions.move.permits.flow: the permit flow takes older readings: max_age any instead of 1s"},
		"permit renamed":               {"id: flow", "id: water", ""},
		"another point written":        {"{setpoint: VALVE.setpoint", "{setpoint: VALVE.other", "breaking actions.move.execute: it writes VALVE.other instead of VALVE.setpoint"},
		"another value written":        {"value: opening", "value: 100 - opening", "compatible actions.move.execute: the values written changed"},
		"no withdraw":                  {"    on_fail: withdraw\n    withdraw: [{write: setpoint, value: 0}]\n", "", "compatible actions.move.execute: the values written changed\nweakened actions.move.on_fail: a command that was not confirmed is no longer withdrawn"},
		"alarm instead of refuse":      {"risk: high", "risk: high\n    on_degraded: alarm", "weakened actions.move.on_degraded: on_degraded is alarm instead of refuse"},
		"no hold":                      {"    hold: {every: 1s, for: 10m, silence: It closes}\n", "", "weakened actions.move.hold: the command is no longer held"},
		"hold shorter":                 {"for: 10m", "for: 9m", "weakened actions.move.hold: the command is held every 1s for 9m0s instead of every 1s for 10m0s"},
		"level down":                   {"min_level: E4", "min_level: E3", "weakened actions.move.verify: min_level fell from E4 to E3"},
		"level up":                     {"min_level: E4", "min_level: E5", ""},
		"settle down":                  {"settle: 1s", "settle: 500ms", "weakened actions.move.verify: settle fell from 1s to 500ms"},
		"no read-back":                 {"settle: 1s", "settle: 1s\n      self_clearing: [setpoint]", "weakened actions.move.verify: setpoint is no longer read back"},
		"refute gone":                  {"      refute: [{when: 'flow > 50', reason: Burst}]\n", "", `weakened actions.move.verify: the refute condition "flow > 50" is gone`},
		"watch gone":                   {"      watch: {for: 60s, tolerance: 3}\n", "", "weakened actions.move.verify: nothing watches the confirmed state any more"},
		"watch shorter":                {"for: 60s", "for: 30s", "weakened actions.move.verify: the watch is 30s +- 3 instead of 1m0s +- 3"},
		"tolerance wider":              {"tolerance: 1.5", "tolerance: 3", "weakened actions.move.verify.expect.position: the tolerance of VALVE.position changed from 1.5 to 3"},
		"tolerance narrower":           {"tolerance: 1.5", "tolerance: 1", ""},
		"rise smaller":                 {"increases: true, tolerance: 2", "increases: true, tolerance: 1", "weakened actions.move.verify.expect.flow: the tolerance of FLOW.flow changed from 2 to 1"},
		"interval wider":               {"between: [1, 9]", "between: [0, 9]", "weakened actions.move.verify.expect.flow: it expects between [0, 9] of FLOW.flow instead of between [1, 9]"},
		"interval narrower":            {"between: [1, 9]", "between: [2, 8]", ""},
		"expectation gone":             {"        - {point: position, near: opening, tolerance: 1.5}\n", "", "weakened actions.move.verify.expect: it no longer looks at VALVE.position"},
		"expectation of another form":  {"near: opening, tolerance: 1.5", "increases: true", "weakened actions.move.verify.expect.position: it expects increases"},
		"expectation under conditions": {"tolerance: 1.5", "tolerance: 1.5, when: 'flow > 1'", `weakened actions.move.verify.expect.position: the expectation of VALVE.position holds only when "flow > 1"`},
	}
	old := parse(t, "old.yaml", base)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			changes := Compare(old, parse(t, "new.yaml", edit(t, c.from, c.to)))
			want := strings.Split(strings.TrimSpace(c.want), "\n")
			if c.want == "" {
				want = nil
			}
			for i, change := range changes {
				got := fmt.Sprintf("%s %s: %s", change.Kind, change.Path, change.Text)
				if i >= len(want) || !strings.HasPrefix(got, want[i]) {
					t.Errorf("got %s", got)
				}
				if change.Pos.Line == 0 {
					t.Errorf("%s has no place", got)
				}
			}
			if len(changes) != len(want) {
				t.Errorf("%d changes, want %d: %v", len(changes), len(want), want)
			}
		})
	}
}

func TestNoVerificationAnyMoreIsWeaker(t *testing.T) {
	from := base[strings.Index(base, "    verify:"):]
	changes := Compare(parse(t, "old.yaml", base), parse(t, "new.yaml", edit(t, from, "")))
	if len(changes) != 1 || changes[0].Kind != Weakened || changes[0].Text != "nothing proves it any more" {
		t.Errorf("got %v", changes)
	}
}

func TestTheWayToTheSafeSideMayNotVanishInSilence(t *testing.T) {
	old := parse(t, "old.yaml", edit(t, "risk: high", "risk: high\n    to_safe: true"))
	changes := Compare(old, parse(t, "new.yaml", base))
	if len(changes) != 1 || changes[0].Kind != Breaking {
		t.Errorf("got %v", changes)
	}
}

func TestCheckHoldsVersionsAgainstChanges(t *testing.T) {
	cases := map[string]struct {
		edits []string
		want  []string // "error" or "warning", place, rule: part of the problem
	}{
		"the same file": {nil, nil},
		"same number, other content": {[]string{"Moves the valve.", "Moves it."},
			[]string{"warning new.yaml:3:1 version: version 1.2.0 is active with other content; raise it to 1.2.1 at least"}},
		"breaking in a minor version": {[]string{"1.2.0", "1.3.0", "minimum: 0", "minimum: 5"},
			[]string{"error new.yaml:3:1 breaking_change: breaking change since 1.2.0: the range of opening is narrower: minimum 5 instead of 0; raise the major version to 2"}},
		"breaking in a major version": {[]string{"1.2.0", "2.0.0", "minimum: 0", "minimum: 5"}, nil},
		"backwards":                   {[]string{"1.2.0", "1.1.9", "minimum: 0", "minimum: 5"}, []string{"error new.yaml:3:1 version: version 1.1.9 is older than 1.2.0, which is active; give it a version above 1.2.0"}},
		"weakened": {[]string{"1.2.0", "1.2.1", "min_level: E4", "min_level: E3"},
			[]string{"warning new.yaml:35:7 weakened: weaker than 1.2.0: min_level fell from E4 to E3; keep it if that is what you mean"}},
		"weakened in a major version": {[]string{"1.2.0", "2.0.0", "min_level: E4", "min_level: E3"}, []string{"warning new.yaml:35:7 weakened: weaker than 1.2.0"}},
		"compatible":                  {[]string{"1.2.0", "1.3.0", "maximum: 100", "maximum: 110"}, nil},
		"breaking under the same number": {[]string{"returns: [position, flow]", "returns: [flow]"},
			[]string{"warning new.yaml:3:1 version: version 1.2.0 is active", "error new.yaml:3:1 breaking_change: breaking change since 1.2.0: it no longer returns position"}},
	}
	old := parse(t, "old.yaml", base)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ps := Check(old, parse(t, "new.yaml", edit(t, c.edits...)))
			if len(ps) != len(c.want) {
				t.Fatalf("got %v\nwant %q", ps, c.want)
			}
			for i, p := range ps {
				severity := map[bool]string{true: "warning", false: "error"}[p.Warning]
				if got := fmt.Sprintf("%s %s %s: %s; %s", severity, p.Pos, p.Rule, p.Message, p.Hint); !strings.HasPrefix(got, c.want[i]) {
					t.Errorf("got  %s\nwant %s", got, c.want[i])
				}
			}
		})
	}
}

// What parses with problems may lack everything; comparing it still ends, and a file never differs from itself.
func FuzzCompareEndsOnWhateverParses(f *testing.F) {
	f.Add(base, base)
	f.Add(base, strings.ReplaceAll(base, "number", "{}"))
	f.Fuzz(func(t *testing.T, a, b string) {
		read := func(s string) *contract.Contract {
			n, ps := document.Parse("x.yaml", []byte(s))
			if ps.Err() != nil {
				return &contract.Contract{}
			}
			c, _ := contract.Parse(n, s)
			return c
		}
		x, y := read(a), read(b)
		for _, c := range Compare(x, y) {
			if c.Text == "" || c.Kind == "" {
				t.Errorf("empty change %+v", c)
			}
		}
		if a == b && len(Check(x, y)) > 0 && a != "" {
			t.Error("a file differs from itself")
		}
	})
}
