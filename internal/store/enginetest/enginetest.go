// Package enginetest runs the tests of the layers above the store on real engines,
// so that no layer comes to rely on one of them.
package enginetest

import (
	"os"
	"testing"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/pgtest"
	"github.com/formulary/formulary/internal/store/postgres"
	"github.com/formulary/formulary/internal/store/sqlite"
)

// Engine is an engine that a test runs on.
type Engine struct {
	Name string
	open func(t testing.TB) (s store.Engine, dir string, err error)
}

// The engines.
var (
	SQLite   = Engine{"sqlite", openSQLite}
	Postgres = Engine{"postgres", openPostgres}
)

// Each runs a test once on each engine, as a subtest with the engine's name. It is
// for what an engine could get wrong.
func Each(t *testing.T, test func(t *testing.T, on Engine)) {
	t.Helper()
	for _, on := range []Engine{SQLite, Postgres} {
		t.Run(on.Name, func(t *testing.T) { test(t, on) })
	}
}

// One runs a test on one engine, for rules that no engine knows.
func One(t *testing.T, test func(t *testing.T, on Engine)) {
	t.Helper()
	test(t, Default())
}

// Variable is the environment variable with the name of the default engine. The
// race detector makes SQLite, which is translated code, many times slower, so
// scripts/gotest runs tests with it on PostgreSQL.
const Variable = "FORMULARY_TEST_ENGINE"

// Default is SQLite, unless the environment names the other.
func Default() Engine {
	if os.Getenv(Variable) == Postgres.Name {
		return Postgres
	}
	return SQLite
}

// Open opens an empty store, which is closed when the test is over.
func (e Engine) Open(t testing.TB) store.Engine {
	t.Helper()
	s, _ := e.OpenIn(t)
	return s
}

// OpenIn is Open, and returns the directory of the store's files. On a cluster
// that tests share, it has those of others, too.
func (e Engine) OpenIn(t testing.TB) (s store.Engine, dir string) {
	t.Helper()
	s, dir, err := e.open(t)
	if err != nil {
		t.Fatalf("open %s: %v", e.Name, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close %s: %v", e.Name, err)
		}
	})
	return s, dir
}

func openSQLite(t testing.TB) (s store.Engine, dir string, err error) {
	dir = t.TempDir()
	s, err = sqlite.Open(t.Context(), dir, sqlite.Options{})
	return s, dir, err
}

func openPostgres(t testing.TB) (s store.Engine, dir string, err error) {
	return PostgresOn(pgtest.Shared(t)).open(t)
}

// PostgresOn is PostgreSQL on a cluster that the test may stop.
func PostgresOn(cluster *pgtest.Cluster) Engine {
	return Engine{"postgres", func(t testing.TB) (s store.Engine, dir string, err error) {
		s, err = postgres.Open(t.Context(), postgres.Options{URL: cluster.Schema(t)})
		return s, cluster.Dir(), err
	}}
}
