package contract

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"capd/internal/document"
	"capd/internal/outcome"
	"capd/internal/physical"
)

// valve is the contract of the documentation.
func valve(t testing.TB) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", "valve.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

func read(t testing.TB, file, source string) (*Contract, document.Problems) {
	t.Helper()
	n, ps := document.Parse(file, []byte(source))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	return Parse(n, "hash")
}

func TestTheContractOfTheDocumentationIsRead(t *testing.T) {
	c, ps := read(t, "valve.yaml", valve(t))
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	if c.Tool != "ps07-fcv-04" || c.Version != (Version{1, 0, 0}) || c.Asset != "PS07-FCV-04" || c.File != "valve.yaml" || c.SHA256 != "hash" {
		t.Errorf("head is %+v", c)
	}
	if p := c.Points["mode"]; p.Ref != "PS07-PLC-01.mode" || p.Pos.Line != 7 {
		t.Errorf("mode is %+v", p)
	}
	if len(c.Actions) != 2 || c.Actions[0].ID != "read_opening" || c.Action("nothing") != nil {
		t.Fatalf("actions are %v", c.Actions)
	}
	read := c.Action("read_opening")
	if read.Moves() || read.Risk != Info || !reflect.DeepEqual(read.Returns, []string{"position", "setpoint"}) {
		t.Errorf("read is %+v", read)
	}
	set := c.Action("set_opening")
	if !set.Moves() || set.Risk != High || set.OnFail != Leave || set.OnDegraded != "refuse" || set.AnswerIn != 45*time.Second {
		t.Errorf("set is %+v", set)
	}
	if set.Limits != (Limits{MaxConcurrent: 1, Rate: Rate{10, time.Minute}}) || !reflect.DeepEqual(set.Permissions, []string{"valve:write"}) || !reflect.DeepEqual(set.Scopes, []string{"site:ps07"}) {
		t.Errorf("limits %+v, security %v %v", set.Limits, set.Permissions, set.Scopes)
	}
	if p := set.Permits[0]; p.ID != "remote" || p.When != `mode == "remote"` || p.MaxAge != 1500*time.Millisecond || p.Code != outcome.LocalMode {
		t.Errorf("permit is %+v", p)
	}
	if s := set.Execute[0]; s.Write != "setpoint" || s.Value.Expr != "opening" {
		t.Errorf("step is %+v", s)
	}
	v := set.Verify
	if v.MinLevel != outcome.E4 || v.Within != 15*time.Second || v.Poll != 250*time.Millisecond || v.Settle != 2*time.Second || v.Watch.For != time.Minute {
		t.Errorf("verification is %+v", v)
	}
	if e := v.Expect[0]; e.Point != "position" || e.Kind != Near || e.Target.Expr != "opening" || e.Tolerance.String() != "1.5" {
		t.Errorf("expectation is %+v", e)
	}
}

func TestTheSameContractAsJSON(t *testing.T) {
	n, ps := document.Parse("valve.yaml", []byte(valve(t)))
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	raw, err := n.JSON()
	if err != nil {
		t.Fatal(err)
	}
	c, ps := read(t, "valve.json", string(raw))
	if len(ps) > 0 || len(c.Actions) != 2 || c.Action("set_opening").Verify.Expect[0].Tolerance.String() != "1.5" {
		t.Errorf("%v, %+v", ps, c)
	}
}

const head = "contract: capd/v1\ntool: x\nversion: 1.0.0\ntitle: X\nasset: A\npoints: {p: A.p, q: A.q}\nactions:\n"

// move is an actuation; what is given takes the place of its execute steps and its verification, from line 11 on.
func move(lines ...string) string {
	return head + "  move:\n    effect: actuate\n    description: Moves it.\n" + strings.Join(lines, "\n") + "\n"
}

// proved is an actuation with a verification of these keys, at line 12.
func proved(keys string) string {
	return move("    execute: [{write: p, value: 1}]", "    verify: {"+keys+"}")
}

// expecting is an actuation with one expectation, at line 12.
func expecting(e string) string { return proved("within: 1s, expect: [{" + e + "}]") }

// held is an actuation with a hold, at line 12.
func held(keys string) string {
	return move("    execute: [{write: p, value: 1}]", "    hold: {"+keys+"}")
}

func TestEveryMistakeIsReportedAtItsPlace(t *testing.T) {
	cases := map[string]struct{ source, want string }{
		"nothing":              {"", "x.yaml:1:1: found nothing, expected a map, such as {key: value}"},
		"keys missing":         {"contract: capd/v1", `x.yaml:1:1: key "tool" is missing`},
		"another format":       {strings.Replace(head, "capd/v1", "capd/v2", 1) + "  a: {effect: read, description: A, returns: [p]}", `x.yaml:1:11: contract: "capd/v2" is not allowed here; did you mean "capd/v1"? allowed: capd/v1`},
		"unknown key":          {"tags: [a]\nowner: me\n" + head + "  a: {effect: read, description: A, returns: [p]}", `x.yaml:2:1: owner: unknown key "owner"`},
		"tool":                 {strings.Replace(head, "tool: x", "tool: X_1", 1) + "  a: {effect: read, description: A, returns: [p]}", `x.yaml:2:1: tool: the tool id "X_1" is not allowed; use a-z, 0-9 and -, at most 48`},
		"tool empty":           {strings.Replace(head, "tool: x", `tool: ""`, 1) + "  a: {effect: read, description: A, returns: [p]}", `x.yaml:2:1: tool: tool is empty`},
		"version":              {strings.Replace(head, "1.0.0", "1.0.0-rc1", 1) + "  a: {effect: read, description: A, returns: [p]}", `x.yaml:3:1: version: "1.0.0-rc1" is not a version; write MAJOR.MINOR.PATCH such as 1.0.0`},
		"version empty":        {strings.Replace(head, "1.0.0", `""`, 1) + "  a: {effect: read, description: A, returns: [p]}", `x.yaml:3:1: version: version is empty`},
		"version as a number":  {strings.Replace(head, "1.0.0", "1.0", 1) + "  a: {effect: read, description: A, returns: [p]}", `x.yaml:3:10: version: found number 1.0, expected a text; quote it: "1.0"`},
		"title empty":          {strings.Replace(head, "title: X", `title: " "`, 1) + "  a: {effect: read, description: A, returns: [p]}", `x.yaml:4:1: title: title is empty`},
		"point's name":         {strings.Replace(head, "{p:", "{P-1: A.p, p:", 1) + "  a: {effect: read, description: A, returns: [p]}", `x.yaml:6:10: points.P-1: the name "P-1" is not allowed in expressions; use a-z, 0-9 and _`},
		"point named a word":   {strings.Replace(head, "{p:", "{not: A.p, p:", 1) + "  a: {effect: read, description: A, returns: [p]}", `x.yaml:6:10: points.not: the name "not" is a word of expressions; choose another`},
		"point not a text":     {strings.Replace(head, "A.p", "5", 1) + "  a: {effect: read, description: A, returns: [p]}", `x.yaml:6:13: points.p: found number 5, expected a text; quote it: "5"`},
		"no action":            {strings.Replace(head, "actions:\n", "actions: {}\n", 1), `x.yaml:7:1: actions: a contract needs at least one action`},
		"action's id":          {head + "  Move-It: {effect: read, description: A, returns: [p]}", `x.yaml:8:3: actions.Move-It: the action id "Move-It" is not allowed; use a-z, 0-9 and _, at most 48`},
		"action's name":        {head + "  a:\n    name: Move It\n    effect: read\n    description: A\n    returns: [p]", `x.yaml:9:5: actions.a.name: the name "Move It" is not allowed; use a-z, 0-9, _ and -, at most 48`},
		"effect missing":       {head + "  a: {description: A}", `x.yaml:8:6: actions.a: key "effect" is missing`},
		"effect misspelt":      {head + "  a: {effect: actuat, description: A}", `x.yaml:8:15: actions.a.effect: "actuat" is not allowed here; did you mean "actuate"? allowed: read, actuate, configure`},
		"read of nothing":      {head + "  a: {effect: read, description: A}", `x.yaml:8:7: actions.a.effect: a read needs returns: [points]`},
		"read that acts":       {head + "  a: {effect: read, description: A, returns: [p], execute: [{write: p, value: 1}]}", `x.yaml:8:51: actions.a.execute: execute belongs to actuations; remove it, or set effect: actuate`},
		"act without steps":    {move(), `x.yaml:9:5: actions.move.effect: an action with effect actuate needs execute steps`},
		"act with no steps":    {move("    execute: []"), `x.yaml:9:5: actions.move.effect: an action with effect actuate needs execute steps`},
		"act that returns":     {move("    execute: [{write: p, value: 1}]", "    returns: [p]"), `x.yaml:12:5: actions.move.returns: returns belongs to reads; an actuation answers with its evidence`},
		"withdraw what":        {move("    execute: [{write: p, value: 1}]", "    on_fail: withdraw"), `x.yaml:12:5: actions.move.on_fail: on_fail: withdraw needs withdraw: [steps]`},
		"withdraw when":        {move("    execute: [{write: p, value: 1}]", "    withdraw: [{write: p, value: 0}]"), `x.yaml:12:5: actions.move.withdraw: the withdraw steps would never run; add on_fail: withdraw, or remove them`},
		"concurrency 0":        {move("    execute: [{write: p, value: 1}]", "    limits: {max_concurrent: 0}"), `x.yaml:12:14: actions.move.limits.max_concurrent: max_concurrent must be 1 to 1000; leave it out for no limit`},
		"concurrency high":     {move("    execute: [{write: p, value: 1}]", "    limits: {max_concurrent: 4294967297}"), `x.yaml:12:14: actions.move.limits.max_concurrent: max_concurrent must be 1 to 1000; leave it out for no limit`},
		"rate":                 {move("    execute: [{write: p, value: 1}]", "    limits: {rate: 5/day}"), `x.yaml:12:14: actions.move.limits.rate: "5/day" is not a rate; write COUNT/second, COUNT/minute or COUNT/hour, such as 10/minute`},
		"permit without when":  {move("    execute: [{write: p, value: 1}]", "    permits: [{reason: R}]"), `x.yaml:12:15: actions.move.permits[0]: key "when" is missing`},
		"permit when empty":    {move("    execute: [{write: p, value: 1}]", "    permits: [{when: '', reason: R}]"), `x.yaml:12:16: actions.move.permits[0].when: when is empty`},
		"permit's code":        {move("    execute: [{write: p, value: 1}]", "    permits: [{when: p, reason: R, code: BUSY}]"), `x.yaml:12:42: actions.move.permits[0].code: "BUSY" is not allowed here; allowed: INTERLOCKED, LOCAL_MODE, LOCKED_OUT, NOT_ARMED`},
		"permit's age":         {move("    execute: [{write: p, value: 1}]", "    permits: [{when: p, reason: R, max_age: 5}]"), `x.yaml:12:45: actions.move.permits[0].max_age: found number 5, expected a duration, such as 250ms, 2s or 1m; add the unit: 5ms or 5s`},
		"step of another kind": {move("    execute: [{call: {operation: run}}]"), `x.yaml:11:16: actions.move.execute[0].call: the step call is not supported by this version of capd; use write, pulse, wait or handshake`},
		"pulse without end":    {move("    execute: [{pulse: {point: p, value: 1, release: 0}}]"), `x.yaml:11:23: actions.move.execute[0].pulse: key "for" is missing`},
		"pulse no map":         {move("    execute: [{pulse: p}]"), `x.yaml:11:23: actions.move.execute[0].pulse: found text "p", expected a map`},
		"pulse of no time":     {move("    execute: [{pulse: {point: p, value: 1, for: 1ms, release: 0}}]"), `x.yaml:11:44: actions.move.execute[0].pulse.for: for 1ms is not possible; give 10ms to 10m0s`},
		"pulse to itself":      {move("    execute: [{pulse: {point: p, value: 1, for: 1s, release: 1}}]"), `x.yaml:11:53: actions.move.execute[0].pulse.release: the pulse releases to the value that it writes, so nothing would happen`},
		"pulse and write":      {move("    execute: [{pulse: {point: p, value: 1, for: 1s, release: 0}, write: p, value: 1}]"), `x.yaml:11:16: actions.move.execute[0].pulse: a step is one thing, and this one is write and pulse; write them as two steps`},
		"pulse twice":          {move("    execute: [{pulse: {point: p, value: 1, for: 1s, release: 0}}, {write: p, value: 1}]"), `x.yaml:11:5: actions.move.execute: "p" is pulsed and written besides; a pulse needs its point for itself`},
		"pulse held":           {move("    execute: [{pulse: {point: p, value: 1, for: 1s, release: 0}}]", "    hold: {every: 1s, for: 1m, silence: S, points: [p]}"), `x.yaml:12:44: actions.move.hold.points: "p" is pulsed by this action, so it cannot be held as well`},
		"pulse to withdraw":    {move("    execute: [{write: p, value: 1}]", "    on_fail: withdraw", "    withdraw: [{pulse: {point: p, value: 1, for: 1s, release: 0}}]"), `x.yaml:13:5: actions.move.withdraw: only write steps can take a command back`},
		"handshake first":      {move("    execute: [{handshake: {token: p, echo: q}}]"), `x.yaml:11:5: actions.move.execute: nothing is written before this handshake; it tells the machine to take what was written`},
		"handshake of nothing": {move("    execute: [{write: r, value: 1}, {handshake: {token: p}}]"), `x.yaml:11:49: actions.move.execute[1].handshake: key "echo" is missing`},
		"handshake twice":      {move("    execute: [{write: r, value: 1}, {handshake: {token: p, echo: q}}, {handshake: {token: s, echo: q}}]"), `x.yaml:11:5: actions.move.execute: an action shakes hands once, and writes nothing else to the token`},
		"handshake and write":  {move("    execute: [{write: p, value: 1}, {handshake: {token: p, echo: q}}]"), `x.yaml:11:5: actions.move.execute: an action shakes hands once, and writes nothing else to the token`},
		"wait first":           {move("    execute: [{wait: {when: q, within: 1s}}, {write: p, value: 1}]"), `x.yaml:11:5: actions.move.execute: nothing is written before this wait; make its condition a permit`},
		"wait last":            {move("    execute: [{write: p, value: 1}, {wait: {when: q, within: 1s}}]"), `x.yaml:11:37: execute: nothing follows this wait; remove it: the verification waits for the end by itself`},
		"wait for what":        {move("    execute: [{write: p, value: 1}, {wait: {within: 1s}}, {write: p, value: 0}]"), `x.yaml:11:44: actions.move.execute[1].wait: key "when" is missing`},
		"wait for ever":        {move("    execute: [{write: p, value: 1}, {wait: {when: q, within: 1h}}, {write: p, value: 0}]"), `x.yaml:11:54: actions.move.execute[1].wait.within: within 1h0m0s is not possible; give 10ms to 10m0s`},
		"step without value":   {move("    execute: [{write: p}]"), `x.yaml:11:15: actions.move.execute[0]: key "value" is missing`},
		"value empty":          {move("    execute: [{write: p, value: ' '}]"), `x.yaml:11:33: actions.move.execute[0].value: the expression is empty; write a parameter, a point or a literal`},
		"value a list":         {move("    execute: [{write: p, value: [1]}]"), `x.yaml:11:33: actions.move.execute[0].value: found a list, expected a number, a boolean or an expression; write a number, true, false, or an expression such as "opening"`},
		"value far too large":  {move("    execute: [{write: p, value: 1e99}]"), `x.yaml:11:33: actions.move.execute[0].value: the exponent of 1e99 is beyond 64`},
		"hold for ever":        {held("every: 1s, silence: S"), `x.yaml:12:11: actions.move.hold: key "for" is missing`},
		"hold too often":       {held("every: 10ms, for: 1s, silence: S"), `x.yaml:12:12: actions.move.hold.every: every 10ms is shorter than 50ms; each assertion takes a transaction of the wire`},
		"hold too short":       {held("every: 1s, for: 1s, silence: S"), `x.yaml:12:23: actions.move.hold.for: for 1s must be longer than every 1s`},
		"hold of what":         {held("every: 1s, for: 1m, silence: ''"), `x.yaml:12:32: actions.move.hold.silence: silence is empty`},
		"hold of another":      {held("every: 1s, for: 1m, silence: S, points: [q]"), `x.yaml:12:44: actions.move.hold.points: "q" is not written by this action, so it cannot be held`},
		"verify without end":   {proved("expect: [{point: q, is: 1}]"), `x.yaml:12:13: actions.move.verify: key "within" is missing`},
		"verify in no time":    {proved("within: 0s, expect: [{point: q, is: 1}]"), `x.yaml:12:14: actions.move.verify.within: within 0s is shorter than 1ms; give at least the machine's travel time`},
		"verify nothing":       {proved("within: 1s, expect: []"), `x.yaml:12:26: actions.move.verify.expect: a verification needs at least one expectation`},
		"settle too long":      {proved("within: 1s, settle: 2s, expect: [{point: q, is: 1}]"), `x.yaml:12:26: actions.move.verify.settle: settle 2s is longer than within 1s, so nothing could ever be confirmed`},
		"poll too short":       {proved("within: 1s, poll: 1ms, expect: [{point: q, is: 1}]"), `x.yaml:12:26: actions.move.verify.poll: poll 1ms is shorter than 10ms; that is the shortest time between two rounds`},
		"level":                {proved("within: 1s, min_level: E1, expect: [{point: q, is: 1}]"), `x.yaml:12:26: actions.move.verify.min_level: "E1" is not a level that a verification can ask for; use E2, E3, E4 or E5`},
		"watch for no time":    {proved("within: 1s, expect: [{point: q, is: 1}], watch: {for: 0s, tolerance: 1}"), `x.yaml:12:63: actions.move.verify.watch.for: for 0s is shorter than 1ms; leave watch out for no watch`},
		"watch's tolerance":    {proved("within: 1s, expect: [{point: q, is: 1}], watch: {for: 1s, tolerance: -1}"), `x.yaml:12:72: actions.move.verify.watch.tolerance: tolerance -1 is below 0; give its size in the point's unit`},
		"refute without when":  {proved("within: 1s, expect: [{point: q, is: 1}], refute: [{reason: R}]"), `x.yaml:12:64: actions.move.verify.refute[0]: key "when" is missing`},
		"expect of no point":   {expecting("is: 1"), `x.yaml:12:35: actions.move.verify.expect[0]: key "point" is missing`},
		"expect nothing":       {expecting("point: q"), `x.yaml:12:36: actions.move.verify.expect[0].point: an expectation needs exactly one of near, is, between, changes_by, increases; found 0`},
		"expect two things":    {expecting("point: q, is: 1, increases: true"), `x.yaml:12:36: actions.move.verify.expect[0].point: an expectation needs exactly one of near, is, between, changes_by, increases; found 2`},
		"near what":            {expecting("point: q, near: 1"), `x.yaml:12:46: actions.move.verify.expect[0].near: near needs a tolerance in the point's unit`},
		"near less than":       {expecting("point: q, near: 1, tolerance: -1"), `x.yaml:12:55: actions.move.verify.expect[0].tolerance: tolerance -1 is below 0; give its size in the point's unit`},
		"is about":             {expecting("point: q, is: 1, tolerance: 1"), `x.yaml:12:53: actions.move.verify.expect[0].tolerance: is compares exactly, so the tolerance would do nothing; use near, or remove it`},
		"between one":          {expecting("point: q, between: [1]"), `x.yaml:12:46: actions.move.verify.expect[0].between: between needs two ends, such as [10, 20]; found 1`},
		"between backwards":    {expecting("point: q, between: [9, 1]"), `x.yaml:12:46: actions.move.verify.expect[0].between: between 9 and 1 is empty; write the lower end first`},
		"between nothing":      {expecting("point: q, between: ['', 1]"), `x.yaml:12:56: actions.move.verify.expect[0].between[0]: the expression is empty; write a parameter, a point or a literal`},
		"increases not":        {expecting("point: q, increases: false"), `x.yaml:12:46: actions.move.verify.expect[0].increases: increases must be true; remove the expectation otherwise`},
		"when empty":           {expecting("point: q, is: 1, when: ''"), `x.yaml:12:53: actions.move.verify.expect[0].when: when is empty`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, ps := read(t, "x.yaml", c.source)
			if len(ps) == 0 || ps[0].Error() != c.want && !strings.HasPrefix(ps[0].Error(), c.want) {
				t.Fatalf("got  %v\nwant %s", ps, c.want)
			}
			if len(ps) > 1 && name != "keys missing" {
				t.Errorf("one mistake, %d problems: %v", len(ps), ps)
			}
			if ps[0].Rule == "" || ps.Err() == nil {
				t.Errorf("rule %q, error %v", ps[0].Rule, ps.Err())
			}
		})
	}
}

func TestDefaultsAreTheCautiousOnes(t *testing.T) {
	c, ps := read(t, "x.yaml", proved("within: 1s, expect: [{point: q, is: 1}], refute: [{when: q, reason: R}, {when: q, reason: R, counts: false}]")+"    permits: [{when: q, reason: R}]\n")
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	a := c.Action("move")
	if a.Risk != High || a.Verify.MinLevel != outcome.E2 || a.Verify.Poll != DefaultPoll || !a.Verify.Refute[0].Counts || a.Verify.Refute[1].Counts {
		t.Errorf("action is %+v, verification %+v", a, a.Verify)
	}
	if p := a.Permits[0]; p.Code != outcome.Interlocked || p.ID != "interlocked" || p.MaxAge != 0 {
		t.Errorf("permit is %+v", p)
	}
}

func TestAHoldReassertsEverythingWrittenUnlessItSaysWhat(t *testing.T) {
	for keys, want := range map[string]string{"": "p q", ", points: [q]": "q"} {
		c, ps := read(t, "x.yaml", move("    execute: [{write: p, value: 1}, {write: q, value: 2}]", "    hold: {every: 1s, for: 1m, silence: It stops"+keys+"}"))
		if len(ps) > 0 {
			t.Fatal(ps)
		}
		if h := c.Actions[0].Hold; strings.Join(h.Points, " ") != want || h.Every != time.Second || h.For != time.Minute || h.Silence != "It stops" {
			t.Errorf("%q: %+v", keys, h)
		}
	}
}

func TestValuesAreLiteralsOrExpressions(t *testing.T) {
	for source, want := range map[string]string{"0x10": "16", "1e2": "100", "-0.50": "-0.5", "true": "true", "'12'": "expr 12", "opening": "expr opening", `'"remote"'`: `expr "remote"`} {
		c, ps := read(t, "x.yaml", move("    execute: [{write: p, value: "+source+"}]"))
		if len(ps) > 0 {
			t.Errorf("%s: %v", source, ps)
			continue
		}
		o := c.Actions[0].Execute[0].Value
		got := o.Literal.String()
		if o.Expr != "" {
			got = "expr " + o.Expr
		}
		if got != want || o.IsZero() {
			t.Errorf("%s is %s, want %s", source, got, want)
		}
	}
	if !(Operand{}).IsZero() || (Operand{Literal: physical.FlagOf(false)}).IsZero() {
		t.Error("nothing and false are not told apart")
	}
}

func TestVersionsAreOrderedByNumbers(t *testing.T) {
	ordered := []string{"0.0.1", "0.9.10", "0.10.0", "1.0.0", "1.9.0", "1.10.0", "2.0.0"}
	for i, x := range ordered {
		for j, y := range ordered {
			v, okV := ParseVersion(x)
			w, okW := ParseVersion(y)
			if !okV || !okW || (v.Compare(w) < 0) != (i < j) || (v.Compare(w) == 0) != (i == j) || v.String() != x {
				t.Errorf("%s against %s: %d", x, y, v.Compare(w))
			}
		}
	}
	for _, bad := range []string{"", "1", "1.0", "1.0.0.0", "v1.0.0", "01.0.0", "1.0.9999999", "-1.0.0", "1.0.0 "} {
		if v, ok := ParseVersion(bad); ok {
			t.Errorf("%q is %v", bad, v)
		}
	}
}

func TestAnActionIsNamedAfterItsToolUnlessItHasAName(t *testing.T) {
	c := &Contract{Tool: "ps07-fcv-04"}
	if got := c.MCPName(&Action{ID: "set_opening"}); got != "ps07_fcv_04_set_opening" {
		t.Error(got)
	}
	if got := c.MCPName(&Action{ID: "set_opening", Name: "set-valve"}); got != "set-valve" {
		t.Error(got)
	}
}

func TestKeysCanBeFoundInTheSource(t *testing.T) {
	c, _ := read(t, "x.yaml", move("    execute: [{write: p, value: 1}]"))
	if got := fmt.Sprint(c.Source.KeyPos("version"), " ", c.Actions[0].Source.KeyPos("execute")); got != "x.yaml:3:1 x.yaml:11:5" {
		t.Error(got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(valve(f))
	f.Add(move("    execute: [{pulse: 1}, {write: [], value: {}}]", "    verify: {within: 1, expect: [1, {between: 2}], refute: {}, watch: []}"))
	f.Add(proved("within: 1s, expect: [{point: q, increases: 1, tolerance: 0x1F}]"))
	f.Add("contract: [1]\nactions: {a: 5, b: {effect: [], limits: 1, security: [], permits: {}}}")
	f.Fuzz(func(t *testing.T, source string) {
		n, ps := document.Parse("x.yaml", []byte(source))
		if ps.Err() != nil {
			return
		}
		c, ps := Parse(n, "")
		for _, p := range ps {
			if p.Message == "" || p.Rule == "" || p.Pos.Line == 0 && source != "" {
				t.Errorf("problem without a place, a rule or a message: %+v", p)
			}
		}
		if ps.Err() != nil {
			return
		}
		if c.Tool == "" || c.Version == (Version{}) && !strings.Contains(source, "0.0.0") || len(c.Actions) == 0 {
			t.Errorf("accepted an incomplete contract: %+v", c)
		}
		for _, a := range c.Actions {
			if a.Moves() == (len(a.Execute) == 0) || a.AnswerIn == 0 || a.Verify != nil && (a.Verify.Within == 0 || len(a.Verify.Expect) == 0) {
				t.Errorf("accepted an incomplete action: %+v", a)
			}
		}
	})
}
