// Package problem writes errors as the documents of RFC 9457.
package problem

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// Document is such an error.
type Document struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// MediaType is what such a document is sent as.
const MediaType = "application/problem+json"

// Header values that all answers share: nobody writes to them, and it saves
// the allocations that Set makes.
var (
	mediaType = []string{MediaType}
	noStore   = []string{"no-store"}
)

// Write answers with a status, and a sentence that says what to do.
func Write(w http.ResponseWriter, status int, detail string) {
	body := Encode(status, detail)
	h := w.Header()
	h["Content-Type"] = mediaType
	h["Cache-Control"] = noStore
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone can't be told
}

// Encode is such a document.
func Encode(status int, detail string) []byte {
	body, err := json.Marshal(Document{"about:blank", http.StatusText(status), status, detail})
	if err != nil {
		panic(fmt.Sprintf("encode problem: %v", err)) // strings and a number always encode
	}
	return body
}
