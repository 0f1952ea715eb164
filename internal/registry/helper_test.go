package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capd/internal/document"
	"capd/internal/hal"
	"capd/internal/physical"
	"capd/internal/store"
)

// place is the fake driver's address: at: {n: 1, kind: number|bool|text}.
type place struct {
	n    int64
	kind physical.Kind
}

func (p place) String() string                          { return fmt.Sprint("place ", p.n) }
func (p place) Kind() physical.Kind                     { return p.kind }
func (p place) Integer() bool                           { return true }
func (p place) Encode(v physical.Value) ([]byte, error) { return []byte(v.String()), nil }
func (p place) Overlaps(o hal.Address) bool             { q := o.(place); return p.n/10 == q.n/10 && p.n != q.n }

// paper is a driver that checks and never opens anything.
type paper struct{}

func (paper) Name() string                                               { return "paper" }
func (paper) Transports() []string                                       { return []string{"paper"} }
func (paper) CheckLink(hal.LinkSpec) document.Problems                   { return nil }
func (paper) CheckDevice(hal.LinkSpec, hal.DeviceSpec) document.Problems { return nil }
func (paper) Open(hal.LinkSpec, []hal.DeviceSpec) (hal.Conn, error) {
	return nil, errors.ErrUnsupported
}
func (paper) CheckPoint(_ hal.LinkSpec, _ hal.DeviceSpec, p hal.PointSpec) (hal.Address, document.Problems) {
	n, ok := p.At.Get("n").Int()
	if !ok {
		return nil, document.Problems{p.At.Problem("paper", "", "no n")}
	}
	kind := map[string]physical.Kind{"": physical.Number, "bool": physical.Bool, "text": physical.Text}[p.At.Get("kind").Text()]
	return place{n, kind}, nil
}

// box is a registry over three folders and a store, as a daemon has it.
type box struct {
	t   testing.TB
	dir string
	db  *store.DB
	*Registry
}

func newBox(t testing.TB) *box {
	t.Helper()
	b := &box{t: t, dir: t.TempDir()}
	for _, folder := range []string{"assets.d", "contracts.d", "profiles.d"} {
		must(t, os.Mkdir(filepath.Join(b.dir, folder), 0o755))
	}
	b.start()
	t.Cleanup(func() { must(t, b.db.Close()) })
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *box) start(subscribers ...func(*Snapshot)) {
	b.t.Helper()
	var err error
	b.db, err = store.Open(filepath.Join(b.dir, "registry.db"), store.Options{Format: 1})
	must(b.t, err)
	b.Registry = New(b.db, []hal.Driver{paper{}}, slog.New(slog.DiscardHandler), subscribers...)
	b.program = "this program"
}

// restart is what a new process finds.
func (b *box) restart() {
	b.t.Helper()
	must(b.t, b.db.Close())
	b.start()
}

// write writes files, given as name and content in turn; "" removes one.
func (b *box) write(files ...string) {
	b.t.Helper()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(b.dir, files[i])
		if files[i+1] == "" {
			must(b.t, os.Remove(path))
			continue
		}
		must(b.t, os.WriteFile(path, []byte(files[i+1]), 0o600))
	}
}

func (b *box) folders() Folders {
	return Folders{Assets: filepath.Join(b.dir, "assets.d"), Contracts: filepath.Join(b.dir, "contracts.d"), Profiles: filepath.Join(b.dir, "profiles.d")}
}

// publish reads the folders and publishes them.
func (b *box) publish() *Snapshot {
	b.t.Helper()
	c, err := ReadFolders(b.folders())
	must(b.t, err)
	s, err := b.Publish(context.Background(), c)
	must(b.t, err)
	if s != b.Snapshot() {
		b.t.Fatal("the snapshot given is not the one in force")
	}
	return s
}

// rejected gives what is not in force: file name, what serves, and the problems without their folder.
func (b *box) rejected(s *Snapshot) map[string]string {
	out := map[string]string{}
	for _, r := range s.Rejected {
		serving, _, _ := strings.Cut(r.Serving, " version")
		out[filepath.Base(r.File)] = serving + ": " + strings.ReplaceAll(r.Problems.Error(), b.dir+"/", "")
	}
	return out
}

// expect publishes and compares the names in force and the rejected files; each want is "file: part of the text".
func (b *box) expect(names string, wants ...string) *Snapshot {
	b.t.Helper()
	s := b.publish()
	if got := strings.Join(s.Names(), " "); got != names {
		b.t.Errorf("in force: %s, want %s", got, names)
	}
	rejected := b.rejected(s)
	for _, want := range wants {
		file, text, _ := strings.Cut(want, ": ")
		if got, ok := rejected[file]; !ok || !strings.Contains(got, text) {
			b.t.Errorf("%s: got %q, want %q", file, got, text)
		}
	}
	if len(rejected) != len(wants) {
		b.t.Errorf("rejected: %v, want %d", rejected, len(wants))
	}
	return s
}

const plant = `inventory: capd/v1
links: {NET: {transport: paper}}
devices: {PLC: {link: NET}}
assets:
  VALVE:
    device: PLC
    location: plant/x
    points:
      setpoint: {at: {n: 10}, unit: "%", role: setpoint, access: read_write, envelope: {min: 0, max: 100}}
      position: {at: {n: 20}, unit: "%", role: feedback}
      open: {at: {n: 30, kind: bool}, role: status}
      secret: {at: {n: 40}, unit: "%", role: setpoint, access: write, envelope: {min: 0, max: 100}}
      mode: {at: {n: 50}, role: status, labels: {0: local, 1: remote}}
  PUMP:
    device: PLC
    points:
      speed: {at: {n: 60}, unit: "Hz", role: process}
      run: {at: {n: 70, kind: bool}, role: setpoint, access: read_write}
`

const head = "contract: capd/v1\ntool: valve\nversion: 1.0.0\ntitle: Valve\nasset: VALVE\n" +
	"points: {setpoint: VALVE.setpoint, position: VALVE.position, open: VALVE.open, secret: VALVE.secret, mode: VALVE.mode, speed: PUMP.speed, run: PUMP.run}\nactions:\n"

const readAction = "  read: {effect: read, description: Reads., returns: [position]}\n"

// reading is a contract of one read under a tool's name.
func reading(tool string) string {
	return strings.Replace(head, "tool: valve", "tool: "+tool, 1) + readAction
}

// moving is a contract with one actuation, "valve_move", whose action begins at line 8; edits replace parts of it.
func moving(edits ...string) string {
	source := head + `  move:
    effect: actuate
    description: Moves.
    parameters: {type: object, additionalProperties: false, required: [opening], properties: {opening: {type: number, minimum: 0, maximum: 100, x-unit: "%", description: Opening}}}
    security: {permissions: [valve:write]}
    permits: [{id: remote, when: 'mode == "remote"', max_age: 1s, reason: Not in remote}]
    execute: [{write: setpoint, value: opening}]
    verify: {min_level: E4, within: 15s, expect: [{point: position, near: opening, tolerance: 1}]}
`
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(source, edits[i]) {
			panic("no " + edits[i])
		}
		source = strings.Replace(source, edits[i], edits[i+1], 1)
	}
	return source
}

func profile(name string) string { return "profile: capd/v1\nname: " + name + "\ntitle: X\n" }

func names(m []string) string { slices.Sort(m); return strings.Join(m, " ") }
