package server

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
)

const maxRequestID = 64

// requestID returns the id that the client or a proxy sent, if it is safe to
// repeat in headers and logs, and a new id otherwise.
func requestID(r *http.Request) (id string, foreign bool) {
	if given := r.Header["X-Request-Id"]; len(given) > 0 && validRequestID(given[0]) {
		return given[0], true
	}
	// A counter would tell clients how many requests others make.
	var random [8]byte
	binary.NativeEndian.PutUint64(random[:], rand.Uint64()) //nolint:gosec // an id is no secret
	return hex.EncodeToString(random[:]), false
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
