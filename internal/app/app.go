// Package app builds capd out of its rooms, runs it and takes it down again.
//
// Its promise: one ordered construction, every part built before the first that needs it; a reload that changes everything or
// what is good of it; and a stop that first closes the doors, then lets writes under way end, then the wires, then the disk.
// It decides nothing itself.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"capd/internal/access"
	"capd/internal/config"
	"capd/internal/field"
	"capd/internal/hal"
	"capd/internal/hal/modbus"
	"capd/internal/health"
	"capd/internal/invoke"
	"capd/internal/journal"
	"capd/internal/mcpserver"
	"capd/internal/registry"
	"capd/internal/standing"
	"capd/internal/store"
)

// Options is what the command line decides.
type Options struct {
	ConfigPath string
	Version    string
	Log        *slog.Logger
	Level      *slog.LevelVar // set to the configured level
	// OwnUIDIsTechnician makes the daemon's own user a technician on the status socket, as the demo needs it.
	OwnUIDIsTechnician bool
	// Ready is called once, when every door is open; it may be nil.
	Ready func(Ready) error
}

// Ready says how to reach a daemon that has started.
type Ready struct {
	MCPURL string `json:"mcp_url"`
	Socket string `json:"socket"`
}

// stopTime is how long writes under way may take when capd stops.
const stopTime = 10 * time.Second

// startGC lets the heap grow further between collections while everything is built: a start makes much garbage once, and the
// collector would take an eighth of its time. What it grew to goes back to the system when the doors are open.
const startGC = 400

// storeFormat is the layout of registry.db that this version reads and writes.
const storeFormat = 1

// core is everything behind the doors.
type core struct {
	config   config.Config
	db       *store.DB
	journal  *journal.Journal
	marks    *marks
	standing *standing.Standing
	breakers *health.Breakers
	alarms   *health.Alarms
	policy   access.Policy
	tokens   *access.Tokens
	field    *field.Field
	registry *registry.Registry
	corridor *invoke.Corridor
	agents   *mcpserver.Server
	watch    *folderWatch
	reading  reading
}

// drivers is every protocol that this binary speaks.
func drivers() []hal.Driver { return []hal.Driver{modbus.New()} }

// Run runs capd until ctx ends or a signal asks it to stop.
func Run(ctx context.Context, o Options) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	c, problems, err := config.Load(o.ConfigPath)
	if err != nil {
		return err
	}
	if err := problems.Err(); err != nil {
		return fmt.Errorf("the configuration is not usable:\n%w", err)
	}
	for _, p := range problems {
		o.Log.Warn("configuration", "problem", p.Error())
	}
	if o.Level != nil {
		o.Level.Set(c.Log.Level)
	}
	normal := debug.SetGCPercent(startGC)
	k, err := build(ctx, c, o)
	debug.SetGCPercent(normal)
	if err != nil {
		return err
	}
	err = serve(ctx, k, o)
	return errors.Join(err, k.close(o.Log))
}

// build makes everything behind the doors, in the order in which each part needs the ones before it.
func build(ctx context.Context, c config.Config, o Options) (*core, error) {
	k := &core{config: c, policy: access.NewPolicy(c.Roles)}
	for _, step := range []func(context.Context, Options) error{k.openState, k.openBox, k.openPlant} {
		if err := step(ctx, o); err != nil {
			return nil, errors.Join(err, k.close(o.Log))
		}
	}
	return k, nil
}

// openState opens the disk: the registry's file and the journal.
func (k *core) openState(ctx context.Context, _ Options) (err error) {
	if err := os.MkdirAll(k.config.Folders.State, 0o700); err != nil {
		return fmt.Errorf("the state folder cannot be made: %w; set folders.state in capd.yaml to a folder that capd may write", err)
	}
	path := filepath.Join(k.config.Folders.State, "registry.db")
	if k.db, err = store.Open(path, store.Options{Format: storeFormat}); err != nil {
		return stateProblem(path, err)
	}
	path = filepath.Join(k.config.Folders.State, "journal")
	k.journal, k.marks, err = openJournal(ctx, k.db, path, journal.Options{MaxTotal: k.config.Journal.MaxSize, MaxAge: k.config.Journal.MaxAge})
	if err != nil {
		return stateProblem(path, err)
	}
	return nil
}

// openBox opens what stands at the box: mode, lockouts, breakers, alarms, tokens.
func (k *core) openBox(_ context.Context, o Options) (err error) {
	if k.standing, err = standing.Open(k.db, k.freshMode(), time.Now); err != nil {
		return err
	}
	if k.breakers, err = health.OpenBreakers(k.db, time.Now); err != nil {
		return err
	}
	if k.alarms, err = health.OpenAlarms(k.db, time.Now); err != nil {
		return err
	}
	if err := k.tellLoss(o.Log); err != nil {
		return err
	}
	k.tokens, err = access.NewTokens(k.db, k.policy, time.Now)
	return err
}

// openPlant opens the way to the machines and publishes what is in force, then takes up what an earlier life left open.
func (k *core) openPlant(ctx context.Context, o Options) error {
	k.field = field.New(o.Log, field.Options{Poll: true})
	k.registry = registry.New(k.db, drivers(), o.Log, func(s *registry.Snapshot) { k.published(ctx, s, o.Log) })
	k.corridor = invoke.New(ctx, invoke.Deps{Snapshots: k.registry, Machine: k.field, Journal: k.journal, Policy: k.policy, Standing: k.standing,
		Breakers: k.breakers, Alarms: k.alarms, Log: o.Log, AnswerWithin: k.config.Limits.AnswerWithin})
	agents, err := newAgentsDoor(k, o)
	if err != nil {
		return err
	}
	k.agents = agents
	k.watch = openWatch(k.folders(), o.Log)
	if _, err := k.publish(ctx); err != nil {
		return err
	}
	return k.corridor.Recover(ctx)
}

// published brings a new snapshot to those that hold something of the old one: the links, and the agents' lists of tools.
func (k *core) published(ctx context.Context, s *registry.Snapshot, log *slog.Logger) {
	if err := k.field.Apply(ctx, s.Binding); err != nil {
		log.Error("links not fully drained", "error", err)
	}
	k.agents.Publish(s)
}

// close takes down what was built, in the opposite order; the doors are closed already.
func (k *core) close(log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	var all []error
	if k.agents != nil {
		k.agents.Close()
	}
	if k.watch != nil {
		all = append(all, k.watch.close())
	}
	if k.corridor != nil {
		all = append(all, k.corridor.Close(ctx))
	}
	if k.field != nil {
		all = append(all, k.field.Close(ctx))
	}
	if k.alarms != nil {
		all = append(all, k.alarms.Flush())
	}
	if k.journal != nil {
		all = append(all, k.journal.Close(), k.marks.follow())
	}
	if k.db != nil {
		all = append(all, k.db.Close())
	}
	err := errors.Join(all...)
	if err != nil {
		log.Error("not everything closed cleanly", "error", err)
	}
	return err
}
