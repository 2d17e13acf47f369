package rest

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
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
	// The status is of the request without the parameter.
	for _, row := range testkit.Rows(strings.NewReplacer(
		"ALL", allPath, "STAFF", staffPath, "BALLOT", ballotPath, "OWN", path, "FLAT", result(path), "OPEN", result(open),
		"ANN", nestedBody("name", "Ann"), "MEDIUM", nestedBody("size", "M"), "TEXT", nestedBody("text", "x"),
		"NOVOTE", nestedBody("vote", "no"), "NOTE", nestedBody("note", "x"),
	).Replace(`
		alice POST | ALL/submission | ANN | 201 |
		alice POST | ALL/submission | MEDIUM | 400 | is required
		alice POST | ALL/submission | { | 400 | JSON
		dave POST | STAFF/submission | TEXT | 404 | no page
		bob POST | BALLOT/submission | NOVOTE | 201 |
		bob POST | OWN | NOTE | 200 |
		bob PUT | FLAT | {"extras":["a","b"]} | 200 |
		bob PUT | FLAT | {"size":"L"} | 400 | "why":"is required"
		bob POST | ALL/submission/999 | ANN | 404 | no such submission
		alice PUT | OPEN | {"text":"x"} | 403 | editors
	`)) {
		unchanged := e.unchanged(t)
		a := e.do(t, ask(row[0], row[1]+"?validate=only", row[2]))
		unchanged()
		without := e.expectText(t, row[3], ask(row[0], row[1], row[2]), row[4])
		if without.status < 300 {
			if a.status != 200 || a.body != validResult || a.header.Get("Location") != "" || a.header.Get("Etag") != "" {
				t.Errorf("%s: %d %s %v", row, a.status, a.body, a.header)
			}
		} else if a.status != without.status || a.body != without.body {
			t.Errorf("%s: %d %s, without it %d %s", row, a.status, a.body, without.status, without.body)
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
	for _, row := range testkit.Rows(strings.NewReplacer(
		"FLAT", result(path), "LONG", long, "FORMER", former, "NOW", e.tag(t, "bob", path),
		"BOTH", nestedBody("name", long, "note", long),
	).Replace(`
		POST | ` + allPath + `/submission | BOTH | | 413
		PUT | FLAT | {"name":"LONG"} | | 413
		PUT | FLAT | {} | Content-Type: text/plain | 415
		PUT | FLAT | {} | If-Match: FORMER | 412
		PUT | FLAT | {"x":"y"} | If-Match: FORMER | 412
		PUT | FLAT | {} | If-Match: NOW | 200
		PUT | FLAT | {} | Sec-Fetch-Site: cross-site | 403
	`)) {
		e.expectText(t, row[4], ask("bob "+row[0], row[1]+"?validate=only", row[2]).with(readJSONHeader(row[3])))
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
	testkit.Same(t, "something was changed", e.dump(t), before)
	e.expect(t, 404, ask("bob PUT", allPath+"/result/99?validate=no", `{}`))
	e.expect(t, 200, ask("bob PUT", result(path)+"?other=x&validated=no", `{"name":"x"}`))
}
