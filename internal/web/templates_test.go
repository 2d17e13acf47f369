package web

import (
	"io/fs"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/jba/templatecheck"

	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/testkit"
)

var english = lang.Find(lang.English)

// pageTypes are the types that templates are executed with.
var pageTypes = map[string]any{
	"author.html":     &authorPage{},
	"change.html":     &changePage{},
	"delete.html":     &deletePage{},
	"docs.html":       &docsPage{},
	"error.html":      &errorPage{},
	"filter.html":     &resultsPage{},
	"form.html":       &formPage{},
	"home.html":       &homePage{},
	"login.html":      &signInPage{},
	"newtab.html":     &newTabPage{},
	"page.html":       &wikiPage{},
	"results.html":    &resultsPage{},
	"sent.html":       &sentPage{},
	"several.html":    &severalPage{},
	"submission.html": &submissionPage{},
	"form":            &formView{},
	"newform.html":    &authorPage{},
}

// TestTemplatesMatchTheirPages checks each field that a template names against the
// type of its page, in branches that no other test takes, too.
func TestTemplatesMatchTheirPages(t *testing.T) {
	for _, l := range lang.All() {
		set := parseTemplates("", newStaticFiles(nil), time.UTC, l)
		for name, page := range pageTypes {
			if err := templatecheck.CheckHTMLStrict(set.Lookup(name), page); err != nil {
				t.Errorf("%s, %s: %v", l.Tag, name, err)
			}
		}
	}
}

func TestTemplateLinesAreShort(t *testing.T) {
	const limit = 140
	err := fs.WalkDir(templateFiles, "templates", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := templateFiles.ReadFile(name)
		for i, line := range strings.Split(string(text), "\n") {
			if len(line) > limit {
				t.Errorf("%s:%d has %d characters, more than %d", path.Base(name), i+1, len(line), limit)
			}
		}
		return err
	})
	testkit.Must(t, err)
}
