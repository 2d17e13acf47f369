package rest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/testsite"
)

// sendSlowly sends a body during which something else happens.
func (e *env) sendSlowly(t *testing.T, r testRequest, do func()) *notes {
	t.Helper()
	req := e.newRequest(t, r)
	req.Body = io.NopCloser(meanwhile(r.body, do))
	n := &notes{ResponseRecorder: httptest.NewRecorder()}
	mount(e.api).ServeHTTP(n, req)
	checkContract(t, req, answer{n.Code, n.Header(), n.Body.String()})
	return n
}

// A body may take a minute to come in: what counts is what its sender may do
// then.
func TestRightsChangeWhileTheBodyComesIn(t *testing.T) {
	noCarol, noGroup := testsite.People{"alice": nil, "bob": nil}, testsite.People{"alice": nil, "bob": nil, "carol": nil}
	for _, tt := range []struct {
		name, form string
		then       testsite.People
		status     int
		user       string // named in the log
		anonymous  bool
	}{
		{"the account is removed", staffPath, noCarol, 401, "", false},
		{"the group is removed", staffPath, noGroup, 404, "carol", false},
		{"the account is removed, at an anonymous form", ballotPath, noCarol, 401, "", true},
	} {
		e := newHouse(t)
		id := map[string]string{staffPath: "text", ballotPath: "vote"}[tt.form]
		path, _ := e.create(t, "carol", tt.form, nestedBody(id, "yes"))
		before := e.dump(t)
		for _, r := range []testRequest{
			ask("POST", tt.form+"/submission", nestedBody(id, "no")),
			ask("POST", path, nestedBody(id, "no")),
			ask("POST", path, "{bad"),
			ask("PUT", result(path), `{"`+id+`":"no"}`),
		} {
			e.Users.Set(testsite.Everybody)
			r.user = "carol"
			n := e.sendSlowly(t, r, func() { e.Users.Set(tt.then) })
			if n.Code != tt.status || n.user != tt.user || n.anonymous != tt.anonymous {
				t.Errorf("%s during %s %s: status %d, want %d; logged as %q, anonymous %t", tt.name, r.method, r.path, n.Code, tt.status, n.user, n.anonymous)
			}
		}
		testkit.Same(t, tt.name, e.dump(t), before)
	}
}

// Somebody who begins to send to an anonymous form is not named, even if it is
// no longer anonymous by the time that the body is there.
func TestFormWasAnonymousWhenTheRequestBegan(t *testing.T) {
	e := newHouse(t)
	named := strings.Replace(ballotPage, "anonymous: true\n", "", 1)
	vote := ask("alice POST", ballotPath+"/submission", nestedBody("vote", "yes"))

	n := e.sendSlowly(t, vote, func() { e.Write(t, "4-ballot.md", named) })
	if n.Code != 201 || !n.anonymous || strings.Contains(n.Body.String(), "alice") {
		t.Errorf("status %d, anonymous %t in the log, answered with %s", n.Code, n.anonymous, n.Body)
	}
	if stored := e.dump(t); strings.Contains(strings.ToLower(stored), "alice") || !strings.Contains(stored, "ballot") {
		t.Errorf("stored: %s", stored)
	}
	e.Write(t, "4-ballot.md", ballotPage)
	e.expect(t, 400, vote) // it was her one anonymous submission

	path := n.Header().Get("Location")
	n = e.sendSlowly(t, ask("carol PUT", result(path), `{"vote":"no"}`), func() { e.Write(t, "4-ballot.md", named) })
	if n.Code != 200 || !n.anonymous {
		t.Errorf("an editor's change: status %d, anonymous %t in the log", n.Code, n.anonymous)
	}
}

// pausing is a client that takes its time after the first part of a list.
type pausing struct {
	*notes
	once sync.Once
	do   func()
}

func (w *pausing) Write(p []byte) (int, error) {
	n, err := w.notes.Write(p)
	w.once.Do(w.do)
	return n, err
}

// listSlowly returns what comes of a list during which something else happens,
// and whether it was broken off.
func (e *env) listSlowly(t *testing.T, user, path string, do func()) (n *notes, broken bool) {
	t.Helper()
	n = &notes{ResponseRecorder: httptest.NewRecorder()}
	defer func() {
		v := recover()
		err, _ := v.(error)
		if broken = errors.Is(err, http.ErrAbortHandler); v != nil && !broken {
			panic(v)
		}
	}()
	mount(e.api).ServeHTTP(&pausing{notes: n, do: do}, e.newRequest(t, ask(user+" GET", path)))
	return n, false
}

// revocation is a change of who may see a list while it is being read.
type revocation struct {
	name   string
	page   string // of staff, from then on
	people testsite.People
	broken bool
	user   string // named in the log
}

var (
	seen = "---\nview: [alice, carol]\nedit: ['@hr']\n---\n```form\n" + `form: staff
fields:
  - {id: text, type: textbox, label: Text}
` + "```\n"
	revocations = []revocation{
		{"nothing", seen, testsite.Everybody, false, "carol"},
		{"another label", strings.Replace(seen, "label: Text", "label: Words", 1), testsite.Everybody, false, "carol"},
		{"seen by viewers, too", strings.Replace(seen, "edit:", "results: viewers\nedit:", 1), testsite.Everybody, false, "carol"},
		{"the page is closed", strings.Replace(strings.Replace(seen, ", carol", "", 1), "'@hr'", "alice", 1), testsite.Everybody, true, "carol"},
		{"the page is only viewed", strings.Replace(seen, "'@hr'", "alice", 1), testsite.Everybody, true, "carol"},
		{"the form is gone", nonePage, testsite.Everybody, true, "carol"},
		{"the group is removed", seen, testsite.People{"carol": nil}, true, "carol"},
		{"the account is removed", seen, testsite.People{}, true, ""},
		{"the form is anonymous by now", strings.Replace(seen, "form: staff", "form: staff\nanonymous: true", 1), testsite.Everybody, false, ""},
	}
)

// A reader who stops in the middle of a list gets nothing more of it once they
// may not see it any more.
func TestListIsBrokenOffWhenAccessIsRevoked(t *testing.T) {
	e := newEnv(t, map[string]string{"3.md": seen})
	for range 6 {
		e.create(t, "alice", staffPath, nestedBody("text", strings.Repeat("x", 50_000)))
	}
	for _, r := range revocations {
		for _, list := range []string{"/submission", "/result"} {
			e.Users.Set(testsite.Everybody)
			e.Write(t, "3.md", seen)
			n, broken := e.listSlowly(t, "carol", staffPath+list, func() {
				e.Users.Set(r.people)
				e.Write(t, "3.md", r.page)
			})
			if broken != r.broken || json.Valid(n.Body.Bytes()) == r.broken || n.Body.Len() < encode.FlushBytes {
				t.Errorf("%s: broken off %t, want %t; got %d bytes of %s", r.name, broken, r.broken, n.Body.Len(), list)
			}
			if r.broken && n.Body.Len() > encode.FlushBytes+100_000 {
				t.Errorf("%s: %d bytes came all the same", r.name, n.Body.Len())
			}
			testkit.Same(t, r.name, n.user, r.user)
		}
	}
}

// Neither does a reader get the rest of a file.
func TestDownloadIsBrokenOffWhenAccessIsRevoked(t *testing.T) {
	e := newFilesEnv(t)
	content := strings.Repeat("x", 4*encode.FlushBytes)
	path := e.createFiles(t, textPart("title", "x"), filePart("doc", "a", content)) + "/file/doc/a"
	for _, tt := range []struct {
		name   string
		do     func()
		broken bool
	}{
		{"nothing", func() {}, false},
		{"the account goes", func() { e.Users.Set(testsite.People{"bob": nil}) }, true},
		{"the page is closed", func() { e.Write(t, "8-files.md", strings.Replace(filesPage, "view: [alice, ", "view: [", 1)) }, true},
	} {
		e.Users.Set(testsite.Everybody)
		e.Write(t, "8-files.md", filesPage)
		n, broken := e.listSlowly(t, "alice", path, tt.do)
		if broken != tt.broken || broken == (n.Body.Len() == len(content)) || n.Body.Len() == 0 {
			t.Errorf("%s: broken off: %t after %d bytes", tt.name, broken, n.Body.Len())
		}
	}
}

// As long as nothing was sent, there is a better answer than to break off.
func TestAccessIsRevokedBeforeAListBegins(t *testing.T) {
	want := map[string]int{
		"the page is closed": 404, "the page is only viewed": 503,
		"the group is removed": 503, "the account is removed": 401,
		"the form is gone": 404,
	}
	e := newEnv(t, map[string]string{"3.md": seen})
	e.create(t, "alice", staffPath, nestedBody("text", "x"))
	for _, r := range revocations {
		e.Users.Set(testsite.Everybody)
		e.Write(t, "3.md", seen)
		e.Store.FailAtRow(func(int) error {
			e.Users.Set(r.people)
			e.Write(t, "3.md", r.page)
			return nil
		})
		status := 200
		if r.broken {
			status = want[r.name]
		}
		e.expect(t, status, ask("carol GET", staffPath+"/submission"))
	}
}
