package request

import (
	"net/http"
	"strconv"

	"github.com/formulary/formulary/internal/service"
)

// PathID reads an id of the path. One that can't exist is not found.
func PathID(r *http.Request, name string) (int64, error) {
	id, ok := ParseID(r.PathValue(name))
	if !ok {
		return 0, &service.Error{Kind: service.NotFound, Detail: "An id in this path is not a number that an id can be."}
	}
	return id, nil
}

// ParseID accepts decimal digits without sign or leading zero, within 2^63.
func ParseID(s string) (int64, bool) {
	if s == "" || s[0] < '1' || s[0] > '9' {
		return 0, false
	}
	id, err := strconv.ParseInt(s, 10, 64)
	return id, err == nil
}
