// Package problem writes errors as the documents of RFC 9457.
package problem

import (
	"encoding/json"
	"fmt"
	"net/http"
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
	body, err := json.Marshal(Document{"about:blank", http.StatusText(status), status, detail})
	if err != nil {
		panic(fmt.Sprintf("encode problem: %v", err)) // strings and a number always encode
	}
	h := w.Header()
	h["Content-Type"] = mediaType
	h["Cache-Control"] = noStore
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone can't be told
}
