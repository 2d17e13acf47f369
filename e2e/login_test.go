package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/formulary/formulary/internal/testkit"
)

// startBehindProxy starts a server that trusts the X-Forwarded-For of the test.
func startBehindProxy(t *testing.T, s site) *process {
	t.Helper()
	return start(t, s, "--trusted-proxies", "127.0.0.1", "--access-log=false")
}

// from reads a form as a user at an address.
func (p *process) from(t *testing.T, addr, user, password string) response {
	t.Helper()
	return p.send(t, addr, user, password, http.MethodGet, "/note", "")
}

// send makes no use of t.Fatal, so that goroutines may call it.
func (p *process) send(t *testing.T, addr, user, password, method, path, body string) response {
	t.Helper()
	req, err := request(t.Context(), p.url, method, path, body)
	if err != nil {
		t.Error(err)
		return response{}
	}
	req.SetBasicAuth(user, password)
	req.Header.Set("X-Forwarded-For", addr)
	r, err := do(client, req)
	if err != nil {
		t.Errorf("%s %s as %s from %s: %v", method, path, user, addr, err)
	}
	return r
}

// A throttled address can't tell the right password from a wrong one, even if the
// right one was verified for another address.
func TestThrottledAddressLearnsNothing(t *testing.T) {
	t.Parallel()
	p := startBehindProxy(t, newSite(t))
	const known, guesser = "192.0.2.1", "198.51.100.7"
	if r := p.from(t, known, "ann", "secret"); r.status != http.StatusOK {
		t.Fatalf("first login: status %d", r.status)
	}
	for i := range 10 {
		if r := p.from(t, guesser, "ann", fmt.Sprint("wrong", i)); r.status != http.StatusUnauthorized {
			t.Errorf("guess %d: status %d, want 401", i, r.status)
		}
	}
	for _, password := range []string{"wrong", "secret"} {
		r := p.from(t, guesser, "ann", password)
		if r.status != http.StatusTooManyRequests || r.header.Get("Retry-After") == "" {
			t.Errorf("password %q at the throttled address: status %d, Retry-After %q, want 429",
				password, r.status, r.header.Get("Retry-After"))
		}
	}
	if r := p.from(t, known, "ann", "secret"); r.status != http.StatusOK {
		t.Errorf("the address that logged in before: status %d, want 200", r.status)
	}
}

// userLine uses a cost so high that logins wait for each other.
func userLine(t *testing.T, user, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), 8)
	if err != nil {
		t.Fatal(err)
	}
	return user + ":" + string(hash) + "\n"
}

// guessing is a flood of failing logins.
type guessing struct {
	sync.WaitGroup
	computed atomic.Int64 // answered 401, after bcrypt
	over     atomic.Bool
}

// startGuessing sends 336 guesses at the same time, from 4 addresses and for
// different users, so that no meter of the throttle is used up.
func startGuessing(t *testing.T, p *process) *guessing {
	t.Helper()
	g := new(guessing)
	for i := range 336 {
		g.Go(func() {
			switch r := p.from(t, fmt.Sprint("203.0.113.", i%4), fmt.Sprint("user", i), "wrong"); {
			case r.status == http.StatusUnauthorized:
				g.computed.Add(1)
			case r.status != http.StatusTooManyRequests || r.header.Get("Retry-After") == "":
				t.Errorf("guess: status %d, Retry-After %q", r.status, r.header.Get("Retry-After"))
			}
		})
	}
	go func() {
		g.Wait()
		g.over.Store(true)
	}()
	return g
}

// After a change of the password, a login has to be verified anew. From an address
// that the user has used before, it does not wait for the guesses of others.
func TestKnownUserLogsInDuringAFlood(t *testing.T) {
	s := newSite(t)
	testkit.WriteFile(t, s.users, userLine(t, "ann", "secret")+userLine(t, "ben", "old"))
	p := startBehindProxy(t, s)
	const home = "192.0.2.1"
	if r := p.from(t, home, "ben", "old"); r.status != http.StatusOK {
		t.Fatalf("first login: status %d", r.status)
	}
	testkit.WriteFile(t, s.users, userLine(t, "ann", "secret")+userLine(t, "ben", "new"))
	testkit.Eventually(t, "the new password is in force", func() bool {
		return p.from(t, home, "ben", "old").status == http.StatusUnauthorized
	})

	g := startGuessing(t, p)
	testkit.Eventually(t, "guesses are being answered", func() bool { return g.computed.Load() > 0 })
	r, before := p.from(t, home, "ben", "new"), g.computed.Load()
	if r.status != http.StatusOK || before > 128 {
		t.Errorf("ben: status %d after %d guesses, want 200 before most of them", r.status, before)
	}
	g.Wait()
}

// Creates of users who are logged in are hardly slower while others guess
// passwords: hashing leaves half of the cores free.
func TestCreatesDuringAFlood(t *testing.T) {
	s := newSite(t)
	testkit.WriteFile(t, s.users, userLine(t, "ann", "secret"))
	p := startBehindProxy(t, s)
	create := func() time.Duration {
		start := time.Now()
		r := p.send(t, "192.0.2.1", "ann", "secret", http.MethodPost, "/note/submission", note("x"))
		if r.status != http.StatusCreated {
			t.Errorf("create: status %d, want 201: %s", r.status, r.body)
		}
		return time.Since(start)
	}
	var quiet, flooded []time.Duration
	for range 100 {
		quiet = append(quiet, create())
	}
	g := startGuessing(t, p)
	for len(flooded) < 10 || !g.over.Load() {
		flooded = append(flooded, create())
	}
	median := func(times []time.Duration) time.Duration {
		slices.Sort(times)
		return times[len(times)/2]
	}
	if alone, beside := median(quiet), median(flooded); beside > 5*alone {
		t.Errorf("a create takes %s, and %s while others guess passwords: more than 5 times", alone, beside)
	}
}
