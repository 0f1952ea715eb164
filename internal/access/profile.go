package access

import (
	"regexp"
	"strings"

	"capd/internal/document"
)

// ProfileVersion is the value of the `profile` key that this package reads.
const ProfileVersion = "capd/v1"

// Profile is what a kind of agent is shown. It narrows, it never grants: a tool that it permits still needs its permissions and
// scopes. Treat it as read-only.
type Profile struct {
	Name     string
	Title    string
	Tools    []string // globs of the tools it shows
	All      bool     // the file has no `tools`: it shows all; an empty list shows none
	Deny     []string // globs of the tools it hides, whatever Tools says
	Tags     []string // tags that rank first
	Pinned   []string // tools that are always listed, in this order
	TopK     int      // 0: as capd.yaml says
	MaxTools int      // 0: as capd.yaml says
	Sources  []string // upstream servers it is limited to; see AllSources
	// AllSources: the file has no `sources`.
	AllSources bool
	Pos        document.Pos
}

var (
	profilePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,47}$`) // it is part of a URL
	globPattern    = regexp.MustCompile(`^[A-Za-z0-9_.:/*?-]{1,128}$`)
	toolPattern    = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,128}$`)
)

// maxListed bounds top_k and max_tools.
const maxListed = 1000

// ParseProfile reads one profile file. The Profile may be used if every problem is a warning.
func ParseProfile(n *document.Node) (*Profile, document.Problems) {
	var ps document.Problems
	m := document.NewMap(n, &ps)
	m.Required("profile", "name")
	m.Enum("profile", ProfileVersion)
	p := &Profile{Name: m.String("name"), Title: m.String("title"), Tools: m.Strings("tools"), All: !m.Has("tools"), Deny: m.Strings("deny"),
		Tags: m.Strings("tags"), Pinned: m.Strings("pinned"), TopK: listed(m, "top_k", &ps), MaxTools: listed(m, "max_tools", &ps),
		Sources: m.Strings("sources"), AllSources: !m.Has("sources"), Pos: n.Pos()}
	if p.Name != "" && !profilePattern.MatchString(p.Name) {
		m.Problem("name", "the profile name %q is not allowed; use a-z, 0-9, - and _, at most 48", p.Name)
	}
	if p.Title == "" {
		p.Title = p.Name
	}
	checkGlobs(m, "tools", p.Tools)
	checkGlobs(m, "deny", p.Deny)
	p.checkPinned(m)
	if p.TopK > 0 && p.MaxTools > 0 && p.TopK > p.MaxTools {
		m.Problem("top_k", "top_k %d is above max_tools %d; give %d or less", p.TopK, p.MaxTools, p.MaxTools)
	}
	m.Done()
	return p, ps
}

func checkGlobs(m *document.Map, key string, globs []string) {
	for _, g := range globs {
		if !globPattern.MatchString(g) {
			m.Problem(key, "%q is not a pattern of tool names; write a name, with * for any characters and ? for one, such as ps07-*", g)
		}
	}
}

func (p *Profile) checkPinned(m *document.Map) {
	seen := map[string]bool{}
	for _, tool := range p.Pinned {
		ok, rule := p.Permits(tool)
		switch {
		case !toolPattern.MatchString(tool):
			m.Problem("pinned", "%q is not the name of a tool; write it out, without * and ?", tool)
		case seen[tool]:
			m.Problem("pinned", "%s is pinned twice; remove one", tool)
		case !ok:
			m.Problem("pinned", "%s is pinned, but the profile hides it (%s); remove one of the two", tool, rule)
		}
		seen[tool] = true
	}
	if p.MaxTools > 0 && len(p.Pinned) > p.MaxTools {
		m.Problem("pinned", "%d tools are pinned, but max_tools is %d; pin fewer", len(p.Pinned), p.MaxTools)
	}
}

// listed reads a number of tools, 0 when absent or wrong.
func listed(m *document.Map, key string, ps *document.Problems) int {
	if !m.Has(key) {
		return 0
	}
	n, ok := m.Node(key).ReadInt(ps)
	if ok && (n < 1 || n > maxListed) {
		m.Problem(key, "%s must be from 1 to %d, not %d; leave it out for the value of capd.yaml", key, maxListed, n)
		return 0
	}
	return int(n)
}

// Permits reports whether the profile shows a tool, and the rule that decided, in words. A nil Profile shows every tool.
func (p *Profile) Permits(tool string) (ok bool, rule string) {
	if p == nil {
		return true, "no profile"
	}
	for _, g := range p.Deny {
		if glob(g, tool) {
			return false, "deny " + g + " of profile " + p.Name
		}
	}
	if p.All {
		return true, "profile " + p.Name + " has no tools list"
	}
	for _, g := range p.Tools {
		if glob(g, tool) {
			return true, "tools " + g + " of profile " + p.Name
		}
	}
	return false, "no entry in tools of profile " + p.Name
}

// glob matches a whole name; "*" is any characters, "?" one byte (names are ASCII). It goes back to the last "*" only, so that it takes at
// most pattern times name steps.
func glob(pattern, name string) bool {
	i, j, star, from := 0, 0, -1, 0
	for j < len(name) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, from = i, j
			i++
		case i < len(pattern) && (pattern[i] == '?' || pattern[i] == name[j]):
			i, j = i+1, j+1
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}
