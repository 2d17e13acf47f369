package rest

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/request"
)

const challenge = `Basic realm="formulary", charset="UTF-8"`

func basic(userAndPassword string) http.Header {
	return http.Header{
		"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(userAndPassword))},
		"Content-Type":  {"application/json"},
	}
}

// Whatever else is wrong with a request, without credentials that is all it is
// told, and always in the same words.
func TestCredentialsComeFirst(t *testing.T) {
	e := newEnv(t, house())
	e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	alice := basic("alice:alice-secret").Get("Authorization")
	credentials := map[string]http.Header{
		"missing":        {},
		"wrong password": basic("alice:wrong"),
		"empty password": basic("alice:"),
		"unknown user":   basic("mallory:mallory-secret"),
		"nobody":         basic(":"),
		"wrong case":     basic("Alice:alice-secret"),
		"no colon":       basic("alice"),
		"not base64":     {"Authorization": {"Basic %%%"}},
		"other scheme":   {"Authorization": {"Bearer alice"}},
		"invalid UTF-8":  basic("alice\xff:alice-secret"),
		"NUL":            basic("alice\x00:alice-secret"),
		"twice":          {"Authorization": {alice, alice}},
		"and another":    {"Authorization": {alice, "Bearer alice"}},
	}
	requests := []testRequest{
		{method: "GET", path: allPath},
		{method: "HEAD", path: allPath},
		{method: "GET", path: allPath + "/submission"},
		{method: "POST", path: allPath + "/submission", body: nestedBody("name", "x")},
		{method: "POST", path: allPath + "/submission", body: "no json"},
		{method: "PUT", path: allPath + "/result/1", body: `{"name":"x"}`},
		{method: "DELETE", path: allPath + "/result/1"},
		{method: "GET", path: Prefix + "/page/99/form"},
		{method: "GET", path: Prefix + "/page/x/form"},
		{method: "PATCH", path: allPath},
		{method: "GET", path: "/rest"},
		{method: "GET", path: "/rest/nothing/here"},
		{method: "GET", path: "//rest/forms"},
		{method: "GET", path: Prefix + "/page/1//form"},
		{method: "GET", path: Prefix + "/page/../page/1/form"},
		{method: "OPTIONS", path: allPath},
	}
	before, body := e.dump(t), ""
	for name, header := range credentials {
		for _, r := range requests {
			r.header = header
			a := e.expect(t, http.StatusUnauthorized, r)
			if got := a.header["Www-Authenticate"]; len(got) != 1 || got[0] != challenge {
				t.Errorf("%s, %s %s: WWW-Authenticate %q, want %q", name, r.method, r.path, got, challenge)
			}
			if body == "" {
				body = a.body
			}
			if r.method != "HEAD" && a.body != body {
				t.Errorf("%s, %s %s: %s, want the same as ever: %s", name, r.method, r.path, a.body, body)
			}
		}
	}
	if after := e.dump(t); after != before {
		t.Errorf("before\n%safter\n%s", before, after)
	}
}

// Behind a proxy that signs people in, its header is the one credential. Package auth decides what it must be like.
func TestProxyNamesTheCaller(t *testing.T) {
	e := newEnv(t, house(), func(o *request.Options) { o.Auth = auth.NewProxy("X-User", "X-Groups", o.Logger) })
	post := testRequest{method: "POST", path: allPath + "/submission", body: nestedBody("name", "Ann"), header: jsonWith("X-User", "dora")}
	if a := e.expect(t, http.StatusCreated, post); !strings.Contains(a.body, `"dora"`) {
		t.Errorf("stored: %s", a.body)
	}
	post.header = jsonWith("X-User", "dora", "Sec-Fetch-Site", "cross-site")
	e.expect(t, http.StatusForbidden, post)
	post.header = basic("alice:alice-secret")
	a := e.expect(t, http.StatusUnauthorized, post)
	if a.header.Get("WWW-Authenticate") != "" || strings.Contains(a.body, "Basic") || e.stored(t) != 1 {
		t.Errorf("a password: %v %s", a.header, a.body)
	}
}
