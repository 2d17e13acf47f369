package server

import (
	"crypto/rand"
	"net/http"
)

const maxRequestID = 64

// requestID returns the id that the client or a proxy sent, if it is safe to
// repeat in headers and logs, and a new id otherwise.
func requestID(r *http.Request) (id string, foreign bool) {
	if given := r.Header["X-Request-Id"]; len(given) > 0 && validRequestID(given[0]) {
		return given[0], true
	}
	// 80 random bits. A counter would tell clients how many requests others make.
	return rand.Text()[:16], false
}

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
