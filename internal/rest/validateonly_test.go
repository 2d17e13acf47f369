package rest

import (
	"net/http"
	"strings"
	"testing"
)

const validResult = `{"valid":true,"fieldErrors":{},"errors":[]}`

// TestValidateOnlyStoresNothing: the answer to ?validate=only is that of the
// request without it, but for what is stored.
func TestValidateOnlyStoresNothing(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "bob", allPath, nestedBody("name", "Ann"))
	open, _ := e.create(t, "bob", openPath, nestedBody("text", "x"))
	e.create(t, "alice", ballotPath, nestedBody("vote", "yes"))
	e.expect(t, 200, ask("alice PUT", result(path), `{"size":"M"}`))
	for _, tt := range []struct {
		name, user, method, path, body string
		status                         int // of the request without it
		detail                         string
	}{
		{"create", "alice", "POST", allPath + "/submission", nestedBody("name", "Ann"), 201, ""},
		{"create what is not valid", "alice", "POST", allPath + "/submission", nestedBody("size", "M"), 400, "is required"},
		{"create with no JSON", "alice", "POST", allPath + "/submission", "{", 400, "JSON"},
		{"create on a page that is hidden", "dave", "POST", staffPath + "/submission", nestedBody("text", "x"), 404, "no page"},
		{"create once, anonymous", "bob", "POST", ballotPath + "/submission", nestedBody("vote", "no"), 201, ""},
		{"merge", "bob", "POST", path, nestedBody("note", "x"), 200, ""},
		{"merge flat", "bob", "PUT", result(path), `{"extras":["a","b"]}`, 200, ""},
		{"merge that makes a field show", "bob", "PUT", result(path), `{"size":"L"}`, 400, `"why":"is required"`},
		{"merge what is not there", "bob", "POST", allPath + "/submission/999", nestedBody("name", "x"), 404, "no such submission"},
		{"merge another's", "alice", "PUT", result(open), `{"text":"x"}`, 403, "editors"},
	} {
		before := e.dump(t)
		a := e.do(t, ask(tt.user+" "+tt.method, tt.path+"?validate=only", tt.body))
		if after := e.dump(t); after != before {
			t.Errorf("%s: something was stored:\n%s\n%s", tt.name, before, after)
		}
		if tt.status < 300 {
			if a.status != 200 || a.body != validResult || a.header.Get("Location") != "" || a.header.Get("Etag") != "" {
				t.Errorf("%s: %d %s %v", tt.name, a.status, a.body, a.header)
			}
		} else if a.status != tt.status || !strings.Contains(a.body, tt.detail) {
			t.Errorf("%s: %d %s, want %d with %q", tt.name, a.status, a.body, tt.status, tt.detail)
		}
		if without := e.expect(t, tt.status, ask(tt.user+" "+tt.method, tt.path, tt.body)); tt.status >= 300 && without.body != a.body {
			t.Errorf("%s: %s, without it %s", tt.name, a.body, without.body)
		}
	}
}

// TestValidateOnlyKeepsTheLimits: of media types, lengths and states.
func TestValidateOnlyKeepsTheLimits(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "bob", allPath, nestedBody("name", "Ann", "note", strings.Repeat("x", 600<<10)))
	former := e.tag(t, "bob", path)
	e.expect(t, 200, ask("bob PUT", result(path), `{"size":"M"}`))
	long := strings.Repeat("y", 600<<10)
	for _, tt := range []struct {
		name, method, path, body string
		header                   http.Header
		status                   int
	}{
		{"a long body", "POST", allPath + "/submission", nestedBody("name", long, "note", long), nil, 413},
		{"a long merge", "PUT", result(path), `{"name":"` + long + `"}`, nil, 413},
		{"a media type", "PUT", result(path), `{}`, headerOf("Content-Type", "text/plain"), 415},
		{"a former tag", "PUT", result(path), `{}`, jsonWith("If-Match", former), 412},
		{"a former tag, and what is not valid", "PUT", result(path), `{"x":"y"}`, jsonWith("If-Match", former), 412},
		{"the tag", "PUT", result(path), `{}`, jsonWith("If-Match", e.tag(t, "bob", path)), 200},
		{"the cross-origin rule", "PUT", result(path), `{}`, jsonWith("Sec-Fetch-Site", "cross-site"), 403},
	} {
		a := e.do(t, ask("bob "+tt.method, tt.path+"?validate=only", tt.body).with(tt.header))
		if a.status != tt.status {
			t.Errorf("%s: %d %s, want %d", tt.name, a.status, a.body, tt.status)
		}
	}
}

// TestOtherValuesOfValidateAreRefused: a misspelt value must not store anything.
func TestOtherValuesOfValidateAreRefused(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "bob", allPath, nestedBody("name", "Ann"))
	before := e.dump(t)
	for _, query := range []string{"validate", "validate=Only", "validate=true", "validate=only&validate=only", "validate=only;x", "a=%zz&validate=only"} {
		for _, r := range append(writes(path), ask("DELETE", result(path))) {
			r.user, r.path = "bob", r.path+"?"+query
			e.expect(t, 400, r)
		}
	}
	e.expect(t, 400, ask("bob DELETE", result(path)+"?validate=only"))
	if after := e.dump(t); after != before {
		t.Errorf("something was changed:\n%s\n%s", before, after)
	}
	e.expect(t, 404, ask("bob PUT", allPath+"/result/99?validate=no", `{}`))
	e.expect(t, 200, ask("bob PUT", result(path)+"?other=x&validated=no", `{"name":"x"}`))
}
