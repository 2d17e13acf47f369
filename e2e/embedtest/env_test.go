// Package embedtest has the tests of forms within the pages of other sites.
package embedtest

import (
	"testing"
	"time"

	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/session"
	"github.com/formulary/formulary/internal/testsite"
	"github.com/formulary/formulary/internal/web"
)

const page = "---\ntitle: Team feedback\nview: [amy, bob]\nedit: [amy]\n---\n" + `
~~~yaml form
form: feedback
fields:
  - {id: comment, type: textbox, label: Comment, required: true}
  - {id: rating, type: dropdown, label: Rating, options: [1, 2, 3, 4, 5]}
  - {id: reason, type: textfield, label: "What went wrong?", help: In a few words, showIf: {field: rating, equals: [1, 2]}}
~~~

~~~yaml form
form: ballot
anonymous: true
oneSubmission: true
fields:
  - {id: vote, type: radio, label: Your vote, options: ["yes", "no"], required: true}
~~~
`

const formPath = "/page/101/form/feedback"

// newSite makes the pages on a new database. Only the ancestors may embed them.
func newSite(t *testing.T, ancestors ...string) *web.Site {
	t.Helper()
	s := testsite.New(t, map[string]string{"101.md": page})
	s.Users.Set(testsite.People{"amy": nil, "bob": nil, "eve": nil})
	sessions := session.New(session.Options{Store: s.Engine, Users: s.Users, OwnerKey: testsite.Key})
	svc := service.New(service.Options{
		Pages: s.Pages, Store: s.Store, Files: s.Store, AnonymousKey: testsite.Key, Now: time.Now,
		MaxSubmission: request.DefaultMaxBody, MaxFile: service.DefaultMaxFile,
	})
	backend := request.NewBackend(request.Options{Service: svc, Auth: s.Users, Logger: s.Logger})
	return web.New(web.Options{Backend: backend, Sessions: sessions, Key: testsite.Key, FrameAncestors: ancestors})
}

const wiki = "https://wiki.example.org"
