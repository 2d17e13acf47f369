package web

import (
	"context"
	"fmt"
	"net/url"
	"testing"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/store/enginetest"
	"github.com/formulary/formulary/internal/testkit"
)

const fileWiki = "---\ntitle: Files\n---\n```form\nform: files\nfields:\n  - {id: doc, type: file, label: Document}\n```\n"

// What goes wrong with a download is told on a page, with the policy of pages.
func TestErrorsOfDownloadsArePages(t *testing.T) {
	_, b := newAlice(t, map[string]string{"1-files.md": fileWiki})
	const form = "/page/1/form/files"
	sent := b.send(form, b.get(form).values(), chosenFile{"doc", "a.txt", "content"})
	file := sent.submission() + "/file/doc/"
	for _, tt := range []struct {
		name, header, value string
		status              int
	}{
		{"a.txt", "Range", "bytes=100-200", 416},
		{"a.txt", "If-Match", `"other"`, 412},
		{"b.txt", "Accept", "*/*", 404},
	} {
		p := b.get(file+tt.name, tt.header, tt.value)
		p.wantHTML("<h1")
		h := p.header
		if p.status != tt.status || h.Get("Content-Type") != "text/html; charset=utf-8" ||
			h.Get("Content-Disposition") != "" || h.Get("Content-Security-Policy") == "sandbox" {
			t.Errorf("%s with %s: status %d, %v", tt.name, tt.header, p.status, h)
		}
	}
}

// A redirect may set a cookie, and where it leads to depends on the user.
func TestRedirectsAreNotStored(t *testing.T) {
	e := newEnv(t, map[string]string{"1-files.md": fileWiki})
	b := e.browser().stay()
	for _, p := range []*answer{b.get("/"), b.get("/page/1/form/files"), b.postForm("/login", credentials("alice", "/"))} {
		if p.status != 303 || p.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: status %d, %v", p.path, p.status, p.header)
		}
	}
}

// Somebody who opens a page while the database is away is asked to try again.
func TestOutage(t *testing.T) {
	e := newEnvOn(t, enginetest.SQLite, wiki)
	b := e.signedIn("alice")
	testkit.Must(t, e.Engine.Close())
	wantLater := func(what string, p *answer) {
		t.Helper()
		p.want(503, "Try again in a moment")
		testkit.Same(t, what, p.header.Get("Retry-After"), "2")
	}
	for _, path := range []string{"/", "/page/1", survey, survey + "/results", "/author", "/login"} {
		wantLater(path, b.get(path))
	}
	wantLater("send a form", b.send(survey, url.Values{"comment": {"x"}}))
	wantLater("sign out", b.postForm("/logout", nil))
	wantLater("sign in", e.browser().postForm("/login", credentials("bob", "")))
}

// fullSessions is a store whose disk is full.
type fullSessions struct{ store.Sessions }

func (fullSessions) CreateSession(context.Context, store.Session) error {
	return fmt.Errorf("%w: test", store.ErrFull)
}

func TestSignInOnAFullDisk(t *testing.T) {
	e := newEnv(t, wiki, func(o *envOptions) { o.sessions.Store = fullSessions{o.sessions.Store} })
	p := e.browser().postForm("/login", credentials("alice", ""))
	p.want(507, "There is no room")
	testkit.Same(t, "Retry-After", p.header.Get("Retry-After"), "2")
}
