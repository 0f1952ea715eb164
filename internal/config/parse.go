package config

import (
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"capd/internal/document"
)

// Limits of the values. They keep a slip of the pen from reaching the plant floor, no more.
const (
	maxTools      = 1000
	minAnswer     = time.Second
	maxAnswer     = 10 * time.Minute
	minJournal    = 1 << 20
	minAge        = 24 * time.Hour // a request_id is answered from the journal for so long
	usualPatience = time.Minute    // of MCP clients
)

var (
	rolePattern       = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,47}$`)
	permissionPattern = regexp.MustCompile(`^(\*|[a-z0-9_-]+)(:(\*|[a-z0-9_-]+)){0,7}$`)
	groupPattern      = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}\$?$`)
	sizePattern       = regexp.MustCompile(`^([1-9][0-9]{0,11})(KiB|MiB|GiB)$`)
)

// parse reads the bytes of the file at an absolute path.
func parse(path string, data []byte) (Config, document.Problems) {
	n, ps := document.Parse(path, data)
	if ps.Err() != nil {
		return Config{}, ps
	}
	r := &reader{ps: &ps, folder: filepath.Dir(path)}
	c := r.config(document.NewMap(n, &ps))
	if ps.Err() != nil {
		return Config{}, ps.Sorted()
	}
	return c, ps.Sorted()
}

// reader is the work on one file.
type reader struct {
	ps     *document.Problems
	folder string // where relative paths start
}

func (r *reader) config(m *document.Map) Config {
	c := Default()
	m.Required("config")
	m.Enum("config", Version)
	if mode := m.Enum("mode", "observe", "shadow", "active"); mode != "" {
		c.Mode = mode
	}
	r.mcp(m.Map("mcp"), &c.MCP)
	r.folders(m.Map("folders"), &c.Folders)
	if roles := m.Map("roles"); roles != nil {
		c.Roles = r.roles(roles)
	}
	r.resolver(m.Map("resolver"), &c.Resolver)
	r.limits(m.Map("limits"), &c.Limits)
	r.log(m.Map("log"), &c.Log)
	r.technicians(m.Map("technicians"), &c.Technicians)
	r.journal(m.Map("journal"), &c.Journal)
	m.Done()
	return c
}

func (r *reader) folders(m *document.Map, f *Folders) {
	owner := map[string]string{}
	for _, e := range []struct {
		key string
		to  *string
	}{{"assets", &f.Assets}, {"contracts", &f.Contracts}, {"profiles", &f.Profiles}, {"state", &f.State}, {"run", &f.Run}} {
		if m.Has(e.key) {
			*e.to = r.path(m, e.key, *e.to)
		}
		if other, taken := owner[*e.to]; taken {
			m.Problem(e.key, "%s is also the folder of %s; give each a folder of its own", *e.to, other)
		}
		owner[*e.to] = e.key
	}
	m.Done()
}

// path is the absolute path of a value; standing is what it is when the value is wrong.
func (r *reader) path(m *document.Map, key, standing string) string {
	path, ok := m.Node(key).ReadString(r.ps)
	switch {
	case !ok:
		return standing
	case path == "":
		m.Problem(key, "the path is empty; leave the key out for %s", standing)
		return standing
	case strings.HasPrefix(path, "~") || strings.Contains(path, "$"):
		m.Problem(key, "%q is not expanded by a shell; write the path itself", path)
		return standing
	case strings.ContainsRune(path, 0):
		m.Problem(key, "the path %q holds a zero byte; remove it", path)
		return standing
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	}
	return filepath.Join(r.folder, path)
}

func (r *reader) roles(m *document.Map) map[string][]string {
	roles := map[string][]string{}
	m.Each(func(role string, _ *document.Node) {
		if !rolePattern.MatchString(role) {
			m.Problem(role, "the role %q is not allowed; use a-z, 0-9, - and _, beginning with a letter, at most 48", role)
		}
		patterns := m.Strings(role)
		for _, p := range patterns {
			if !permissionPattern.MatchString(p) {
				m.Problem(role, "%q is not a permission; write parts of a-z, 0-9, - and _ with colons between them, such as valve:write, "+
					"and * for a whole part, such as *:read", p)
			}
		}
		roles[role] = patterns
	})
	return roles
}

func (r *reader) resolver(m *document.Map, to *Resolver) {
	to.MaxTools = r.count(m, "max_tools", to.MaxTools)
	if to.TopK = min(to.TopK, to.MaxTools); m.Has("top_k") {
		to.TopK = r.count(m, "top_k", to.TopK)
	}
	if to.TopK > to.MaxTools {
		m.Problem("top_k", "top_k %d is above max_tools %d: an agent with more tools would see more of them; give %d or less", to.TopK, to.MaxTools, to.MaxTools)
	}
	m.Done()
}

// count reads a number of tools; standing is what it is when the key is absent or wrong.
func (r *reader) count(m *document.Map, key string, standing int) int {
	if !m.Has(key) {
		return standing
	}
	n, ok := m.Node(key).ReadInt(r.ps)
	if !ok {
		return standing
	}
	if n < 1 || n > maxTools {
		m.Problem(key, "%s must be from 1 to %d, not %d", key, maxTools, n)
		return standing
	}
	return int(n)
}

func (r *reader) limits(m *document.Map, to *Limits) {
	if m.Has("answer_within") {
		d, ok := m.Node("answer_within").ReadDuration(r.ps)
		switch {
		case !ok:
		case d < minAnswer || d > maxAnswer:
			m.Problem("answer_within", "answer_within must be from %s to %s, not %s", minAnswer, maxAnswer, d)
		case d >= usualPatience:
			r.warn(m, "answer_within", "leave it below 60s", "many MCP clients give up after 60s, so an answer after %s reaches nobody", d)
		}
		to.AnswerWithin = d
	}
	m.Done()
}

func (r *reader) log(m *document.Map, to *Log) {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	if level, ok := levels[m.Enum("level", "debug", "info", "warn", "error")]; ok {
		to.Level = level
	}
	m.Done()
}

func (r *reader) technicians(m *document.Map, to *Technicians) {
	if m.Has("group") {
		group, ok := m.Node("group").ReadString(r.ps)
		if ok && !groupPattern.MatchString(group) {
			m.Problem("group", "%q is not the name of a group; write it as in /etc/group", group)
		}
		to.Group = group
	}
	m.Done()
}

func (r *reader) journal(m *document.Map, to *Journal) {
	if m.Has("max_size") {
		to.MaxSize = r.size(m, "max_size")
	}
	if m.Has("max_age") {
		d, ok := m.Node("max_age").ReadDuration(r.ps)
		if ok && d < minAge {
			m.Problem("max_age", "max_age %s is too short: a request_id is answered from the journal for %s; give that or more", d, minAge)
		}
		to.MaxAge = d
	}
	m.Done()
}

// size reads "256MiB".
func (r *reader) size(m *document.Map, key string) int64 {
	if n := m.Node(key); n.Kind() == document.Number {
		m.Problem(key, "%s %s has no unit; write KiB, MiB or GiB behind the number, such as 256MiB", key, n.Text())
		return 0
	}
	text, ok := m.Node(key).ReadString(r.ps)
	if !ok {
		return 0
	}
	units := []string{"KiB", "MiB", "GiB"}
	parts := sizePattern.FindStringSubmatch(text)
	if parts == nil {
		m.Problem(key, "%q is not a size; write a whole number with KiB, MiB or GiB, such as 256MiB", text)
		return 0
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	shift := 10 * (1 + slices.Index(units, parts[2]))
	if err != nil || n > 1<<44>>shift || n<<shift < minJournal {
		m.Problem(key, "%s must be from 1MiB to 16384GiB, not %s", key, text)
		return 0
	}
	return n << shift
}

// warn adds a finding that leaves the file usable.
func (r *reader) warn(m *document.Map, key, hint, format string, args ...any) {
	p := m.Node(key).Problem(document.RuleValue, hint, format, args...)
	p.Warning = true
	r.ps.Add(p)
}
