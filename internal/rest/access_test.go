package rest

import (
	"strings"
	"testing"
)

// permission is what callers are answered on one form; every cell is a request
// of its own, on a fresh submission of the owner.
type permission struct {
	name, form, body, owner string
	callers                 []string
	want                    map[string][]int // by what is done, a status for each caller
}

const ok, made, gone, forbidden, hidden = 200, 201, 204, 403, 404

var permissions = []permission{
	{
		// bob and carol may view, alice edits, dave is a stranger.
		"a page with viewers and editors", staffPath, `{"fields":{}}`, "bob",
		[]string{"alice", "bob", "carol", "dave"},
		map[string][]int{
			"forms": {ok, ok, ok, hidden}, "form": {ok, ok, ok, hidden}, "create": {made, made, made, hidden},
			"list": {ok, ok, ok, hidden}, "results": {ok, ok, ok, hidden},
			"get": {ok, ok, hidden, hidden}, "result": {ok, ok, hidden, hidden},
			"update": {ok, ok, hidden, hidden}, "put": {ok, ok, hidden, hidden}, "bad put": {400, 400, hidden, hidden},
			"delete": {gone, forbidden, hidden, hidden},
		},
	},
	{
		// carol edits, everybody else views, and sees all.
		"a page that shows its results", openPath, `{"fields":{}}`, "bob",
		[]string{"carol", "bob", "alice"},
		map[string][]int{
			"forms": {ok, ok, ok}, "form": {ok, ok, ok}, "create": {made, made, made}, "list": {ok, ok, ok}, "results": {ok, ok, ok},
			"get": {ok, ok, ok}, "result": {ok, ok, ok}, "update": {ok, ok, forbidden}, "put": {ok, ok, forbidden}, "bad put": {400, 400, forbidden},
			"delete": {gone, forbidden, forbidden},
		},
	},
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
	for what, statuses := range p.want {
		for i, caller := range p.callers {
			path, _ := e.create(t, p.owner, p.form, p.body)
			r := requestFor(what, p.form, path, p.body)
			r.user = caller
			before := e.dump(t)
			if a := e.do(t, r); a.status != statuses[i] {
				t.Errorf("%s: %s by %s: status %d, want %d", p.name, what, caller, a.status, statuses[i])
			}
			if statuses[i] >= 400 && e.dump(t) != before {
				t.Errorf("%s: %s by %s was refused, but changed something", p.name, what, caller)
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
	if got := e.get(t, "carol", path); got != want {
		t.Errorf("nested\n%s\nwant\n%s", got, want)
	}
	want = `{"_id":"1","_timestamp":"` + beganMillis + `","_username":"","vote":"yes"}`
	if got := e.get(t, "carol", result(path)); got != want {
		t.Errorf("flat\n%s\nwant\n%s", got, want)
	}
	for _, query := range []string{"?username=alice", "?username=carol"} {
		if got := e.get(t, "carol", ballotPath+"/result"+query); got != "[]" {
			t.Errorf("%s finds %s", query, got)
		}
	}
	// An editor's correction leaves it as anonymous as it was.
	e.expect(t, 200, ask("carol PUT", result(path), `{"vote":"no"}`))
	if got := pick(t, e.get(t, "carol", result(path)), "_username"); got != `""` {
		t.Errorf("_username %s after an editor's update", got)
	}
}
