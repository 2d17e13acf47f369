package testsite

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/formulary/formulary/internal/auth"
)

// People are names with their groups. The password of each is their name with
// "-secret" after it.
type People map[string][]string

// Everybody are the people of a new site.
var Everybody = People{"alice": nil, "bob": nil, "carol": {"hr"}, "dave": nil}

// Users are the people who have an account by now. Tests change them while the
// site runs.
type Users struct {
	mu     sync.Mutex
	people People
}

// NewUsers returns accounts of everybody.
func NewUsers() *Users { return &Users{people: maps.Clone(Everybody)} }

// Set changes all accounts.
func (u *Users) Set(people People) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.people = maps.Clone(people)
}

// Add adds an account, or changes its groups.
func (u *Users) Add(name string, groups ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.people[name] = groups
}

// Remove removes an account.
func (u *Users) Remove(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.people, name)
}

// Identity returns somebody who has signed in.
func (u *Users) Identity(name string) auth.Identity {
	u.mu.Lock()
	defer u.mu.Unlock()
	return auth.Identity{Name: name, Groups: u.people[name]}
}

// Authenticate checks a password. A user called throttled has tried too often.
func (u *Users) Authenticate(_ context.Context, user, password, _ string) (auth.Identity, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	groups, known := u.people[user]
	switch {
	case user == "throttled":
		return auth.Identity{}, &auth.ThrottledError{RetryAfter: 7 * time.Second}
	case !known || password != user+"-secret":
		return auth.Identity{}, auth.ErrBadCredentials
	}
	return auth.Identity{Name: user, Groups: groups}, nil
}

// Identify checks the Basic credentials of a request.
func (u *Users) Identify(r *http.Request) (auth.Identity, error) {
	user, password, ok := auth.BasicCredentials(r)
	if !ok {
		return auth.Identity{}, auth.ErrBadCredentials
	}
	return u.Authenticate(r.Context(), user, password, r.RemoteAddr)
}

// Reverify is Authenticate for a session.
func (u *Users) Reverify(ctx context.Context, user, password string) (auth.Identity, error) {
	return u.Authenticate(ctx, user, password, "")
}

// Refresh returns the groups that somebody has by now.
func (u *Users) Refresh(id auth.Identity) (auth.Identity, error) {
	return u.Authenticate(context.Background(), id.Name, id.Name+"-secret", "")
}
