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
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	var invalid *forms.Invalid
	if errors.As(err, &invalid) {
		encode.WriteJSON(w, http.StatusBadRequest, encode.Invalid(invalid)) // the interface's validation result
		return
	}
	failure := request.FailureOf(r.Context(), err)
	if failure.Log {
		a.LogError(w, r, "request failed", err)
	}
	failure.SetHeader(w.Header())
	problem.Write(w, failure.Status, failure.Detail)
}

// writeNotModified answers 304.
func writeNotModified(w http.ResponseWriter, tag string) {
	encode.SetTag(w, tag)
	request.SetNoStore(w.Header())
	w.WriteHeader(http.StatusNotModified)
}
