package server

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"sync/atomic"
)

const maxRequestID = 64

// requestIDs makes ids that are unique without asking for randomness each
// time: a prefix per process and a counter.
type requestIDs struct {
	prefix string
	last   atomic.Uint64
}

func newRequestIDs() *requestIDs {
	return &requestIDs{prefix: rand.Text()[:10] + "-"}
}

// of takes the id that a client or proxy has given if it is safe to repeat in
// headers and logs, and makes one otherwise.
func (ids *requestIDs) of(r *http.Request) (id string, foreign bool) {
	if given := r.Header["X-Request-Id"]; len(given) > 0 && validRequestID(given[0]) {
		return given[0], true
	}
	return ids.next(), false
}

func (ids *requestIDs) next() string {
	var buf [40]byte
	b := append(buf[:0], ids.prefix...)
	return string(strconv.AppendUint(b, ids.last.Add(1), 36))
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
