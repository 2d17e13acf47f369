package rest

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/formulary/formulary/internal/store/enginetest"
)

func TestValidationMessages(t *testing.T) {
	e := newEnv(t, house())
	cases := []struct{ name, body, want string }{
		{"required, absent", `{"fields":{}}`, `"name":"is required"`},
		{"required, empty", nestedBody("name", ""), `"name":"is required"`},
		{"required, blank", nestedBody("name", " \t\n\u00a0"), `"name":"is required"`},
		{"brought to light", nestedBody("name", "x", "size", "L"), `"why":"is required"`},
		{
			"all at once",
			nestedBody("note", "fine", "size", "XL", "colour", "Red", "extras", "a;d", "day", "2023-02-29", "state", "closed",
				"count", "1e3", "word", "a b", "mail", "a@", "nope", "x"),
			`"colour":"must be one of red, green","count":"must be a number such as 12 or -3.5",` +
				`"day":"must be a date such as 2026-01-31 (yyyy-MM-dd)","extras":"must be any of a, b, c",` +
				`"mail":"must be an e-mail address such as name@example.org","name":"is required",` +
				`"nope":"is not a field of this form","size":"must be one of S, M, L","state":"must be one of open, done",` +
				`"word":"must consist of letters only"`,
		},
	}
	for _, c := range cases {
		a := e.expect(t, http.StatusBadRequest, testRequest{user: "alice", method: "POST", path: allPath + "/submission", body: c.body})
		if want := `{"valid":false,"fieldErrors":{` + c.want + `},"errors":[]}`; a.body != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, a.body, want)
		}
	}
	if got := e.dump(t); got != "" {
		t.Errorf("stored: %s", got)
	}
}

// The wire neither adds to nor takes from what the domain accepts.
func TestValuesThatPassAndFail(t *testing.T) {
	pass := map[string][]string{
		"count": {"", "0", "-0", "007", "12.50", "-3.5", strings.Repeat("9", 500)},
		"word":  {"", "a", "Straße", "e\u0301", "名前"},
		"mail":  {"", "a@b", "first.last+tag@sub.example.org"},
		"day":   {"", "2024-02-29", "0001-01-01", "9999-12-31"},
		"doc":   {"", "any thing.pdf"},
		"size":  {"", "S"}, "extras": {"", "a", "c;a"}, "state": {"", "open"}, "colour": {"", "green"},
	}
	fail := map[string][]string{
		"count": {" ", "1,5", "+1", ".5", "5.", "1e3", "0x1", "NaN", "--1", "١", "1 "},
		"word":  {" ", "a b", "a1", "a-b", "_"},
		"mail":  {" ", "a", "@b", "a@", "a@b@c", "a b@c", "a@-b", "ä@b.c", "a@b..c"},
		"day":   {" ", "2023-02-29", "2024-1-1", "01.02.2024", "2024-01-01T00:00:00", "0000-01-01", "2024-13-01"},
		"size":  {" ", "s", "S ", "S;M"}, "extras": {" ", "a;", ";a", "a;a b", "d"}, "state": {"Open"}, "colour": {"blue"},
	}
	e := newEnv(t, house())
	for _, c := range []struct {
		values map[string][]string
		status int
	}{{pass, http.StatusCreated}, {fail, http.StatusBadRequest}} {
		for id, values := range c.values {
			for _, v := range values {
				a := e.do(t, testRequest{user: "alice", method: "POST", path: allPath + "/submission", body: nestedBody("name", "x", id, v)})
				if a.status != c.status {
					t.Errorf("%s %q: %d %s, want %d", id, clip(v), a.status, clip(a.body), c.status)
				}
			}
		}
	}
}

func TestRequiredOnAMerge(t *testing.T) {
	e := newEnv(t, house())
	path, _ := e.create(t, "alice", allPath, nestedBody("name", "Ann", "note", "x"))
	for _, empty := range []string{"", "  "} {
		e.reject(t, testRequest{method: "POST", path: path}, fault{body: nestedBody("name", empty, "note", "y"), fields: []string{"name"}})
		e.reject(t, testRequest{method: "PUT", path: result(path)}, fault{body: fmt.Sprintf(`{"name":%q,"note":"y"}`, empty), fields: []string{"name"}})
	}
	e.expect(t, http.StatusOK, testRequest{user: "alice", method: "PUT", path: result(path), body: `{"note":""}`})
}

const already = `{"valid":false,"fieldErrors":{},"errors":["this form takes one submission from each person, and yours is already there"]}`

func TestOneSubmissionEach(t *testing.T) { enginetest.Each(t, testOneSubmissionEach) }

func testOneSubmissionEach(t *testing.T, on enginetest.Engine) {
	for _, c := range []struct{ path, body, editor string }{
		{oncePath, nestedBody("text", "x"), "bob"},
		{ballotPath, nestedBody("vote", "yes"), "carol"}, // told apart although nobody is named
	} {
		e := newEnvOn(t, on, house())
		post := testRequest{user: "alice", method: "POST", path: c.path + "/submission", body: c.body}
		first, _ := e.create(t, "alice", c.path, c.body)
		before := e.dump(t)
		for range 2 {
			if a := e.expect(t, http.StatusBadRequest, post); a.body != already {
				t.Errorf("second submission: %s, want %s", a.body, already)
			}
		}
		if after := e.dump(t); after != before {
			t.Errorf("before\n%safter\n%s", before, after)
		}
		e.create(t, "bob", c.path, c.body)
		e.expect(t, http.StatusNoContent, testRequest{user: c.editor, method: "DELETE", path: result(first)})
		e.expect(t, http.StatusCreated, post) // the delete has freed it
		e.expect(t, http.StatusBadRequest, post)
	}
}

func TestOneSubmissionEachUnderARush(t *testing.T) {
	enginetest.Each(t, testOneSubmissionEachUnderARush)
}

func testOneSubmissionEachUnderARush(t *testing.T, on enginetest.Engine) {
	e := newEnvOn(t, on, house())
	for _, c := range []struct{ path, body string }{{oncePath, nestedBody("text", "x")}, {ballotPath, nestedBody("vote", "no")}} {
		var created, refused atomic.Int32
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				a := e.do(t, testRequest{user: "alice", method: "POST", path: c.path + "/submission", body: c.body})
				switch {
				case a.status == http.StatusCreated:
					created.Add(1)
				case a.status == http.StatusBadRequest && a.body == already:
					refused.Add(1)
				default:
					t.Errorf("%d %s", a.status, a.body)
				}
			})
		}
		wg.Wait()
		if created.Load() != 1 || refused.Load() != 99 {
			t.Errorf("%s: %d created, %d refused; want 1 and 99", c.path, created.Load(), refused.Load())
		}
	}
	if got := strings.Count(e.dump(t), "\n"); got != 2 {
		t.Errorf("%d submissions stored, want one for each form", got)
	}
}
