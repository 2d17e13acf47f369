package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/wiki/mediawikitest"
)

const wikiForm = "<pre class=\"form\">\nform: note\nfields:\n  - {id: text, type: textfield, label: Text}\n</pre>\n"

// check reads a live wiki, and says what is wrong by title, line and column.
func TestCheckMediaWiki(t *testing.T) {
	t.Parallel()
	w := mediawikitest.Start(t)
	w.Write("Survey", wikiForm)
	broken := w.Write("Broken page", strings.Replace(wikiForm, "textfield", "nonsense", 1))
	private := w.Write("Secret", strings.Replace(wikiForm, "textfield", "nonsense", 1))
	w.SetRights(private, []string{"Bob"}, []string{"Bob"})
	check := func(format string) (stdout, stderr string, err error) {
		var out, messages strings.Builder
		cmd := exec.CommandContext(t.Context(), binary, "check", "--format", format, "mediawiki+"+w.API)
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
	if !strings.Contains(messages, "pages read: 3 of 3 pages") {
		t.Errorf("progress: %s", messages)
	}
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
}
