package invoke_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"capd/internal/access"
	"capd/internal/hal"
	"capd/internal/health"
	"capd/internal/invoke"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/registry"
	"capd/internal/standing"
	"capd/internal/store"
)

// bubble is a corridor over the machine on paper, with exact times.
type bubble struct {
	t        *testing.T
	dir      string
	machine  *machine
	journal  *memory
	db       *store.DB
	standing *standing.Standing
	breakers *health.Breakers
	alarms   *health.Alarms
	registry *registry.Registry
	corridor *invoke.Corridor
}

// inBubble runs a test with a corridor of its own; at the end nothing of it may be left running.
func inBubble(t *testing.T, test func(t *testing.T, b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{t: t, dir: t.TempDir(), machine: newMachine(), journal: newMemory()}
		writePaper(t, b.dir)
		b.open()
		test(t, b)
		b.close()
	})
}

func (b *bubble) open() {
	b.t.Helper()
	var err error
	b.db, err = store.Open(filepath.Join(b.dir, "registry.db"), store.Options{Format: 1})
	must(b.t, err)
	b.standing, err = standing.Open(b.db, standing.Active, time.Now)
	must(b.t, err)
	b.breakers, err = health.OpenBreakers(b.db, time.Now)
	must(b.t, err)
	b.alarms, err = health.OpenAlarms(b.db, time.Now)
	must(b.t, err)
	b.registry = registry.New(b.db, []hal.Driver{paper{}}, quiet())
	b.publish()
	b.corridor = invoke.New(context.Background(), invoke.Deps{Snapshots: b.registry, Machine: b.machine, Journal: b.journal,
		Policy: access.NewPolicy(map[string][]string{"operator": {"*:read", "*:write", "see:critical"}}), Standing: b.standing, Breakers: b.breakers, Alarms: b.alarms, Log: quiet()})
	must(b.t, b.corridor.Recover(b.t.Context()))
}

// publish puts the files in force, as a start or a reload does.
func (b *bubble) publish() {
	b.t.Helper()
	candidate, err := registry.ReadFolders(registry.Folders{Assets: filepath.Join(b.dir, "assets.d"), Contracts: filepath.Join(b.dir, "contracts.d"),
		Profiles: filepath.Join(b.dir, "profiles.d")})
	must(b.t, err)
	snap, err := b.registry.Publish(b.t.Context(), candidate)
	must(b.t, err)
	for _, r := range snap.Rejected {
		b.t.Fatalf("%s: %v", r.File, r.Problems)
	}
}

func (b *bubble) close() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	must(b.t, b.corridor.Close(ctx))
	must(b.t, b.db.Close())
	synctest.Wait()
}

// restart is what a new process finds.
func (b *bubble) restart() {
	b.t.Helper()
	b.close()
	b.open()
}

func agent(name string) access.Subject {
	return access.Subject{ID: "token:" + name, Name: name, Roles: []string{"operator"}, Scopes: []string{"site:x"}}
}

func to(percent float64) map[string]any { return map[string]any{"to": percent} }

// call makes one call as agent a and waits for its answer.
func (b *bubble) call(action string, args map[string]any) invoke.Answer {
	return b.ask(invoke.Request{Action: action, Args: args})
}

func (b *bubble) ask(req invoke.Request) invoke.Answer {
	if req.Subject.ID == "" {
		req.Subject = agent("a")
	}
	return b.corridor.Call(context.Background(), req)
}

// start makes a call and goes on; the answer comes through the channel.
func (b *bubble) start(req invoke.Request) <-chan invoke.Answer {
	out := make(chan invoke.Answer, 1)
	go func() { out <- b.ask(req) }()
	return out
}

// wants holds an answer's shape against what is wanted.
func (b *bubble) wants(what string, a invoke.Answer, want string) {
	b.t.Helper()
	if got := shape(a); got != want {
		b.t.Errorf("%s\ngot  %s\nwant %s\n%s", what, got, want, a.Text())
	}
}

func isUnsettled(b *bubble, asset string) bool {
	_, marked := b.standing.Unsettled(asset)
	return marked
}

func TestTheMachineOnPaperWorks(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.wants("set", b.call("set_valve", to(60)), "confirmed E4 - - -")
		b.wants("start", b.call("start_pump", nil), "confirmed E4 - - -")
		b.wants("stop", b.call("stop_pump", nil), "confirmed E4 - - -")
		b.wants("close", b.call("close_valve", nil), "confirmed E4 - - -")
		b.wants("nudge", b.call("nudge_valve", to(20)), "confirmed E4 - - -")
		b.wants("fill", b.call("fill", to(60)), "confirmed E4 - - -")
		b.wants("read", b.call("read_position", nil), "observed - - - -")
		if a := b.call("read_position", nil); a.Verdict != outcome.Observed || a.Values["position"].Value.String() != "60" {
			t.Error(a.Text())
		}
	})
}

func on() physical.Value  { return physical.FlagOf(true) }
func off() physical.Value { return physical.FlagOf(false) }
