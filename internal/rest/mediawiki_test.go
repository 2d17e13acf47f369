package rest

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/auth"
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
	server, logger := mediawikitest.Start(t), slog.New(slog.DiscardHandler)
	for _, name := range []string{"Alice", "Ann", "Bob", "Carol", "Dave"} {
		server.SetPassword(name, strings.ToLower(name)+"-secret")
	}
	client, err := wiki.Open(wiki.Options{Address: "mediawiki+" + server.API, Logger: logger})
	testkit.Must(t, err)
	// The clock does not advance: only Reload has the wiki asked again.
	source := pages.NewWiki(pages.WikiOptions{
		Wiki: wikitest.Patient(client), Format: markup.Wikitext, Recheck: time.Hour,
		Logger: logger, Now: func() time.Time { return testsite.Began },
	})
	e := &env{
		Site: testsite.On(t, enginetest.Default(), nil), source: source,
		people: auth.NewWiki(auth.WikiOptions{Wiki: client, Relogin: time.Hour, Recheck: time.Hour}),
	}
	e.serve(t)
	write := func(view, edit []string) (path string) { // of the form on a new page
		id := server.Write(fmt.Sprint("Page ", len(e.ids)),
			"<pre class=\"form\">\nform: staff\nfields:\n  - {id: text, type: textfield, label: Text}\n</pre>\n")
		e.ids = append(e.ids, id)
		server.SetRights(id, view, edit)
		source.Reload(t.Context())
		return form(id, "staff")
	}

	p := permissions[0] // a wiki has no results for viewers
	p.form = write([]string{"Bob", "@hr"}, []string{"Alice"})
	p.check(t, e)
	n := e.note(t, ask("alice GET", p.form+"/submission?limit=1"))
	testkit.Same(t, "user in the log", n.user, "Alice")
	testkit.Contains(t, "a submission", n.Body.String(), `"username":"Bob"`)

	// If the wiki stops, rights that it told before count for a while.
	path := write(nil, []string{"Alice"})
	stored := e.stored(t)
	unread := write(nil, nil)
	submit := ask("alice POST", path+"/submission", nestedBody("text", "x"))
	e.expect(t, 201, submit)
	server.Stop()
	e.expect(t, 201, submit)
	unavailable := func(what string, r testRequest) {
		t.Helper()
		testkit.Contains(t, what, e.refused(t, 503, r).body, "The wiki does not answer right now.")
	}
	unavailable("a user who has not signed in", ask("ann GET", path))
	unavailable("a page that was not read", ask("alice GET", unread))
	source.Reload(t.Context())
	unavailable("a page whose rights do not count any more", submit)
	server.Restart()
	e.expect(t, 201, submit)
	testkit.Same(t, "are stored", e.stored(t), stored+3)
}
