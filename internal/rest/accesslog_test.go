package rest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/request"
)

// notes is a ResponseWriter that takes the notes of the access log, as the
// server's does: the last one counts.
type notes struct {
	*httptest.ResponseRecorder
	user      string
	anonymous bool
	working   int
}

func (n *notes) SetUser(name string) { n.user, n.anonymous = name, false }

func (n *notes) Anonymous() { n.user, n.anonymous = "", true }

func (n *notes) RequestID() string { return "id-1" }

func (n *notes) Working() { n.working++ }

// wrapper hides everything but what http.ResponseController knows how to find.
type wrapper struct{ http.ResponseWriter }

func (w wrapper) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// note sends a request past the network and returns what was noted.
func (e *env) note(t testing.TB, r testRequest) *notes {
	t.Helper()
	n := &notes{ResponseRecorder: httptest.NewRecorder()}
	mount(e.api).ServeHTTP(wrapper{wrapper{n}}, e.newRequest(t, r))
	return n
}

// A user is named once a form that carries names is found, or a list of forms.
func TestUserIsNotedForTheAccessLog(t *testing.T) {
	e := newEnv(t, house())
	for _, r := range []testRequest{
		{method: "GET", path: Prefix + "/page/1/form"},
		{method: "GET", path: Prefix + "/page/4/form"}, // the ballot is on it, but was not asked for
		{method: "GET", path: allPath},
		{method: "HEAD", path: allPath},
		{method: "GET", path: allPath + "/submission", header: http.Header{"Accept-Encoding": {"gzip"}}},
		{method: "GET", path: allPath + "/submission?limit=x"},
		{method: "GET", path: allPath + "/submission/99"},
		{method: "POST", path: allPath + "/submission", body: "bad"},
		{method: "POST", path: allPath + "/submission", body: nestedBody("name", "x")},
		{method: "DELETE", path: allPath + "/result/x"},
	} {
		r.user = "alice"
		if n := e.note(t, r); n.user != "alice" || n.anonymous {
			t.Errorf("%s %s: answered %d, user %q, anonymous %t", r.method, r.path, n.Code, n.user, n.anonymous)
		}
	}
}

// Somebody who is logged in but asks for something else may have meant an
// anonymous form: one that is broken, or whose page is away, or mistyped.
func TestNobodyIsNotedWhereNoFormIsFound(t *testing.T) {
	pages := house()
	pages["9.md"] = strings.Replace(ballotPage, "type: radio", "type: rodeo", 1)
	e := newEnv(t, pages)
	for _, r := range []testRequest{
		{method: "GET", path: "/rest/nothing"},
		{method: "PATCH", path: allPath},
		{method: "GET", path: allPath + "/"},
		{method: "GET", path: Prefix + "/page/99/form"},
		{method: "DELETE", path: Prefix + "/page/1/form"},
		{method: "GET", path: form(1, "ballot")},
		{method: "POST", path: form(9, "ballot") + "/submission", body: "{}"},
		{method: "POST", path: form(99, "ballot") + "/submission", body: "{}"},
		{method: "POST", path: strings.Replace(form(9, "ballot"), "/9/", "/9%20/", 1), body: "{}"},
		{method: "POST", path: allPath + "/submission", body: "{}", header: http.Header{"Sec-Fetch-Site": {"cross-site"}}},
	} {
		r.user = "alice"
		if n := e.note(t, r); n.Code < 400 || n.user != "" || !n.anonymous {
			t.Errorf("%s %s: answered %d, user %q, anonymous %t", r.method, r.path, n.Code, n.user, n.anonymous)
		}
	}
	if n := e.note(t, testRequest{user: "dave", method: "GET", path: staffPath}); n.Code != http.StatusNotFound || !n.anonymous {
		t.Errorf("a page that dave may not see: answered %d, anonymous %t", n.Code, n.anonymous)
	}
}

// Those who guess passwords can be found by their address, whatever they ask
// for. The name that they try is not theirs.
func TestFailedLoginIsNotedWithItsAddress(t *testing.T) {
	e := newEnv(t, house())
	for _, path := range []string{allPath, ballotPath, ballotPath + "/submission", form(99, "x"), "/rest/nothing", "//rest"} {
		for status, header := range map[int]http.Header{http.StatusUnauthorized: basic("alice:wrong"), http.StatusTooManyRequests: basic("throttled:x")} {
			for _, method := range []string{"GET", "POST"} {
				n := e.note(t, testRequest{method: method, path: path, body: "{}", header: header})
				if n.Code != status || n.user != "" || n.anonymous {
					t.Errorf("%s %s: answered %d, want %d; user %q, anonymous %t", method, path, n.Code, status, n.user, n.anonymous)
				}
			}
		}
		if n := e.note(t, testRequest{method: "GET", path: path}); n.Code != http.StatusUnauthorized || n.user != "" || n.anonymous {
			t.Errorf("%s without credentials: answered %d, user %q, anonymous %t", path, n.Code, n.user, n.anonymous)
		}
	}
}

// Whatever is sent to an anonymous form, its sender leaves no trace.
func TestAnonymousFormIsNotedForTheAccessLog(t *testing.T) {
	e := newEnv(t, house(), func(o *request.Options) { o.MaxBody = 500 })
	path, _ := e.create(t, "bob", ballotPath, nestedBody("vote", "yes"))
	post := func(body string) testRequest {
		return testRequest{method: "POST", path: ballotPath + "/submission", body: body}
	}
	requests := []testRequest{
		{method: "GET", path: ballotPath},
		{method: "GET", path: ballotPath + "/submission"},
		{method: "GET", path: ballotPath + "/submission", header: http.Header{"Accept-Encoding": {"gzip"}}},
		{method: "GET", path: ballotPath + "/result"},
		{method: "GET", path: path},
		{method: "GET", path: path + "x"},
		{method: "GET", path: result(path)},
		{method: "POST", path: path, body: nestedBody("vote", "no")},
		{method: "PUT", path: result(path), body: `{"vote":"no"}`},
		{method: "DELETE", path: result(path)},
		post(nestedBody("vote", "yes")), post(nestedBody("vote", "yes")), // the second is once too often
		post(nestedBody("vote", "maybe")), post("bad"), post(""), post(strings.Repeat(" ", 501)),
		{method: "POST", path: ballotPath + "/submission", body: "{}", header: http.Header{"Content-Type": {"text/plain"}}},
		// Slips on the way to it.
		{method: "POST", path: ballotPath + "/submission/", body: nestedBody("vote", "yes")},
		{method: "POST", path: ballotPath, body: nestedBody("vote", "yes")},
		{method: "PATCH", path: path, body: "{}"},
		{method: "POST", path: strings.Replace(ballotPath, "1.0", "latest", 1) + "/submission", body: "{}"},
		{method: "POST", path: ballotPath[:strings.LastIndex(ballotPath, "/")] + "/BALLOT/submission", body: "{}"},
		{method: "POST", path: strings.Replace(ballotPath, "/page/", "/page/+0", 1) + "/submission", body: "{}"},
		{method: "POST", path: ballotPath + "/submission", body: "{}", header: http.Header{"Sec-Fetch-Site": {"cross-site"}}},
	}
	for _, r := range requests {
		r.user = "alice"
		if n := e.note(t, r); !n.anonymous || n.user != "" {
			t.Errorf("%s %s %s: answered %d, and not noted as anonymous", r.method, r.path, r.body, n.Code)
		}
	}
}

func TestLogNeverNamesWhoSendsToAnAnonymousForm(t *testing.T) {
	e := newEnv(t, house())
	path, _ := e.create(t, "alice", ballotPath, nestedBody("vote", "yes"))
	for _, fault := range []error{errors.New("unforeseen"), nil} {
		e.Store.FailWith(func(context.Context, string) error { return fault })
		for _, r := range []testRequest{
			{method: "GET", path: ballotPath + "/submission"},
			{method: "GET", path: path},
			{method: "GET", path: ballotPath + "/result?username=alice"},
			{method: "POST", path: ballotPath + "/submission", body: nestedBody("vote", "yes")},
			{method: "POST", path: path, body: nestedBody("vote", "no")},
			{method: "PUT", path: result(path), body: `{"vote":"no"}`},
			{method: "DELETE", path: result(path)},
		} {
			r.user = "alice"
			e.do(t, r)
		}
	}
	log := e.Logs.String()
	if !strings.Contains(log, "unforeseen") {
		t.Error("the faults were not logged at all")
	}
	if strings.Contains(strings.ToLower(log), "alice") {
		t.Errorf("the log names her:\n%s", log)
	}
}

// A caller who is beyond a limit leaves an address and no name, and on an
// anonymous form neither.
func TestRefusalByALimitIsNotedWithoutAName(t *testing.T) {
	e := newEnv(t, house(), oneList)
	release := e.holdList(t, "alice")
	defer release()
	for path, anonymous := range map[string]bool{allPath: false, pollPath: true} {
		n := e.note(t, testRequest{user: "alice", method: "GET", path: path + "/result"})
		if n.Code != http.StatusTooManyRequests || n.user != "" || n.anonymous != anonymous {
			t.Errorf("%s: answered %d, user %q, anonymous %t", path, n.Code, n.user, n.anonymous)
		}
		if said := e.Logs.String() + n.Body.String(); strings.Contains(strings.ToLower(said), "alice") {
			t.Errorf("%s: named in the log or the answer: %s", path, said)
		}
	}
}
