package wiki_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/wiki"
	"github.com/formulary/formulary/internal/wiki/confluencetest"
)

// site is a Confluence and a client of it.
type site struct {
	*testing.T
	*confluencetest.Server
	wiki.Wiki
	cloud bool
}

const (
	password = "through the looking-glass"
	from     = "192.0.2.7:4711"
)

// eachConfluence runs a test with Data Center and with Cloud, which have the users ann,
// bob, and sara of the group staff.
func eachConfluence(t *testing.T, test func(s *site)) {
	for name, cloud := range map[string]bool{"data center": false, "cloud": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newSite(t, cloud))
		})
	}
}

func newSite(t *testing.T, cloud bool) *site {
	t.Helper()
	s := &site{T: t, Server: confluencetest.New(t, cloud), cloud: cloud}
	for name, groups := range map[string][]string{"ann": nil, "bob": nil, "sara": {"staff"}} {
		s.AddUser(confluencetest.User{Name: name, Password: password, Token: "token-of-" + name, Email: name + "@example.org", Groups: groups})
	}
	s.Wiki = s.open([]string{}) // as the command line has it without the flag
	return s
}

func (s *site) open(cookies []string) wiki.Wiki {
	s.Helper()
	w, err := wiki.Open(wiki.Options{Address: s.Address(), Cookies: cookies, Agent: "Formulary/test", Logger: slog.New(slog.DiscardHandler)})
	testkit.Must(s.T, err)
	return w
}

// credential is what somebody signs in with.
func (s *site) credential(name string) wiki.Credential {
	if s.cloud {
		return wiki.Credential{User: name + "@example.org", Password: "token-of-" + name}
	}
	return wiki.Credential{User: name, Password: password}
}

// name is how Formulary calls somebody.
func (s *site) name(user string) string {
	if s.cloud {
		return user + "@example.org"
	}
	return user
}

func (s *site) signIn(name string) wiki.Caller {
	s.Helper()
	session, err := s.Login(s.Context(), s.credential(name), from)
	if err != nil || session.Name != s.name(name) {
		s.Fatalf("sign in as %s: %+v, %v", name, session, err)
	}
	return wiki.Caller{Session: session, From: from}
}

// checkQuiet checks that an error has nothing that must not be in a log.
func (s *site) checkQuiet(err error) {
	s.Helper()
	for _, secret := range []string{password, "token-of", "ann", "bob", "127.0.0.1", "example.org", "secret"} {
		if err != nil && strings.Contains(err.Error(), secret) {
			s.Errorf("the error %q contains %q", err, secret)
		}
	}
}

// wantUnavailable checks an error of a wiki that did not answer as it should.
func (s *site) wantUnavailable(err error) {
	s.Helper()
	var unavailable *wiki.UnavailableError
	if !errors.As(err, &unavailable) || errors.Is(err, wiki.ErrRefused) {
		s.Errorf("got %v, want an UnavailableError", err)
	}
	s.checkQuiet(err)
}

func TestConfluenceLogin(t *testing.T) {
	eachConfluence(t, func(s *site) {
		s.AddUser(confluencetest.User{Name: "hal", Password: "a:b:c", Token: "token-of-hal", Email: "hal@example.org", Hidden: true})
		right := map[wiki.Credential]string{s.credential("ann"): s.name("ann")}
		if s.cloud {
			right[wiki.Credential{User: "ann@example.org", Token: "token-of-ann"}] = "ann@example.org"
			right[s.credential("hal")] = "hal"
		} else {
			right[wiki.Credential{Token: "token-of-ann"}] = "ann"
			right[wiki.Credential{User: "bob", Token: "token-of-ann"}] = "ann"
			right[wiki.Credential{User: "ANN", Password: password}] = "ann"
			right[wiki.Credential{User: "hal", Password: "a:b:c"}] = "hal"
		}
		for credential, want := range right {
			session, err := s.Login(s.Context(), credential, from)
			if err != nil || session.Name != want || session.Ended() {
				s.Errorf("Login: got %+v, %v; want %s", session, err, want)
			}
		}
		call := s.Calls("")[0]
		if call.Path != "/rest/api/user/current" || call.Header.Get("X-Forwarded-For") != "192.0.2.7" {
			s.Errorf("the first call is %+v", call)
		}
		wrong := s.credential("ann")
		wrong.Password += "!"
		for _, private := range []bool{false, true} {
			s.Private(private)
			for _, credential := range []wiki.Credential{wrong, {Token: "nobody's"}, {User: "ann@example.org", Token: "nobody's"}} {
				if session, err := s.Login(s.Context(), credential, from); session != nil || err != wiki.ErrRefused { //nolint:errorlint // an AdviceError is one, too
					s.Errorf("wrong credential, private %v: got %+v, %v", private, session, err)
				}
			}
		}
	})
}

// Credentials that can't be sent are refused without a call.
func TestConfluenceLoginThatCannotBeSent(t *testing.T) {
	eachConfluence(t, func(s *site) {
		for _, credential := range []wiki.Credential{
			{},
			{User: "ann"},
			{Password: password},
			{User: "an:n", Password: password},
			{Token: "a\r\nX-Evil: b"},
			{Token: "a b"},
			{Token: "ä"},
			{User: "ann", Token: "\x00"},
		} {
			if session, err := s.Login(s.Context(), credential, from); session != nil || !errors.Is(err, wiki.ErrRefused) {
				s.Errorf("Login: got %+v, %v", session, err)
			}
		}
		if calls := s.Calls(""); len(calls) != 0 {
			s.Errorf("there were calls: %v", calls)
		}
	})
}

func TestConfluenceLoginThrottled(t *testing.T) {
	tooMany := confluencetest.JSON(http.StatusTooManyRequests, `{"message":"secret"}`)
	after := func(text string) confluencetest.Fault { return confluencetest.With("Retry-After", text, tooMany) }
	for name, test := range map[string]struct {
		fault confluencetest.Fault
		want  wiki.ThrottledError
	}{
		"CAPTCHA":      {confluencetest.Captcha, wiki.ThrottledError{RetryAfter: 15 * time.Second, Captcha: true}},
		"login reason": {confluencetest.With("X-Seraph-LoginReason", "OUT, AUTHENTICATION_DENIED", confluencetest.As("")), wiki.ThrottledError{RetryAfter: 15 * time.Second, Captcha: true}},
		"sane time":    {after("90"), wiki.ThrottledError{RetryAfter: 90 * time.Second}},
		"an hour":      {after("3600"), wiki.ThrottledError{RetryAfter: 5 * time.Minute}},
		"absurd":       {after("99999999999999999999"), wiki.ThrottledError{RetryAfter: 30 * time.Second}},
		"zero":         {after("0"), wiki.ThrottledError{RetryAfter: time.Second}},
		"negative":     {after("-5"), wiki.ThrottledError{RetryAfter: time.Second}},
		"a text":       {after("soon"), wiki.ThrottledError{RetryAfter: 30 * time.Second}},
		"no time":      {tooMany, wiki.ThrottledError{RetryAfter: 30 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			eachConfluence(t, func(s *site) {
				s.Fail(test.fault)
				_, err := s.Login(s.Context(), s.credential("ann"), from)
				var throttled *wiki.ThrottledError
				if !errors.As(err, &throttled) || *throttled != test.want {
					s.Errorf("got %#v, want %+v", err, test.want)
				}
				s.checkQuiet(err)
			})
		})
	}
}

func TestConfluenceTakesNoPasswords(t *testing.T) {
	for name, fault := range map[string]confluencetest.Fault{
		"data center": confluencetest.PasswordsOff,
		"an app":      confluencetest.HTML(http.StatusForbidden, "Basic Auth with password is disabled by the API Token Authentication app"),
		"cloud":       confluencetest.HTML(http.StatusUnauthorized, "Basic authentication with passwords is deprecated."),
	} {
		t.Run(name, func(t *testing.T) {
			eachConfluence(t, func(s *site) {
				s.Fail(fault)
				_, err := s.Login(s.Context(), s.credential("ann"), from)
				var advice *wiki.AdviceError
				if !errors.As(err, &advice) || !strings.Contains(advice.Error(), "token") {
					s.Errorf("got %v, want advice", err)
				}
				s.checkQuiet(err)
			})
		})
	}
}

// oddAnswers are no answers to any question.
var oddAnswers = map[string]confluencetest.Fault{
	"HTML":              confluencetest.HTML(http.StatusOK, "secret"),
	"HTML, forbidden":   confluencetest.HTML(http.StatusForbidden, "secret"),
	"HTML, not found":   confluencetest.HTML(http.StatusNotFound, "secret"),
	"error":             confluencetest.JSON(http.StatusInternalServerError, `{"message":"secret"}`),
	"error in HTML":     confluencetest.HTML(http.StatusBadGateway, "secret"),
	"half":              confluencetest.Half,
	"torn":              confluencetest.Torn,
	"redirect":          confluencetest.Redirect,
	"loop":              confluencetest.Loop,
	"100 MB":            confluencetest.Huge,
	"no content":        confluencetest.JSON(http.StatusOK, ""),
	"a list":            confluencetest.JSON(http.StatusOK, `[]`),
	"an empty object":   confluencetest.JSON(http.StatusOK, `{}`),
	"null":              confluencetest.JSON(http.StatusOK, `null`),
	"created":           confluencetest.JSON(http.StatusCreated, `{"type":"known","username":"ann","email":"ann@example.org"}`),
	"duplicate members": confluencetest.JSON(http.StatusOK, `{"type":"anonymous","type":"known","username":"ann","email":"ann@example.org"}`),
}

func TestConfluenceOddUsers(t *testing.T) {
	odd := map[string]confluencetest.Fault{
		"no type":   confluencetest.JSON(http.StatusOK, `{"username":"ann","email":"ann@example.org","accountId":"ann"}`),
		"no name":   confluencetest.JSON(http.StatusOK, `{"type":"known","displayName":"ann"}`),
		"long name": confluencetest.JSON(http.StatusOK, strings.ReplaceAll(`{"type":"known","username":"NAME","email":"NAME"}`, "NAME", strings.Repeat("a", 256))),
		"control":   confluencetest.JSON(http.StatusOK, `{"type":"known","username":"a\nb","email":"a\nb"}`),
		"not found": confluencetest.JSON(http.StatusNotFound, `{"message":"secret"}`),
		"throttle":  confluencetest.HTML(http.StatusServiceUnavailable, "secret"),
	}
	for name, fault := range oddAnswers {
		odd[name] = fault
	}
	for name, fault := range odd {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachConfluence(t, func(s *site) {
				cookies, _ := s.SessionCookies(s.Context(), s.SignIn("ann"))
				s.Fail(fault)
				session, err := s.Login(s.Context(), s.credential("ann"), from)
				s.wantUnavailable(err)
				resumed, err := s.Resume(s.Context(), cookies, from, false)
				s.wantUnavailable(err)
				if session != nil || resumed != nil {
					s.Errorf("there are sessions: %v, %v", session, resumed)
				}
			})
		})
	}
}

func TestConfluenceThatDoesNotAnswer(t *testing.T) {
	for name, fault := range map[string]confluencetest.Fault{"slow": confluencetest.Slow, "dripping": confluencetest.Drip} {
		t.Run(name, func(t *testing.T) {
			eachConfluence(t, func(s *site) {
				ann, id := s.signIn("ann"), s.Write(confluencetest.Page{Title: "Open"})
				s.Fail(fault)
				ctx, cancel := context.WithTimeout(s.Context(), 50*time.Millisecond)
				defer cancel()
				_, err := s.Login(ctx, s.credential("ann"), from)
				s.wantUnavailable(err)
				_, err = s.Pages(ctx, ann, id)
				s.wantUnavailable(err)
				_, err = s.Text(ctx, ann, id)
				s.wantUnavailable(err)
				s.wantUnavailable(s.Ready(ctx))
				s.Fail(nil)
				if _, err := s.Pages(s.Context(), ann, id); err != nil {
					s.Errorf("after that: %v", err)
				}
			})
		})
	}
}

func TestConfluenceCookies(t *testing.T) {
	const enough = "n00=1; n01=1; n02=1; n03=1; n04=1; n05=1; n06=1; n07=1; n08=1; n09=1; n10=1; n11=1; n12=1; n13=1; n14=1; n15=1"
	for name, test := range map[string]struct {
		names    string // instead of the usual ones
		from, to string
	}{
		"data center":  {"", "seraph.confluence=2; other=x; JSESSIONID=1", "JSESSIONID=1; seraph.confluence=2"},
		"cloud":        {"", "tenant.session.token=2; JSESSIONID=x; cloud.session.token=1", "cloud.session.token=1; tenant.session.token=2"},
		"other names":  {"crowd.token_key", "JSESSIONID=x; crowd.token_key=1", "crowd.token_key=1"},
		"twice":        {"", "JSESSIONID=2; JSESSIONID=1", "JSESSIONID=2"},
		"not sendable": {"", "JSESSIONID=a;b; JSESSIONID=a\r\nb; JSESSIONID=; seraph.confluence=ä", ""},
		"none":         {"", "", ""},
		"too many":     {enough + "; n16", enough + "; n16=1", ""},
		"just enough":  {enough, enough, enough},
		"too long":     {"", "JSESSIONID=" + strings.Repeat("a", 8<<10), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, name == "cloud")
			var from []*http.Cookie
			for pair := range strings.SplitSeq(test.from, "; ") {
				name, value, _ := strings.Cut(pair, "=")
				from = append(from, &http.Cookie{Name: name, Value: value, Path: "/", Secure: true}) // attributes go
			}
			var names []string
			if test.names != "" {
				names = strings.Split(strings.ReplaceAll(test.names, "=1", ""), "; ")
			}
			got, err := s.open(names).SessionCookies(t.Context(), from)
			var to []string
			for _, c := range got {
				to = append(to, c.Name+"="+c.Value)
				if c.Path != "" || c.Secure {
					t.Errorf("%s has attributes", c.Name)
				}
			}
			if strings.Join(to, "; ") != test.to || err != nil {
				t.Errorf("got %q, %v; want %q", to, err, test.to)
			}
			if calls := s.Calls(""); len(calls) != 0 {
				t.Errorf("there were calls: %v", calls)
			}
		})
	}
}

// Cookies that were good before do not wait for those of strangers.
func TestConfluenceStrangersWait(t *testing.T) {
	s := newSite(t, false)
	known := s.SignIn("ann")
	release := make(chan struct{})
	s.Fail(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if !strings.Contains(r.Header.Get("Cookie"), known[0].Value) {
			<-release
		}
		next.ServeHTTP(w, r)
	})
	var strangers sync.WaitGroup
	for i := range 20 {
		cookies := []*http.Cookie{{Name: known[0].Name, Value: fmt.Sprint("stranger", i)}}
		strangers.Go(func() { _, _ = s.Resume(t.Context(), cookies, from, false) })
	}
	testkit.Eventually(t, "strangers are asked about", func() bool { return len(s.Calls("")) == 8 })
	if session, err := s.Resume(t.Context(), known, from, true); err != nil || session.Name != s.name("ann") {
		t.Errorf("one who is known: %+v, %v", session, err)
	}
	close(release)
	strangers.Wait()
}

func TestConfluenceResume(t *testing.T) {
	eachConfluence(t, func(s *site) {
		browser := s.SignIn("ann")
		cookies, err := s.SessionCookies(s.Context(), browser)
		if err != nil || len(cookies) != 1 {
			s.Fatalf("SessionCookies: %v, %v", cookies, err)
		}
		session, err := s.Resume(s.Context(), cookies, from, false)
		if err != nil || session.Name != s.name("ann") {
			s.Fatalf("Resume: %+v, %v", session, err)
		}
		id := s.Write(confluencetest.Page{Title: "Closed", View: []string{"ann"}})
		if pages, err := s.Pages(s.Context(), wiki.Caller{Session: session, From: from}, id); err != nil || len(pages) != 1 {
			s.Errorf("Pages: %v, %v", pages, err)
		}
		for _, call := range s.Calls("") {
			if got := call.Header.Get("Cookie"); got != cookies[0].String() {
				s.Errorf("%s had the cookies %q", call.Path, got)
			}
		}
		before := len(s.Calls(""))
		if _, err := s.Resume(s.Context(), nil, from, false); !errors.Is(err, wiki.ErrRefused) || len(s.Calls("")) != before {
			s.Errorf("Resume without cookies: %v", err)
		}
		s.SignOut()
		for _, private := range []bool{false, true} {
			s.Private(private)
			if session, err := s.Resume(s.Context(), cookies, from, false); session != nil || !errors.Is(err, wiki.ErrRefused) {
				s.Errorf("Resume after signing out, private %v: %+v, %v", private, session, err)
			}
		}
	})
}

func TestConfluenceReady(t *testing.T) {
	eachConfluence(t, func(s *site) {
		for name, fault := range map[string]confluencetest.Fault{
			"public":       nil,
			"unauthorized": confluencetest.JSON(http.StatusUnauthorized, `{"message":"Unauthorized"}`),
		} {
			s.Fail(fault)
			if err := s.Ready(s.Context()); err != nil {
				s.Errorf("%s: %v", name, err)
			}
		}
		s.Fail(nil)
		s.Private(true)
		if err := s.Ready(s.Context()); err != nil {
			s.Errorf("private: %v", err)
		}
		for _, name := range []string{"HTML", "HTML, forbidden", "error", "redirect", "loop", "half", "torn", "100 MB", "a list", "no content"} {
			s.Fail(oddAnswers[name])
			s.wantUnavailable(s.Ready(s.Context()))
		}
		s.Fail(confluencetest.With("Retry-After", "9999", confluencetest.JSON(http.StatusTooManyRequests, `{}`)))
		var unavailable *wiki.UnavailableError
		if err := s.Ready(s.Context()); !errors.As(err, &unavailable) || unavailable.RetryAfter != 5*time.Minute {
			s.Errorf("throttled: %#v", err)
		}
		s.Fail(nil)
		s.Stop()
		s.wantUnavailable(s.Ready(s.Context()))
		s.Restart()
		if err := s.Ready(s.Context()); err != nil {
			s.Errorf("after a restart: %v", err)
		}
	})
}
