package rest

import (
	"net/http"
	"testing"
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

const already = `{"valid":false,"fieldErrors":{},"errors":["this form takes one submission from each person, and yours is already there"]}`

func TestOneSubmissionEach(t *testing.T) {
	for _, c := range []struct{ path, body, editor string }{
		{oncePath, nestedBody("text", "x"), "bob"},
		{ballotPath, nestedBody("vote", "yes"), "carol"}, // told apart although nobody is named
	} {
		e := newEnv(t, house())
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
