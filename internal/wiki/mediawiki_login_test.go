package wiki

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	if got := login.Header.Get("Cookie"); got != "w_session=before" {
		t.Errorf("login with cookies %q", got)
	}
	if _, err := f.Pages(t.Context(), ann, 7); err != nil {
		t.Fatal(err)
	}
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
	} {
		if got := info.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// Bot passwords work whatever the wiki asks of people, and whatever goes wrong with that.
func TestMediaWikiBotSends(t *testing.T) {
	f := newFake(t, Options{})
	f.answer("login", says(`{"login":{"result":"Success","lgusername":"Ann"}}`))
	if _, err := f.Login(t.Context(), Credential{User: "ann@forms", Password: "secret"}, ""); err != nil {
		t.Fatal(err)
	}
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
	const ( // what is sent
		neither = 0
		posted  = 1
	)
	refused, advice, odd := "refused", "advice", "unavailable"
	for name, tt := range map[string]struct {
		user, password string
		answers        map[string]string
		want           string
		sent           int
	}{
		"no name":     {password: "p", want: refused, sent: neither},
		"no password": {user: "ann", want: refused, sent: neither},
		"wrong":       {answers: map[string]string{"clientlogin": `{"clientlogin":{"status":"FAIL","message":{"key":"wrongpassword","params":[]}}}`}, want: refused, sent: posted},
		"bad name":    {answers: map[string]string{"clientlogin": `{"clientlogin":{"status":"FAIL","message":{"key":"authmanager-authn-no-primary","params":[]}}}`}, want: refused, sent: posted},
		"throttled":   {answers: map[string]string{"clientlogin": `{"clientlogin":{"status":"FAIL","message":{"key":"login-throttled","params":[{"duration":299}]}}}`}, want: "4m59s", sent: posted},
		"throttled for two days": {
			answers: map[string]string{"clientlogin": `{"clientlogin":{"status":"FAIL","message":{"key":"login-throttled","params":[{"duration":172800}]}}}`}, want: "5m0s", sent: posted,
		},
		"throttled for no time": {
			answers: map[string]string{"clientlogin": `{"clientlogin":{"status":"FAIL","message":{"key":"login-throttled","params":[{"duration":0}]}}}`}, want: "1s", sent: posted,
		},
		"throttled, it does not say how long": {
			answers: map[string]string{"clientlogin": `{"clientlogin":{"status":"FAIL","message":{"key":"login-throttled","params":[]}}}`}, want: "5m0s", sent: posted,
		},
		"two factors": {answers: map[string]string{"clientlogin": `{"clientlogin":{"status":"UI","message":{"key":"x","params":[]},"requests":[]}}`}, want: advice, sent: posted},
		"elsewhere":   {answers: map[string]string{"clientlogin": `{"clientlogin":{"status":"REDIRECT","redirecttarget":"https://sso.example"}}`}, want: advice, sent: posted},
		"no password field": {
			answers: map[string]string{"tokens": `{"batchcomplete":true,"query":{"tokens":{"logintoken":"t"},"authmanagerinfo":{"requests":[{"id":"SSO","fields":{"sso":{"type":"button"}}}]}}}`},
			want:    advice, sent: neither,
		},
		"CAPTCHA": {
			answers: map[string]string{"tokens": strings.Replace(fakeToken, `"requests":[`, `"requests":[{"id":"CaptchaAuthenticationRequest","fields":{"captchaWord":{"type":"string"}}},`, 1)},
			want:    "captcha 15s", sent: neither,
		},
		"read-only": {answers: map[string]string{"clientlogin": `{"errors":[{"code":"readonly"}]}`}, want: odd, sent: posted},
		"no token":  {answers: map[string]string{"tokens": `{"batchcomplete":true,"query":{}}`}, want: odd, sent: neither},
		"no status": {answers: map[string]string{"clientlogin": `{}`}, want: odd, sent: posted},
		"no user":   {answers: map[string]string{"clientlogin": `{"clientlogin":{"status":"PASS"}}`}, want: odd, sent: posted},
		"bot":       {user: "ann_lee@forms", answers: map[string]string{"login": `{"login":{"result":"Success","lgusername":"Ann lee"}}`}, want: "Ann lee", sent: posted},
		"bot that is an account": {
			user: "ann@forms", answers: map[string]string{"login": `{"login":{"result":"Success","lgusername":"Ann@forms"}}`}, want: refused, sent: posted,
		},
		"bot, CAPTCHA for people": {
			user: "ann@forms", answers: map[string]string{
				"tokens": strings.Replace(fakeToken, `"requests":[`, `"requests":[{"id":"CaptchaAuthenticationRequest"},`, 1),
				"login":  `{"login":{"result":"Success","lgusername":"Ann"}}`,
			}, want: "Ann", sent: posted,
		},
		"bot, wrong": {
			user: "ann@forms", answers: map[string]string{"login": `{"login":{"result":"Failed","reason":{"code":"wrongpassword","key":"wrongpassword","params":[]}}}`}, want: refused, sent: posted,
		},
		"bot, throttled": {
			user: "ann@forms", answers: map[string]string{"login": `{"login":{"result":"Failed","reason":{"key":"login-throttled","params":[{"duration":300}]}}}`}, want: "5m0s", sent: posted,
		},
		"bot, session lost": {
			user: "ann@forms", answers: map[string]string{"login": `{"login":{"result":"Failed","reason":{"code":"sessionlost","key":"authpage-cannot-login-continue","params":[]}}}`}, want: odd, sent: posted,
		},
		"bot, wrong token": {user: "ann@forms", answers: map[string]string{"login": `{"login":{"result":"WrongToken"}}`}, want: odd, sent: posted},
		"bot, aborted": {
			user: "ann@forms", answers: map[string]string{"login": `{"login":{"result":"Aborted","reason":{"key":"api-login-fail-aborted","params":[]}}}`}, want: advice, sent: posted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, Options{})
			for kind, text := range tt.answers {
				f.answer(kind, says(text))
			}
			c := Credential{User: tt.user, Password: tt.password}
			if tt.user == "" && tt.password == "" {
				c = annsPassword
			} else if tt.user != "" && name != "no password" {
				c.Password = "secret"
			}
			s, err := f.Login(t.Context(), c, "")
			if got := outcome(s, err); got != tt.want {
				t.Errorf("got %s (%v), want %s", got, err, tt.want)
			}
			if got := f.count("login") + f.count("clientlogin"); got != tt.sent {
				t.Errorf("the password was sent %d times, want %d", got, tt.sent)
			}
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
	if got := f.login(t).authentication().Get("Cookie"); got != "w_new=1" {
		t.Errorf("cookies are %q", got)
	}
}

// An answer for somebody else comes with their cookies: it must not sign anybody in.
func TestMediaWikiLoginOfAnother(t *testing.T) {
	for typed, want := range map[string]string{
		"ann": "Ann", "Ann": "Ann", "_ann_": "Ann", "Anna": "unavailable", "Ben": "unavailable", "Ann Lee": "unavailable",
	} {
		f := newFake(t, Options{})
		if got := outcome(f.Login(t.Context(), Credential{User: typed, Password: "secret"}, "")); got != want {
			t.Errorf("%q: %s, want %s", typed, got, want)
		}
	}
	f := newFake(t, Options{})
	f.answer("clientlogin", says(`{"clientlogin":{"status":"PASS","username":"Über Größe"}}`))
	if got := outcome(f.Login(t.Context(), Credential{User: "u\u0308ber_Gro\u0308ße", Password: "secret"}, "")); got != "Über Größe" {
		t.Errorf("decomposed letters: %s", got)
	}
}
