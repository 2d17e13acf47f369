package rest

import (
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// Messages are decided in package forms. This is how they are answered.
func TestValidationMessages(t *testing.T) {
	e := newHouse(t)
	body := nestedBody("note", "fine", "size", "L", "colour", "Red", "nope", "x")
	a := e.expect(t, 400, ask("alice POST", allPath+"/submission", body))
	if want := `{"valid":false,"fieldErrors":{"colour":"must be one of red, green","name":"is required",` +
		`"nope":"is not a field of this form","why":"is required"},"errors":[]}`; a.body != want {
		t.Errorf("%s\nwant\n%s", a.body, want)
	}
	testkit.Same(t, "stored", e.dump(t), "")
}

func TestOneSubmissionEach(t *testing.T) {
	const already = `{"valid":false,"fieldErrors":{},"errors":["this form takes one submission from each person, and yours is already there"]}`
	for path, body := range map[string]string{oncePath: nestedBody("text", "x"), ballotPath: nestedBody("vote", "yes")} {
		e := newHouse(t)
		e.create(t, "alice", path, body)
		e.create(t, "bob", path, body)
		if a := e.expect(t, 400, ask("alice POST", path+"/submission", body)); a.body != already {
			t.Errorf("second submission: %s, want %s", a.body, already)
		}
		testkit.Same(t, "are stored", e.stored(t), 2)
	}
}
