package rest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/testkit"
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
	requests := asks("alice", `
		GET /page/1/form
		GET /page/4/form
		GET /page/1/form/all
		HEAD /page/1/form/all
		GET /page/1/form/all/submission?limit=x
		GET /page/1/form/all/submission/99
		POST /page/1/form/all/submission bad
		POST /page/1/form/all/submission {"fields":{"name":{"fieldId":"name","value":"x"}}}
		DELETE /page/1/form/all/result/x
	`) // the ballot of page 4 was not asked for
	for _, r := range append(requests, ask("alice GET", allPath+"/submission").with(headerOf("Accept-Encoding", "gzip"))) {
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
	for _, r := range append(asks("alice", `
		PATCH /page/1/form/all
		GET /page/1/form/all/
		GET /page/99/form
		DELETE /page/1/form
		GET /page/1/form/ballot
		POST /page/9/form/ballot/submission {}
		POST /page/99/form/ballot/submission {}
		POST /page/9%20/form/ballot {}
	`), ask("alice GET", "/rest/nothing"),
		ask("alice POST", allPath+"/submission", "{}").with(headerOf("Sec-Fetch-Site", "cross-site"))) {
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
	e.create(t, "bob", ballotPath, nestedBody("vote", "yes"))
	create := ballotPath + "/submission"
	requests := asks("alice", strings.ReplaceAll(`
		GET /page/4/form/ballot
		GET /page/4/form/ballot/submission
		GET /page/4/form/ballot/result
		GET /page/4/form/ballot/submission/1
		GET /page/4/form/ballot/submission/1x
		GET /page/4/form/ballot/result/1
		POST /page/4/form/ballot/submission/1 NO
		PUT /page/4/form/ballot/result/1 {"vote":"no"}
		DELETE /page/4/form/ballot/result/1
		POST /page/4/form/ballot/submission NO
		POST /page/4/form/ballot/submission NO
		POST /page/4/form/ballot/submission {"fields":{"vote":{"fieldId":"vote","value":"maybe"}}}
		POST /page/4/form/ballot/submission bad
		POST /page/4/form/ballot/submission
		POST /page/4/form/ballot/submission/ NO
		POST /page/4/form/ballot NO
		PATCH /page/4/form/ballot/submission/1 {}
		POST /page/4/form/BALLOT/submission {}
		POST /page/+04/form/ballot/submission {}
	`, "NO", nestedBody("vote", "no"))) // the second create is once too often; the last ones are slips
	requests = append(requests,
		ask("alice POST", create, strings.Repeat(" ", 501)),
		ask("alice POST", strings.Replace(create, "1.0", "latest", 1), "{}"),
		ask("alice GET", create).with(headerOf("Accept-Encoding", "gzip")),
		ask("alice POST", create, "{}").with(headerOf("Content-Type", "text/plain")),
		ask("alice POST", create, "{}").with(headerOf("Sec-Fetch-Site", "cross-site")),
	)
	for _, r := range requests {
		if n := e.note(t, r); !n.anonymous || n.user != "" {
			t.Errorf("%s %s %s: answered %d, and not noted as anonymous", r.method, r.path, r.body, n.Code)
		}
	}
}

func TestLogNeverNamesWhoSendsToAnAnonymousForm(t *testing.T) {
	e := newHouse(t)
	e.create(t, "alice", ballotPath, nestedBody("vote", "yes"))
	for _, fault := range []error{errors.New("unforeseen"), nil} {
		e.Store.FailWith(func(context.Context, string) error { return fault })
		for _, r := range asks("alice", `
			GET /page/4/form/ballot/submission
			GET /page/4/form/ballot/submission/1
			GET /page/4/form/ballot/result?username=alice
			POST /page/4/form/ballot/submission {"fields":{"vote":{"fieldId":"vote","value":"yes"}}}
			POST /page/4/form/ballot/submission/1 {"fields":{"vote":{"fieldId":"vote","value":"no"}}}
			PUT /page/4/form/ballot/result/1 {"vote":"no"}
			DELETE /page/4/form/ballot/result/1
		`) {
			e.do(t, r)
		}
	}
	log := e.Logs.String()
	testkit.Contains(t, "the faults were not logged at all", log, "unforeseen")
	if strings.Contains(strings.ToLower(log), "alice") {
		t.Errorf("the log names her:\n%s", log)
	}
}

// A caller who is beyond a limit leaves an address and no name, and on an
// anonymous form neither.
func TestRefusalByALimitIsNotedWithoutAName(t *testing.T) {
	e := newHouse(t)
	t.Cleanup(e.holdLists(t, "alice"))
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
