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
		a.LogError(w, r, "request failed", err)
	}
	failure.SetHeader(w.Header())
	problem.Write(w, failure.Status, failure.Detail)
}

// writeInvalid answers 400 with the interface's validation result.
func writeInvalid(w http.ResponseWriter, invalid *forms.Invalid) {
	writeBody(w, http.StatusBadRequest, jsonTypes, appendInvalid(nil, invalid))
}

const jsonType = "application/json"

// jsonTypes is never written to, which saves the allocation that Set makes.
var jsonTypes = []string{jsonType}

// countedBody is the size up to which net/http finds out the length by itself.
const countedBody = 2000

func writeBody(w http.ResponseWriter, status int, contentType []string, body []byte) {
	h := w.Header()
	h["Content-Type"] = contentType
	httpx.SetNoStore(h)
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
	httpx.SetNoStore(w.Header())
	w.WriteHeader(http.StatusNotModified)
}
