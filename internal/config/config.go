// Package config reads capd.yaml: the static settings of the daemon, read once at start.
//
// Its promise: what Load returns without problems is complete, every value lies in its limits, every path is absolute, and
// what the file does not say has the default of Default. A file that cannot be read is an error; a file that is wrong is a
// list of problems with file, line and next step. It never reads the environment, never makes folders, never opens
// anything but the one file, and never lets a file be half in force.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"capd/internal/document"
)

// Version is the value of the `config` key that this package reads.
const Version = "capd/v1"

// DefaultPath is where a packaged capd has its settings.
const DefaultPath = "/etc/capd/capd.yaml"

// Config is the settings of one daemon. Treat it as read-only.
type Config struct {
	// Mode is the mode of a fresh state folder: observe, shadow or active. Later the mode in the state folder counts.
	Mode        string
	MCP         MCP
	Folders     Folders
	Roles       map[string][]string // permission patterns by role, such as operator: valve:write, *:read
	Resolver    Resolver
	Limits      Limits
	Log         Log
	Technicians Technicians
	Journal     Journal
}

// MCP is where agents connect.
type MCP struct {
	Listen         string   // IP:port or localhost:port; port 0 takes a free one
	AllowedOrigins []string // scheme://host[:port], besides those of the loopback
	AllowedHosts   []string // host[:port] in the Host header, besides the loopback's names
}

// Folders are absolute paths.
type Folders struct {
	Assets, Contracts, Profiles string // read again whenever a file in them changes
	State                       string // registry.db, journal/
	Run                         string // sockets
}

// Resolver bounds what an agent's list of tools holds, where its profile says nothing else.
type Resolver struct {
	MaxTools int // up to so many permitted tools are all listed
	TopK     int // of more, so many are listed besides the pinned ones
}

// Limits bounds every call.
type Limits struct {
	AnswerWithin time.Duration // a call whose verdict takes longer answers pending
}

// Log is what the daemon writes to its log.
type Log struct{ Level slog.Level }

// Technicians are the people who may change things at the box, besides root.
type Technicians struct{ Group string } // the name of a group of the system

// Journal bounds the record of what was done. The older part goes first.
type Journal struct {
	MaxSize int64 // bytes
	MaxAge  time.Duration
}

// Default is the settings where a file says nothing: a box that observes, listens on the loopback, and knows one role, viewer,
// that may read.
func Default() Config {
	return Config{
		Mode: "observe",
		MCP:  MCP{Listen: "127.0.0.1:7420"},
		Folders: Folders{Assets: "/etc/capd/assets.d", Contracts: "/etc/capd/contracts.d", Profiles: "/etc/capd/profiles.d",
			State: "/var/lib/capd", Run: "/run/capd"},
		Roles:       map[string][]string{"viewer": {"*:read"}},
		Resolver:    Resolver{MaxTools: 20, TopK: 12},
		Limits:      Limits{AnswerWithin: 45 * time.Second},
		Log:         Log{Level: slog.LevelInfo},
		Technicians: Technicians{Group: "capd-tech"},
		Journal:     Journal{MaxSize: 256 << 20, MaxAge: 90 * 24 * time.Hour},
	}
}

// Load reads a file. The error says that it could not be read; problems say what is wrong in it, and only if all of them are
// warnings may the Config be used. Relative paths in it start from the file's own folder.
func Load(path string) (Config, document.Problems, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Config{}, nil, fmt.Errorf("config: %w", err)
	}
	data, err := read(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, nil, fmt.Errorf("config: %w; name the file with --config, or put one there with the line \"config: %s\"", err, Version)
	}
	if errors.Is(err, fs.ErrPermission) {
		return Config{}, nil, fmt.Errorf("config: %w; let the daemon's user read it", err)
	}
	if err != nil {
		return Config{}, nil, fmt.Errorf("config: %w", err)
	}
	c, ps := parse(abs, data)
	return c, ps, nil
}

// read gives a file's bytes, one more than a document may have at most.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, document.MaxBytes+1))
	return data, errors.Join(err, f.Close())
}
