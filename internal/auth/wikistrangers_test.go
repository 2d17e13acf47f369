package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/wiki"
	"github.com/formulary/formulary/internal/wiki/wikitest"
)

// browser sends the wiki's cookie from an address.
func (u *wikiUsers) browser(ctx context.Context, cookie, from string) (auth.Identity, error) {
	r := httptest.NewRequestWithContext(ctx, "GET", "/", nil)
	r.RemoteAddr = from
	r.Header.Set("Cookie", "session="+cookie)
	return u.IdentifyBrowser(r)
}

func (u *wikiUsers) resumes(what string, want int) {
	u.Helper()
	synctest.Wait()
	if n := u.fake.Calls("Resume"); n != want {
		u.Errorf("%s: the wiki was asked %d times about cookies, want %d", what, n, want)
	}
}

// Unknown cookies from one address hold up neither those of other addresses, nor those that
// were good before.
func TestWikiUnknownCookies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newWikiUsers(t)
		who, err := u.browser(t.Context(), "Alice", here)
		u.check("Alice, at first", who, err, "Alice")
		u.advance(time.Minute) // she has to be verified again
		time.Sleep(time.Second)

		release := u.fake.Hold()
		var all sync.WaitGroup
		ask := func(cookie, from string, want any) {
			all.Go(func() {
				who, err := u.browser(t.Context(), cookie, from)
				u.check(cookie, who, err, want)
			})
		}
		for i := range 8 {
			ask(fmt.Sprint("nobody", i), here, auth.ErrNobody)
		}
		u.resumes("eight strangers at one address", 1+4)
		ask("Alice", here, "Alice")
		u.resumes("Alice again, at their address", 1+4+1)
		ask("Bob", elsewhere, "Bob")
		u.resumes("Bob elsewhere, for the first time", 1+4+1+1)
		begun := time.Now()
		release()
		all.Wait()
		testkit.Same(t, "the other strangers had to wait for", time.Since(begun), 200*time.Millisecond)

		// Cookies that the wiki has refused are strange again.
		u.fake.SetUser("Carl", wikitest.User{})
		who, err = u.browser(t.Context(), "Carl", elsewhere)
		u.check("Carl", who, err, "Carl")
		time.Sleep(time.Second) // his first visit has held a slot of unknown cookies: its pace is over now
		u.fake.RemoveUser("Carl")
		for range 2 {
			u.advance(time.Minute)
			who, err = u.browser(t.Context(), "Carl", elsewhere)
			u.check("Carl, signed out", who, err, auth.ErrNobody)
		}
		begun = time.Now()
		for i := range 8 {
			_, _ = u.browser(t.Context(), fmt.Sprint("nobody else", i), elsewhere)
		}
		testkit.Same(t, "strangers are let in after", time.Since(begun), 400*time.Millisecond)
	})
}

// Too many unknown cookies from an address are its own fault, unless the wiki is silent.
func TestWikiUnknownCookiesAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newWikiUsers(t)
		var down *wiki.UnavailableError
		var refused atomic.Int64
		var all sync.WaitGroup
		release := u.fake.Hold()
		for i := range 4 {
			all.Go(func() { _, _ = u.browser(t.Context(), fmt.Sprint("first", i), here) })
		}
		synctest.Wait()
		if _, err := u.browser(t.Context(), "nobody", here); !errors.As(err, &down) {
			t.Errorf("at a silent wiki: %v", err)
		}
		time.AfterFunc(time.Second, release)
		for i := range 200 {
			all.Go(func() {
				var busy *auth.ThrottledError
				if _, err := u.browser(t.Context(), fmt.Sprint("nobody", i), here); errors.As(err, &busy) && busy.Busy {
					refused.Add(1)
				} else if !errors.Is(err, auth.ErrNobody) {
					t.Errorf("at one that answers: %v", err)
				}
			})
		}
		all.Wait()
		if n := refused.Load(); n < 100 || n > 120 { // 20 a second are let in
			t.Errorf("%d of 200 were refused", n)
		}
	})
}

// New users at a silent wiki all get the same answer.
func TestWikiIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newWikiUsers(t)
		time.AfterFunc(10*time.Second, u.fake.Hold())
		u.fake.Fail(&wiki.UnavailableError{Err: errors.New("no answer")})
		var all sync.WaitGroup
		for i := range 300 {
			all.Go(func() {
				from := fmt.Sprintf("192.0.%d.%d:1", i/200, i%200)
				_, err := u.Authenticate(t.Context(), fmt.Sprint("user", i), "right", from)
				var down *wiki.UnavailableError
				if !errors.As(err, &down) {
					t.Errorf("user %d: %v", i, err)
				}
			})
		}
		all.Wait()
	})
}

// A guess costs its token, though its sender goes away before the answer.
func TestWikiGuessesOfThoseWhoGoAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newWikiUsers(t)
		for i := range 10 {
			release := u.fake.Hold()
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			testkit.ErrorIs(t, i, testkit.ErrorOf(u.Authenticate(ctx, "alice", fmt.Sprint("guess", i), here)), context.Canceled)
			release()
			synctest.Wait()
		}
		var throttled *auth.ThrottledError
		if _, err := u.Authenticate(t.Context(), "alice", "right", here); !errors.As(err, &throttled) {
			t.Errorf("after ten guesses: %v", err)
		}
	})
}
