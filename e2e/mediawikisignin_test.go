package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/wiki/mediawikitest"
)

// What the wiki says about passwords and blocks reaches the clients of Formulary.
func TestMediaWikiSignIn(t *testing.T) {
	t.Parallel()
	w := mediawikitest.Start(t)
	page := w.Write("Survey", wikiForm)
	site := newSite(t)
	site.pages, site.users = "mediawiki+"+w.API, "wiki"
	s := wikiServer{start(t, site, "--wiki-recheck", "1s"), t}
	alice, bob := mediawikitest.Password("Alice"), mediawikitest.Password("Bob")

	// A changed password: the old one ends when the new one signs in.
	s.want(200, "note", "Alice", alice, "GET", page, "", "")
	w.SetPassword("Alice", "a new password")
	s.want(200, "note", "Alice", "a new password", "GET", page, "", "")
	s.want(401, "", "Alice", alice, "GET", page, "", "")

	// A partial block takes the edit right where it applies, and nothing else.
	s.want(201, "", "Alice", "a new password", "POST", page, "/note/submission", note("of alice"))
	s.want(200, "of alice", "Bob", bob, "GET", page, "/note/submission/1", "")
	w.Block("Bob", page)
	testkit.Eventually(t, "the edit right is gone", func() bool {
		req, err := request(t.Context(), s.url, "GET", "", "")
		if err != nil {
			t.Fatal(err)
		}
		req.URL.Path = fmt.Sprintf("/rest/forms/1.0/page/%d/form/note/submission/1", page)
		req.SetBasicAuth("Bob", bob)
		r, err := do(client, req)
		return err == nil && r.status == 404
	})
	s.want(201, "", "Bob", bob, "POST", page, "/note/submission", note("of bob"))

	w.Throttle(1, 100*time.Second)
	s.want(401, "", "Dave", "wrong", "GET", page, "", "")
	r := s.want(429, "Try again in", "Dave", "wrong too", "GET", page, "", "")
	if seconds, err := strconv.Atoi(r.header.Get("Retry-After")); err != nil || seconds < 1 || seconds > 100 {
		t.Errorf("Retry-After is %q", r.header.Get("Retry-After"))
	}
	w.Throttle(0, 0)

	w.Captcha(1)
	s.want(401, "", "Carol", "wrong", "GET", page, "", "")
	s.want(429, "CAPTCHA", "Ann", mediawikitest.Password("Ann"), "GET", page, "", "")
	s.assertKeepsSecrets(site.data, alice, bob, "a new password", "wrong too", mediawikitest.Password("Ann"))
}

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
