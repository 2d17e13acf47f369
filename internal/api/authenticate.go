package api

import (
	"net/http"

	"github.com/formulary/formulary/internal/auth"
)

// authenticate reads the credentials of a request. Missing, malformed and
// wrong ones are answered alike.
func (a *API) authenticate(r *http.Request) (auth.Identity, error) {
	user, password, ok := r.BasicAuth()
	if !ok {
		return auth.Identity{}, auth.ErrBadCredentials
	}
	return a.Auth.Authenticate(r.Context(), user, password, r.RemoteAddr)
}
