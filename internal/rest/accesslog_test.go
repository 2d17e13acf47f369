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
	e := newHouse(t)
	for _, r := range []testRequest{
		ask("GET", Prefix+"/page/1/form"),
		ask("GET", Prefix+"/page/4/form"), // the ballot is on it, but was not asked for
		ask("GET", allPath),
		ask("HEAD", allPath),
		ask("GET", allPath+"/submission").with(headerOf("Accept-Encoding", "gzip")),
		ask("GET", allPath+"/submission?limit=x"),
		ask("GET", allPath+"/submission/99"),
		ask("POST", allPath+"/submission", "bad"),
		ask("POST", allPath+"/submission", nestedBody("name", "x")),
		ask("DELETE", allPath+"/result/x"),
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
		ask("GET", "/rest/nothing"),
		ask("PATCH", allPath),
		ask("GET", allPath+"/"),
		ask("GET", Prefix+"/page/99/form"),
		ask("DELETE", Prefix+"/page/1/form"),
		ask("GET", form(1, "ballot")),
		ask("POST", form(9, "ballot")+"/submission", "{}"),
		ask("POST", form(99, "ballot")+"/submission", "{}"),
		ask("POST", strings.Replace(form(9, "ballot"), "/9/", "/9%20/", 1), "{}"),
		ask("POST", allPath+"/submission", "{}").with(headerOf("Sec-Fetch-Site", "cross-site")),
	} {
		r.user = "alice"
		if n := e.note(t, r); n.Code < 400 || n.user != "" || !n.anonymous {
			t.Errorf("%s %s: answered %d, user %q, anonymous %t", r.method, r.path, n.Code, n.user, n.anonymous)
		}
	}
	if n := e.note(t, ask("dave GET", staffPath)); n.Code != 404 || !n.anonymous {
		t.Errorf("a page that dave may not see: answered %d, anonymous %t", n.Code, n.anonymous)
	}
}

// Those who guess passwords can be found by their address, whatever they ask
// for. The name that they try is not theirs.
func TestFailedLoginIsNotedWithItsAddress(t *testing.T) {
	e := newHouse(t)
	for _, path := range []string{allPath, ballotPath, ballotPath + "/submission", form(99, "x"), "/rest/nothing", "//rest"} {
		for status, header := range map[int]http.Header{401: basic("alice:wrong"), 429: basic("throttled:x")} {
			for _, method := range []string{"GET", "POST"} {
				n := e.note(t, ask(method, path, "{}").with(header))
				if n.Code != status || n.user != "" || n.anonymous {
					t.Errorf("%s %s: answered %d, want %d; user %q, anonymous %t", method, path, n.Code, status, n.user, n.anonymous)
				}
			}
		}
		if n := e.note(t, ask("GET", path)); n.Code != 401 || n.user != "" || n.anonymous {
			t.Errorf("%s without credentials: answered %d, user %q, anonymous %t", path, n.Code, n.user, n.anonymous)
		}
	}
}

// Whatever is sent to an anonymous form, its sender leaves no trace.
func TestAnonymousFormIsNotedForTheAccessLog(t *testing.T) {
	e := newHouse(t, func(o *request.Options) { o.MaxBody = 500 })
	path, _ := e.create(t, "bob", ballotPath, nestedBody("vote", "yes"))
	post := func(body string) testRequest {
		return ask("POST", ballotPath+"/submission", body)
	}
	requests := []testRequest{
		ask("GET", ballotPath),
		ask("GET", ballotPath+"/submission"),
		ask("GET", ballotPath+"/submission").with(headerOf("Accept-Encoding", "gzip")),
		ask("GET", ballotPath+"/result"),
		ask("GET", path),
		ask("GET", path+"x"),
		ask("GET", result(path)),
		ask("POST", path, nestedBody("vote", "no")),
		ask("PUT", result(path), `{"vote":"no"}`),
		ask("DELETE", result(path)),
		post(nestedBody("vote", "yes")), post(nestedBody("vote", "yes")), // the second is once too often
		post(nestedBody("vote", "maybe")), post("bad"), post(""), post(strings.Repeat(" ", 501)),
		ask("POST", ballotPath+"/submission", "{}").with(headerOf("Content-Type", "text/plain")),
		// Slips on the way to it.
		ask("POST", ballotPath+"/submission/", nestedBody("vote", "yes")),
		ask("POST", ballotPath, nestedBody("vote", "yes")),
		ask("PATCH", path, "{}"),
		ask("POST", strings.Replace(ballotPath, "1.0", "latest", 1)+"/submission", "{}"),
		ask("POST", ballotPath[:strings.LastIndex(ballotPath, "/")]+"/BALLOT/submission", "{}"),
		ask("POST", strings.Replace(ballotPath, "/page/", "/page/+0", 1)+"/submission", "{}"),
		ask("POST", ballotPath+"/submission", "{}").with(headerOf("Sec-Fetch-Site", "cross-site")),
	}
	for _, r := range requests {
		r.user = "alice"
		if n := e.note(t, r); !n.anonymous || n.user != "" {
			t.Errorf("%s %s %s: answered %d, and not noted as anonymous", r.method, r.path, r.body, n.Code)
		}
	}
}

func TestLogNeverNamesWhoSendsToAnAnonymousForm(t *testing.T) {
	e := newHouse(t)
	path, _ := e.create(t, "alice", ballotPath, nestedBody("vote", "yes"))
	for _, fault := range []error{errors.New("unforeseen"), nil} {
		e.Store.FailWith(func(context.Context, string) error { return fault })
		for _, r := range []testRequest{
			ask("GET", ballotPath+"/submission"),
			ask("GET", path),
			ask("GET", ballotPath+"/result?username=alice"),
			ask("POST", ballotPath+"/submission", nestedBody("vote", "yes")),
			ask("POST", path, nestedBody("vote", "no")),
			ask("PUT", result(path), `{"vote":"no"}`),
			ask("DELETE", result(path)),
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
	e := newHouse(t, oneList)
	release := e.holdList(t, "alice")
	defer release()
	for path, anonymous := range map[string]bool{allPath: false, pollPath: true} {
		n := e.note(t, ask("alice GET", path+"/result"))
		if n.Code != 429 || n.user != "" || n.anonymous != anonymous {
			t.Errorf("%s: answered %d, user %q, anonymous %t", path, n.Code, n.user, n.anonymous)
		}
		if said := e.Logs.String() + n.Body.String(); strings.Contains(strings.ToLower(said), "alice") {
			t.Errorf("%s: named in the log or the answer: %s", path, said)
		}
	}
}
