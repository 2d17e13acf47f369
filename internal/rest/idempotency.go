package rest

import (
	"net/http"
	"strings"

	"github.com/formulary/formulary/internal/forms"
)

// maxKey is the length of an Idempotency-Key in bytes.
const maxKey = 255

// idempotencyKey reads the header that makes a create safe to repeat; "" where
// there is none. A key that is not usable is refused rather than ignored: the
// client relies on it.
func idempotencyKey(h http.Header) (string, error) {
	values := h["Idempotency-Key"]
	if values == nil {
		return "", nil
	}
	invisible := func(c rune) bool { return c <= ' ' || c > '~' }
	if len(values) > 1 || values[0] == "" || len(values[0]) > maxKey || strings.ContainsFunc(values[0], invisible) {
		return "", forms.InvalidRequest(forms.English(
			"Idempotency-Key must be given once, with 1 to %d visible ASCII characters", maxKey))
	}
	return values[0], nil
}
