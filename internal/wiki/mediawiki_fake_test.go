package wiki

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// fakeWiki answers as MediaWiki does, as far as a test says. Answers are by action,
// or by what a query asks for: "info", "revisions", "userinfo", "tokens", "siteinfo".
type fakeWiki struct {
	*mediaWiki
	mu      sync.Mutex
	answers map[string]http.HandlerFunc
	calls   []string
	sent    []*http.Request
}

const (
	fakeToken = `{"batchcomplete":true,"query":{"tokens":{"logintoken":"t+\\"},"authmanagerinfo":{"requests":[
		{"id":"MediaWiki\\Auth\\PasswordAuthenticationRequest","fields":{"username":{"type":"string"},"password":{"type":"password"}}}]}}}`
	fakePage = `{"pageid":7,"title":"A \"page\"","contentmodel":"wikitext","lastrevid":3,"actions":{"read":true,"edit":true}}`
	fakeText = `{"batchcomplete":true,"query":{"pages":[{"pageid":7,"revisions":[{"revid":3,"slots":{"main":{"contentmodel":"wikitext","content":"text"}}}]}]}}`
)

func info(pages string) string {
	return `{"batchcomplete":true,"query":{"userinfo":{"id":1,"name":"Ann"},"pages":[` + pages + `]}}`
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func newFake(t *testing.T, opts Options) *fakeWiki {
	t.Helper()
	f := &fakeWiki{answers: map[string]http.HandlerFunc{
		"tokens": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("Set-Cookie", "w_session=before; Secure; Domain=elsewhere.example; HttpOnly")
			_, _ = io.WriteString(w, fakeToken)
		},
		"clientlogin": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("Set-Cookie", "w_session=after; Secure")
			w.Header().Add("Set-Cookie", "wUserName=%C3%9C; path=/w")
			_, _ = io.WriteString(w, `{"clientlogin":{"status":"PASS","username":"Ann"}}`)
		},
		"info": says(info(fakePage)), "revisions": says(fakeText), "userinfo": says(info("")),
		"siteinfo": says(`{"batchcomplete":true,"query":{"namespaces":{"-1":{"id":-1},"0":{"id":0}}}}`),
	}}
	server := httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(server.Close)
	opts.Address, opts.Agent, opts.Logger = "mediawiki+"+server.URL+"/w/api.php", "Formulary/test", slog.New(slog.DiscardHandler)
	w, err := Open(opts)
	testkit.Must(t, err)
	f.mediaWiki = w.(*mediaWiki)
	return f
}

func (f *fakeWiki) serve(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	q := r.Form
	kind := q.Get("action")
	if kind == "query" {
		kind, _, _ = strings.Cut(q.Get("prop")+q.Get("meta"), "|")
		kind = strings.TrimSuffix(kind, "userinfo")
		if kind == "" {
			kind = "userinfo"
		}
	}
	f.mu.Lock()
	f.calls = append(f.calls, kind)
	f.sent = append(f.sent, r)
	answer := f.answers[kind]
	f.mu.Unlock()
	if answer == nil {
		answer = says(`{"errors":[{"code":"not-expected-by-the-test"}]}`)
	}
	answer(w, r)
}

// answer changes what the wiki answers.
func (f *fakeWiki) answer(kind string, with http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[kind] = with
}

// last returns the last request of a kind.
func (f *fakeWiki) last(t *testing.T, kind string) *http.Request {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, call := range slices.Backward(f.calls) {
		if call == kind {
			return f.sent[i]
		}
	}
	t.Fatalf("no %s among %v", kind, f.calls)
	return nil
}

func (f *fakeWiki) count(kind string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, call := range f.calls {
		if call == kind {
			n++
		}
	}
	return n
}

var annsPassword = Credential{User: "ann", Password: "ann's password"}

func (f *fakeWiki) login(t *testing.T) Caller {
	t.Helper()
	s, err := f.Login(t.Context(), annsPassword, "192.0.2.7")
	testkit.Must(t, err)
	return Caller{s, "192.0.2.7"}
}

// outcome is the result of a login in a word or two.
func outcome(s *Session, err error) string {
	var advice *AdviceError
	var throttled *ThrottledError
	var unavailable *UnavailableError
	switch {
	case err == nil:
		return s.Name
	case errors.As(err, &advice) && strings.Contains(advice.Error(), "Special:BotPasswords"):
		return "advice"
	case errors.As(err, &throttled) && throttled.Captcha:
		return "captcha " + throttled.RetryAfter.String()
	case errors.As(err, &throttled):
		return throttled.RetryAfter.String()
	case errors.As(err, &unavailable):
		return "unavailable"
	case errors.Is(err, ErrRefused):
		return "refused"
	}
	return err.Error()
}

func second[T any](_ T, err error) error { return err }

func checkOdd(t *testing.T, what string, err error) {
	t.Helper()
	var unavailable *UnavailableError
	if !errors.As(err, &unavailable) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("%s: %v", what, err)
	}
}
