package wiki

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// needsCookie answers calls with this session cookie, and tells others that they
// are not signed in.
func needsCookie(valid *atomic.Value, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie("w_session"); err != nil || c.Value != valid.Load() {
			text = `{"errors":[{"code":"assertnameduserfailed"}]}`
		}
		_, _ = io.WriteString(w, text)
	}
}

// renewable has the wiki end all sessions, and take new ones.
func renewable(f *fakeWiki) *atomic.Value {
	valid, n := &atomic.Value{}, &atomic.Int64{}
	valid.Store("none yet")
	answer := func(w http.ResponseWriter, r *http.Request) { needsCookie(valid, info(fakePage))(w, r) }
	f.answer("info", answer)
	f.answer("clientlogin", func(w http.ResponseWriter, _ *http.Request) {
		value := fmt.Sprint("renewed", n.Add(1))
		valid.Store(value)
		w.Header().Add("Set-Cookie", "w_session="+value)
		_, _ = io.WriteString(w, `{"clientlogin":{"status":"PASS","username":"Ann"}}`)
	})
	return valid
}

func TestMediaWikiRenewsOnce(t *testing.T) {
	f := newFake(t, Options{})
	ann := f.login(t)
	valid := renewable(f)
	for round := range 2 {
		logins := f.count("clientlogin")
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				if got, err := f.Pages(t.Context(), ann, 7); err != nil || !got[7].Edit {
					t.Errorf("got %+v, %v", got, err)
				}
			})
		}
		calls.Wait()
		if got := f.count("clientlogin") - logins; got != 1 || ann.Ended() {
			t.Errorf("round %d: %d logins, ended: %v", round, got, ann.Ended())
		}
		valid.Store("ended again")
	}
}

func TestMediaWikiRenewalFails(t *testing.T) {
	for name, tt := range map[string]struct {
		answer, want string
		ended        bool
		logins       int // by two calls
	}{
		"password changed": {`{"clientlogin":{"status":"FAIL","message":{"key":"wrongpassword","params":[]}}}`, "refused", true, 1},
		"two factors now":  {`{"clientlogin":{"status":"UI","message":{"key":"x","params":[]}}}`, "advice", true, 1},
		"renamed":          {`{"clientlogin":{"status":"PASS","username":"Anna"}}`, "refused", true, 1},
		"throttled":        {`{"clientlogin":{"status":"FAIL","message":{"key":"login-throttled","params":[{"duration":7200}]}}}`, "5m0s", false, 1},
		"unavailable":      {`<html>`, "unavailable", false, 2},
		"not taken":        {`{"clientlogin":{"status":"PASS","username":"Ann"}}`, "unavailable", false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, Options{})
			ann := f.login(t)
			f.answer("info", says(`{"errors":[{"code":"assertnameduserfailed"}]}`))
			f.answer("clientlogin", says(tt.answer))
			before := f.count("clientlogin")
			_, err := f.Pages(t.Context(), ann, 7)
			if got := outcome(nil, err); got != tt.want || ann.Ended() != tt.ended {
				t.Errorf("got %v, ended %v; want %s, %v", err, ann.Ended(), tt.want, tt.ended)
			}
			if err := second(f.Text(t.Context(), ann, 7)); tt.ended && !errors.Is(err, ErrRefused) {
				t.Errorf("then: %v", err)
			}
			_, err = f.Pages(t.Context(), ann, 7)
			if waits, ok := errors.AsType[*ThrottledError](err); ok && waits.RetryAfter > MaxSilence {
				t.Errorf("it is asked again after %s, want at most %s", waits.RetryAfter, MaxSilence)
			}
			testkit.Same(t, "logins", f.count("clientlogin")-before, tt.logins)
		})
	}
}

// A caller that goes away does not spoil the renewal for others.
func TestMediaWikiRenewalWithoutItsFirstCaller(t *testing.T) {
	f := newFake(t, Options{})
	ann := f.login(t)
	renewable(f)
	renewed := f.answers["clientlogin"]
	started, goOn := make(chan struct{}), make(chan struct{})
	f.answer("clientlogin", func(w http.ResponseWriter, r *http.Request) {
		close(started)
		<-goOn
		renewed(w, r)
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- second(f.Pages(ctx, ann, 7)) }()
	<-started
	cancel()
	testkit.ErrorIs(t, "the first caller", <-ended, context.Canceled)
	go func() { ended <- second(f.Pages(t.Context(), ann, 7)) }()
	close(goOn)
	testkit.ErrorIs(t, "the second caller", <-ended, nil)
}

func TestMediaWikiSessionCookies(t *testing.T) {
	cookies := func(pairs ...string) []*http.Cookie {
		var list []*http.Cookie
		for _, pair := range pairs {
			name, value, _ := strings.Cut(pair, "=")
			list = append(list, &http.Cookie{Name: name, Value: value})
		}
		return list
	}
	many := []string{"w_session=1"}
	for i := range 16 {
		many = append(many, fmt.Sprintf("wx%d=1", i))
	}
	for name, tt := range map[string]struct {
		names  []string
		have   []*http.Cookie
		want   string
		tokens int
	}{
		"session":        {nil, cookies("z=1", "wUserName=Ann", "other_session=2", "w_session=3", "wUserID=4"), "wUserID=4; wUserName=Ann; w_session=3", 1},
		"kept signed in": {nil, cookies("wUserName=Ann", "wToken=3"), "wToken=3; wUserName=Ann", 1},
		"only a name":    {nil, cookies("wUserName=Ann", "other_session=2"), "", 1},
		"others'":        {nil, cookies("sid=Ann", "__Host-formulary=2"), "", 0},
		"none":           {nil, nil, "", 0},
		"twice":          {nil, cookies("w_session=1", "w_session=2"), "w_session=1", 1},
		"bad values":     {nil, cookies("w_session=1", "wa=x\r\nCookie: y", `wb="`, "wc=ü", "wd="), "w_session=1", 1},
		"too many":       {nil, cookies(many...), "", 1},
		"too long":       {nil, cookies("w_session=1", "wx="+strings.Repeat("x", 8<<10)), "", 1},
		"none named":     {[]string{}, cookies("w_session=1", "other=2"), "w_session=1", 1},
		"named":          {[]string{"sso", "w_session"}, cookies("w_session=1", "wUserID=2", "sso=3"), "sso=3; w_session=1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, Options{Cookies: tt.names})
			var calls sync.WaitGroup
			for range 4 {
				calls.Go(func() {
					found, err := f.SessionCookies(t.Context(), tt.have)
					if got := cookieHeader(found).Get("Cookie"); err != nil || got != tt.want {
						t.Errorf("got %q, %v; want %q", got, err, tt.want)
					}
				})
			}
			calls.Wait()
			if got := f.count("tokens"); got != tt.tokens && (tt.tokens == 0 || got > 4) {
				t.Errorf("%d calls, want %d", got, tt.tokens)
			}
			asked := f.count("tokens")
			if _, err := f.SessionCookies(t.Context(), tt.have); err != nil || f.count("tokens") != asked {
				t.Errorf("asked again: %v", err)
			}
		})
	}
}

// A wiki with a session cookie of another name has none that can be found.
func TestMediaWikiUnusualSessionCookie(t *testing.T) {
	f := newFake(t, Options{})
	f.answer("tokens", says(fakeToken))
	for range 2 {
		found, err := f.SessionCookies(t.Context(), []*http.Cookie{{Name: "w_session", Value: "1"}})
		if err != nil || len(found) != 0 {
			t.Errorf("got %v, %v", found, err)
		}
	}
	testkit.Same(t, "calls", f.count("tokens"), 1)
}

func TestMediaWikiResume(t *testing.T) {
	f := newFake(t, Options{})
	cookies := []*http.Cookie{{Name: "w_session", Value: "1"}}
	s, err := f.Resume(t.Context(), cookies, "192.0.2.8:99", false)
	if err != nil || s.Name != "Ann" {
		t.Fatalf("got %v, %v", s, err)
	}
	if r := f.last(t, "userinfo"); r.Header.Get("Cookie") != "w_session=1" || r.Header.Get("X-Forwarded-For") != "192.0.2.8" || r.FormValue("assert") != "user" {
		t.Errorf("asked %s with %v", r.URL, r.Header)
	}
	f.answer("info", says(`{"errors":[{"code":"assertnameduserfailed"}]}`))
	if _, err := f.Pages(t.Context(), Caller{s, ""}, 7); !errors.Is(err, ErrRefused) || !s.Ended() || f.count("clientlogin") != 0 {
		t.Errorf("session of a browser that has ended: %v, %v", err, s.Ended())
	}
	for name, answer := range map[string]string{
		"not signed in": `{"errors":[{"code":"assertuserfailed"}]}`,
		"closed wiki":   `{"errors":[{"code":"readapidenied"}]}`,
		"anonymous":     `{"batchcomplete":true,"query":{"userinfo":{"id":0,"name":"192.0.2.8","anon":true}}}`,
		"temporary":     `{"batchcomplete":true,"query":{"userinfo":{"id":9,"name":"~2026-1","temp":true}}}`,
	} {
		f.answer("userinfo", says(answer))
		testkit.ErrorIs(t, name, testkit.ErrorOf(f.Resume(t.Context(), cookies, "", false)), ErrRefused)
	}
	f.answer("userinfo", says(`{"batchcomplete":true,"query":{"userinfo":{"id":0,"name":"192.0.2.8"}}}`))
	checkOdd(t, "user 0", second(f.Resume(t.Context(), cookies, "", false)))
	testkit.ErrorIs(t, "no cookies", second(f.Resume(t.Context(), nil, "", false)), ErrRefused)
}

// The wiki's answer about a browser must be for the user whom the cookies name.
func TestMediaWikiResumeOfAnother(t *testing.T) {
	f := newFake(t, Options{})
	f.login(t) // learns the prefix
	for id, want := range map[string]string{"1": "Ann", "2": "unavailable"} {
		cookies := []*http.Cookie{{Name: "w_session", Value: "x"}, {Name: "wUserID", Value: id}}
		testkit.Same(t, id, outcome(f.Resume(t.Context(), cookies, "", false)), want)
	}
}

// A wiki whose cookies begin like ours does not get ours, and an odd answer does not
// make us forget what its cookies begin with.
func TestMediaWikiGetsNoCookiesOfOurs(t *testing.T) {
	f := newFake(t, Options{})
	for prefix, ours := range map[string]string{"formulary": "formulary", "__Host-": "__Host-formulary+forms"} {
		f.answer("tokens", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("Set-Cookie", prefix+"_session=before")
			_, _ = io.WriteString(w, fakeToken)
		})
		f.login(t)
		f.answer("tokens", says(fakeToken))
		f.login(t)
		got, err := f.SessionCookies(t.Context(), []*http.Cookie{{Name: prefix + "_session", Value: "a"}, {Name: ours, Value: "secret"}})
		if err != nil || len(got) != 1 || got[0].Value != "a" {
			t.Errorf("%s: %v, %v", prefix, got, err)
		}
	}
}
