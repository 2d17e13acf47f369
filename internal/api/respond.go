package api

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/httpx"
	"github.com/formulary/formulary/internal/problem"
)

// fail answers an error.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	var invalid *forms.Invalid
	if errors.As(err, &invalid) {
		writeInvalid(w, invalid)
		return
	}
	failure := httpx.FailureOf(r.Context(), err)
	if failure.Log {
		a.logError(w, r, "request failed", err)
	}
	failure.SetHeader(w.Header())
	problem.Write(w, failure.Status, failure.Detail)
}

// logError logs what went wrong with a request under the id that the access
// log has for it.
func (a *API) logError(w http.ResponseWriter, r *http.Request, message string, err error) {
	a.Logger.Error(message, "route", r.Pattern, "request_id", httpx.ReporterOf(w).RequestID(), "error", err)
}

// writeInvalid answers 400 with the interface's validation result.
func writeInvalid(w http.ResponseWriter, invalid *forms.Invalid) {
	writeBody(w, http.StatusBadRequest, jsonTypes, appendInvalid(nil, invalid))
}

const jsonType = "application/json"

// Header values that all answers share. They are never written to, which saves
// the allocations that Set makes.
var (
	jsonTypes = []string{jsonType}
	noStore   = []string{"no-store"}
)

// countedBody is the size up to which net/http finds out the length by itself.
const countedBody = 2000

func writeBody(w http.ResponseWriter, status int, contentType []string, body []byte) {
	h := w.Header()
	h["Content-Type"] = contentType
	h["Cache-Control"] = noStore
	if len(body) > countedBody {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone can't be told
}

// setTag sets the ETag. It is a strong one: an answer with one submission has
// one representation, and is never compressed.
func setTag(w http.ResponseWriter, tag string) {
	w.Header()["Etag"] = []string{`"` + tag + `"`} // the name as net/http spells it
}

// writeNotModified answers 304.
func writeNotModified(w http.ResponseWriter, tag string) {
	setTag(w, tag)
	w.Header()["Cache-Control"] = noStore
	w.WriteHeader(http.StatusNotModified)
}
