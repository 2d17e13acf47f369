package request

import (
	"context"
	"net/http"

	"github.com/formulary/formulary/internal/auth"
)

// Authenticator checks credentials. See auth.Directory.
type Authenticator interface {
	Authenticate(ctx context.Context, user, password, addr string) (auth.Identity, error)
	Refresh(id auth.Identity) (auth.Identity, error)
}

// BasicCaller authenticates a request by its Basic credentials. Missing,
// malformed and wrong ones get the same error. So do two Authorization headers:
// a proxy in front may have looked at the other one.
func BasicCaller(a Authenticator, r *http.Request) (auth.Identity, error) {
	user, password, ok := r.BasicAuth()
	if !ok || len(r.Header["Authorization"]) > 1 {
		return auth.Identity{}, auth.ErrBadCredentials
	}
	return a.Authenticate(r.Context(), user, password, r.RemoteAddr)
}

// crossOrigin has no state besides its exceptions, of which there are none.
var crossOrigin = http.NewCrossOriginProtection()

// CheckOrigin refuses a write that a browser sends on behalf of another site:
// a browser adds cookies and Basic passwords on its own.
func CheckOrigin(r *http.Request) error {
	if crossOrigin.Check(r) != nil {
		return &StatusError{http.StatusForbidden, "A browser may not change anything here on behalf of another site."}
	}
	return nil
}

// IsSecure reports whether the client uses TLS, with this server or with a proxy
// that the operator trusts. Package server finds out.
func IsSecure(r *http.Request) bool { return r.URL.Scheme == "https" || r.TLS != nil }
