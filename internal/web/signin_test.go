package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
	livewiki "github.com/formulary/formulary/internal/wiki"
	"github.com/formulary/formulary/internal/wiki/wikitest"
)

func TestSignInAndOut(t *testing.T) {
	b := newEnv(t, wiki).browser()
	p := b.get(survey + "?x=1")
	p.want(200, "Sign in")
	testkit.Same(t, "without a session: at", p.path, "/login?next="+url.QueryEscape(survey+"?x=1"))
	for user, want := range map[string]struct {
		status int
		text   string
	}{
		"alice": {422, "There is a problem"}, "nobody": {422, "There is a problem"},
		"throttled": {429, "Too many failed attempts to log in. Try again in 7 seconds."},
	} {
		p = b.postForm("/login", url.Values{"username": {user}, "password": {"wrong"}, "next": {survey}})
		p.want(want.status, want.text)
		testkit.Same(t, user, p.title(), "Error: Sign in – Formulary")
		p.wantValues("username", user, "next", survey)
		p.wantNoHTML("wrong") // the password
	}
	p = b.postForm("/login", credentials("alice", survey+"?x=1"))
	p.want(200)
	testkit.Same(t, "after the sign-in: at", p.path, survey+"?x=1")
	testkit.Same(t, "after the sign-out: at", b.postForm("/logout", nil).path, "/login")
	testkit.Same(t, "then: at", b.get("/").path, "/login?next=%2F")
}

func TestSessionCookie(t *testing.T) {
	e := newEnv(t, wiki)
	for _, tt := range []struct {
		path, scheme, want string
	}{
		{"/login", "http", "formulary=ID; Path=/; HttpOnly; SameSite=Lax"},
		{"/login", "https", "__Host-formulary=ID; Path=/; HttpOnly; Secure; SameSite=Lax"},
		{"/embed/login", "https", "__Host-formulary-embed=ID; Path=/; HttpOnly; Secure; SameSite=None; Partitioned"},
	} {
		b := e.browserAt(tt.scheme + "://forms.example").stay()
		cookie := b.postForm(tt.path, credentials("alice", "/")).header.Get("Set-Cookie")
		name, rest, _ := strings.Cut(cookie, "=")
		id, attributes, _ := strings.Cut(rest, ";")
		if got := name + "=ID;" + attributes; got != tt.want || len(id) < 40 {
			t.Errorf("%s over %s: %q", tt.path, tt.scheme, cookie)
		}
	}
}

// A sign-in makes a new session, and ends the one before. TestSignOutEndsASendInFlight has a sign-out end one.
func TestSessionEnds(t *testing.T) {
	e, b := newAlice(t, wiki)
	stolen := b.cookie()
	thief := e.browser()
	thief.setCookie(cookieName, stolen)
	testkit.Same(t, "the cookie is the session: at", thief.get("/").path, "/")
	b.postForm("/login", credentials("alice", ""))
	if b.cookie() == stolen {
		t.Error("the sign-in kept the id of the session before")
	}
	testkit.Same(t, "the session before: at", thief.get("/").path, "/login?next=%2F")
}

// After a sign-in, people go on to a page of this server, below its base path, and within
// a frame to one that may be framed.
func TestNextIsLocal(t *testing.T) {
	for at, next := range map[frame]struct{ own, foreign []string }{
		{}: {[]string{survey, survey + "?x=1", "/"}, []string{
			"https://evil.example/", "//evil.example/", `/\evil.example/`, `\\evil.example`, "javascript:alert(1)", "/\t/evil.example", "evil", "", "http:/x",
			"/%0a//x\n", "///evil.example", "https:evil.example", " //evil.example", "/\r\nSet-Cookie: x=y",
		}},
		{base: base}: {[]string{base, base + survey + "?comment=a"}, []string{
			"/", "/wiki/Main_Page", survey, base + "x/", base + "/../wiki", base + "/%2e%2e/wiki", base + "/%2E./%2e%2E/wiki",
			"//evil.example" + base, "https://evil.example" + base,
		}},
		{Framed: true}: {[]string{"/embed" + formPath}, []string{
			"", "/", formPath, "/embed", "/embed/../page/101", "/embed//x", "//evil.example", "https://evil.example/embed/", "/\\evil.example",
			"/embed/\\x", "/embed\r\n/", "/embed/%2e%2e/page/101", "embed/login", "/embedx/",
		}},
	} {
		for _, path := range next.own {
			testkit.Same(t, at, localPath(path, at), path)
		}
		for _, path := range next.foreign {
			testkit.Same(t, path, localPath(path, at), at.path("/"))
		}
	}
	b := newEnv(t, wiki).browser().stay()
	testkit.Same(t, "the sign-in leads", b.postForm("/login", credentials("alice", "//evil.example/")).location(), "/")
	testkit.Same(t, "who has signed in is led", b.get("/login?next=//evil.example/").location(), "/")
}

// besideWiki has the users of a live wiki, who come with its cookies.
func besideWiki(w livewiki.Wiki) func(*envOptions) {
	return func(o *envOptions) {
		o.Browsers = auth.NewWiki(auth.WikiOptions{Wiki: w, Relogin: time.Hour, Recheck: time.Hour})
		o.sessions.Users = o.Browsers
	}
}

// Authors beside a live wiki are told who reads the answers, before they ask a question.
func TestAuthorBesideWiki(t *testing.T) {
	const told = "Everybody who may edit the form's wiki page can read the answers. Protect the page to change that."
	b := newEnv(t, wiki, besideWiki(wikitest.New(map[string]wikitest.User{"Alice": {}}))).browser()
	b.get("/author", "Cookie", "session=Alice").want(200, told)
}

// The sign-in leads to that of the wiki, where its cookies come here: from the same host, or as they are there already.
func TestSignInAtTheWiki(t *testing.T) {
	e := newEnv(t, wiki, besideWiki(wikitest.New(nil)))
	for _, tt := range []struct{ at, cookie, next, page string }{
		{"http://wiki.example:8080", "", "/page/101/form/survey?x=1", "101"},
		{"https://wiki.example", "", "/", "0"},
		{"https://forms.example", "session=ended", "/page/7", "7"},
		{"https://forms.example", "", "/page/7", ""},
	} {
		a := e.browserAt(tt.at).get("/login?next="+url.QueryEscape(tt.next), "Cookie", tt.cookie)
		want := ""
		if tt.page != "" {
			want = "https://wiki.example/sign-in?page=" + tt.page
		}
		if got := a.link("Sign in at the wiki"); got != want || want != "" && a.link("continue here") != tt.next {
			t.Errorf("%+v: leads to %q, then %q", tt, got, a.link("continue here"))
		}
	}
}

// The sign-in page names the wiki by its title, and gives its advice: to those who type a
// password, in a frame, and with the form of an expired session.
func TestSignInWithWiki(t *testing.T) {
	const advice = "Make a bot password."
	w := wikitest.New(nil)
	w.Fail(&livewiki.AdviceError{Detail: forms.English("%s", advice)})
	e := newEnv(t, wiki, besideWiki(w))
	b := e.browserAt("https://forms.example")
	for _, path := range []string{"/login", "/embed/login"} {
		b.get(path).want(200, "With your account of Test Wiki.")
		p := b.postForm(path, credentials("alice", "/"))
		p.want(422, "With your account of Test Wiki.", advice)
		p.wantNoHTML("is not right")
	}
	p := b.postForm(survey, url.Values{"_username": {"alice"}, "_password": {"x"}})
	p.want(422, "With your account of Test Wiki.", advice)
}

// stuckSessions can't end its first session, and counts those that it ends.
type stuckSessions struct {
	store.Sessions
	created [][32]byte
	ended   int
}

func (s *stuckSessions) CreateSession(ctx context.Context, created store.Session) error {
	s.created = append(s.created, created.Hash)
	return s.Sessions.CreateSession(ctx, created)
}

func (s *stuckSessions) DeleteSession(ctx context.Context, hash [32]byte) error {
	if hash == s.created[0] {
		return errors.New("the database is away")
	}
	s.ended++
	return s.Sessions.DeleteSession(ctx, hash)
}

// A sign-in that can't end the session before it leaves no new one behind.
func TestSignInLeavesNoSession(t *testing.T) {
	stuck := &stuckSessions{}
	_, b := newAlice(t, wiki, func(o *envOptions) { stuck.Sessions, o.sessions.Store = o.sessions.Store, stuck })
	before := b.cookie()
	p := b.postForm("/login", credentials("alice", ""))
	if p.want(500); stuck.ended != 1 || len(stuck.created) != 2 || b.cookie() != before {
		t.Errorf("of %d sessions %d are ended, and the cookie is new: %t", len(stuck.created), stuck.ended, b.cookie() != before)
	}
}

// An error page says what is wrong, also if only fields are at fault.
func TestErrorPageNamesFields(t *testing.T) {
	e := newEnv(t, wiki)
	w := httptest.NewRecorder()
	e.site.newCall(w, httptest.NewRequest(http.MethodGet, "/", nil), frame{}).fail(forms.InvalidField("a", forms.English("is wrong")))
	if w.Code != 400 || !strings.Contains(w.Body.String(), "“a” is wrong") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

// The script of a frame leaves a sign-in when somebody has signed in elsewhere.
// It must not take a form with a question called "next" for a sign-in: what was
// typed there would be lost.
func TestFrameTellsSignInFromQuestions(t *testing.T) {
	e := newEnv(t, page1("", "form: steps\nfields: [{id: next, type: textfield, label: Next}]\n"))
	const mark = "data-next"
	testkit.Contains(t, "frame.js", string(readStatic("frame.js")), `document.querySelector("input[`+mark+`]")`)
	testkit.Same(t, "marks of a sign-in", len(e.browser().get("/login").find("input["+mark+"]")), 1)
	b := e.signedIn("alice")
	page := b.get("/page/1/form/steps")
	page.wantNoHTML(mark)
	b.setCookie(cookieName, "none")
	kept := b.send("/page/1/form/steps", with(page.values(), "next", "typed"))
	kept.want(403, "Sign in")
	kept.wantNoHTML(mark)
}

// Anybody can send a sign-in, so little of it is read.
func TestSignInIsBounded(t *testing.T) {
	long := url.Values{"username": {"alice"}, "password": {strings.Repeat("x", maxForm)}}
	newEnv(t, nil).browser().postForm("/login", long).want(400, "The form can't be read.")
}
