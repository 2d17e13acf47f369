package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

const (
	wikiSite = "https://wiki.example.org"
	formPath = "/page/101/form/feedback"
)

var embedPages = map[string]string{"101.md": "---\ntitle: Team feedback\nview: [alice, bob]\nedit: [alice]\n---\n```form\nform: feedback\nfields:\n" +
	"  - {id: comment, type: textbox, label: Comment, required: true}\n```\n"}

// embedding opens the pages over TLS. Only the ancestors may embed them.
func embedding(t *testing.T, ancestors ...string) *browser {
	t.Helper()
	e := newEnv(t, embedPages, func(o *envOptions) { o.FrameAncestors = ancestors })
	return e.browserAt("https://forms.example").stay()
}

// signInFramed signs in within a frame, and comes back to the form.
func (b *browser) signInFramed(user string) {
	b.t.Helper()
	a := b.postForm("/embed/login", credentials(user, "/embed"+formPath))
	if a = b.get(a.location()); a.location() != "/embed"+formPath {
		b.t.Fatalf("led to %d, %s", a.status, a.location())
	}
}

func (a *answer) wantPage(status int, texts ...string) {
	a.t.Helper()
	a.want(status)
	a.wantHTML(texts...)
}

func (a *answer) location() string { return a.header.Get("Location") }

// wantAncestors checks who may frame an answer.
func (a *answer) wantAncestors(ancestors, options string) {
	a.t.Helper()
	a.wantHeader("X-Frame-Options", options)
	if policy := a.header.Get("Content-Security-Policy"); !strings.HasSuffix(policy, "; frame-ancestors "+ancestors) {
		a.t.Errorf("%s: %q", a.path, policy)
	}
}

// wantClosed checks that nobody may frame an answer.
func (a *answer) wantClosed() {
	a.t.Helper()
	a.wantAncestors("'none'", "DENY")
}

// embedded are addresses below /embed/, also such as have no page.
var embedded = []string{
	"/embed" + formPath, "/embed" + formPath + "/sent", "/embed" + formPath + "/submission/1", "/embed" + formPath + "/submission/1/change",
	"/embed" + formPath + "/submission/1/file/f/a.txt", "/embed" + formPath + "/submission/1/delete", "/embed/page/101/form/none",
	"/embed/page/x/form/y", "/embed/page/999/form/feedback", "/embed/login", "/embed/login?next=" + formPath, "/embed/logout", "/embed/", "/embed/author",
	"/embed/page/101", "/embed" + formPath + "/results", "/embed//page", "/embed/../", "/embed/static/style.css", "/embed/embed.js",
}

// others are addresses that nobody may frame.
var others = []string{
	"/", "/embed", "/embed.js", "/embedx/", "/Embed/login", "/x/embed/login", "/login", "/login?next=/embed/login", "/logout", "/author", "/none", "/page/101",
	formPath, formPath + "/sent", formPath + "/results", formPath + "/results.csv", formPath + "/submission/1", formPath + "/submission/1/change",
	formPath + "/submission/1/delete", formPath + "/submission/1/file/f/a.txt", "/static/none.css", "/%65mbed.js", "/page/embed/form/embed",
}

// TestFrameAncestors: answers of every kind, with a session and without one.
func TestFrameAncestors(t *testing.T) {
	b := embedding(t, wikiSite, "http://other.example:8090")
	for _, user := range []string{"", "alice", "dave"} { // dave may not view the page
		if user != "" {
			b.signInFramed(user)
			b.postForm("/login", credentials(user, ""))
		}
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut} {
			for _, site := range []string{"none", "cross-site"} {
				for _, p := range embedded {
					b.request(method, p, urlencoded, http.NoBody, "Sec-Fetch-Site", site).
						wantAncestors(wikiSite+" http://other.example:8090", "")
				}
				for _, p := range others {
					b.request(method, p, urlencoded, http.NoBody, "Sec-Fetch-Site", site).wantClosed()
				}
			}
		}
	}
}

// TestNoFrameAncestors: without the flag nobody may frame anything.
func TestNoFrameAncestors(t *testing.T) {
	b := embedding(t)
	for _, p := range append(others, embedded...) {
		b.get(p).wantClosed()
	}
	b.signInFramed("alice")
	b.get("/embed" + formPath).wantClosed()
}

// TestFramedCookie: the cookie counts in frames of one site only.
func TestFramedCookie(t *testing.T) {
	b := embedding(t, wikiSite)
	b.signInFramed("alice")
	b.get("/embed"+formPath).wantPage(200, "Signed in as <bdi>alice</bdi>", `<form class="form"`)
	testkit.Same(t, "another page leads", b.get(formPath).location(), "/login?next="+url.QueryEscape(formPath))
	a := b.postForm("/embed/logout?next="+url.QueryEscape("/embed"+formPath), nil)
	if set := a.header.Get("Set-Cookie"); !strings.Contains(set, "__Host-formulary-embed=; Path=/; Max-Age=0") || !strings.HasSuffix(set, "; Partitioned") {
		t.Errorf("sign-out: %q", set)
	}
	testkit.Same(t, "sign-out leads", a.location(), "/embed/login?next="+url.QueryEscape("/embed"+formPath))
}

// TestOrdinarySessionInFrame: browsers send the ordinary cookie within pages of the
// same site, and then there is no second sign-in, also without TLS.
func TestOrdinarySessionInFrame(t *testing.T) {
	for _, at := range []string{"http://forms.example", "https://forms.example"} {
		b := embedding(t, wikiSite)
		b.at = at
		b.postForm("/login", credentials("alice", "")).want(303)
		a := b.get("/embed" + formPath)
		a.wantPage(200, "Signed in as <bdi>alice</bdi>", `action="/embed/logout?next=`)
		stays(t, a)
		testkit.Same(t, "the sign-in leads", b.get("/embed/login?next=/embed"+formPath).location(), "/embed"+formPath)
		b.send("/embed"+formPath, with(a.values(), "comment", "a")).want(303)

		a = b.postForm("/embed/logout", nil)
		if set := a.header.Values("Set-Cookie"); len(set) != 1 || !strings.Contains(set[0], "formulary=; Path=/; Max-Age=0") {
			t.Errorf("%s: sign-out: %q", at, set)
		}
		wantStart(t, "after the sign-out", b.get(formPath).location(), "/login?")
	}
}

// TestTwoSessionsInFrame: that of frames comes first, and a sign-out ends both.
func TestTwoSessionsInFrame(t *testing.T) {
	b := embedding(t, wikiSite)
	b.signInFramed("alice")
	b.postForm("/login", credentials("bob", "")).want(303)
	b.get("/embed"+formPath).wantPage(200, "Signed in as <bdi>alice</bdi>")
	b.get(formPath).wantPage(200, "<bdi>bob</bdi>")
	b.postForm("/embed/logout", nil).want(303)
	for _, p := range []string{"/embed" + formPath, formPath} {
		b.get(p).want(303)
	}
	b.signInFramed("alice")
	b.postForm("/login", credentials("bob", "")).want(303)
	b.setCookie("__Host-formulary-embed", "expired")
	b.get("/embed"+formPath).wantPage(200, "Signed in as <bdi>bob</bdi>")
}

// TestFramedForm: from the sign-in to the change of a submission, all stays
// below /embed/.
func TestFramedForm(t *testing.T) {
	b := embedding(t, wikiSite)
	a := b.get("/embed" + formPath)
	testkit.Same(t, "leads to", a.location(), "/embed/login?next="+url.QueryEscape("/embed"+formPath))
	a = b.get(a.location())
	a.wantPage(200, `action="/embed/login"`, `href="`+formPath+`" target="_blank" rel="noopener"`)
	a = b.postForm("/embed/login", url.Values{"username": {"alice"}, "password": {"wrong"}, "next": {"/embed" + formPath}})
	a.wantPage(422, "There is a problem", `name="next" value="/embed`+formPath, `href="`+formPath+`" target="_blank"`)
	b.signInFramed("alice")
	a = b.get("/embed" + formPath)
	a.wantPage(200, `<html lang="en" dir="ltr" class="framed">`, `action="/embed`+formPath+`"`, `action="/embed/logout?next=%2Fembed%2Fpage%2F101%2Fform%2Ffeedback"`)
	a.wantNoHTML(`<header`, "/docs")
	a.wantHTML(`<a href="`+formPath+`/results?username=alice" target="_blank" rel="noopener">My submissions</a>`,
		`<a href="`+formPath+`/results" target="_blank" rel="noopener">Results</a>`)
	stays(t, a)

	a = b.send("/embed"+formPath, a.values())
	a.wantPage(422, "There is a problem")
	stays(t, a)
	const sent = "/embed" + formPath + "/submission/1"
	testkit.Same(t, "leads to", b.send("/embed"+formPath, with(a.values(), "comment", "Good")).location(), sent+"?sent")
	a = b.get(sent + "?sent")
	a.wantPage(200, "This is what was sent", `href="`+sent+`/change"`)
	a.wantNoHTML("/delete", "Go to the page")
	a.wantHTML(`action="/embed/logout?next=%2Fembed%2Fpage%2F101%2Fform%2Ffeedback"`)
	stays(t, a)
	a = b.get(sent + "/change")
	a.wantPage(200, `action="`+sent+`/change"`)
	stays(t, a)
	testkit.Same(t, "leads to", b.send(sent+"/change", with(a.values(), "comment", "Better")).location(), sent+"?saved")
}

// A frame without a form says so to embed.js, which gives the block back. It does not
// for a submission that is not there.
func TestFrameWithoutForm(t *testing.T) {
	b := embedding(t, wikiSite)
	b.get("/embed/page/101/form/gone").wantNoHTML("data-missing") // the sign-in
	b.signInFramed("alice")
	for path, missing := range map[string]bool{
		"/embed/page/101/form/gone": true, "/embed/page/999/form/feedback": true, "/embed" + formPath + "/submission/999": false, "/page/999": false,
	} {
		if a := b.get(path); a.status != 303 && (a.status != 404 || strings.Contains(a.body, " data-missing>") != missing) {
			t.Errorf("%s: %d\n%s", path, a.status, a.body)
		}
	}
}

// A form that is broken since its first save: in its place, editors read what is wrong with which line, and come to
// its text. Others see the block as it is written.
func TestFrameOfBrokenForm(t *testing.T) {
	e := newEnv(t, map[string]string{"101.md": "---\ntitle: Team\nview: [alice, bob]\nedit: [alice]\n---\nText.\n```form\nform: lunch\nfields:\n" +
		"  - {id: dish, type: textfeld, label: Dish}\n```\n"}, func(o *envOptions) { o.FrameAncestors = []string{wikiSite} })
	const path = "/embed/page/101/form/lunch"
	for user, sees := range map[string]bool{"alice": true, "bob": false} {
		b := e.browserAt("https://forms.example").stay()
		b.signInFramed(user)
		a := b.get(path)
		if !sees {
			a.wantPage(404, " data-missing>")
			a.wantNoHTML("textfeld")
			continue
		}
		a.want(200, "The form “lunch” can't be shown", "This page has mistakes", "Line 3: ", "- {id: dish, type: textfeld, label: Dish}")
		a.wantNoHTML("data-missing")
		a.wantHTML(`class="error-summary"`)
		stays(t, a)
		testkit.Same(t, "the link leads", a.link("Edit lunch"), "/author?form=lunch&page=101")
		b.get(strings.TrimPrefix(path, "/embed")).want(303)
	}
}

// stays checks that what leaves the frame opens a new tab.
func stays(t *testing.T, a *answer) {
	t.Helper()
	for _, n := range slices.Concat(a.find("a"), a.find("form")) {
		to := attribute(n, "href") + attribute(n, "action")
		if !strings.HasPrefix(to, "/embed/") && !strings.HasPrefix(to, "#") && (attribute(n, "target") != "_blank" || attribute(n, "rel") != "noopener") {
			t.Errorf("%s: the link to %s leaves the frame", a.path, to)
		}
	}
}

// TestCookieRefused: a browser that does not keep the cookie is led out of the
// frame, and not asked to sign in again.
func TestCookieRefused(t *testing.T) {
	b := embedding(t, wikiSite)
	b.client.Jar = nil
	a := b.get("/embed" + formPath)
	b.get(a.location()).wantPage(200, "Password")
	a = b.postForm("/embed/login", credentials("alice", "/embed"+formPath))
	a = b.get(a.location())
	a.wantPage(200, "does not keep you signed in", `href="`+formPath+`" target="_blank" rel="noopener"`)
	a.wantNoHTML("Password")
	stays(t, a)
	a = b.get("/login?signed-in&next=/") // by itself, it means nothing
	a.wantPage(200, "Password")
}

// TestFrameWithoutTLS: a sign-in there is refused, and no cookie for frames is set in the
// clear.
func TestFrameWithoutTLS(t *testing.T) {
	b := embedding(t, wikiSite)
	b.at = "http://forms.example"
	signIn := credentials("alice", "/embed"+formPath)
	for _, a := range []*answer{
		b.get("/embed" + formPath), b.get("/embed/login?next=/embed" + formPath), b.send("/embed"+formPath, url.Values{"comment": {"a"}}),
		b.get(b.postForm("/embed/logout?next=/embed"+formPath, nil).location()),
	} {
		a.wantPage(200, "is not encrypted", `href="`+formPath+`" target="_blank" rel="noopener"`)
	}
	a := b.postForm("/embed/login", signIn)
	if a.want(200, "is not encrypted"); a.header.Get("Set-Cookie") != "" {
		t.Error("a session was made")
	}
	b.get("/embed/none").want(404)
	wantStart(t, "the page by itself leads", b.get(formPath).location(), "/login?")
}

// TestOtherSites: another site's page can't use the cookie, although browsers
// send it along.
func TestOtherSites(t *testing.T) {
	b := embedding(t, wikiSite)
	b.signInFramed("alice")
	b.postForm("/login", credentials("alice", ""))
	form := with(b.get("/embed"+formPath).values(), "comment", "forged")
	for _, header := range [][]string{
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
		{"Origin", wikiSite},
		{"Origin", "null"},
		{"Sec-Fetch-Site", "cross-site", "Origin", wikiSite},
	} {
		for _, p := range []string{
			"/embed" + formPath, "/embed" + formPath + "/submission/1/change", "/embed/login", "/embed/logout",
			formPath, "/login", "/logout", "/author",
		} {
			a := b.postForm(p, form, header...)
			a.wantPage(403, "on behalf of another site")
			a.wantHeader("Set-Cookie", "")
		}
	}
	b.send("/embed"+formPath, form).want(303)
}
