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
	e := newHouse(t)
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
	requests := append(asks("", `
		GET /page/1/form/all
		HEAD /page/1/form/all
		GET /page/1/form/all/submission
		POST /page/1/form/all/submission {"fields":{"name":{"fieldId":"name","value":"x"}}}
		POST /page/1/form/all/submission no json
		PUT /page/1/form/all/result/1 {"name":"x"}
		DELETE /page/1/form/all/result/1
		GET /page/99/form
		GET /page/x/form
		PATCH /page/1/form/all
		GET /page/1//form
		GET /page/../page/1/form
		OPTIONS /page/1/form/all
	`), ask("GET", "/rest"), ask("GET", "/rest/nothing/here"), ask("GET", "//rest/forms"))
	unchanged, body := e.unchanged(t), ""
	for name, header := range credentials {
		for _, r := range requests {
			r.header = header
			a := e.expect(t, 401, r)
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
	unchanged()
}

// Behind a proxy that signs people in, its header is the one credential. Package auth decides what it must be like.
func TestProxyNamesTheCaller(t *testing.T) {
	e := newHouse(t, func(o *request.Options) { o.Auth = auth.NewProxy("X-User", "X-Groups", o.Logger) })
	post := ask("POST", allPath+"/submission", nestedBody("name", "Ann")).with(jsonWith("X-User", "dora"))
	if a := e.expect(t, 201, post); !strings.Contains(a.body, `"dora"`) {
		t.Errorf("stored: %s", a.body)
	}
	post.header = jsonWith("X-User", "dora", "Sec-Fetch-Site", "cross-site")
	e.expect(t, 403, post)
	post.header = basic("alice:alice-secret")
	a := e.expect(t, 401, post)
	if a.header.Get("WWW-Authenticate") != "" || strings.Contains(a.body, "Basic") || e.stored(t) != 1 {
		t.Errorf("a password: %v %s", a.header, a.body)
	}
}
