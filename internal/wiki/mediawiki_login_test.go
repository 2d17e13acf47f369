package wiki

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/formulary/formulary/internal/testkit"
)

func TestMediaWikiLoginSends(t *testing.T) {
	f := newFake(t, Options{})
	ann := f.login(t)
	if ann.Name != "Ann" || ann.Ended() {
		t.Errorf("the session is of %q, ended: %v", ann.Name, ann.Ended())
	}
	token, login := f.last(t, "tokens"), f.last(t, "clientlogin")
	if token.Method != http.MethodGet || token.Header.Get("Cookie") != "" {
		t.Errorf("token: %s with cookies %q", token.Method, token.Header.Get("Cookie"))
	}
	if got, want := login.PostForm, (url.Values{
		"username": {"ann"}, "password": {"ann's password"}, "logintoken": {`t+\`},
		"loginmessageformat": {"raw"}, "loginreturnurl": {"http://" + login.Host + "/"},
	}); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	testkit.Same(t, "cookies of the login", login.Header.Get("Cookie"), "w_session=before")
	testkit.Must(t, testkit.ErrorOf(f.Pages(t.Context(), ann, 7)))
	info := f.last(t, "info")
	want := url.Values{
		"action": {"query"}, "prop": {"info"}, "intestactions": {"read|edit"}, "pageids": {"7"}, "meta": {"userinfo"}, "uiprop": {"blockinfo"},
		"assertuser": {"Ann"}, "format": {"json"}, "formatversion": {"2"}, "errorformat": {"raw"},
	}
	if got := info.URL.Query(); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	for name, want := range map[string]string{
		"Cookie": "w_session=after; wUserName=%C3%9C", "X-Forwarded-For": "192.0.2.7", "User-Agent": "Formulary/test",
		"Cache-Control": "no-cache",
	} {
		testkit.Same(t, name, info.Header.Get(name), want)
	}
}

// Bot passwords work whatever the wiki asks of people, and whatever goes wrong with that.
func TestMediaWikiBotSends(t *testing.T) {
	f := newFake(t, Options{})
	f.answer("login", says(`{"login":{"result":"Success","lgusername":"Ann"}}`))
	testkit.Must(t, testkit.ErrorOf(f.Login(t.Context(), Credential{User: "ann@forms", Password: "secret"}, "")))
	if q := f.last(t, "tokens").URL.Query(); q.Get("meta") != "tokens" || q.Has("amirequestsfor") {
		t.Errorf("asked for %v", q)
	}
	if got, want := f.last(t, "login").PostForm, (url.Values{
		"lgname": {"ann@forms"}, "lgpassword": {"secret"}, "lgtoken": {`t+\`},
	}); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestMediaWikiLoginAnswers(t *testing.T) {
	captcha := strings.Replace(fakeToken, `"requests":[`, `"requests":[{"id":"CaptchaAuthenticationRequest","fields":{"captchaWord":{"type":"string"}}},`, 1)
	// What it is, who signs in (ann by default), the outcome, how often the password is sent, and answers of the wiki.
	for line := range strings.Lines(`no name | :p | refused | 0
no password | ann: | refused | 0
wrong | | refused | 1 | clientlogin {"clientlogin":{"status":"FAIL","message":{"key":"wrongpassword","params":[]}}}
bad name | | refused | 1 | clientlogin {"clientlogin":{"status":"FAIL","message":{"key":"authmanager-authn-no-primary","params":[]}}}
throttled | | 4m59s | 1 | clientlogin {"clientlogin":{"status":"FAIL","message":{"key":"login-throttled","params":[{"duration":299}]}}}
throttled for two days | | 5m0s | 1 | clientlogin {"clientlogin":{"status":"FAIL","message":{"key":"login-throttled","params":[{"duration":172800}]}}}
throttled for no time | | 1s | 1 | clientlogin {"clientlogin":{"status":"FAIL","message":{"key":"login-throttled","params":[{"duration":0}]}}}
throttled, it does not say how long | | 5m0s | 1 | clientlogin {"clientlogin":{"status":"FAIL","message":{"key":"login-throttled","params":[]}}}
two factors | | advice | 1 | clientlogin {"clientlogin":{"status":"UI","message":{"key":"x","params":[]},"requests":[]}}
elsewhere | | advice | 1 | clientlogin {"clientlogin":{"status":"REDIRECT","redirecttarget":"https://sso.example"}}
no password field | | advice | 0 | tokens {"batchcomplete":true,"query":{"tokens":{"logintoken":"t"},"authmanagerinfo":{"requests":[{"id":"SSO","fields":{"sso":{"type":"button"}}}]}}}
CAPTCHA | | captcha 15s | 0 | tokens CAPTCHA
read-only | | unavailable | 1 | clientlogin {"errors":[{"code":"readonly"}]}
no token | | unavailable | 0 | tokens {"batchcomplete":true,"query":{}}
no status | | unavailable | 1 | clientlogin {}
no user | | unavailable | 1 | clientlogin {"clientlogin":{"status":"PASS"}}
bot | ann_lee@forms:secret | Ann lee | 1 | login {"login":{"result":"Success","lgusername":"Ann lee"}}
bot that is an account | ann@forms:secret | refused | 1 | login {"login":{"result":"Success","lgusername":"Ann@forms"}}
bot, CAPTCHA for people | ann@forms:secret | Ann | 1 | tokens CAPTCHA | login {"login":{"result":"Success","lgusername":"Ann"}}
bot, wrong | ann@forms:secret | refused | 1 | login {"login":{"result":"Failed","reason":{"code":"wrongpassword","key":"wrongpassword","params":[]}}}
bot, throttled | ann@forms:secret | 5m0s | 1 | login {"login":{"result":"Failed","reason":{"key":"login-throttled","params":[{"duration":300}]}}}
bot, session lost | ann@forms:secret | unavailable | 1 | login {"login":{"result":"Failed","reason":{"code":"sessionlost","key":"authpage-cannot-login-continue","params":[]}}}
bot, wrong token | ann@forms:secret | unavailable | 1 | login {"login":{"result":"WrongToken"}}
bot, aborted | ann@forms:secret | advice | 1 | login {"login":{"result":"Aborted","reason":{"key":"api-login-fail-aborted","params":[]}}}
`) {
		columns := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), "| |", "|  |"), " | ")
		t.Run(columns[0], func(t *testing.T) {
			t.Parallel()
			f := newFake(t, Options{})
			for _, text := range columns[4:] {
				kind, answer, _ := strings.Cut(text, " ")
				f.answer(kind, says(strings.Replace(answer, "CAPTCHA", captcha, 1)))
			}
			c := annsPassword
			if user, password, ok := strings.Cut(columns[1], ":"); ok {
				c = Credential{User: user, Password: password}
			}
			s, err := f.Login(t.Context(), c, "")
			if got := outcome(s, err); got != columns[2] {
				t.Errorf("got %s (%v), want %s", got, err, columns[2])
			}
			testkit.Same(t, "how often the password was sent", strconv.Itoa(f.count("login")+f.count("clientlogin")), columns[3])
		})
	}
}

func TestMediaWikiDeletedCookies(t *testing.T) {
	f := newFake(t, Options{})
	f.answer("clientlogin", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Set-Cookie", "w_session=deleted; expires=Thu, 01 Jan 1970 00:00:01 GMT; Max-Age=0")
		w.Header().Add("Set-Cookie", "wToken=")
		w.Header().Add("Set-Cookie", "w_new=1; Max-Age=100")
		_, _ = io.WriteString(w, `{"clientlogin":{"status":"PASS","username":"Ann"}}`)
	})
	testkit.Same(t, "cookies", f.login(t).authentication().Get("Cookie"), "w_new=1")
}

// An answer for somebody else comes with their cookies: it must not sign anybody in.
func TestMediaWikiLoginOfAnother(t *testing.T) {
	for typed, want := range map[string]string{
		"ann": "Ann", "Ann": "Ann", "_ann_": "Ann", "Anna": "unavailable", "Ben": "unavailable", "Ann Lee": "unavailable",
	} {
		f := newFake(t, Options{})
		testkit.Same(t, typed, outcome(f.Login(t.Context(), Credential{User: typed, Password: "secret"}, "")), want)
	}
	f := newFake(t, Options{})
	f.answer("clientlogin", says(`{"clientlogin":{"status":"PASS","username":"Über Größe"}}`))
	testkit.Same(t, "decomposed letters", outcome(f.Login(t.Context(), Credential{User: "u\u0308ber_Gro\u0308ße", Password: "secret"}, "")), "Über Größe")
}
