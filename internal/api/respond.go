package api

import (
	"errors"
	"net/http"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/httpx"
	"github.com/formulary/formulary/internal/problem"
	"github.com/formulary/formulary/internal/wire"
)

// fail answers an error.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	var invalid *forms.Invalid
	if errors.As(err, &invalid) {
		wire.WriteJSON(w, http.StatusBadRequest, wire.AppendInvalid(nil, invalid)) // the interface's validation result
		return
	}
	failure := httpx.FailureOf(r.Context(), err)
	if failure.Log {
		a.LogError(w, r, "request failed", err)
	}
	failure.SetHeader(w.Header())
	problem.Write(w, failure.Status, failure.Detail)
}

// writeNotModified answers 304.
func writeNotModified(w http.ResponseWriter, tag string) {
	wire.SetTag(w, tag)
	httpx.SetNoStore(w.Header())
	w.WriteHeader(http.StatusNotModified)
}
