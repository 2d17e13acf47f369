package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/store/pgtest"
)

// Whoever opens a page while the database is away is asked to try again.
func TestOutage(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		cluster := pgtest.New(t, pgtest.Options{})
		testOutage(t, enginetest.PostgresOn(cluster), func(store.Engine) error { return cluster.Stop() })
	})
	t.Run("sqlite", func(t *testing.T) {
		testOutage(t, enginetest.SQLite, func(s store.Engine) error { return s.Close() })
	})
}

func testOutage(t *testing.T, on enginetest.Engine, begin func(store.Engine) error) {
	e := newEnvOn(t, on, wiki)
	b := e.signedIn(t, "alice")
	if err := begin(e.Engine); err != nil {
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
