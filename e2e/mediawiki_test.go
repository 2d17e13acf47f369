package e2e

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/wiki/mediawikitest"
)

const wikiForm = "<pre class=\"form\">\nform: note\nfields:\n  - {id: text, type: textfield, label: Text}\n</pre>\n"

// wikiServer is a server with the pages and users of a real MediaWiki.
type wikiServer struct {
	*process
	t *testing.T
}

// want makes a request for a form of a page, and fails the test unless it is
// answered with the status and the text.
func (s wikiServer) want(status int, text, user, password, method string, page int64, path, body string) response {
	s.t.Helper()
	url := fmt.Sprintf("%s/rest/forms/1.0/page/%d/form%s", s.url, page, path)
	req, err := http.NewRequestWithContext(s.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.SetBasicAuth(user, password)
	req.Header.Set("Content-Type", "application/json")
	r, err := do(client, req)
	if err != nil || r.status != status || !strings.Contains(r.body, text) {
		s.t.Fatalf("%s %s by %s: %d %s, %v; want %d with %q\n%s", method, url, user, r.status, r.body, err, status, text, s.output())
	}
	return r
}

func TestMediaWiki(t *testing.T) {
	t.Parallel()
	w := mediawikitest.Start(t)
	page, private := w.Write("Survey", wikiForm), w.Write("Plan for Zanzibar", wikiForm)
	w.SetRights(private, []string{"Bob"}, []string{"Bob"})
	w.TwoFactor("Sara")
	bot := w.BotPassword("Alice", "forms", "basic")
	site := newSite(t)
	site.pages, site.users = "mediawiki+"+w.API, "wiki"
	s := wikiServer{start(t, site, "--wiki-recheck", "1s", "--metrics"), t}
	alice, bob := mediawikitest.Password("Alice"), mediawikitest.Password("Bob")

	at := s.want(201, `"username":"Alice"`, "alice", alice, "POST", page, "/note/submission", note("first")).header.Get("Location")
	s.want(201, `"username":"Alice"`, "Alice@forms", bot, "POST", page, "/note/submission", note("by a bot password"))
	s.want(200, "[", "Alice@forms", bot, "GET", page, "", "")
	s.want(403, "", "Alice@forms", bot, "DELETE", page, "/note/result/1", "")
	wrong := s.want(401, "", "Alice", "a wrong one", "GET", page, "", "")
	if unknown := s.want(401, "", "Mallory", "a wrong one", "GET", page, "", ""); unknown.body != wrong.body {
		t.Errorf("%s, and of an unknown user %s", wrong.body, unknown.body)
	}
	s.want(401, "bot password", "Sara", mediawikitest.Password("Sara"), "GET", page, "", "")
	if r := s.want(404, "", "Alice", alice, "GET", private, "", ""); strings.Contains(r.body, "Zanzibar") {
		t.Errorf("names the page: %s", r.body)
	}
	s.want(200, "note", "Bob", bob, "GET", private, "", "")

	w.Block("Bob")
	eventually := func(what string, status int, method, path, body string) {
		t.Helper()
		testkit.Eventually(t, what, func() bool {
			req, err := request(t.Context(), s.url, method, path, body)
			if err != nil {
				t.Fatal(err)
			}
			req.URL.Path = fmt.Sprintf("/rest/forms/1.0/page/%d/form%s", page, path)
			req.SetBasicAuth("Bob", bob)
			r, err := do(client, req)
			return err == nil && r.status == status
		})
	}
	eventually("a blocked user writes nothing", 403, "POST", "/note/submission", note("blocked"))
	s.want(200, "note", "Bob", bob, "GET", page, "", "")
	w.Unblock("Bob")
	w.Edit(page, strings.Replace(wikiForm, "form: note", "form: other", 1))
	eventually("the edit shows", 200, "GET", "/other", "")
	w.Edit(page, wikiForm)
	w.Delete(page)
	eventually("the page is gone", 404, "GET", "", "")
	if id := w.Undelete("Survey"); id != page {
		t.Fatalf("restored as %d", id)
	}
	eventually("the page is back", 200, "GET", "/note", "")
	s.want(200, "first", "Bob", bob, "GET", page, strings.SplitAfterN(at, "/form", 3)[2], "")

	w.Stop()
	testkit.Eventually(t, "the server is not ready", func() bool { return fetch(t, s.process, "/readyz").status == 503 })
	if r := fetch(t, s.process, "/healthz"); r.status != 200 {
		t.Errorf("/healthz: %d", r.status)
	}
	if r := s.want(503, "wiki", "Admin", mediawikitest.Password("Admin"), "GET", page, "", ""); r.header.Get("Retry-After") == "" {
		t.Error("503 without Retry-After")
	}
	w.Restart()
	eventually("the wiki is used again", 200, "GET", "/note", "")
	s.assertKeepsSecrets(site.data, alice, bob, bot, "a wrong one", mediawikitest.Password("Sara"), mediawikitest.Password("Admin"))
}

// assertKeepsSecrets looks for secrets in all that the server tells and stores.
func (s wikiServer) assertKeepsSecrets(data string, secrets ...string) {
	s.t.Helper()
	said := map[string]string{"/metrics": fetch(s.t, s.process, "/metrics").body, "log": s.output()}
	err := filepath.WalkDir(data, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			content, readErr := os.ReadFile(path)
			said[path], err = string(content), readErr
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	for where, text := range said {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				s.t.Errorf("%s has the secret %q", where, secret)
			}
		}
	}
}
