package api

import (
	"net/http"

	"github.com/formulary/formulary/internal/auth"
)

// authenticate reads the credentials of a request. Missing, malformed and
// wrong ones are answered alike. So are two Authorization headers: a proxy in
// front may have looked at the other one.
func (a *API) authenticate(r *http.Request) (auth.Identity, error) {
	user, password, ok := r.BasicAuth()
	if !ok || len(r.Header["Authorization"]) > 1 {
		return auth.Identity{}, auth.ErrBadCredentials
	}
	return a.Auth.Authenticate(r.Context(), user, password, r.RemoteAddr)
}
