package auth

import (
	"context"
	"net/http"
)

// Authenticator tells who sends requests. Directory knows people by their
// passwords, Proxy by what a proxy says of them.
type Authenticator interface {
	// Identify returns who sends a request, by the credentials in its header.
	Identify(r *http.Request) (Identity, error)
	// Refresh returns the caller of a request that is still under way as they are
	// now, or an error if they may not send it any more.
	Refresh(id Identity) (Identity, error)
}

// People is an Authenticator that learns of changes while it is used.
type People interface {
	Authenticator
	// Watch takes changes until ctx ends, and Reload those that are there now.
	Watch(ctx context.Context)
	Reload(ctx context.Context)
	// Ready returns an error if changes are not noticed.
	Ready(ctx context.Context) error
	// UnknownName is that of markup.Options.
	UnknownName(name string) (hint string)
}

// unwatched is the part of People for those who have no files to watch.
type unwatched struct{}

func (unwatched) Watch(context.Context)       {}
func (unwatched) Reload(context.Context)      {}
func (unwatched) Ready(context.Context) error { return nil }
func (unwatched) UnknownName(string) string   { return "" }

// Identify authenticates a request by its Basic credentials. See Authenticate.
func (d *Directory) Identify(r *http.Request) (Identity, error) {
	user, password, ok := BasicCredentials(r)
	if !ok {
		return Identity{}, ErrBadCredentials
	}
	return d.Authenticate(r.Context(), user, password, r.RemoteAddr)
}

// BasicCredentials are those that a request has. It is false for missing and
// malformed ones, and for two Authorization headers: a proxy in front may have
// looked at the other one.
func BasicCredentials(r *http.Request) (user, password string, ok bool) {
	user, password, ok = r.BasicAuth()
	return user, password, ok && len(r.Header["Authorization"]) == 1
}
