package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store/engine"
	"github.com/formulary/formulary/internal/store/pgtest"
	"github.com/formulary/formulary/internal/testkit"
)

// TestNewDefinitionIsNoError: operators who watch the database's log see no error when a page was edited.
func TestNewDefinitionIsNoError(t *testing.T) {
	cluster := pgtest.New(t, pgtest.Options{})
	s := openStore(t, cluster.Database(t))
	before := strings.Count(cluster.Log(), "ERROR")
	for _, text := range []string{`{"label":"Name"}`, `{"label":"Your name"}`} {
		n := sample("x")
		n.Definition = forms.NewDefinition(text)
		mustCreate(t, s, n)
	}
	if log := cluster.Log(); strings.Count(log, "ERROR") > before {
		t.Errorf("the database's log has an error:\n%s", log)
	}
}

// TestDefinitionAfterFailover: the definition that a standby lacks is stored again with the first create there.
func TestDefinitionAfterFailover(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	n := sample("x")
	n.Definition = forms.NewDefinition("{}")
	before := mustCreate(t, s, n)
	exec(t, url, `DELETE FROM definitions`)
	s.pool.Reset()
	for _, sub := range []forms.Submission{before, mustCreate(t, s, n)} {
		must(t, testkit.ErrorOf(s.Definition(ctx, keyOf(sub))))
	}
}

// TestOneCreateStoresADefinition: of many first creates to a form, one stores the definition. It hangs, and creates to
// another form don't.
func TestOneCreateStoresADefinition(t *testing.T) {
	url := newDatabase(t)
	s := openStore(t, url)
	n, elsewhere := sample("x"), sample("y")
	n.Definition, elsewhere.FormID, elsewhere.Definition = forms.NewDefinition("{}"), "elsewhere", forms.NewDefinition("{}")
	hung, err := pgx.Connect(ctx, url)
	must(t, err)
	must(t, testkit.ErrorOf(hung.Exec(ctx, `BEGIN`)))
	must(t, testkit.ErrorOf(hung.Exec(ctx, dialect.Replace(engine.SQLStoreDefinition), n.PageID, n.FormID, n.Definition.Hash[:], "{}")))
	held := make(chan error, 20)
	for range cap(held) {
		go func() { held <- creating(s, n)() }()
	}
	for range 20 {
		mustCreate(t, s, elsewhere)
	}
	waiting(t, url, 1)
	must(t, hung.Close(ctx))
	for range cap(held) {
		must(t, <-held)
	}
}
