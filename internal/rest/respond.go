package rest

import (
	"errors"
	"net/http"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/problem"
	"github.com/formulary/formulary/internal/request"
)

// send answers with a body of JSON that can be large.
func send(w http.ResponseWriter, c *request.Call, body []byte) error {
	if err := c.HoldAnswer(len(body)); err != nil {
		return err
	}
	encode.WriteJSON(w, http.StatusOK, body)
	return nil
}

// fail answers an error.
func fail(w http.ResponseWriter, c *request.Call, err error) {
	c.NoteRefusal(err)
	if invalid, ok := errors.AsType[*forms.Invalid](err); ok {
		encode.WriteJSON(w, http.StatusBadRequest, encode.Invalid(invalid)) // the interface's validation result
		return
	}
	failure := request.FailureOf(c.Context(), err)
	if failure.Log {
		c.LogError("request failed", err)
	}
	failure.SetHeader(w.Header())
	problem.Write(w, failure.Status, failure.Detail.String())
}
