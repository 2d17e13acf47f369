package rest

import (
	"strings"
	"testing"
)

// Package request tests which texts are ids.
func TestMalformedIDsAreNotFound(t *testing.T) {
	e := newHouse(t)
	e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	unchanged := e.unchanged(t)
	for _, id := range []string{"0", "01", "1%2F", "one", "9223372036854775808"} {
		everything := []testRequest{
			ask("GET", Prefix+"/page/"+id+"/form"),
			ask("GET", Prefix+"/page/"+id+"/form/all"),
			ask("GET", Prefix+"/page/"+id+"/form/all/submission"),
			ask("GET", Prefix+"/page/"+id+"/form/all/submission/1"),
			ask("POST", Prefix+"/page/"+id+"/form/all/submission", nestedBody("name", "x")),
			ask("GET", allPath+"/submission/"+id),
			ask("POST", allPath+"/submission/"+id, nestedBody("name", "x")),
			ask("GET", allPath+"/result/"+id),
			ask("PUT", allPath+"/result/"+id, `{"name":"x"}`),
			ask("DELETE", allPath+"/result/"+id),
		}
		for _, r := range everything {
			r.user = "alice"
			e.expect(t, 404, r)
		}
	}
	unchanged()
}

func TestUnknownThingsAreNotFound(t *testing.T) {
	e := newHouse(t)
	e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	paths := []string{
		Prefix + "/page/99/form", Prefix + "/page/9223372036854775807/form", form(99, "all"),
		form(1, "nope"), form(1, "ALL"), form(1, "al"), form(1, "all%20"), form(1, "%61ll%00"), form(1, "a%2Fll"), form(1, "%2Fall"),
		form(1, "all%2Fsubmission"), form(1, "%FF"), form(1, "all;x=1"), form(2, "all"),
		form(1, "nope") + "/submission", form(99, "all") + "/result", form(2, "all") + "/result",
		allPath + "/submission/2", allPath + "/submission/9007199254740993", allPath + "/result/9223372036854775807",
		form(1, "zeta") + "/submission/1", form(1, "zeta") + "/result/1", // another form of the page
		oncePath + "/submission/1", oncePath + "/result/1", // another page
	}
	for _, path := range paths {
		for _, method := range []string{"GET", "HEAD"} {
			e.expect(t, 404, ask("alice "+method, path))
		}
	}
	unchanged := e.unchanged(t)
	for _, r := range []testRequest{
		ask("POST", form(1, "nope")+"/submission", nestedBody("name", "x")),
		ask("POST", form(1, "zeta")+"/submission/1", `{"fields":{}}`),
		ask("PUT", form(1, "zeta")+"/result/1", `{}`),
		ask("PUT", oncePath+"/result/1", `{}`),
		ask("DELETE", form(1, "zeta")+"/result/1"),
		ask("DELETE", oncePath+"/result/1"),
		ask("DELETE", allPath+"/result/2"),
		ask("PUT", allPath+"/result/2", `{"size":"XXL","nope":""}`), // not there comes before not valid
	} {
		r.user = "alice"
		e.expect(t, 404, r)
	}
	unchanged()
}

// A path is taken as it stands: never cleaned, never redirected.
func TestCrookedPathsAreNotFound(t *testing.T) {
	e := newHouse(t)
	e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	paths := []string{
		"/rest", "/rest/", "/rest/forms", "/rest/forms/1.0", "/rest/forms/1.0/", "/rest/forms/2.0/page/1/form", "/rest/forms/1/page/1/form",
		Prefix + "/page", Prefix + "/page/", Prefix + "/page/1", Prefix + "/page/1/", Prefix + "/page/1/form/", Prefix + "/page//form",
		"/rest/Forms/1.0/page/1/form", Prefix + "/Page/1/form", Prefix + "/page/1/forms", Prefix + "/page/1/form/all/submissions",
		"//rest/forms/1.0/page/1/form", "/rest//forms/1.0/page/1/form", Prefix + "//page/1/form", Prefix + "/page/1//form",
		Prefix + "/page/1/form//all", allPath + "/", allPath + "//", allPath + "/submission/", allPath + "//submission",
		allPath + "/submission//1", allPath + "/submission/1/", allPath + "/submission/1/x", allPath + "/result/1/",
		Prefix + "/./page/1/form", Prefix + "/page/./1/form", Prefix + "/page/1/form/.", Prefix + "/page/1/form/./all", allPath + "/.",
		Prefix + "/page/2/../1/form", allPath + "/submission/../result", allPath + "/..", Prefix + "/page/1/form/x/../all",
		Prefix + "/page/1/form/%2e", Prefix + "/page/1/form/%2E%2E", Prefix + "/page/2/%2e%2e/1/form", Prefix + "/page/1/form/%2e/all",
		Prefix + "/page/1/form/all/%2e%2e/all", Prefix + "/page%2F1/form", Prefix + "/page/1%2Fform", Prefix + "/page/1/form%2Fall",
	}
	for _, path := range paths {
		for _, method := range []string{"GET", "HEAD", "POST", "DELETE", "OPTIONS"} {
			e.expect(t, 404, ask("alice "+method, path))
		}
	}
}

// Escapes of plain characters are the same path, by RFC 3986.
func TestEscapedPathsAreTheSamePaths(t *testing.T) {
	e := newHouse(t)
	e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	want := e.get(t, "alice", allPath+"/submission/1")
	for _, path := range []string{Prefix + "/page/%31/form/all/submission/1", Prefix + "/page/1/form/%61ll/submission/%31"} {
		if got := e.get(t, "alice", path); got != want {
			t.Errorf("GET %s\n%s\nwant\n%s", path, got, want)
		}
	}
}

func TestMethodsThatAPathDoesNotTake(t *testing.T) {
	e := newHouse(t)
	e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	allowed := map[string]string{
		Prefix + "/page/1/form":   "GET, HEAD",
		allPath:                   "GET, HEAD",
		allPath + "/submission":   "GET, HEAD, POST",
		allPath + "/submission/1": "GET, HEAD, POST",
		allPath + "/result":       "GET, HEAD",
		allPath + "/result/1":     "GET, HEAD, PUT, DELETE",
	}
	unchanged := e.unchanged(t)
	for path, allow := range allowed {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY", "get"} {
			if strings.Contains(allow+",", method+",") {
				continue
			}
			a := e.expect(t, 405, ask("alice "+method, path, "{}"))
			if got := a.header.Get("Allow"); got != allow {
				t.Errorf("%s %s: Allow %q, want %q", method, path, got, allow)
			}
		}
	}
	unchanged()
}

// HEAD is GET without the body. What only the body tells, its length and its
// encoding, may be missing.
func TestHeadWhereverGetIs(t *testing.T) {
	e := newHouse(t)
	e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	paths := []string{
		Prefix + "/page/1/form", allPath, allPath + "/submission", allPath + "/submission/1", allPath + "/result", allPath + "/result/1",
		allPath + "/submission?limit=x", allPath + "/submission/99", Prefix + "/page/77/form",
	}
	for _, path := range paths {
		get := e.do(t, ask("alice GET", path))
		head := e.do(t, ask("alice HEAD", path))
		if head.status != get.status {
			t.Errorf("HEAD %s: status %d, GET has %d", path, head.status, get.status)
		}
		for name, values := range get.header {
			if name == "Date" || (name == "Content-Length" && head.header.Get(name) == "") {
				continue
			}
			if got := strings.Join(head.header[name], ", "); got != strings.Join(values, ", ") {
				t.Errorf("HEAD %s: %s %q, GET has %q", path, name, got, values)
			}
		}
	}
}
