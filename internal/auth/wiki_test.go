package auth_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/wiki"
	"github.com/formulary/formulary/internal/wiki/wikitest"
)

const here, elsewhere = "192.0.2.1:5000", "198.51.100.1:5000"

// wikiUsers are the users of a wiki in memory, at a time that the test sets.
type wikiUsers struct {
	*testing.T
	*auth.Wiki
	fake *wikitest.Fake
	mu   sync.Mutex
	now  time.Time
}

func newWikiUsers(t *testing.T) *wikiUsers {
	u := &wikiUsers{T: t, now: time.Unix(1_700_000_000, 0)}
	u.fake = wikitest.New(map[string]wikitest.User{"Alice": {Password: "right"}, "Alice@bot": {Password: "bot"}, "Bob": {Password: "bob"}})
	u.restart()
	return u
}

func (u *wikiUsers) restart() {
	u.Wiki = auth.NewWiki(auth.WikiOptions{Wiki: u.fake, Relogin: 5 * time.Minute, Recheck: 30 * time.Second, Now: func() time.Time {
		u.mu.Lock()
		defer u.mu.Unlock()
		return u.now
	}})
}

func (u *wikiUsers) advance(d time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.now = u.now.Add(d)
}

// wants signs in, and wants the name of the user, or the error.
func (u *wikiUsers) wants(what, user, password, from string, want any) auth.Identity {
	u.Helper()
	who, err := u.Authenticate(u.Context(), user, password, from)
	u.check(what, who, err, want)
	return who
}

func (u *wikiUsers) check(what string, who auth.Identity, err error, want any) {
	u.Helper()
	if failure, isError := want.(error); isError {
		if !errors.Is(err, failure) || who.Name != "" {
			u.Errorf("%s: got %q, %v; want %v", what, who.Name, err, failure)
		}
	} else if err != nil || who.Name != want {
		u.Errorf("%s: got %q, %v; want %v", what, who.Name, err, want)
	}
}

func (u *wikiUsers) logins(what string, want int) {
	u.Helper()
	if n := u.fake.Calls("Login"); n != want {
		u.Errorf("%s: %d logins, want %d", what, n, want)
	}
}

// The wiki is asked once for a password, and again when it does not count any more.
func TestWikiPassword(t *testing.T) {
	u := newWikiUsers(t)
	for range 3 {
		who := u.wants("right", "alice", "right", here, "Alice")
		if who.Wiki().Session == nil || who.Wiki().From != here {
			t.Errorf("the wiki knows the caller as %+v", who.Wiki())
		}
		u.wants("elsewhere", "alice", "right", elsewhere, "Alice")
	}
	u.logins("right", 1)
	u.advance(5 * time.Minute)
	u.wants("later", "alice", "right", here, "Alice")
	u.logins("later", 2)
	u.fake.SetUser("Alice", wikitest.User{Password: "new"})
	u.advance(5 * time.Minute)
	u.wants("changed", "alice", "right", here, auth.ErrBadCredentials)
	for _, bad := range [][2]string{{"", "x"}, {"alice", ""}, {"alice", strings.Repeat("x", 5000)}} {
		before := u.fake.Calls("Login")
		u.wants("unusable", bad[0], bad[1], here, auth.ErrBadCredentials)
		u.logins("unusable", before)
	}
}

// A wrong password is not sent again for a while.
func TestWikiWrongPassword(t *testing.T) {
	u := newWikiUsers(t)
	for range 3 {
		u.wants("wrong", "alice", "wrong", here, auth.ErrBadCredentials)
	}
	u.logins("wrong", 1)
	u.advance(15 * time.Second)
	u.wants("later", "alice", "wrong", here, auth.ErrBadCredentials)
	u.logins("later", 2)
}

// A sign-in with a new password ends what the old one was used for. A bot password is
// an account of its own.
func TestWikiChangedPassword(t *testing.T) {
	u := newWikiUsers(t)
	old := u.wants("old", "alice", "right", here, "Alice")
	bot := u.wants("bot", "Alice@bot", "bot", here, "Alice")
	u.fake.SetUser("Alice", wikitest.User{Password: "new"})
	u.wants("the old one counts", "alice", "right", here, "Alice")
	now := u.wants("new", "Alice", "new", elsewhere, "Alice")
	u.wants("the old one is over", "alice", "right", here, auth.ErrBadCredentials)
	for what, is := range map[string]struct {
		who  auth.Identity
		want any
	}{"old": {old, auth.ErrBadCredentials}, "new": {now, "Alice"}, "bot": {bot, "Alice"}, "none": {auth.Identity{}, auth.ErrBadCredentials}} {
		who, err := u.Refresh(is.who)
		u.check("a request under way, "+what, who, err, is.want)
	}
}

// One account under two spellings of its name is signed in with both.
func TestWikiSpellings(t *testing.T) {
	u := newWikiUsers(t)
	first := u.wants("first", "alice", "right", here, "Alice")
	for range 3 {
		u.wants("other spelling", "Alice", "right", here, "Alice")
		u.wants("first again", "alice", "right", here, "Alice")
	}
	u.logins("two spellings", 2)
	who, err := u.Refresh(first)
	u.check("a request under way", who, err, "Alice")
	u.fake.SetUser("Alice", wikitest.User{Password: "new"})
	u.wants("new", "Alice", "new", elsewhere, "Alice")
	for _, name := range []string{"alice", "Alice"} {
		u.wants("the old password is over", name, "right", here, auth.ErrBadCredentials)
	}
}

func TestWikiSessionEnded(t *testing.T) {
	u := newWikiUsers(t)
	u.wants("first", "alice", "right", here, "Alice").Wiki().End()
	u.wants("a new login", "alice", "right", here, "Alice")
	u.logins("a new login", 2)
}

// The wiki's own throttle holds for a user and a host. It is told with its own time, and
// tried again after 15 seconds: a CAPTCHA may be solved by then.
func TestWikiThrottle(t *testing.T) {
	for _, captcha := range []bool{false, true} {
		u := newWikiUsers(t)
		throttled := func(what string, want time.Duration, logins int) {
			t.Helper()
			_, err := u.Authenticate(t.Context(), "alice", "guess", here)
			var e *wiki.ThrottledError
			if !errors.As(err, &e) || e.RetryAfter != want || e.Captcha != captcha {
				t.Errorf("%s: %v, want %s", what, err, want)
			}
			u.logins(what, logins)
		}
		u.fake.Fail(&wiki.ThrottledError{RetryAfter: 90 * time.Second, Captcha: captcha})
		throttled("at first", 90*time.Second, 1)
		u.advance(14 * time.Second)
		throttled("not asked", 76*time.Second, 1)
		u.advance(time.Second)
		throttled("asked again", 90*time.Second, 2)
		u.fake.Fail(nil)
		u.wants("another host", "alice", "right", elsewhere, "Alice")
		u.advance(15 * time.Second)
		u.wants("after it", "alice", "right", here, "Alice")

		u.fake.Fail(&wiki.ThrottledError{RetryAfter: time.Second, Captcha: captcha})
		_, _ = u.Authenticate(t.Context(), "bob", "bob", here)
		u.fake.Fail(nil)
		u.advance(time.Second)
		u.wants("after a short one", "bob", "bob", here, "Bob")
	}
}

// The wiki's throttle of one token is not that of others.
func TestWikiThrottleOfATokenIsItsOwn(t *testing.T) {
	u := newWikiUsers(t)
	with := func(token string) error {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		_, err := u.Identify(r)
		return err
	}
	u.fake.Fail(&wiki.ThrottledError{RetryAfter: time.Minute})
	throttled := &wiki.ThrottledError{}
	if err := with("alice.right"); !errors.As(err, &throttled) {
		t.Errorf("throttled: %v", err)
	}
	u.fake.Fail(nil)
	testkit.ErrorIs(t, "another token", with("bob.bob"), nil)
}

// Guesses are slowed here, too, also while the password is known from another host:
// the answers must not tell that it is right.
func TestWikiGuesses(t *testing.T) {
	u := newWikiUsers(t)
	u.wants("the user", "alice", "right", here, "Alice")
	throttled := &auth.ThrottledError{}
	for i := range 20 {
		_, err := u.Authenticate(t.Context(), "alice", fmt.Sprint("guess", i), elsewhere)
		if i < 10 && !errors.Is(err, auth.ErrBadCredentials) || i >= 10 && !errors.As(err, &throttled) {
			t.Errorf("guess %d: %v", i+1, err)
		}
	}
	if _, err := u.Authenticate(t.Context(), "alice", "right", elsewhere); !errors.As(err, &throttled) {
		t.Errorf("the right guess: %v", err)
	}
	u.wants("the user", "alice", "right", here, "Alice")
}

// What the wiki did not answer is no guess.
func TestWikiDown(t *testing.T) {
	u := newWikiUsers(t)
	down := &wiki.UnavailableError{Err: errors.New("no answer")}
	u.fake.Fail(down)
	for range 30 {
		u.wants("down", "alice", "right", here, down)
	}
	u.fake.Fail(nil)
	u.wants("back", "alice", "right", here, "Alice")

	u.fake.Fail(&wiki.AdviceError{Detail: forms.English("use a bot password")})
	_, err := u.Authenticate(t.Context(), "bob", "bob", here)
	var refused *auth.RefusedError
	if !errors.As(err, &refused) || refused.Error() != "use a bot password" || !errors.Is(err, auth.ErrBadCredentials) {
		t.Errorf("advice: %v", err)
	}
}

func TestWikiOneLoginAtATime(t *testing.T) {
	u := newWikiUsers(t)
	release := u.fake.Hold()
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() { u.wants("one of many", "alice", "right", fmt.Sprintf("192.0.2.%d:1", i), "Alice") })
	}
	release()
	wg.Wait()
	u.logins("many hosts", 1)
}

func TestWikiReverify(t *testing.T) {
	u := newWikiUsers(t)
	u.wants("sign-in", "alice", "right", here, "Alice")
	for range 2 {
		who, err := u.Reverify(t.Context(), "alice", "right")
		u.check("session", who, err, "Alice")
	}
	u.logins("known", 1)
	u.restart()
	who, err := u.Reverify(t.Context(), "alice", "right")
	u.check("after a restart", who, err, "Alice")
	who, err = u.Reverify(t.Context(), "alice", "old")
	u.check("changed", who, err, auth.ErrBadCredentials)
}

func TestWikiIdentify(t *testing.T) {
	u := newWikiUsers(t)
	for _, tt := range []struct {
		headers []string
		want    any
	}{
		{[]string{"Basic YWxpY2U6cmlnaHQ="}, "Alice"}, // alice:right
		{[]string{"Bearer bob.bob"}, "Bob"},
		{[]string{"bearer bob.bob"}, "Bob"},
		{[]string{"Bearer bob.wrong"}, auth.ErrBadCredentials},
		{[]string{"Bearer "}, auth.ErrBadCredentials},
		{[]string{"Digest x"}, auth.ErrBadCredentials},
		{[]string{"Bearer bob.bob", "Bearer alice.right"}, auth.ErrBadCredentials},
		{nil, auth.ErrBadCredentials},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header["Authorization"] = tt.headers
		r.AddCookie(&http.Cookie{Name: "session", Value: "Alice"}) // does not count
		who, err := u.Identify(r)
		u.check(fmt.Sprint(tt.headers), who, err, tt.want)
	}
}

// The wiki's cookies count as if they had SameSite=Lax.
func TestWikiBrowser(t *testing.T) {
	u := newWikiUsers(t)
	for _, tt := range []struct {
		method, cookie string
		fetch          string // site, mode and destination
		want           any
	}{
		{"GET", "session=Alice", "", "Alice"},
		{"POST", "session=Alice", "same-origin navigate document", "Alice"},
		{"GET", "session=Alice", "same-site navigate iframe", "Alice"},
		{"GET", "session=Alice", "cross-site navigate document", "Alice"},
		{"GET", "session=Alice", "cross-site navigate iframe", auth.ErrNobody},
		{"GET", "session=Alice", "cross-site no-cors image", auth.ErrNobody},
		{"POST", "session=Alice", "cross-site navigate document", auth.ErrNobody},
		{"GET", "session=Eve", "", auth.ErrNobody},
		{"GET", "other=Alice", "", auth.ErrNobody},
		{"GET", "", "", auth.ErrNobody},
	} {
		r := httptest.NewRequestWithContext(t.Context(), tt.method, "/", nil)
		r.Header.Set("Cookie", tt.cookie)
		if fetch := strings.Fields(tt.fetch); len(fetch) > 0 {
			for i, name := range []string{"Site", "Mode", "Dest"} {
				r.Header.Set("Sec-Fetch-"+name, fetch[i])
			}
		}
		who, err := u.IdentifyBrowser(r)
		u.check(fmt.Sprintf("%+v", tt), who, err, tt.want)
	}
	testkit.Same(t, "the wiki was asked times about two cookies", u.fake.Calls("Resume"), 2)

	// An answer counts for a while, and a failure is none.
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	r.Header.Set("Cookie", "session=Alice")
	u.fake.Fail(&wiki.UnavailableError{Err: errors.New("no answer")})
	who, err := u.IdentifyBrowser(r)
	u.check("known", who, err, "Alice")
	u.advance(30 * time.Second)
	var down *wiki.UnavailableError
	if _, err = u.IdentifyBrowser(r); !errors.As(err, &down) {
		t.Errorf("not known any more: %v", err)
	}
}

// Wrong tokens hold up no user of another token, whose name is as unknown.
func TestWikiTokensAreThrottledApart(t *testing.T) {
	u := newWikiUsers(t)
	sends := func(token, from string) error {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = from
		r.Header.Set("Authorization", "Bearer "+token)
		_, err := u.Identify(r)
		return err
	}
	for i := range 200 {
		from := fmt.Sprintf("192.0.2.%d:5000", i)
		if err := sends(fmt.Sprint("wrong", i), from); !errors.Is(err, auth.ErrBadCredentials) {
			t.Fatalf("guess %d: %v", i, err)
		}
	}
	testkit.ErrorIs(t, "the right token", sends("Alice.right", here), nil)
}
