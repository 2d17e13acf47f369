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

// A form may be anonymous when the request begins, or when its body is there: either way no name is stored or logged.
func TestFormIsAnonymousMeanwhile(t *testing.T) {
	e := newHouse(t)
	named := strings.Replace(ballotPage, "anonymous: true\n", "", 1)
	for user, page := range map[string][2]string{"alice": {ballotPage, named}, "bob": {named, ballotPage}} {
		send := func(status int, r testRequest) *notes {
			t.Helper()
			e.Write(t, "4-ballot.md", page[0])
			n := e.sendSlowly(t, r, func() { e.Write(t, "4-ballot.md", page[1]) })
			if n.Code != status || !n.anonymous || status == 201 && pick(t, n.Body.String(), "username") != `""` {
				t.Errorf("%s, %s: status %d, anonymous %t in the log: %s", user, r.method, n.Code, n.anonymous, n.Body)
			}
			return n
		}
		vote := ask(user+" POST", ballotPath+"/submission", nestedBody("vote", "yes"))
		path := send(201, vote).Header().Get("Location")
		send(200, ask("carol PUT", result(path), `{"vote":"no"}`))
		e.Write(t, "4-ballot.md", ballotPage)
		e.expect(t, 400, vote) // it was their one anonymous submission
	}
	testkit.Same(t, "stored without a name", strings.Count(e.dump(t), ` "" `), 2)
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
	before int    // the status if nothing was sent
}

var (
	seen = "---\nview: [alice, carol]\nedit: ['@hr']\n---\n```form\n" + `form: staff
fields:
  - {id: text, type: textbox, label: Text}
` + "```\n"
	revocations = []revocation{
		{"nothing", seen, testsite.Everybody, false, "carol", 200},
		{"another label", seenBut("label: Text", "label: Words"), testsite.Everybody, false, "carol", 200},
		{"seen by viewers, too", seenBut("edit:", "results: viewers\nedit:"), testsite.Everybody, false, "carol", 200},
		{"the page is closed", seenBut(", carol", "", "'@hr'", "alice"), testsite.Everybody, true, "carol", 404},
		{"the page is only viewed", seenBut("'@hr'", "alice"), testsite.Everybody, true, "carol", 503},
		{"the form is gone", nonePage, testsite.Everybody, true, "carol", 404},
		{"the group is removed", seen, testsite.People{"carol": nil}, true, "carol", 503},
		{"the account is removed", seen, testsite.People{}, true, "", 401},
		{"the form is anonymous by now", seenBut("form: staff", "form: staff\nanonymous: true"), testsite.Everybody, false, "", 200},
	}
)

func seenBut(oldAndNew ...string) string { return strings.NewReplacer(oldAndNew...).Replace(seen) }

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
		e.expect(t, r.before, ask("carol GET", staffPath+"/submission"))
	}
}
