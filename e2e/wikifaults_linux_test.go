package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/testkit"
)

// besieged is a server beside a wiki that fails, and people who use both all the time.
type besieged struct {
	*process
	wiki    *brokenWiki
	caFile  string
	dir     string
	session string // cookie of Ann's session here
	people  sync.WaitGroup
	ended   atomic.Bool
	served  atomic.Int64
	refused atomic.Int64 // by 503
	turn    atomic.Int64
}

// A wiki fails in every way, under load. Nobody sees or does what they may not, what
// fails is answered by 503, requests with fresh rights are served as before, and
// everything works again within ten seconds after the fault.
func TestWikiFailsUnderLoad(t *testing.T) {
	t.Parallel()
	s := startBesieged(t)
	for _, user := range []string{"Ann", "Ben", "Eve"} {
		s.people.Go(func() { s.until(t, func() { s.useAPI(t, user) }) })
		s.people.Go(func() { s.until(t, func() { s.usePages(t, user, cookieHeaderOf(user)) }) })
	}
	s.people.Go(func() { s.until(t, func() { s.usePages(t, "Ann", s.session) }) })
	s.people.Go(func() { s.until(t, func() { s.vote(t) }) })
	t.Cleanup(s.stop)
	before := s.goroutines(t)
	for _, f := range wikiFaults() {
		s.suffer(t, f)
		if t.Failed() {
			t.Fatalf("after the wiki %s", f.name)
		}
	}
	s.changeCertificate(t)
	s.stop()
	testkit.Eventually(t, "its goroutines end", func() bool { return s.goroutines(t) < before+50 })
	if peak := s.memory(t, "VmHWM"); peak > 600<<20 {
		t.Errorf("it took %d MiB", peak>>20)
	}
	if n := s.wiki.elsewhere.Load(); n > 0 {
		t.Errorf("%d redirects were followed", n)
	}
	s.checkNames(t)
	s.checkSecrets(t)
	t.Logf("%d requests were served, %d refused", s.served.Load(), s.refused.Load())
}

func startBesieged(t *testing.T) *besieged {
	t.Helper()
	s := &besieged{wiki: newBrokenWiki(t), dir: t.TempDir()}
	s.caFile = filepath.Join(s.dir, "ca.pem")
	s.trust(t)
	s.process = launch(t, exec.Command(binary, "serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--metrics",
		"--data", filepath.Join(s.dir, "data"), "--pages", "mediawiki+https://"+s.wiki.address+"/api.php", "--users", "wiki",
		"--wiki-ca", s.caFile, "--wiki-recheck", "1s", "--wiki-relogin", "2s"))
	r := s.ask(t, "POST", "/login", url.Values{"username": {"Ann"}, "password": {passwordOf("Ann")}}.Encode(), func(h http.Header) {
		h.Set("Content-Type", "application/x-www-form-urlencoded")
	})
	cookie, _, _ := strings.Cut(r.header.Get("Set-Cookie"), ";")
	if cookie == "" {
		t.Fatalf("sign in: %d", r.status)
	}
	s.session = cookie
	return s
}

func passwordOf(user string) string { return "secret of " + user }

// trust has the server trust the wiki's certificate.
func (s *besieged) trust(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(s.wiki.cert.cert)
	must(t, err)
	testkit.WriteFile(t, s.caFile, string(text))
}

// stop has everybody end their turn.
func (s *besieged) stop() {
	s.ended.Store(true)
	s.people.Wait()
}

func (s *besieged) until(t *testing.T, do func()) {
	for !s.ended.Load() && !t.Failed() {
		do()
	}
}

// ask sends a request. It fails the test for every answer that no request may get.
func (s *besieged) ask(t *testing.T, method, path, body string, header func(http.Header)) response {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return response{}
	}
	header(req.Header)
	r, err := do(unredirected, req)
	retry, _ := strconv.Atoi(r.header.Get("Retry-After"))
	switch {
	case err != nil:
		t.Errorf("%s %s: %v", method, path, err)
	case strings.Contains(r.body, "secret"):
		t.Errorf("%s %s tells a secret: %s", method, path, r.body)
	case r.status == http.StatusServiceUnavailable && (retry < 1 || retry > 300):
		t.Errorf("%s %s: 503 with Retry-After %q", method, path, r.header.Get("Retry-After"))
	case r.status == http.StatusServiceUnavailable:
		s.refused.Add(1)
	case r.status >= 500 || r.status == http.StatusUnauthorized || r.status == http.StatusTooManyRequests:
		t.Errorf("%s %s: %d: %s", method, path, r.status, r.body)
	default:
		s.served.Add(1)
	}
	return r
}

func (s *besieged) api(t *testing.T, credential, method, path, body string) response {
	t.Helper()
	user, _, _ := strings.Cut(credential, "@")
	return s.ask(t, method, "/rest/forms/1.0/page/"+path, body, func(h http.Header) {
		r := http.Request{Header: h}
		r.SetBasicAuth(credential, passwordOf(user))
		h.Set("Content-Type", "application/json")
	})
}

// want fails the test unless an answer is 503, or has the status.
func want(t *testing.T, who, what string, r response, status int) bool {
	t.Helper()
	if r.status != status && r.status != http.StatusServiceUnavailable {
		t.Errorf("%s for %s: %d, want %d: %s", what, who, r.status, status, r.body)
	}
	return r.status == status
}

// useAPI is a turn of somebody who uses the API, every other time with a password that
// the wiki has not seen yet.
func (s *besieged) useAPI(t *testing.T, user string) {
	credential := user
	if turn := s.turn.Add(1); turn%2 == 0 {
		credential += fmt.Sprint("@", turn)
	}
	want(t, user, "the public form", s.api(t, credential, "GET", "1/form/note", ""), http.StatusOK)
	want(t, user, "a create", s.api(t, credential, "POST", "1/form/note/submission", note("by "+user)), http.StatusCreated)
	if user == "Ann" {
		want(t, user, "the private form", s.api(t, credential, "GET", "2/form/note", ""), http.StatusOK)
		want(t, user, "a private create", s.api(t, credential, "POST", "2/form/note/submission", note("by "+user)), http.StatusCreated)
		return
	}
	for _, r := range []response{
		s.api(t, credential, "GET", "2/form/note", ""), s.api(t, credential, "GET", "2/form/note/submission", ""),
		s.api(t, credential, "POST", "2/form/note/submission", note("by "+user)),
	} {
		want(t, user, "the private page", r, http.StatusNotFound)
	}
	checkOwn(t, user, s.api(t, credential, "GET", "1/form/note/submission?limit=20&order=desc", ""))
}

type named struct {
	Username string
	Fields   map[string]struct{ Value string }
}

// checkOwn looks at a list, where a reader sees nothing of others.
func checkOwn(t *testing.T, user string, r response) {
	var list []named
	if !want(t, user, "a list", r, http.StatusOK) {
		return
	}
	if err := json.Unmarshal([]byte(r.body), &list); err != nil {
		t.Error(err)
	}
	for _, one := range list {
		if one.Username != user || one.Fields["text"].Value != "by "+user {
			t.Errorf("%s sees %q of %s", user, one.Fields["text"].Value, one.Username)
		}
	}
}

var hiddenFor = regexp.MustCompile(`name="_for" value="([^"]+)"`)

// usePages is a turn of somebody with a browser.
func (s *besieged) usePages(t *testing.T, user, cookie string) {
	send := func(method, path, body string) response {
		return s.ask(t, method, path, body, func(h http.Header) {
			h.Set("Cookie", cookie)
			h.Set("Content-Type", "multipart/form-data; boundary=b")
		})
	}
	r := send("GET", "/page/1/form/note", "")
	if want(t, user, "the public page", r, http.StatusOK) {
		found := hiddenFor.FindStringSubmatch(r.body)
		if found == nil {
			t.Errorf("no form in %s", r.body)
			return
		}
		sent := url.Values{"text": {"by " + user}, "_for": {found[1]}, "_key": {rand.Text()}}
		want(t, user, "sending the form", send("POST", "/page/1/form/note", multipartOf(sent)), http.StatusSeeOther)
	}
	r = send("GET", "/page/2/form/note", "")
	if user == "Ann" {
		want(t, user, "the private page", r, http.StatusOK)
	} else if want(t, user, "the private page", r, http.StatusNotFound); strings.Contains(r.body, privateMark) {
		t.Errorf("%s sees the private form: %s", user, r.body)
	}
}

// vote is a turn of Zelda, who does nothing but answer an anonymous form.
func (s *besieged) vote(t *testing.T) {
	want(t, "Zelda", "a vote", s.api(t, "Zelda", "POST", "1/form/ballot/submission", note("x")), http.StatusCreated)
}

// suffer has the wiki fail for some time.
func (s *besieged) suffer(t *testing.T, f *fault) {
	t.Helper()
	begun := time.Now()
	s.breakFresh(t, f)
	refused := s.refused.Load()
	testkit.Eventually(t, "requests are refused while the wiki "+f.name, func() bool {
		return s.refused.Load() >= refused+8 && (f.serve == nil || s.wiki.faults.Load() >= 8)
	})
	if f.ready {
		if status := ready(t, s.process); status != http.StatusOK {
			t.Errorf("/readyz while the wiki %s: %d", f.name, status)
		}
	} else {
		testkit.Eventually(t, "it is not ready while the wiki "+f.name, func() bool { return ready(t, s.process) == http.StatusServiceUnavailable })
	}
	s.heal(t, f)
	s.recover(t, "after the wiki "+f.name)
	t.Logf("the wiki %s: %s", f.name, time.Since(begun).Round(time.Millisecond))
}

func (s *besieged) heal(t *testing.T, f *fault) {
	t.Helper()
	s.wiki.heal()
	if f.serve == nil {
		s.wiki.start(t)
	}
}

// breakFresh begins a fault just after the wiki has told the rights of somebody, who is
// served nevertheless, and at once. All that must happen while these rights count.
func (s *besieged) breakFresh(t *testing.T, f *fault) {
	t.Helper()
	for range 20 {
		begun, user := time.Now(), fmt.Sprint("Fresh", s.turn.Add(1))
		r := s.api(t, user, "POST", "1/form/note/submission", note("by "+user))
		s.wiki.breaks(f)
		create := s.api(t, user, "POST", "1/form/note/submission", note("by "+user))
		read := s.api(t, user, "GET", "1/form/note/submission", "")
		if r.status == http.StatusCreated && time.Since(begun) < time.Second {
			if create.status != http.StatusCreated || read.status != http.StatusOK {
				t.Errorf("with fresh rights, while the wiki %s: %d and %d", f.name, create.status, read.status)
			}
			return
		}
		s.heal(t, f)
	}
	t.Errorf("no requests with fresh rights were answered within a second while the wiki %s", f.name)
}

// recover waits until everybody is served again.
func (s *besieged) recover(t *testing.T, when string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	cookie := func(h http.Header) { h.Set("Cookie", cookieHeaderOf("Ben")) }
	session := func(h http.Header) { h.Set("Cookie", s.session) }
	for what, works := range map[string]func() bool{
		"a new password": func() bool {
			return s.api(t, fmt.Sprint("Ann@", s.turn.Add(1)), "GET", "2/form/note", "").status == http.StatusOK
		},
		"a known password":       func() bool { return s.api(t, "Eve", "GET", "1/form/note", "").status == http.StatusOK },
		"the wiki's cookies":     func() bool { return s.ask(t, "GET", "/page/1", "", cookie).status == http.StatusOK },
		"a session of Formulary": func() bool { return s.ask(t, "GET", "/page/2", "", session).status == http.StatusOK },
		"/readyz":                func() bool { return ready(t, s.process) == http.StatusOK },
	} {
		testkit.EventuallyWithin(t, time.Until(deadline), what+" works "+when, works)
	}
}

// changeCertificate gives the wiki a certificate of another authority, and has the server
// trust that later.
func (s *besieged) changeCertificate(t *testing.T) {
	t.Helper()
	if err := s.wiki.server.Shutdown(t.Context()); err != nil { // after it, no call is being answered
		t.Error(err)
	}
	s.wiki.cert = newCertificate(t, t.TempDir())
	s.wiki.start(t)
	calls, refused := s.wiki.calls.Load(), s.refused.Load()
	testkit.Eventually(t, "it is not ready with an unknown authority", func() bool { return ready(t, s.process) == http.StatusServiceUnavailable })
	testkit.Eventually(t, "requests are refused", func() bool { return s.refused.Load() >= refused+8 })
	if n := s.wiki.calls.Load(); n != calls {
		t.Errorf("a wiki that is not trusted got %d calls", n-calls)
	}
	s.trust(t)
	s.recover(t, "with a new authority")
}

func (s *besieged) goroutines(t *testing.T) int {
	t.Helper()
	found := regexp.MustCompile(`(?m)^go_goroutines (\d+)$`).FindStringSubmatch(fetch(t, s.process, "/metrics").body)
	if found == nil {
		t.Fatal("no number of goroutines")
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

// checkNames holds each submission against the user who has sent it.
func (s *besieged) checkNames(t *testing.T) {
	t.Helper()
	for page, least := range map[string]int{"1": 100, "2": 10} {
		var list []named
		if err := json.Unmarshal([]byte(s.api(t, "Ann", "GET", page+"/form/note/submission", "").body), &list); err != nil || len(list) < least {
			t.Errorf("page %s: %d submissions, %v", page, len(list), err)
		}
		for _, one := range list {
			if one.Fields["text"].Value != "by "+one.Username {
				t.Errorf("%q carries the name of %s", one.Fields["text"].Value, one.Username)
			}
		}
	}
}

// checkSecrets looks for passwords, cookies, tokens, and Zelda's name.
func (s *besieged) checkSecrets(t *testing.T) {
	t.Helper()
	told := map[string]string{"/metrics": fetch(t, s.process, "/metrics").body}
	if err := s.terminate(t); err != nil {
		t.Error(err)
	}
	told["the log"] = s.output()
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var content []byte
			content, err = os.ReadFile(path)
			told[path] = string(bytes.ToValidUTF8(content, nil))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	mustNotTell(t, told, "secret", "Zelda")
}
