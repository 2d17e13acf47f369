package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/sqlite"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/wiki/mediawikitest"
)

const wikiForm = "<pre class=\"form\">\nform: note\nfields:\n  - {id: text, type: textfield, label: Text}\n</pre>\n"

// check reads a live wiki, and says what is wrong by title, line and column.
func TestCheckMediaWiki(t *testing.T) {
	t.Parallel()
	w := mediawikitest.Start(t)
	survey := w.Write("Survey", wikiForm)
	broken := w.Write("Broken page", strings.Replace(wikiForm, "textfield", "nonsense", 1))
	private := w.Write("Secret", strings.Replace(wikiForm, "textfield", "nonsense", 1))
	w.SetRights(private, []string{"Bob"}, []string{"Bob"})
	check := func(format string, args ...string) (stdout, stderr string, err error) {
		var out, messages strings.Builder
		cmd := exec.CommandContext(t.Context(), binary, append([]string{"check", "--format", format, "mediawiki+" + w.API}, args...)...)
		cmd.Env = append(os.Environ(), "FORMULARY_WIKI_USER=Ann", "FORMULARY_WIKI_PASSWORD="+mediawikitest.Password("Ann"))
		cmd.Stdout, cmd.Stderr = &out, &messages
		err = cmd.Run()
		return out.String(), messages.String(), err
	}
	text, messages, err := check("text")
	if err == nil || !strings.Contains(text, `Broken page:4:`) || !strings.Contains(text, `unknown type "nonsense"`) ||
		strings.Contains(text, "Secret") || !strings.Contains(text, "3 pages, 1 form, 1 field: 1 error") {
		t.Errorf("%v\n%s", err, text)
	}
	testkit.Contains(t, "progress", messages, "pages read: 3 of 3 pages")
	lines, _, err := check("json")
	var found struct {
		File string
		Page int64
		Line int
	}
	first, _, _ := strings.Cut(lines, "\n")
	if json.Unmarshal([]byte(first), &found) != nil || err == nil || found.File != "Broken page" || found.Page != broken || found.Line != 4 {
		t.Errorf("%v\n%s", err, lines)
	}

	dir := t.TempDir()
	fillPages(t, dir, survey, broken, 1<<40)
	against, _, err := check("text", "--against", dir)
	for _, want := range []string{
		"\nSurvey:4:5: warning: the form has no field `words`, to which 1 of 1 submissions have an answer; if this is `words`, write `was: words`\n",
		"\nwarning: page 1099511627776: 1 submission is stored under `note`, which the page no longer has\n",
		": 1 error, 2 warnings\n",
	} {
		if err == nil || !strings.Contains(against, want) {
			t.Errorf("%v: want %q in\n%s", err, want, against)
		}
	}
}

// fillPages makes a store with one submission of form note for each page. Its field has another id now.
func fillPages(t *testing.T, dir string, pages ...int64) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	must(t, err)
	then := &forms.Form{ID: "note", Fields: []*forms.Field{{ID: "words", Type: forms.Textfield}}}
	for _, page := range pages {
		_, err := s.Create(t.Context(), store.New{
			PageID: page, FormID: "note", Username: "Ann", Entries: []forms.Entry{{FieldID: "words", Value: "x"}}, Definition: then.Definition(),
		})
		must(t, err)
	}
	must(t, s.Close())
}
