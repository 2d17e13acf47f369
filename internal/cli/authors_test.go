package cli

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/testkit"
)

func TestAuthorsAreChecked(t *testing.T) {
	for list, want := range map[string]bool{"*": true, "alice, @hr": true, "alice,": false, "a:b": false, "@": false} {
		c := config{authors: strings.Split(list, ",")}
		testkit.Same(t, list, c.checkAuthors() == nil, want)
		testkit.Same(t, list+", with a space", strings.HasPrefix(c.authors[len(c.authors)-1], " "), false)
	}
}

func TestWarningsOfAuthors(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	c := &config{authors: []string{"*"}}
	dir := filepath.Join(t.TempDir(), "pages")
	testkit.WriteFile(t, filepath.Join(dir, "1.md"), "")
	source, err := pages.OpenDirectory(dir, nil, log)
	testkit.Must(t, err)
	warnOfAuthors(t.Context(), c, source, log)
	testkit.Same(t, "warnings", out.String(), "")
	testkit.Must(t, os.RemoveAll(dir))
	warnOfAuthors(t.Context(), c, source, log)
	testkit.Contains(t, "warnings", out.String(), "authors can't save forms")
	warnOfAuthors(t.Context(), c, nil, log)
	testkit.Contains(t, "warnings", out.String(), "--authors has no effect")
}
