package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"capd/internal/access"
	"capd/internal/health"
	"capd/internal/invoke"
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

// capd runs one command line against a box and gives what it printed, its error text and its exit status.
func capd(t testing.TB, b *localtest.Box, args ...string) (out, problem string, status int) {
	t.Helper()
	cmd := root()
	var stdout bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetArgs(args)
	if b != nil {
		cmd.SetArgs(append(args, "--socket", b.Socket))
	}
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		return stdout.String(), err.Error(), exitCode(err)
	}
	return stdout.String(), "", 0
}

// flat is a text without its line breaks.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// good runs a command line that must succeed.
func good(t testing.TB, b *localtest.Box, args ...string) string {
	t.Helper()
	out, problem, status := capd(t, b, args...)
	if status != 0 {
		t.Fatalf("capd %q: status %d: %s\n%s", args, status, problem, out)
	}
	return out
}

// documentOf runs a command line with --json and reads its one document.
func documentOf[T any](t testing.TB, b *localtest.Box, want int, args ...string) T {
	t.Helper()
	out, problem, status := capd(t, b, append(args, "--json")...)
	var doc T
	if status != want {
		t.Fatalf("capd %q: status %d: %s\n%s", args, status, problem, out)
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("capd %q: %v in %s", args, err, out)
	}
	return doc
}

func TestACallEndsWithTheStatusOfItsVerdict(t *testing.T) {
	b := localtest.Start(t)
	if out := good(t, b, "call", "valve_status"); !strings.HasPrefix(out, "OBSERVED: valve_status") {
		t.Error(out)
	}
	if out := good(t, b, "call", "set_discharge_valve", "opening=60"); !strings.HasPrefix(out,
		"CONFIRMED at E4: set_discharge_valve") || !strings.Contains(out, "EVIDENCE") {
		t.Error(out)
	}
	out, problem, status := capd(t, b, "call", "set_discharge_valve", "opening=5")
	if status != exitRefused || !strings.Contains(out, "STEP_TOO_LARGE") || !strings.Contains(out,
		"Allowed now: 40 to 80") || problem != "the verdict is not_executed" {
		t.Errorf("%d %s\n%s", status, problem, out)
	}
	a := documentOf[invoke.Answer](t, b, 0, "call", "set_discharge_valve", "--args", `{"opening": 70}`, "--dry-run")
	if a.DryRun == nil || b.Machine.Writes() != 1 {
		t.Errorf("%+v, %d writes", a, b.Machine.Writes())
	}
	b.Machine.Stick()
	a = documentOf[invoke.Answer](t, b, exitRefused, "call", "set_discharge_valve", "opening=70")
	if a.Verdict != outcome.Refuted {
		t.Errorf("%+v", a)
	}
	if out, _, status := capd(t, b, "explain", a.Invocation); status != exitRefused || !strings.HasPrefix(out, "REFUTED") || !strings.Contains(out,
		"SAMPLES") {
		t.Errorf("%d %s", status, out)
	}
	if _, problem, status := capd(t, b, "explain", "x"); status != 1 || !strings.Contains(problem, `no call "x" is known`) {
		t.Errorf("%d %s", status, problem)
	}
}

func TestExplainFollowsAPendingCallAndCountsWhatWasLearnedLater(t *testing.T) {
	late := invoke.Answer{Verdict: outcome.Unknown, Amendments: []invoke.Amendment{{Verdict: outcome.Confirmed}, {Kind: "note"}}}
	if v := latestVerdict(late); v != outcome.Confirmed {
		t.Errorf("verdict %s", v)
	}
	b := localtest.Start(t)
	a := documentOf[invoke.Answer](t, b, 0, "call", "set_discharge_valve", "opening=60", "--request-id", "one")
	r := documentOf[invoke.Record](t, b, 0, "explain", a.Invocation, "--wait", "2s")
	if r.Answer.Verdict != outcome.Confirmed || len(r.Samples) == 0 {
		t.Errorf("%+v", r)
	}
	if again := documentOf[invoke.Answer](t, b, 0, "call", "set_discharge_valve", "opening=60", "--request-id", "one"); !again.Repeated {
		t.Errorf("%+v", again)
	}
}

func TestReadEndsWellOnlyForGoodQuality(t *testing.T) {
	b := localtest.Start(t)
	if out := good(t, b, "read", localtest.Position); !strings.Contains(out, "45 %") || !strings.Contains(out, "good") {
		t.Error(out)
	}
	b.Machine.Break(localtest.Position, "no current on the loop")
	if out, _, status := capd(t, b, "read", "PS07-FCV-04"); status != exitRefused || !strings.Contains(out, "BAD (wire_error)") || !strings.Contains(out,
		"no current on the loop") {
		t.Errorf("%d %s", status, out)
	}
	doc := documentOf[localapi.Readings](t, b, exitRefused, "read", "PS07-FCV-04")
	if doc.Good || len(doc.Readings) != 2 {
		t.Errorf("%+v", doc)
	}
}

func TestALockIsSetListedAndLifted(t *testing.T) {
	b := localtest.Start(t)
	good(t, b, "lock", "PS07-FCV-04", "--reason", "replacing the actuator")
	if out := good(t, b, "lock"); !strings.Contains(out, "replacing the actuator") {
		t.Error(out)
	}
	if out := good(t, b, "status"); !strings.Contains(out, "LOCKED") || !strings.Contains(out, "ACTIVE mode") {
		t.Error(out)
	}
	if out, _, status := capd(t, b, "call", "set_discharge_valve", "opening=60"); status != exitRefused || !strings.Contains(out, "LOCKED_OUT") {
		t.Errorf("%d %s", status, out)
	}
	good(t, b, "unlock", "PS07-FCV-04")
	if list := documentOf[[]standing.Lockout](t, b, 0, "lock"); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

func TestWrongNamesAreAnsweredWithWhatWasMeant(t *testing.T) {
	b := localtest.Start(t)
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"read PS07-FCV-04.positon", 1, "did you mean PS07-FCV-04.position?"},
		{"lock PS07-FCV-4 --reason x", 1, "did you mean PS07-FCV-04?"},
		{"assets PS07-PLC-1", 1, "did you mean PS07-PLC-01?"},
		{"degrade set_discharge_valv --reason x", 1, "did you mean set_discharge_valve?"},
		{"token create x --role viewr", 1, "did you mean viewer?"},
		{"tools find x --profile readr", 1, "did you mean reader?"},
		{"token lst", 2, "did you mean list?"},
		{"tools fnd x", 2, "did you mean find?"},
		{"alarms cler x", 2, "did you mean clear?"},
		{"alarms clear nothing", 1, "there is no active alarm"},
		{"token revoke nobody", 1, "there is no token"},
	} {
		_, problem, status := capd(t, b, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(problem, c.says) {
			t.Errorf("capd %s: %d %s; want %d %s", c.args, status, problem, c.status, c.says)
		}
	}
	if out, _, status := capd(t, b, "call", "set_discharge_valv"); status != exitRefused || !strings.Contains(flat(out),
		`did you mean "set_discharge_valve"?`) || !strings.Contains(out, "capd tools list") {
		t.Errorf("%d %s", status, out)
	}
}

func TestAWrongCommandLineEndsWithTwo(t *testing.T) {
	for _, args := range [][]string{
		{"lock", "PS07-FCV-04"}, {"lock", "a", "b", "--reason", "x"}, {"lock", "a", "--reason", " "}, {"unlock"}, {"unlock", "a", "--force", ""}, {"call"},
		{"call", "x", "opening"},
		{"call", "x", "=5"}, {"call", "x", "a=1", "a=2"}, {"call", "x", "a=1", "--args", "{}"}, {"call", "x", "--args", "[1]"}, {"call", "x", "--args",
			"{"}, {"explain"},
		{"explain", "a", "--wait", "-1s"}, {"explain", "a", "--wait", "5"}, {"status", "now"}, {"status", "--jsn"}, {"token"}, {"token", "create"},
		{"token", "create", "x"},
		{"token", "create", "x", "--role", "a", "--ttl", "1h", "--no-expiry"}, {"mode", "on", "--reason", "x"}, {"mode", "active"}, {"degrade", "x"},
		{"tools", "find"},
		{"tools", "find", "x", "--limit", "0"}, {"settle"}, {"arm", "x"}, {"arm", "x", "--reason", " "}, {"arm", "x", "--reason", "y", "--for", "2h"},
		{"arm", "x", "--reason", "y", "--for", "0s"}, {"disarm"}, {"lok"}, {"version", "x"}, {"run", "x"}, {"demo", "x"}, {"probe"}, {"import"}, {"import", "x"},
		{"import", "csv"}, {"--json", "run"}, {"--socket", "x", "version"}, {"alarms", "clear"}, {"read"}, {"reload", "x"}, {"assets", "a", "b"},
	} {
		_, problem, status := capd(t, nil, args...)
		if status != exitUsage || !strings.Contains(problem, "--help") {
			t.Errorf("capd %q: %d %s", args, status, problem)
		}
	}
}

func TestFlagsMayStandBeforeTheCommand(t *testing.T) {
	b := localtest.Start(t)
	for _, args := range [][]string{{"--socket", b.Socket, "--json", "status"}, {"--socket", b.Socket, "status", "--json"}, {"--json", "--socket", "/nowhere",
		"status", "--socket", b.Socket}} {
		out, problem, status := capd(t, nil, args...)
		var doc localapi.Status
		if err := json.Unmarshal([]byte(out), &doc); err != nil || status != 0 || doc.Version == "" {
			t.Errorf("capd %q: %d %s %v\n%s", args, status, problem, err, out)
		}
	}
	if out, _, _ := capd(t, nil, "--json", "version"); !json.Valid([]byte(out)) {
		t.Errorf("capd --json version: %s", out)
	}
}

func TestATechnicianArmsOneCallOfACriticalTool(t *testing.T) {
	b := localtest.Start(t)
	b.WriteCritical(t)
	good(t, b, "reload")
	out, _, status := capd(t, b, "call", localtest.Critical, "opening=60")
	if status != exitRefused || !strings.Contains(out, "NOT_ARMED") || !strings.Contains(flat(out), "capd arm "+localtest.Critical) {
		t.Errorf("%d %s", status, out)
	}
	if out := good(t, b, "arm", localtest.Critical, "--reason", "seen from the gallery", "--for", "5m"); !strings.HasPrefix(out, "ARMED: one call of "+localtest.Critical) {
		t.Error(out)
	}
	for _, args := range [][]string{{"arm"}, {"status"}} {
		if out := good(t, b, args...); !strings.Contains(out, "seen from the gallery") {
			t.Errorf("capd %q: %s", args, out)
		}
	}
	if list := documentOf[[]standing.Arm](t, b, 0, "arm"); len(list) != 1 || list[0].Action != localtest.Critical {
		t.Errorf("%+v", list)
	}
	good(t, b, "disarm", localtest.Critical)
	if _, problem, status := capd(t, b, "disarm", localtest.Critical); status != 1 || !strings.Contains(problem, "there is no armed tool") {
		t.Errorf("%d %s", status, problem)
	}
	for name, says := range map[string]string{"set_discharge_valve": "is not critical", "reset_vfd_faul": "did you mean " + localtest.Critical} {
		if _, problem, status := capd(t, b, "arm", name, "--reason", "x"); status != 1 || !strings.Contains(problem, says) {
			t.Errorf("arm %s: %d %s", name, status, problem)
		}
	}
}

func TestWithoutADaemonTheCommandsSayHowToStartIt(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "none.sock")
	t.Setenv("CAPD_SOCKET", socket)
	for _, args := range [][]string{{"status"}, {"lock", "a", "--reason", "x"}, {"call", "x"}, {"token", "list", "--json"}} {
		out, problem, status := capd(t, nil, args...)
		if status != 1 || out != "" || !strings.Contains(problem, "systemctl start capd") || !strings.Contains(problem, socket) {
			t.Errorf("capd %q: %d %s %s", args, status, problem, out)
		}
	}
}

func TestArgumentsAreTakenAsJSONWhereTheyAreJSON(t *testing.T) {
	cmd := root()
	args, err := callArgs(cmd, []string{"n=60", "f=-1.5", "b=true", "z=null", "t=remote", `q="60"`, "l=[1,2]", "e=", "eq=a=b"}, "")
	must(t, err)
	raw, err := json.Marshal(args)
	must(t, err)
	if want := `{"b":true,"e":"","eq":"a=b","f":-1.5,"l":[1,2],"n":60,"q":"60","t":"remote","z":null}`; string(raw) != want {
		t.Errorf("got %s, want %s", raw, want)
	}
}

func FuzzCallArgs(f *testing.F) {
	f.Add("opening=60", "")
	f.Add("", `{"opening": 60}`)
	f.Add("a=\xff", "")
	f.Fuzz(func(t *testing.T, pair, object string) {
		var pairs []string
		if pair != "" {
			pairs = []string{pair}
		}
		args, err := callArgs(&cobra.Command{}, pairs, object)
		if err != nil {
			return
		}
		if _, err := json.Marshal(args); err != nil {
			t.Errorf("%q %q: %v", pair, object, err)
		}
	})
}

func TestATokenIsMadeWithTheSecretOnTheFirstLine(t *testing.T) {
	b := localtest.Start(t)
	secret, _, _ := strings.Cut(good(t, b, "token", "create", "agent", "--role", "operator,viewer", "--scope", "site:ps07"), "\n")
	subject, err := b.Tokens.Authenticate(secret)
	must(t, err)
	if subject.Name != "agent" || len(subject.Roles) != 2 {
		t.Errorf("%+v", subject)
	}
	if list := documentOf[[]access.Token](t, b, 0, "token", "list"); len(list) != 1 || list[0].Expires.Sub(list[0].Created) != defaultTTL {
		t.Errorf("%+v", list)
	}
	made := documentOf[localapi.NewToken](t, b, 0, "token", "create", "forever", "--role", "viewer", "--no-expiry")
	if !made.Token.Expires.IsZero() || made.Secret == "" {
		t.Errorf("%+v", made)
	}
}

func TestAReloadWithABadFileEndsWithThree(t *testing.T) {
	b := localtest.Start(t)
	good(t, b, "reload")
	b.Write(t, "contracts.d/bad.yaml", "contract: capd/v1\ntol: bad\n")
	out, _, status := capd(t, b, "reload")
	if status != exitRefused || !strings.Contains(out, filepath.Join(b.Dir, "contracts.d", "bad.yaml")+":2:1") {
		t.Errorf("%d %s", status, out)
	}
	if out := good(t, b, "status"); !strings.Contains(out, "FILES NOT IN FORCE") || !strings.Contains(out, "1 rejected file") {
		t.Error(out)
	}
}

// prepare brings a box into a state in which every example has something to do.
func prepare(t *testing.T, b *localtest.Box) {
	t.Helper()
	must(t, b.Standing.Lock(standing.Lockout{Target: "PS07-FCV-04", By: "wang", Reason: "in the pit"}))
	must(t, b.Standing.Unsettle("PS07-FCV-04", "x", "no answer"))
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		_, err := b.Alarms.Raise(health.Alarm{Key: key, Text: "example"})
		must(t, err)
	}
}

func TestEveryExampleOfTheHelpRuns(t *testing.T) {
	b := localtest.Start(t)
	prepare(t, b)
	b.WriteCritical(t)
	good(t, b, "reload")
	ran, confirmed := 0, ""
	for _, line := range examples(localCommands()) {
		args := words(t, strings.ReplaceAll(line, "01890a5d-ac96-774b-bcce-b302099a8057", confirmed))
		out := good(t, b, args[1:]...)
		if strings.HasSuffix(line, "--json") && !json.Valid([]byte(out)) {
			t.Errorf("%s: no JSON: %s", line, out)
		}
		if s, err := b.Client.Recent(t.Context(), 1); err == nil && len(s) == 1 && s[0].Verdict == outcome.Confirmed {
			confirmed = s[0].Invocation
		}
		ran++
	}
	if out := good(t, b, "tools", "find", "valve", "--explain"); !strings.Contains(out, "3 of 3 tools permitted") {
		t.Error(out)
	}
	if ran < 30 {
		t.Errorf("only %d examples", ran)
	}
}

func examples(commands []*cobra.Command) []string {
	var all []string
	for _, c := range commands {
		for line := range strings.Lines(c.Example) {
			all = append(all, strings.TrimSpace(line))
		}
		all = append(all, examples(c.Commands())...)
	}
	return all
}

// words splits a command line as a shell does, with single and double quotes.
func words(t *testing.T, line string) []string {
	t.Helper()
	var all []string
	word, quote, begun := "", rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, begun = r, true
		case quote == 0 && r == ' ':
			if begun {
				all = append(all, word)
			}
			word, begun = "", false
		default:
			word += string(r)
			begun = true
		}
	}
	if quote != 0 || len(line) == 0 || !strings.HasPrefix(line, "capd ") {
		t.Fatalf("%q is no command line", line)
	}
	return append(all, word)
}

func TestEveryCommandHasHelpAndAnExample(t *testing.T) {
	var check func([]*cobra.Command)
	check = func(all []*cobra.Command) {
		for _, c := range all {
			if c.Short == "" || c.Example == "" && !c.HasSubCommands() {
				t.Errorf("%s has no help or no example", c.CommandPath())
			}
			check(c.Commands())
		}
	}
	check(localCommands())
}

func TestEveryListAnswersAsTextAndAsJSON(t *testing.T) {
	b := localtest.Start(t)
	b.Machine.Set(localtest.Selector, physical.TextOf("local"))
	for _, args := range [][]string{{"status"}, {"lock"}, {"mode"}, {"assets"}, {"assets", "PS07-PLC-01"}, {"tools"}, {"tools", "list"}, {"tools",
		"find", "valve"}, {"alarms"},
		{"token", "list"}, {"settle", "PS07-PLC-01"}, {"restore", "set_discharge_valve"}} {
		if out := good(t, b, args...); strings.TrimSpace(out) == "" {
			t.Errorf("capd %q says nothing", args)
		}
		documentOf[any](t, b, 0, args...)
	}
}
