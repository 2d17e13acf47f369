package rest

import (
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// permission is what callers are answered on one form; every cell is a request
// of its own, on a fresh submission of bob.
type permission struct {
	form string
	want string // callers, and then what is done, with a status for each of them
}

var permissions = []permission{
	// bob and carol may view, alice edits, dave is a stranger.
	{staffPath, `
		         | alice | bob | carol | dave
		forms    | 200 | 200 | 200 | 404
		form     | 200 | 200 | 200 | 404
		create   | 201 | 201 | 201 | 404
		list     | 200 | 200 | 200 | 404
		results  | 200 | 200 | 200 | 404
		get      | 200 | 200 | 404 | 404
		result   | 200 | 200 | 404 | 404
		update   | 200 | 200 | 404 | 404
		put      | 200 | 200 | 404 | 404
		bad put  | 400 | 400 | 404 | 404
		delete   | 204 | 403 | 404 | 404
	`},
	// carol edits, everybody else views, and sees all.
	{openPath, `
		         | carol | bob | alice
		forms    | 200 | 200 | 200
		form     | 200 | 200 | 200
		create   | 201 | 201 | 201
		list     | 200 | 200 | 200
		results  | 200 | 200 | 200
		get      | 200 | 200 | 200
		result   | 200 | 200 | 200
		update   | 200 | 200 | 403
		put      | 200 | 200 | 403
		bad put  | 400 | 400 | 403
		delete   | 204 | 403 | 403
	`},
}

// Package service tests who may do what, and this is how it is answered.
func TestWhoMayDoWhat(t *testing.T) {
	e := newHouse(t)
	for _, p := range permissions {
		p.check(t, e)
	}
}

func (p permission) check(t *testing.T, e *env) {
	t.Helper()
	const body = `{"fields":{}}`
	rows := testkit.Rows(p.want)
	for _, row := range rows[1:] {
		for i, status := range row[1:] {
			path, _ := e.create(t, "bob", p.form, body)
			r := requestFor(row[0], p.form, path, body)
			r.user = rows[0][i+1]
			unchanged := e.unchanged(t)
			if e.expectText(t, status, r); status >= "400" {
				unchanged()
			}
		}
	}
}

func requestFor(what, form, path, body string) testRequest {
	return map[string]testRequest{
		"forms":   ask("GET", form[:strings.LastIndex(form, "/")]),
		"form":    ask("GET", form),
		"create":  ask("POST", form+"/submission", body),
		"list":    ask("GET", form+"/submission"),
		"results": ask("GET", form+"/result"),
		"get":     ask("GET", path),
		"result":  ask("GET", result(path)),
		"update":  ask("POST", path, body),
		"put":     ask("PUT", result(path), `{}`),
		"bad put": ask("PUT", result(path), `{"nope":"x"}`), // who may not write is not told what is wrong
		"delete":  ask("DELETE", result(path)),
	}[what]
}

func TestAnonymousSubmissionsCarryNoName(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "alice", ballotPath, nestedBody("vote", "yes"))
	want := `{"formId":"ballot","pageId":4,"id":1,"fields":{"vote":{"id":8193,"fieldId":"vote","value":"yes"}},"timestamp":"` + beganISO + `","username":""}`
	testkit.Same(t, "nested", e.get(t, "carol", path), want)
	want = `{"_id":"1","_timestamp":"` + beganMillis + `","_username":"","vote":"yes"}`
	testkit.Same(t, "flat", e.get(t, "carol", result(path)), want)
}
