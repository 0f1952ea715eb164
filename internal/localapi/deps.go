package localapi

import (
	"context"
	"log/slog"
	"time"

	"capd/internal/access"
	"capd/internal/field"
	"capd/internal/health"
	"capd/internal/invoke"
	"capd/internal/journal"
	"capd/internal/physical"
	"capd/internal/registry"
	"capd/internal/standing"
)

// Corridor is where calls go; package invoke has one.
type Corridor interface {
	Call(ctx context.Context, req invoke.Request) invoke.Answer
	Visible(s access.Subject, p *access.Profile) []*registry.Action
	Explain(ctx context.Context, s access.Subject, id string, wait time.Duration) (invoke.Record, bool)
	Recent(limit int) []invoke.Record
	Running() []invoke.Running
}

// Snapshots gives what is in force now.
type Snapshots interface{ Snapshot() *registry.Snapshot }

// Machine is the plant as the people at the box see it; package field is one.
type Machine interface {
	// ReadCached answers from readings not older than maxAge, else afresh.
	ReadCached(ctx context.Context, refs []string, maxAge time.Duration) map[string]physical.Reading
	// Last is the last reading of a point; false when it was never read.
	Last(ref string) (physical.Reading, bool)
	// Stats are the figures of every link and device.
	Stats() []field.LinkStatus
}

// Journal is where changes at the box are written down; package journal is one.
type Journal interface {
	Append(ctx context.Context, kind journal.Kind, payload any) (journal.Seq, error)
	Stats() journal.Stats
}

// Tokens issues tokens; package access has them.
type Tokens interface {
	Create(spec access.TokenSpec) (secret string, token access.Token, err error)
	Revoke(idOrName string) (access.Token, error)
	List() []access.Token
}

// Deps is everything the door works with. All fields are needed but those that say otherwise.
type Deps struct {
	Version   string // of capd
	Log       *slog.Logger
	Corridor  Corridor
	Snapshots Snapshots
	Machine   Machine
	Journal   Journal
	Standing  *standing.Standing
	Breakers  *health.Breakers
	Alarms    *health.Alarms
	Policy    access.Policy
	Tokens    Tokens
	// Reload reads the folders again and publishes them; the error means that nothing changed.
	Reload func(ctx context.Context) (*registry.Snapshot, error)
	// Unread is why the folders could not be read and published last, nil if they were; without it they always were.
	Unread func() error
	// StoreSize is the size of the state file in bytes; nil when it is not known.
	StoreSize func() int64
	// MCPURL is where agents connect; empty when they cannot.
	MCPURL string
	// Technicians is the name of the system's group whose members may change things; empty: only root may.
	Technicians string
	// OwnUIDIsTechnician makes the daemon's own user a technician too, as the demo needs it.
	OwnUIDIsTechnician bool
}
