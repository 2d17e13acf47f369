package server

import (
	"crypto/rand"
	"net/http"
)

const maxRequestID = 64

// requestID returns the id that a client or proxy has sent, if it is safe to
// repeat in headers and logs, and a new one otherwise.
func requestID(r *http.Request) (id string, foreign bool) {
	if given := r.Header["X-Request-Id"]; len(given) > 0 && validRequestID(given[0]) {
		return given[0], true
	}
	return newRequestID(), false
}

// newRequestID returns 80 random bits. A counter would tell a client how many
// requests others have made.
func newRequestID() string { return rand.Text()[:16] }

func validRequestID(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for i := range len(id) {
		c := id[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
