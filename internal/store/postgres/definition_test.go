package postgres

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store/pgtest"
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
