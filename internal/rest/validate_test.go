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
