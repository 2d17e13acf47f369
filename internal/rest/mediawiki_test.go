package rest

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/testsite"
	"github.com/formulary/formulary/internal/wiki"
	"github.com/formulary/formulary/internal/wiki/mediawikitest"
	"github.com/formulary/formulary/internal/wiki/wikitest"
)

// TestOnMediaWiki tests what needs pages and users of a wiki together. All else is tested
// with files: what the API is given of a wiki is tested by pagestest and in package auth.
func TestOnMediaWiki(t *testing.T) {
	wiki := mediawikitest.Start(t)
	for name := range testsite.Everybody {
		wiki.SetPassword(account(name), name+"-secret")
	}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *wikiEnv)
	}{
		{"Rights", testWikiRights},
		{"Anonymity", testWikiAnonymity},
		{"List", testWikiList},
		{"Revoked", testWikiRevoked},
		{"Outage", testWikiOutage},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newWikiEnv(t, wiki)) })
	}
}

// account is a user's name as MediaWiki writes it.
func account(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// wikiEnv is the API with pages and users of a MediaWiki.
type wikiEnv struct {
	*env
	wiki  *mediawikitest.Server
	pages *pages.Wiki
}

func newWikiEnv(t *testing.T, server *mediawikitest.Server) *wikiEnv {
	t.Helper()
	client, err := wiki.Open(wiki.Options{Address: "mediawiki+" + server.API, Logger: slog.New(slog.DiscardHandler)})
	testkit.Must(t, err)
	w := &wikiEnv{wiki: server}
	// The clock does not advance: only Reload has the wiki asked again.
	w.pages = pages.NewWiki(pages.WikiOptions{
		Wiki: wikitest.Patient(client), Format: markup.Wikitext, Recheck: time.Hour,
		Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return testsite.Began },
	})
	w.env = &env{
		Site: testsite.On(t, enginetest.Default(), nil), source: w.pages,
		people: auth.NewWiki(auth.WikiOptions{Wiki: client, Relogin: time.Hour, Recheck: time.Hour}),
	}
	w.serve(t)
	return w
}

var fenced = regexp.MustCompile("(?s)```form\n(.*?)```")

// wikitext is the form of a Markdown page as a page of the wiki has it.
func wikitext(page string) string {
	return "<pre class=\"form\">\n" + fenced.FindStringSubmatch(page)[1] + "</pre>\n"
}

// write writes a page with the form of a Markdown page, and returns its id.
func (w *wikiEnv) write(t *testing.T, page string, view, edit []string) int64 {
	t.Helper()
	id := w.wiki.Write(fmt.Sprint("Page ", len(w.ids)), wikitext(page))
	w.ids = append(w.ids, id)
	w.wiki.SetRights(id, view, edit)
	w.pages.Reload(t.Context())
	return id
}

// edit changes the form of a page.
func (w *wikiEnv) edit(t *testing.T, id int64, page string) {
	t.Helper()
	w.wiki.Edit(id, wikitext(page))
	w.pages.Reload(t.Context())
}

func testWikiRights(t *testing.T, w *wikiEnv) {
	p := permissions[0] // a wiki has no results for viewers
	p.form = form(w.write(t, staffPage, []string{"Bob", "@hr"}, []string{"Alice"}), "staff")
	p.check(t, w.env)
}

// testWikiAnonymity sends to an anonymous form, and to one that is no longer anonymous
// when the body has come in.
func testWikiAnonymity(t *testing.T, w *wikiEnv) {
	id := w.write(t, ballotPage, nil, []string{"Carol"})
	path := form(id, "ballot")
	named := strings.Replace(ballotPage, "anonymous: true\n", "", 1)
	for user, meanwhile := range map[string]string{"alice": ballotPage, "bob": named} {
		w.edit(t, id, ballotPage)
		vote := ask(user+" POST", path+"/submission", nestedBody("vote", "yes"))
		n := w.sendSlowly(t, vote, func() { w.edit(t, id, meanwhile) })
		if n.Code != 201 || !n.anonymous || pick(t, n.Body.String(), "username") != `""` {
			t.Errorf("%s: status %d, anonymous %t in the log: %s", user, n.Code, n.anonymous, n.Body)
		}
		w.edit(t, id, ballotPage)
		w.expect(t, 400, vote) // the one anonymous submission of this user
		for _, query := range []string{"?username=", "?username=" + user, "?username=" + account(user)} {
			testkit.Same(t, query, w.get(t, "carol", path+"/result"+query), "[]")
		}
	}
	stored, log := w.dump(t), w.Logs.String()
	if strings.Count(stored, "ballot") != 2 {
		t.Errorf("stored: %s", stored)
	}
	for _, name := range []string{"alice", "bob"} {
		if strings.Contains(strings.ToLower(stored+log), name) {
			t.Errorf("%s is named: stored\n%slogged\n%s", name, stored, log)
		}
	}
}

// testWikiList lists submissions with the names and the page id of the wiki.
func testWikiList(t *testing.T, w *wikiEnv) {
	id := w.write(t, staffPage, nil, []string{"Alice"})
	path := form(id, "staff")
	for i, user := range []string{"bob", "alice", "bob"} {
		w.create(t, user, path, nestedBody("text", fmt.Sprint("answer ", i)))
	}
	row := func(number int, user string) string {
		return fmt.Sprintf(`{"_id":"%d","_timestamp":"%s","_username":"%s","text":"answer %d"}`,
			number, beganMillis, user, number-1)
	}
	for _, tt := range []struct{ user, query, want string }{
		{"alice", "", row(1, "Bob") + "," + row(2, "Alice") + "," + row(3, "Bob")},
		{"alice", "?username=Bob&order=desc", row(3, "Bob") + "," + row(1, "Bob")},
		{"alice", "?username=bob", ""},
		{"bob", "", row(1, "Bob") + "," + row(3, "Bob")},
		{"carol", "", ""},
	} {
		if got := w.get(t, tt.user, path+"/result"+tt.query); got != "["+tt.want+"]" {
			t.Errorf("%s%s: %s, want %s", tt.user, tt.query, got, tt.want)
		}
	}
	n := w.note(t, ask("alice GET", path+"/submission?limit=1"))
	if page := fmt.Sprintf(`[{"formId":"staff","pageId":%d,`, id); !strings.HasPrefix(n.Body.String(), page) || n.user != "Alice" {
		t.Errorf("logged as %q: %s, want %s", n.user, n.Body, page)
	}
}

// testWikiRevoked takes access away while a body comes in, and while a list goes out.
func testWikiRevoked(t *testing.T, w *wikiEnv) {
	id := w.write(t, seen, []string{"Alice"}, []string{"Carol"})
	path := form(id, "staff")
	own, _ := w.create(t, "carol", path, nestedBody("text", "mine"))
	for range 6 {
		w.create(t, "alice", path, nestedBody("text", strings.Repeat("x", 50_000)))
	}
	edit := func(names ...string) {
		w.wiki.SetRights(id, []string{"Alice"}, names)
		w.pages.Reload(t.Context())
	}
	password := func(password string) {
		w.wiki.SetPassword("Carol", password)
		if _, err := w.people.Authenticate(t.Context(), "carol", password, ""); err != nil {
			t.Error(err)
		}
	}
	for _, tt := range []struct {
		name            string
		revoke, restore func()
		status          int
		user            string // named in the log
	}{
		{"the page is closed", func() { edit("Alice") }, func() { edit("Carol") }, 404, "Carol"},
		{
			"the password is changed", func() { password("another one") }, func() { password("carol-secret") },
			401, "",
		},
	} {
		before := w.dump(t)
		for _, r := range []testRequest{
			ask("carol POST", path+"/submission", nestedBody("text", "more")),
			ask("carol PUT", result(own), `{"text":"more"}`),
		} {
			n := w.sendSlowly(t, r, tt.revoke)
			tt.restore()
			if n.Code != tt.status || n.user != tt.user {
				t.Errorf("%s during %s: status %d, want %d; logged as %q", tt.name, r.method, n.Code, tt.status, n.user)
			}
		}
		testkit.Same(t, tt.name, w.dump(t), before)
		n, broken := w.listSlowly(t, "carol", path+"/result", tt.revoke)
		tt.restore()
		if size := n.Body.Len(); !broken || size < encode.FlushBytes || size > encode.FlushBytes+100_000 || n.user != tt.user {
			t.Errorf("%s: broken off %t after %d bytes; logged as %q", tt.name, broken, size, n.user)
		}
	}
	if n, broken := w.listSlowly(t, "carol", path+"/result", func() {}); broken || n.Body.Len() < 300_000 {
		t.Errorf("with access as before: broken off %t after %d bytes", broken, n.Body.Len())
	}
}

// testWikiOutage stops the wiki. What it has told before counts for a while.
func testWikiOutage(t *testing.T, w *wikiEnv) {
	path := form(w.write(t, staffPage, nil, []string{"Alice"}), "staff")
	unread := form(w.write(t, staffPage, nil, nil), "staff")
	submit := ask("alice POST", path+"/submission", nestedBody("text", "x"))
	w.expect(t, 201, submit)
	w.wiki.Stop()
	w.expect(t, 201, submit)
	unavailable := func(what string, r testRequest) {
		t.Helper()
		a := w.expect(t, 503, r)
		if a.header.Get("Retry-After") == "" || !strings.Contains(a.body, "The wiki does not answer right now.") {
			t.Errorf("%s: Retry-After %q: %s", what, a.header.Get("Retry-After"), a.body)
		}
	}
	unavailable("a user who has not signed in", ask("bob GET", path))
	unavailable("a page that was not read", ask("alice GET", unread))
	w.pages.Reload(t.Context())
	unavailable("a page whose rights do not count any more", submit)
	w.wiki.Restart()
	w.expect(t, 201, submit)
	testkit.Same(t, "are stored", w.stored(t), 3)
}
