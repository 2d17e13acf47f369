package embedtest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// framable checks that an answer may be framed by the wiki alone.
func framable(t *testing.T, a answer) {
	t.Helper()
	policy := a.Header.Get("Content-Security-Policy")
	if !strings.HasSuffix(policy, "; frame-ancestors "+wiki+" http://other.example:8090") || a.Header.Get("X-Frame-Options") != "" {
		t.Errorf("%s %s can't be framed: %q", a.Request.Method, a.Request.URL, a.Header)
	}
}

// closed checks that nobody may frame an answer.
func closed(t *testing.T, a answer) {
	t.Helper()
	policy := a.Header.Get("Content-Security-Policy")
	if !strings.HasSuffix(policy, "; frame-ancestors 'none'") || a.Header.Get("X-Frame-Options") != "DENY" {
		t.Errorf("%s %s can be framed: %q", a.Request.Method, a.Request.URL, a.Header)
	}
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
	v := visit(t, wiki, "http://other.example:8090")
	for _, user := range []string{"", "amy", "eve"} { // eve may not view the page
		if user != "" {
			v.signIn(user)
			v.post("/login", url.Values{"username": {user}, "password": {user + "-secret"}})
		}
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut} {
			for _, p := range embedded {
				framable(t, v.do(method, p, nil))
				framable(t, v.do(method, p, url.Values{}, "Sec-Fetch-Site", "cross-site"))
			}
			for _, p := range others {
				closed(t, v.do(method, p, nil))
				closed(t, v.do(method, p, url.Values{}, "Sec-Fetch-Site", "cross-site"))
			}
		}
	}
}

// TestNoFrameAncestors: without the flag nobody may frame anything.
func TestNoFrameAncestors(t *testing.T) {
	v := visit(t)
	for _, p := range append(others, embedded...) {
		closed(t, v.get(p))
	}
	v.signIn("amy")
	closed(t, v.get("/embed"+formPath))
}

// TestFramedCookie: the cookie counts in frames of one site only, and the other
// cookie not within frames.
func TestFramedCookie(t *testing.T) {
	v := visit(t, wiki)
	a := v.post("/embed/login", url.Values{"username": {"amy"}, "password": {"amy-secret"}, "next": {"/embed" + formPath}})
	set := a.Header.Values("Set-Cookie")
	if !regexp.MustCompile(`^\[__Host-formulary-embed=[\w-]{43}; Path=/; HttpOnly; Secure; SameSite=None; Partitioned\]$`).MatchString("[" + strings.Join(set, "|") + "]") {
		t.Errorf("%q", set)
	}
	want(t, v.get("/embed"+formPath), http.StatusOK, "Signed in as <bdi>amy</bdi>", `<form class="form"`)
	if a := v.get(formPath); a.location() != "/login?next="+url.QueryEscape(formPath) {
		t.Errorf("the cookie of frames opens other pages: %d", a.StatusCode)
	}
	a = v.post("/embed/logout?next="+url.QueryEscape("/embed"+formPath), nil)
	if set := a.Header.Get("Set-Cookie"); !strings.Contains(set, "__Host-formulary-embed=; Path=/; Max-Age=0") || !strings.HasSuffix(set, "; Partitioned") {
		t.Errorf("sign-out: %q", set)
	}
	if to := "/embed/login?next=" + url.QueryEscape("/embed"+formPath); a.location() != to {
		t.Errorf("sign-out led to %s", a.location())
	}
	v.post("/login", url.Values{"username": {"amy"}, "password": {"amy-secret"}})
	want(t, v.get(formPath), http.StatusOK)
	if a := v.get("/embed" + formPath); a.StatusCode != http.StatusSeeOther {
		t.Errorf("the cookie of pages opens frames: %d", a.StatusCode)
	}
}

// TestFramedForm: from the sign-in to the change of a submission, all stays
// below /embed/.
func TestFramedForm(t *testing.T) {
	v := visit(t, wiki)
	a := v.get("/embed" + formPath)
	if to := "/embed/login?next=" + url.QueryEscape("/embed"+formPath); a.location() != to {
		t.Fatalf("led to %s, want %s", a.location(), to)
	}
	a = v.get(a.location())
	want(t, a, http.StatusOK, `action="/embed/login"`, `href="`+formPath+`" target="_blank" rel="noopener"`)
	a = v.post("/embed/login", url.Values{"username": {"amy"}, "password": {"wrong"}, "next": {"/embed" + formPath}})
	want(t, a, http.StatusUnprocessableEntity, "There is a problem", `name="next" value="/embed`+formPath, `href="`+formPath+`" target="_blank"`)
	v.signIn("amy")
	a = v.get("/embed" + formPath)
	want(t, a, http.StatusOK, `<html lang="en" class="framed">`, `action="/embed`+formPath+`"`, `action="/embed/logout?next=%2Fembed%2Fpage%2F101%2Fform%2Ffeedback"`)
	wantNot(t, a, `<header`, "/docs", "/results")
	stays(t, a)

	form := hidden(a)
	a = v.post("/embed"+formPath, form)
	want(t, a, http.StatusUnprocessableEntity, "There is a problem")
	stays(t, a)
	form.Set("comment", "Good")
	a = v.post("/embed"+formPath, form)
	if want(t, a, http.StatusSeeOther); !strings.HasPrefix(a.location(), "/embed"+formPath+"/submission/") {
		t.Fatalf("led to %s", a.location())
	}
	sent := strings.TrimSuffix(a.location(), "?sent")
	a = v.get(a.location())
	want(t, a, http.StatusOK, "This is what was sent", `href="`+sent+`/change"`)
	wantNot(t, a, "/delete", "Go to the page")
	want(t, a, http.StatusOK, `action="/embed/logout?next=%2Fembed%2Fpage%2F101%2Fform%2Ffeedback"`)
	stays(t, a)
	a = v.get(sent + "/change")
	want(t, a, http.StatusOK, `action="`+sent+`/change"`)
	stays(t, a)
	form = hidden(a)
	form.Set("comment", "Better")
	a = v.post(sent+"/change", form)
	if want(t, a, http.StatusSeeOther); a.location() != sent+"?saved" {
		t.Errorf("led to %s", a.location())
	}
}

var links = regexp.MustCompile(`<(a|form) [^>]*(?:href|action)="([^"#][^"]*)"[^>]*>`)

// stays checks that what leaves the frame opens a new tab.
func stays(t *testing.T, a answer) {
	t.Helper()
	for _, m := range links.FindAllStringSubmatch(a.body, -1) {
		if !strings.HasPrefix(m[2], "/embed/") && !strings.Contains(m[0], `target="_blank" rel="noopener"`) {
			t.Errorf("%s: %s leaves the frame", a.Request.URL.Path, m[0])
		}
	}
}

var controls = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

func hidden(a answer) url.Values {
	form := url.Values{}
	for _, m := range controls.FindAllStringSubmatch(a.body, -1) {
		form.Set(m[1], m[2])
	}
	return form
}

// TestExpiredInFrame: what was typed is there again after another sign-in.
func TestExpiredInFrame(t *testing.T) {
	v := visit(t, wiki)
	v.signIn("amy")
	form := hidden(v.get("/embed" + formPath))
	form.Set("comment", "typed before")
	v.post("/embed/logout", nil)
	a := v.post("/embed"+formPath, form)
	want(t, a, http.StatusForbidden, "typed before", `href="`+formPath+`" target="_blank"`)
	form.Set("_username", "amy")
	form.Set("_password", "amy-secret")
	a = v.post("/embed"+formPath, form)
	want(t, a, http.StatusOK, "typed before", "Nothing was sent yet")
	stays(t, a)
	want(t, v.get("/embed"+formPath), http.StatusOK)
}

// TestCookieRefused: a browser that does not keep the cookie is led out of the
// frame, and not asked to sign in again.
func TestCookieRefused(t *testing.T) {
	v := visit(t, wiki)
	v.client.Jar = nil
	a := v.get("/embed" + formPath)
	want(t, v.get(a.location()), http.StatusOK, "Password")
	a = v.post("/embed/login", url.Values{"username": {"amy"}, "password": {"amy-secret"}, "next": {"/embed" + formPath}})
	a = v.get(a.location())
	want(t, a, http.StatusOK, "does not keep you signed in", `href="`+formPath+`" target="_blank" rel="noopener"`)
	wantNot(t, a, "Password")
	stays(t, a)
	a = v.get("/login?signed-in&next=/") // by itself, it means nothing
	want(t, a, http.StatusOK, "Password")
}

// TestFrameWithoutTLS: no cookie for frames is set in the clear.
func TestFrameWithoutTLS(t *testing.T) {
	v := visit(t, wiki)
	server := httptest.NewServer(newSite(t, wiki))
	t.Cleanup(server.Close)
	v.server = server.URL
	signIn := url.Values{"username": {"amy"}, "password": {"amy-secret"}, "next": {"/embed" + formPath}}
	for _, a := range []answer{
		v.get("/embed" + formPath), v.get("/embed/login?next=/embed" + formPath), v.post("/embed"+formPath, url.Values{"comment": {"a"}}),
		v.post("/embed/logout?next=/embed"+formPath, nil),
	} {
		want(t, a, http.StatusOK, "is not encrypted", `href="`+formPath+`" target="_blank" rel="noopener"`)
	}
	a := v.post("/embed/login", signIn)
	if want(t, a, http.StatusOK, "is not encrypted"); a.Header.Get("Set-Cookie") != "" {
		t.Error("a session was made")
	}
	want(t, v.get("/embed/none"), http.StatusNotFound)
	if a := v.get(formPath); !strings.HasPrefix(a.location(), "/login?") {
		t.Errorf("the page by itself: %d", a.StatusCode)
	}
}

// TestNextInFrame: a sign-in in a frame leads to pages of frames only.
func TestNextInFrame(t *testing.T) {
	v := visit(t, wiki)
	for _, next := range []string{
		"", "/", formPath, "/embed", "/embed/../page/101", "/embed//x", "//evil.example", "https://evil.example/embed/", "/\\evil.example", "/embed/\\x", "/embed\r\n/",
		"/embed/%2e%2e/page/101", "embed/login", "/embedx/",
	} {
		a := v.get("/embed/login?next=" + url.QueryEscape(next))
		want(t, a, http.StatusOK, `name="next" value="/embed/"`)
	}
}

// TestOtherSites: another site's page can't use the cookie, although browsers
// send it along.
func TestOtherSites(t *testing.T) {
	v := visit(t, wiki)
	v.signIn("amy")
	form := hidden(v.get("/embed" + formPath))
	form.Set("comment", "forged")
	for _, header := range [][]string{
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
		{"Origin", wiki},
		{"Origin", "null"},
		{"Sec-Fetch-Site", "cross-site", "Origin", wiki},
	} {
		for _, p := range []string{"/embed" + formPath, "/embed" + formPath + "/submission/1/change", "/embed/login", "/embed/logout"} {
			a := v.do(http.MethodPost, p, form, header...)
			want(t, a, http.StatusForbidden, "on behalf of another site")
			if a.Header.Get("Set-Cookie") != "" {
				t.Errorf("%s %q: the session has changed", p, header)
			}
		}
	}
	want(t, v.post("/embed"+formPath, form), http.StatusSeeOther)
}

// TestEmbedScript: any page may load the script, which asks for a new one soon.
func TestEmbedScript(t *testing.T) {
	a := visit(t, wiki).get("/embed.js")
	want(t, a, http.StatusOK, "data-formulary-form")
	for name, value := range map[string]string{
		"Content-Type": "text/javascript; charset=utf-8", "Cross-Origin-Resource-Policy": "cross-origin", "Cache-Control": "public, max-age=3600",
	} {
		if got := a.Header.Get(name); got != value {
			t.Errorf("%s: %q", name, got)
		}
	}
}
