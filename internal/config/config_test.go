package config

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"capd/internal/document"
)

// write puts a file into a folder of its own.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "capd.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, text string) (Config, document.Problems) {
	t.Helper()
	c, ps, err := Load(write(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return c, ps
}

func TestAFileWithAVersionLineAloneGivesTheDefaults(t *testing.T) {
	c, ps := load(t, "config: capd/v1\n")
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	if !reflect.DeepEqual(c, Default()) {
		t.Errorf("got %+v\nwant %+v", c, Default())
	}
	if c.Mode != "observe" || c.MCP.Listen != "127.0.0.1:7420" {
		t.Errorf("a fresh box must observe and listen on the loopback: %+v", c)
	}
}

const full = `config: capd/v1
mode: shadow
mcp:
  listen: "[::1]:0"
  allowed_origins: ["https://console.plant.example", "http://localhost:3000"]
  allowed_hosts: [gateway.plant.example, "10.1.2.3:7420", "[fe80::1]:7420"]
folders: {assets: assets.d, contracts: ./sub/../contracts.d, profiles: /srv/profiles.d, state: state, run: run}
roles:
  operator: ["valve:write", "*:read"]
  admin: ["*"]
resolver: {max_tools: 30, top_k: 10}
limits: {answer_within: 10s}
log: {level: debug}
technicians: {group: maintenance}
journal: {max_size: 64MiB, max_age: 720h}
`

func TestEveryKeyIsRead(t *testing.T) {
	path := write(t, full)
	c, ps, err := Load(path)
	if err != nil || len(ps) > 0 {
		t.Fatal(err, ps)
	}
	here := filepath.Dir(path)
	want := Config{
		Mode: "shadow",
		MCP: MCP{Listen: "[::1]:0", AllowedOrigins: []string{"https://console.plant.example", "http://localhost:3000"},
			AllowedHosts: []string{"gateway.plant.example", "10.1.2.3:7420", "[fe80::1]:7420"}},
		Folders: Folders{Assets: here + "/assets.d", Contracts: here + "/contracts.d", Profiles: "/srv/profiles.d", State: here + "/state",
			Run: here + "/run"},
		Roles:       map[string][]string{"operator": {"valve:write", "*:read"}, "admin": {"*"}},
		Resolver:    Resolver{MaxTools: 30, TopK: 10},
		Limits:      Limits{AnswerWithin: 10 * time.Second},
		Log:         Log{Level: slog.LevelDebug},
		Technicians: Technicians{Group: "maintenance"},
		Journal:     Journal{MaxSize: 64 << 20, MaxAge: 720 * time.Hour},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

func TestARelativePathOfTheFileItselfIsMadeAbsolute(t *testing.T) {
	path := write(t, "config: capd/v1\nfolders: {state: state}\n")
	t.Chdir(filepath.Dir(path))
	c, _, err := Load("capd.yaml")
	if err != nil || !filepath.IsAbs(c.Folders.State) || filepath.Base(c.Folders.State) != "state" {
		t.Errorf("state folder %q, error %v", c.Folders.State, err)
	}
}

// TestWrongValuesNameTheirPlaceAndTheNextStep gives one line each, which stands in line 2 of a file.
func TestWrongValuesNameTheirPlaceAndTheNextStep(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"mode: on", "allowed: observe, shadow, active"},
		{"mode: 1", "expected a text"},
		{"modes: active", `did you mean "mode"?`},
		{"mcp: {listen: 7420}", "expected a text"},
		{`mcp: {listen: "7420"}`, "write IP:port, such as 127.0.0.1:7420"},
		{`mcp: {listen: ""}`, "write IP:port"},
		{`mcp: {listen: "::1:7420"}`, "without brackets"},
		{`mcp: {listen: "127.0.0.1:70000"}`, `the port "70000" is not from 0 to 65535`},
		{`mcp: {listen: "127.0.0.1:http"}`, `the port "http"`},
		{`mcp: {listen: "127.0.0.1:+1"}`, `the port "+1"`},
		{`mcp: {listen: "plant.example:7420"}`, "neither an IP address nor localhost"},
		{`mcp: {port: 7420}`, "unknown key"},
		{`mcp: {allowed_origins: ["*"]}`, "would let every web page in"},
		{`mcp: {allowed_origins: ["null"]}`, "would let every web page in"},
		{`mcp: {allowed_origins: ["plant.example"]}`, "is not an origin"},
		{`mcp: {allowed_origins: ["https://plant.example/"]}`, "write scheme://host"},
		{`mcp: {allowed_origins: ["https://Plant.example"]}`, "not a host name in lower case"},
		{`mcp: {allowed_origins: "https://plant.example"}`, "expected a list"},
		{`mcp: {allowed_hosts: ["*"]}`, "would let every name in"},
		{`mcp: {allowed_hosts: ["https://plant.example"]}`, "write host or host:port"},
		{`mcp: {allowed_hosts: [""]}`, "is not a host name"},
		{`mcp: {allowed_hosts: ["plant.example:x"]}`, "port that is not from 0 to 65535"},
		{`folders: {state: ""}`, "leave the key out for /var/lib/capd"},
		{"folders: {state: ~/capd}", "not expanded by a shell"},
		{"folders: {state: $HOME/capd}", "not expanded by a shell"},
		{`folders: {state: "a\0b"}`, "zero byte"},
		{"folders: {assets: x, contracts: ./x}", "also the folder of assets"},
		{"folders: {assets: /etc/capd/contracts.d}", "also the folder of assets"},
		{"folders: {state: 5}", "expected a text"},
		{"folders: /etc/capd", "expected a map"},
		{"roles: {Operator: [\"*\"]}", `the role "Operator" is not allowed`},
		{"roles: {operator: \"*:read\"}", "expected a list"},
		{"roles: {operator: [\"valve write\"]}", "is not a permission"},
		{"roles: {operator: [\"val*:write\"]}", "* for a whole part"},
		{"roles: {operator: [\"valve:\"]}", "is not a permission"},
		{"resolver: {max_tools: 0}", "from 1 to 1000"},
		{"resolver: {max_tools: 2.5}", "expected a whole number"},
		{"resolver: {max_tools: 10, top_k: 11}", "top_k 11 is above max_tools 10"},
		{"limits: {answer_within: 0s}", "from 1s to 10m0s"},
		{"limits: {answer_within: 11m}", "from 1s to 10m0s"},
		{"limits: {answer_within: 45}", "add the unit"},
		{"log: {level: verbose}", "allowed: debug, info, warn, error"},
		{"technicians: {group: \"a b\"}", "is not the name of a group"},
		{"journal: {max_size: 256MB}", "such as 256MiB"},
		{"journal: {max_size: 256}", "max_size 256 has no unit; write KiB, MiB or GiB behind the number, such as 256MiB"},
		{"journal: {max_size: true}", "expected a text"},
		{"journal: {max_size: 1KiB}", "from 1MiB to 16384GiB"},
		{"journal: {max_size: 999999999999GiB}", "from 1MiB to 16384GiB"},
		{"journal: {max_age: 1h}", "give that or more"},
		{"journal: {max_age: 90d}", "a day is 24h"},
		{"config: capd/v1", "already at"},
	} {
		conf, ps := load(t, "config: capd/v1\n"+c.line+"\n")
		var errs []string
		for _, p := range ps {
			if !p.Warning {
				errs = append(errs, p.Error())
			}
		}
		if len(errs) != 1 || !strings.Contains(errs[0], c.want) || !strings.Contains(errs[0], "capd.yaml:2:") {
			t.Errorf("%s:\n got %q\nwant one with %q and the line", c.line, errs, c.want)
		}
		if !reflect.DeepEqual(conf, Config{}) {
			t.Errorf("%s: a wrong file gave settings: %+v", c.line, conf)
		}
	}
}

func TestEveryProblemIsReportedInTheOrderOfTheFile(t *testing.T) {
	_, ps := load(t, "config: capd/v2\nlimits: {answer_within: 0s}\nmode: x\n")
	if len(ps) != 3 || ps[0].Pos.Line != 1 || ps[1].Pos.Line != 2 || ps[2].Pos.Line != 3 {
		t.Errorf("problems:\n%v", ps)
	}
}

func TestAFileWithoutAVersionLineIsRefused(t *testing.T) {
	for _, text := range []string{"", "mode: active\n", "[]", "{", "\xff"} {
		if _, ps := load(t, text); ps.Err() == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestDoubtfulSettingsAreWarnings(t *testing.T) {
	for line, want := range map[string]string{
		`mcp: {listen: "0.0.0.0:7420"}`:                              "name the box in mcp.allowed_hosts",
		`mcp: {listen: ":7420"}`:                                     "other machines can reach",
		`mcp: {listen: "192.168.1.5:7420", allowed_hosts: [gw.lan]}`: "put a TLS proxy in front",
		"limits: {answer_within: 2m}":                                "give up after 60s",
	} {
		c, ps := load(t, "config: capd/v1\n"+line+"\n")
		if len(ps) != 1 || !ps[0].Warning || !strings.Contains(ps[0].Error(), want) || c.Mode == "" {
			t.Errorf("%s: problems %v, config %+v", line, ps, c)
		}
	}
}

func TestLoopbackAddressesAreNoWarning(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "127.8.8.8:7420", "[::1]:7420", "localhost:7420", "[::ffff:127.0.0.1]:7420"} {
		if _, ps := load(t, "config: capd/v1\nmcp: {listen: \""+address+"\"}\n"); len(ps) > 0 {
			t.Errorf("%s: %v", address, ps)
		}
	}
}

func TestAFileThatCannotBeReadIsAnErrorAndNoProblem(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "capd.yaml")
	_, ps, err := Load(missing)
	if !errors.Is(err, fs.ErrNotExist) || ps != nil || !strings.Contains(err.Error(), missing) || !strings.Contains(err.Error(), "--config") {
		t.Errorf("missing file: problems %v, error %v", ps, err)
	}
	if _, ps, err = Load(t.TempDir()); err == nil || ps != nil {
		t.Errorf("a folder: problems %v, error %v", ps, err)
	}
	if os.Getuid() == 0 {
		return // root may read everything
	}
	secret := write(t, full)
	if err := os.Chmod(secret, 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err = Load(secret); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "let the daemon's user read it") {
		t.Errorf("unreadable file: %v", err)
	}
}

func TestAHugeFileIsRefusedWithoutReadingItAll(t *testing.T) {
	path := write(t, "")
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	_, ps, err := Load(path)
	if err != nil || ps.Err() == nil {
		t.Errorf("problems %v, error %v", ps, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(`{"config":"capd/v1","mcp":{"listen":":1"}}`))
	f.Add([]byte("config: capd/v1\njournal: {max_size: 16384GiB}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, ps := parse("/etc/capd/capd.yaml", data)
		if ps.Err() != nil {
			return
		}
		for _, folder := range []string{c.Folders.Assets, c.Folders.Contracts, c.Folders.Profiles, c.Folders.State, c.Folders.Run} {
			if !filepath.IsAbs(folder) {
				t.Errorf("folder %q is not absolute", folder)
			}
		}
		if c.Resolver.TopK < 1 || c.Resolver.TopK > c.Resolver.MaxTools || c.Limits.AnswerWithin < minAnswer || c.Journal.MaxSize < minJournal ||
			c.Journal.MaxAge < minAge || c.Technicians.Group == "" {
			t.Errorf("out of limits: %+v", c)
		}
	})
}
