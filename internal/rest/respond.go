package rest

import (
	"errors"
	"net/http"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/problem"
	"github.com/formulary/formulary/internal/request"
)

// fail answers an error.
func fail(w http.ResponseWriter, c *request.Call, err error) {
	c.NoteRefusal(err)
	var invalid *forms.Invalid
	if errors.As(err, &invalid) {
		encode.WriteJSON(w, http.StatusBadRequest, encode.Invalid(invalid)) // the interface's validation result
		return
	}
	failure := request.FailureOf(c.Context(), err)
	if failure.Log {
		c.LogError("request failed", err)
	}
	failure.SetHeader(w.Header())
	problem.Write(w, failure.Status, failure.Detail)
}
