package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// floors is the house: a package imports only packages of floors strictly below its own.
func floors() map[string]int {
	return map[string]int{
		"internal/physical": 0, "internal/document": 0, "internal/secret": 0, "internal/store": 0, "internal/outbound": 0,
		"internal/outcome": 1, "internal/expression": 1, "internal/config": 1,
		"internal/inventory": 2, "internal/contract": 2, "internal/hal": 2, "internal/journal": 2,
		"internal/access": 3, "internal/standing": 3, "internal/health": 3, "internal/verify": 3, "internal/field": 3,
		"internal/contract/lint": 3, "internal/contract/diff": 3, "internal/hal/modbus": 3,
		"internal/importer/draft": 2, "internal/importer/registerlist": 3, "internal/importer/sunspec": 3,
		"internal/registry": 4,
		"internal/guard":    5, "internal/resolve": 5,
		"internal/invoke":    6,
		"internal/mcpserver": 7, "internal/localapi": 7,
		"internal/app": 8, "internal/localapi/show": 8,
		"cmd/capd": 9,
	}
}

// outside is what stands beside the house: the demo plant and test tools. Only cmd and tests import it.
func outside() []string {
	return []string{"internal/sim", "internal/archtest", "internal/hal/modbus/faultserver", "internal/localapi/localtest"}
}

// rooms says where each third-party library may be imported; a package below a room is in it.
func rooms() map[string][]string {
	return map[string][]string{
		"github.com/shopspring/decimal":         {"internal/physical"},
		"github.com/goccy/go-yaml":              {"internal/document"},
		"go.etcd.io/bbolt":                      {"internal/store"},
		"github.com/expr-lang/expr":             {"internal/expression"},
		"github.com/goburrow/modbus":            {"internal/hal/modbus"},
		"github.com/santhosh-tekuri/jsonschema": {"internal/registry"},
		"github.com/mark3labs/mcp-go":           {"internal/mcpserver", "internal/upstream"},
		"github.com/coreos/go-systemd":          {"internal/app"},
		"github.com/fsnotify/fsnotify":          {"internal/app"},
		"github.com/google/uuid":                {"internal/invoke"},
		"github.com/spf13/cobra":                {"cmd/capd"},
		"github.com/spf13/pflag":                {"cmd/capd"},
		"golang.org/x/time":                     {"internal/mcpserver", "internal/localapi"},
		"golang.org/x/text":                     {"internal/importer", "internal/hal/modbus"},
		"golang.org/x/sys":                      {"internal/store", "internal/hal/modbus", "internal/localapi", "internal/sim", "internal/journal"},
		"go.einride.tech/can":                   {"internal/hal/socketcan"},
		"github.com/use-go/onvif":               {"internal/hal/onvif"},
		"github.com/goburrow/serial":            {},
	}
}

// source is one package of this module, as its non-test files show it.
type source struct {
	dir     string // from the module's root, with slashes
	imports map[string]string
	doc     string
}

func packages(t *testing.T) []source {
	t.Helper()
	root := filepath.Join("..", "..")
	byDir := map[string]*source{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "testdata" || name == "test" || name == "tools" || name == "bin" || strings.HasPrefix(name, ".") && name != ".." && path != root) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		note(byDir, filepath.ToSlash(rel), f, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []source
	for _, s := range byDir {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b source) int { return strings.Compare(a.dir, b.dir) })
	if len(all) < 10 {
		t.Fatalf("only %d packages found: the walk looks at the wrong place", len(all))
	}
	return all
}

func note(byDir map[string]*source, dir string, f *ast.File, path string) {
	s := byDir[dir]
	if s == nil {
		s = &source{dir: dir, imports: map[string]string{}}
		byDir[dir] = s
	}
	for _, i := range f.Imports {
		s.imports[strings.Trim(i.Path.Value, `"`)] = filepath.Base(path)
	}
	if f.Doc != nil {
		s.doc += f.Doc.Text()
	}
}

func under(dir string, roots []string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return dir == r || strings.HasPrefix(dir, r+"/") })
}

func TestImportsGoDownTheFloors(t *testing.T) {
	table := floors()
	for _, p := range packages(t) {
		if under(p.dir, outside()) {
			continue
		}
		floor, ok := table[p.dir]
		if !ok {
			t.Errorf("%s has no floor: give it one in floors()", p.dir)
			continue
		}
		for path, file := range p.imports {
			dir, own := strings.CutPrefix(path, "capd/")
			if !own {
				continue
			}
			if under(dir, outside()) {
				if p.dir != "cmd/capd" {
					t.Errorf("%s/%s imports %s, which only cmd and tests may", p.dir, file, dir)
				}
				continue
			}
			if below, ok := table[dir]; !ok || below >= floor {
				t.Errorf("%s/%s (floor %d) imports %s (floor %d): imports go strictly down", p.dir, file, floor, dir, below)
			}
		}
	}
}

func TestLibrariesStayInTheirRooms(t *testing.T) {
	table := rooms()
	for _, p := range packages(t) {
		if p.dir == "internal/archtest" {
			continue // it only pins versions
		}
		for path, file := range p.imports {
			first, _, _ := strings.Cut(path, "/")
			if !strings.Contains(first, ".") {
				continue
			}
			known := false
			for library, allowed := range table {
				if path != library && !strings.HasPrefix(path, library+"/") {
					continue
				}
				if known = true; !under(p.dir, allowed) {
					t.Errorf("%s/%s imports %s, which lives in %v", p.dir, file, path, allowed)
				}
			}
			if !known {
				t.Errorf("%s/%s imports %s, which has no room: give it one in rooms()", p.dir, file, path)
			}
		}
	}
}

func TestEveryPackageSaysWhatItPromises(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.doc) < 60 && p.dir != "cmd/capd" {
			t.Errorf("%s has no package comment that says what it promises and what it never does", p.dir)
		}
	}
}

func TestNoPackageWorksBehindTheScenes(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s has an init function: build things in app, where the order shows", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
