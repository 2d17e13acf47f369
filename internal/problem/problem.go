// Package problem writes errors as the documents of RFC 9457.
package problem

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// Document is a problem document of RFC 9457.
type Document struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// MediaType is the Content-Type of a problem document.
const MediaType = "application/problem+json"

// Header values that all answers share and never modify. This saves the
// allocations of Header.Set.
var (
	mediaType = []string{MediaType}
	noStore   = []string{"no-store"}
)

// Write answers with a problem document. The detail is a sentence that tells
// the client what to do.
func Write(w http.ResponseWriter, status int, detail string) {
	// Strings and a number are always encoded.
	body, _ := json.Marshal(Document{"about:blank", http.StatusText(status), status, detail})
	h := w.Header()
	h["Content-Type"] = mediaType
	h["Cache-Control"] = noStore
	// With its length, the answer is complete when it is flushed, while the rest of a body is read.
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone can't be told
}

// MethodNotAllowed answers 405 and names the methods that the path takes.
func MethodNotAllowed(w http.ResponseWriter, methods ...string) {
	list := strings.Join(methods, ", ")
	w.Header().Set("Allow", list)
	Write(w, http.StatusMethodNotAllowed, "This path takes "+list+".")
}

// ReadOnly lets GET and HEAD through to h.
func ReadOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			MethodNotAllowed(w, http.MethodGet, http.MethodHead)
			return
		}
		h.ServeHTTP(w, r)
	})
}
