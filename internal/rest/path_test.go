package rest

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// Package request tests which texts are ids.
func TestMalformedIDsAreNotFound(t *testing.T) {
	e := newHouse(t)
	e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	unchanged := e.unchanged(t)
	for _, id := range []string{"0", "01", "1%2F", "one", "9223372036854775808"} {
		for _, r := range asks("alice", strings.ReplaceAll(`
			GET /page/ID/form
			GET /page/ID/form/all
			GET /page/ID/form/all/submission
			GET /page/ID/form/all/submission/1
			POST /page/ID/form/all/submission {"fields":{"name":{"fieldId":"name","value":"x"}}}
			GET /page/1/form/all/submission/ID
			POST /page/1/form/all/submission/ID {"fields":{"name":{"fieldId":"name","value":"x"}}}
			GET /page/1/form/all/result/ID
			PUT /page/1/form/all/result/ID {"name":"x"}
			DELETE /page/1/form/all/result/ID
		`, "ID", id)) {
			e.expect(t, 404, r)
		}
	}
	unchanged()
}

func TestUnknownThingsAreNotFound(t *testing.T) {
	e := newHouse(t)
	e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	// The form zeta is on the same page, and once on another.
	for path := range strings.FieldsSeq(`
		/page/99/form /page/9223372036854775807/form /page/99/form/all
		/page/1/form/nope /page/1/form/ALL /page/1/form/al /page/1/form/all%20 /page/1/form/%61ll%00
		/page/1/form/a%2Fll /page/1/form/%2Fall /page/1/form/all%2Fsubmission /page/1/form/%FF /page/1/form/all;x=1
		/page/2/form/all /page/1/form/nope/submission /page/99/form/all/result /page/2/form/all/result
		/page/1/form/all/submission/2 /page/1/form/all/submission/9007199254740993 /page/1/form/all/result/9223372036854775807
		/page/1/form/zeta/submission/1 /page/1/form/zeta/result/1 /page/5/form/once/submission/1 /page/5/form/once/result/1
	`) {
		for _, method := range []string{"GET", "HEAD"} {
			e.expect(t, 404, ask("alice "+method, Prefix+path))
		}
	}
	unchanged := e.unchanged(t)
	for _, r := range asks("alice", `
		POST /page/1/form/nope/submission {"fields":{"name":{"fieldId":"name","value":"x"}}}
		POST /page/1/form/zeta/submission/1 {"fields":{}}
		PUT /page/1/form/zeta/result/1 {}
		PUT /page/5/form/once/result/1 {}
		DELETE /page/1/form/zeta/result/1
		DELETE /page/5/form/once/result/1
		DELETE /page/1/form/all/result/2
		PUT /page/1/form/all/result/2 {"size":"XXL","nope":""}
	`) { // "not there" comes before "not valid"
		e.expect(t, 404, r)
	}
	unchanged()
}

// A path is taken as it stands: never cleaned, never redirected.
func TestCrookedPathsAreNotFound(t *testing.T) {
	e := newHouse(t)
	e.create(t, "alice", allPath, nestedBody("name", "Ann"))
	for path := range strings.FieldsSeq(`
		/rest /rest/ /rest/forms /rest/forms/1.0 /rest/forms/1.0/ /rest/forms/2.0/page/1/form
		/rest/forms/1/page/1/form /rest/forms/1.0/page /rest/forms/1.0/page/ /rest/forms/1.0/page/1
		/rest/forms/1.0/page/1/ /rest/forms/1.0/page/1/form/ /rest/forms/1.0/page//form /rest/Forms/1.0/page/1/form
		/rest/forms/1.0/Page/1/form /rest/forms/1.0/page/1/forms /rest/forms/1.0/page/1/form/all/submissions
		//rest/forms/1.0/page/1/form /rest//forms/1.0/page/1/form /rest/forms/1.0//page/1/form
		/rest/forms/1.0/page/1//form /rest/forms/1.0/page/1/form//all /rest/forms/1.0/page/1/form/all/
		/rest/forms/1.0/page/1/form/all// /rest/forms/1.0/page/1/form/all/submission/
		/rest/forms/1.0/page/1/form/all//submission /rest/forms/1.0/page/1/form/all/submission//1
		/rest/forms/1.0/page/1/form/all/submission/1/ /rest/forms/1.0/page/1/form/all/submission/1/x
		/rest/forms/1.0/page/1/form/all/result/1/ /rest/forms/1.0/./page/1/form /rest/forms/1.0/page/./1/form
		/rest/forms/1.0/page/1/form/. /rest/forms/1.0/page/1/form/./all /rest/forms/1.0/page/1/form/all/.
		/rest/forms/1.0/page/2/../1/form /rest/forms/1.0/page/1/form/all/submission/../result
		/rest/forms/1.0/page/1/form/all/.. /rest/forms/1.0/page/1/form/x/../all /rest/forms/1.0/page/1/form/%2e
		/rest/forms/1.0/page/1/form/%2E%2E /rest/forms/1.0/page/2/%2e%2e/1/form /rest/forms/1.0/page/1/form/%2e/all
		/rest/forms/1.0/page/1/form/all/%2e%2e/all /rest/forms/1.0/page%2F1/form /rest/forms/1.0/page/1%2Fform
		/rest/forms/1.0/page/1/form%2Fall
	`) {
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
		testkit.Same(t, path, e.get(t, "alice", path), want)
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
		testkit.Same(t, path, head.status, get.status)
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
