package request

import (
	"net/http"

	"github.com/formulary/formulary/internal/forms"
)

// noStore is shared by all responses to save the slice that Header.Set allocates.
// Do not modify it.
var noStore = []string{"no-store"}

// SetNoStore keeps caches from storing an answer.
func SetNoStore(h http.Header) { h["Cache-Control"] = noStore }

// crossOrigin has no state besides its exceptions, of which there are none.
var crossOrigin = http.NewCrossOriginProtection()

// CheckOrigin refuses a write that a browser sends on behalf of another site: a
// browser adds cookies, those of a proxy that signs people in among them, and
// Basic passwords on its own.
func CheckOrigin(r *http.Request) error {
	if crossOrigin.Check(r) != nil {
		return &StatusError{
			http.StatusForbidden, forms.Say("A browser may not change anything here on behalf of another site."),
		}
	}
	return nil
}

// IsSecure reports whether the client uses TLS, with this server or with a proxy
// that the operator trusts. Package server finds out.
func IsSecure(r *http.Request) bool { return r.URL.Scheme == "https" || r.TLS != nil }
