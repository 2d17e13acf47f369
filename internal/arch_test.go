// Package internal_test holds the design's diagram of the house against the
// imports of the code.
package internal_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

const module = "github.com/formulary/formulary/"

// mayImport is the diagram:
//
//	cmd → cli → server, rest, web
//	rest, web → request → service → query, store, pages, auth
//	rest, web, request → encode → table, query → forms
//	web → session → store, auth
//	web, events, request → lang → forms
//	events → store
//	store, pages → forms
//	pages, auth → wiki → forms
//	web → pagehtml, builder → markup
//	service, web → markup
//	pages → markup → forms
//
// Whatever is not here is not allowed. cli puts the parts together and is the
// one place that picks an engine, so it may know them all. server takes its
// handler from cli and knows nothing of what it serves.
var mayImport = map[string][]string{
	"cmd/formulary": {"internal/cli"},
	"internal/cli": {
		"internal/server", "internal/rest", "internal/web", "internal/session", "internal/request", "internal/problem", "internal/service", "internal/auth", "internal/lang", "internal/pages", "internal/wiki", "internal/markup",
		"internal/events", "internal/encode", "internal/forms", "internal/store", "internal/store/sqlite", "internal/store/postgres", "internal/store/copy", "internal/durable", "internal/reload",
	},
	"internal/server":          {"internal/problem", "internal/reload", "internal/panics"},
	"internal/rest":            {"internal/encode", "internal/request", "internal/service", "internal/query", "internal/forms", "internal/problem"},
	"internal/web":             {"internal/lang", "internal/web/pagehtml", "internal/web/builder", "internal/encode", "internal/request", "internal/session", "internal/service", "internal/auth", "internal/markup", "internal/query", "internal/forms", "internal/problem"},
	"internal/encode":          {"internal/table", "internal/query", "internal/forms"},
	"internal/query":           {"internal/forms"},
	"internal/table":           {"internal/forms"},
	"internal/request":         {"internal/lang", "internal/encode", "internal/table", "internal/service", "internal/query", "internal/auth", "internal/limit", "internal/forms", "internal/problem"},
	"internal/service":         {"internal/query", "internal/store", "internal/pages", "internal/markup", "internal/auth", "internal/forms", "internal/durable"},
	"internal/events":          {"internal/lang", "internal/store", "internal/forms", "internal/reload", "internal/panics"},
	"internal/store":           {"internal/forms"},
	"internal/store/copy":      {"internal/store", "internal/store/engine", "internal/forms"},
	"internal/store/engine":    {"internal/store", "internal/forms", "internal/panics"},
	"internal/store/sqlite":    {"internal/store", "internal/store/engine", "internal/forms", "internal/durable", "internal/panics"},
	"internal/store/postgres":  {"internal/store", "internal/store/engine", "internal/limit", "internal/forms", "internal/panics"},
	"internal/store/storetest": {"internal/store", "internal/forms", "internal/testkit"},
	"internal/store/pgtest":    {"internal/testkit"},
	"internal/store/enginetest": {
		"internal/store", "internal/store/sqlite", "internal/store/postgres", "internal/store/pgtest",
	},
	"internal/testsite":            {"internal/pages", "internal/auth", "internal/store", "internal/store/enginetest", "internal/forms", "internal/testkit"},
	"scripts/gotest":               {"internal/store/pgtest"},
	"scripts/fill-examples":        {"internal/service", "internal/pages", "internal/auth", "internal/forms", "internal/store/sqlite"},
	"internal/pages":               {"internal/markup", "internal/forms", "internal/durable", "internal/limit", "internal/reload", "internal/wiki", "internal/panics"},
	"internal/pages/pagestest":     {"internal/pages", "internal/forms"},
	"internal/web/pagehtml":        {"internal/markup", "internal/forms"},
	"internal/web/builder":         {"internal/markup", "internal/forms"},
	"internal/markup":              {"internal/forms"},
	"internal/auth":                {"internal/durable", "internal/limit", "internal/reload", "internal/wiki"},
	"internal/wiki":                {"internal/forms", "internal/reload", "internal/panics"},
	"internal/wiki/confluencetest": nil,
	"internal/wiki/wikitest":       {"internal/wiki"},
	"internal/wiki/mediawikitest":  {"internal/testkit"},
	"internal/events/mailtest":     {"internal/testkit"},
	"internal/session":             {"internal/store", "internal/auth"},
	"internal/lang":                {"internal/forms"},
	"internal/forms":               nil,
	// Packages that several others need. They import no package of ours.
	"internal/durable": nil,
	"internal/limit":   nil,
	"internal/panics":  nil,
	"internal/problem": nil,
	"internal/testkit": nil,
	"internal/reload":  nil,
}

// forTests reports whether only tests may import a package of ours.
func forTests(name string) bool {
	return strings.HasSuffix(name, "test") || name == "internal/testkit" || name == "internal/testsite"
}

// never holds for tests, too: they would tie together what is meant to be
// replaced one without the other.
var never = [][2]string{
	{"internal/store", "internal/service"},
	{"internal/store/sqlite", "internal/service"},
	{"internal/store/postgres", "internal/service"},
	{"internal/store/sqlite", "internal/store/postgres"},
	{"internal/store/postgres", "internal/store/sqlite"},
	{"internal/rest", "internal/web"},
	{"internal/web", "internal/rest"},
}

const sqliteEngine = "internal/store/sqlite"

// drivers may be known to few packages only. Tests of the whole program,
// outside internal, may look into a database with them.
var drivers = map[string][]string{
	"github.com/ncruces/go-sqlite3": {sqliteEngine},
	"github.com/jackc/pgx":          {"internal/store/postgres", "internal/store/pgtest"},
}

// goPackage is what one directory's Go files import, whatever system they are for.
type goPackage struct {
	name    string // the directory, from the module's root
	imports []string
	tests   []string // what its tests import beside that
}

// all is what the package and its tests import.
func (p *goPackage) all() []string { return slices.Concat(p.imports, p.tests) }

// ours are those of the imports that belong to this module.
func ours(imports []string) []string {
	var list []string
	for _, path := range imports {
		if name, ok := strings.CutPrefix(path, module); ok {
			list = append(list, name)
		}
	}
	return list
}

// readPackages reads the files itself: of what "go list" reads, go test knows
// nothing, and would show a cached success after a wrong import was added.
func readPackages(t *testing.T) []*goPackage {
	t.Helper()
	const root = ".."
	byName := map[string]*goPackage{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipDir(root, path)
		}
		if filepath.Ext(path) == ".go" {
			return readImports(byName, root, path)
		}
		return nil
	})
	testkit.Must(t, err)
	for _, name := range []string{"cmd/formulary", "internal/forms", "internal/service", sqliteEngine} {
		if p := byName[name]; p == nil || len(p.imports) == 0 {
			t.Fatalf("%s is not among the packages that were found: this test looks at the wrong place", name)
		}
	}
	return slices.Collect(maps.Values(byName))
}

// skipDir passes over what the go command passes over: hidden directories,
// test data and modules within the module; and over what npm installs.
func skipDir(root, path string) error {
	if path == root {
		return nil
	}
	name := filepath.Base(path)
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules" {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func readImports(byName map[string]*goPackage, root, path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		return err
	}
	dir, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		return err
	}
	name := filepath.ToSlash(dir)
	p := byName[name]
	if p == nil {
		p = &goPackage{name: name}
		byName[name] = p
	}
	list := &p.imports
	if strings.HasSuffix(path, "_test.go") {
		list = &p.tests
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if !slices.Contains(*list, imported) {
			*list = append(*list, imported)
		}
	}
	return nil
}

func TestImportsFollowTheDiagram(t *testing.T) {
	for _, p := range readPackages(t) {
		for _, imported := range ours(p.imports) {
			if !slices.Contains(mayImport[p.name], imported) {
				t.Errorf("%s must not import %s", p.name, imported)
			}
			if forTests(imported) && !forTests(p.name) {
				t.Errorf("%s imports %s, which is for tests, outside of its tests", p.name, imported)
			}
		}
		for _, imported := range ours(p.all()) {
			if slices.Contains(never, [2]string{p.name, imported}) {
				t.Errorf("%s must never import %s, not even in tests", p.name, imported)
			}
		}
	}
}

func TestOnlyAnEngineKnowsItsDriver(t *testing.T) {
	for _, p := range readPackages(t) {
		imports := p.imports
		if strings.HasPrefix(p.name, "internal/") {
			imports = p.all()
		}
		for _, imported := range imports {
			for driver, knownTo := range drivers {
				if (imported == driver || strings.HasPrefix(imported, driver+"/")) && !slices.Contains(knownTo, p.name) {
					t.Errorf("%s imports %s: only %v may", p.name, imported, knownTo)
				}
			}
		}
	}
}

func TestTheDomainNeedsTheStandardLibraryOnly(t *testing.T) {
	for _, p := range readPackages(t) {
		if p.name != "internal/forms" && p.name != "internal/query" {
			continue
		}
		for _, imported := range p.imports {
			if strings.HasPrefix(imported, module) {
				continue // see mayImport
			}
			if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") {
				t.Errorf("%s imports %s", p.name, imported)
			}
		}
	}
}
