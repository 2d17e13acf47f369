package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
)

// Somebody who opens a page while the database is away is asked to try again.
func TestOutage(t *testing.T) {
	e := newEnvOn(t, enginetest.SQLite, wiki)
	b := e.signedIn(t, "alice")
	if err := e.Engine.Close(); err != nil {
		t.Fatal(err)
	}
	wantLater := func(what string, p *answer) {
		t.Helper()
		p.want(http.StatusServiceUnavailable, "Try again in a moment")
		if p.header.Get("Retry-After") != "2" {
			t.Errorf("%s: Retry-After %q", what, p.header.Get("Retry-After"))
		}
	}
	for _, path := range []string{"/", "/page/1", survey, survey + "/results", "/author", "/login"} {
		wantLater(path, b.get(path))
	}
	wantLater("send a form", b.send(survey, url.Values{"comment": {"x"}}))
	wantLater("sign out", b.postForm("/logout", nil))
	wantLater("sign in", e.browser(t).postForm("/login", url.Values{"username": {"bob"}, "password": {"bob-secret"}}))
}

// fullSessions is a store whose disk is full.
type fullSessions struct{ store.Sessions }

func (fullSessions) CreateSession(context.Context, store.Session) error {
	return fmt.Errorf("%w: test", store.ErrFull)
}

func TestSignInOnAFullDisk(t *testing.T) {
	e := newEnv(t, wiki, func(o *envOptions) { o.sessions.Store = fullSessions{o.sessions.Store} })
	p := e.browser(t).postForm("/login", url.Values{"username": {"alice"}, "password": {"alice-secret"}})
	p.want(http.StatusInsufficientStorage, "There is no room")
	if p.header.Get("Retry-After") != "2" {
		t.Errorf("Retry-After %q", p.header.Get("Retry-After"))
	}
}
