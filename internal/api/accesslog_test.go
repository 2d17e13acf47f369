package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/store/enginetest"
)

// notes is a ResponseWriter that takes the notes of the access log.
type notes struct {
	*httptest.ResponseRecorder
	users     []string
	anonymous bool
}

func (n *notes) SetUser(name string) { n.users = append(n.users, name) }

func (n *notes) Anonymous() { n.anonymous = true }

// wrapper hides everything but what http.ResponseController knows how to find.
type wrapper struct{ http.ResponseWriter }

func (w wrapper) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// note sends a request past the network and returns what was noted.
func (e *env) note(t testing.TB, r request) *notes {
	t.Helper()
	n := &notes{ResponseRecorder: httptest.NewRecorder()}
	e.api.Handler().ServeHTTP(wrapper{wrapper{n}}, e.newRequest(t, r))
	return n
}

func TestUserIsNotedForTheAccessLog(t *testing.T) { enginetest.Each(t, testUserIsNotedForTheAccessLog) }

func testUserIsNotedForTheAccessLog(t *testing.T, on enginetest.Engine) {
	e := newEnv(t, on, house())
	for _, r := range []request{
		{user: "alice", method: "GET", path: allPath},
		{user: "alice", method: "GET", path: allPath + "/submission", header: http.Header{"Accept-Encoding": {"gzip"}}},
		{user: "alice", method: "POST", path: allPath + "/submission", body: "bad"},
		{user: "alice", method: "GET", path: "/rest/nothing"},
		{user: "alice", method: "PATCH", path: allPath},
	} {
		n := e.note(t, r)
		if len(n.users) != 1 || n.users[0] != "alice" || n.anonymous {
			t.Errorf("%s %s: users %q, anonymous %t", r.method, r.path, n.users, n.anonymous)
		}
	}
	for _, r := range []request{
		{method: "GET", path: allPath}, {method: "GET", path: allPath, header: basic("alice:wrong")}, {method: "GET", path: "/docs"},
	} {
		if n := e.note(t, r); len(n.users) != 0 {
			t.Errorf("%s %s: noted %q of somebody who did not prove it", r.method, r.path, n.users)
		}
	}
}

// Whatever is sent to an anonymous form, its sender leaves no trace.
func TestAnonymousFormIsNotedForTheAccessLog(t *testing.T) {
	enginetest.Each(t, testAnonymousFormIsNotedForTheAccessLog)
}

func testAnonymousFormIsNotedForTheAccessLog(t *testing.T, on enginetest.Engine) {
	e := newEnv(t, on, house(), func(o *Options) { o.MaxBody = 500 })
	path, _ := e.create(t, "bob", ballotPath, nestedBody("vote", "yes"))
	post := func(body string) request {
		return request{method: "POST", path: ballotPath + "/submission", body: body}
	}
	requests := []request{
		{method: "GET", path: ballotPath},
		{method: "HEAD", path: ballotPath},
		{method: "GET", path: ballotPath + "/submission"},
		{method: "HEAD", path: ballotPath + "/submission"},
		{method: "GET", path: ballotPath + "/submission", header: http.Header{"Accept-Encoding": {"gzip"}}},
		{method: "GET", path: ballotPath + "/submission?limit=x"},
		{method: "GET", path: ballotPath + "/result"},
		{method: "GET", path: path},
		{method: "GET", path: path + "0"},
		{method: "GET", path: path + "x"},
		{method: "GET", path: result(path)},
		{method: "POST", path: path, body: nestedBody("vote", "no")},
		{method: "PUT", path: result(path), body: `{"vote":"no"}`},
		{method: "PUT", path: result(path), body: `{"vote":"maybe"}`},
		{method: "DELETE", path: result(path)},
		post(nestedBody("vote", "yes")), post(nestedBody("vote", "yes")), // the second is once too often
		post(nestedBody("vote", "maybe")), post("bad"), post(""), post(strings.Repeat(" ", 501)),
		{method: "POST", path: ballotPath + "/submission", body: "{}", header: http.Header{"Content-Type": {"text/plain"}}},
		// Slips on the way to it.
		{method: "POST", path: ballotPath + "/submission/", body: nestedBody("vote", "yes")},
		{method: "POST", path: ballotPath, body: nestedBody("vote", "yes")},
		{method: "PATCH", path: path, body: "{}"},
		{method: "POST", path: ballotPath + "//submission", body: "{}"},
		{method: "POST", path: ballotPath + "/result", body: "{}"},
		{method: "POST", path: ballotPath + "/./submission", body: "{}"},
		{method: "POST", path: ballotPath + "/submit", body: "{}"},
		{method: "POST", path: strings.Replace(ballotPath, "1.0", "latest", 1) + "/submission", body: "{}"},
		{method: "POST", path: ballotPath + "%20/submission", body: "{}"},
		{method: "GET", path: ballotPath + "%2Fsubmission"},
		{method: "POST", path: ballotPath[:strings.LastIndex(ballotPath, "/")] + "/BALLOT/submission", body: "{}"},
		{method: "POST", path: strings.Replace(ballotPath, "/form/", "/", 1), body: "{}"},
		{method: "POST", path: strings.Replace(ballotPath, "/form/", "/Form/", 1) + "/submission", body: "{}"},
		{method: "POST", path: strings.Replace(ballotPath, "/page/", "/Page/", 1) + "/submission", body: "{}"},
		{method: "POST", path: strings.Replace(ballotPath, "/page/", "/page/page/", 1) + "/submission", body: "{}"},
		{method: "POST", path: strings.Replace(ballotPath, "/page/", "/page/+0", 1) + "/submission", body: "{}"},
		{method: "POST", path: ballotPath + "/submission", body: "{}", header: http.Header{"Sec-Fetch-Site": {"cross-site"}}},
	}
	for _, r := range requests {
		r.user = "alice"
		if n := e.note(t, r); !n.anonymous {
			t.Errorf("%s %s %s: answered %d, and not noted as anonymous", r.method, r.path, r.body, n.Code)
		}
	}
}

// A form that is not there may be an anonymous one that is broken, or whose page
// is away. But those who guess passwords can be found.
func TestFormThatIsNotThereIsNotedAsAnonymous(t *testing.T) {
	enginetest.Each(t, testFormThatIsNotThereIsNotedAsAnonymous)
}

func testFormThatIsNotThereIsNotedAsAnonymous(t *testing.T, on enginetest.Engine) {
	broken := strings.Replace(ballotPage, "type: radio", "type: rodeo", 1)
	e := newEnv(t, on, map[string]string{"1.md": allPage, "9.md": broken})
	for path, anonymous := range map[string]bool{
		form(9, "ballot") + "/submission":                                        true,
		form(99, "ballot") + "/submission":                                       true,
		form(1, "ballot"):                                                        true,
		strings.Replace(form(9, "ballot"), "/9/", "/9%20/", 1):                   true,
		allPath + "/submission/99":                                               false,
		strings.TrimSuffix(form(99, "x"), "/x"):                                  false, // the forms of a page that is not there
		strings.Replace(allPath, "/page/1/form/all", "/page/1/form", 1) + "?x=1": false,
	} {
		if n := e.note(t, request{user: "alice", method: "PATCH", path: path}); n.Code < 400 || n.anonymous != anonymous {
			t.Errorf("%s: answered %d, anonymous %t, want %t", path, n.Code, n.anonymous, anonymous)
		}
	}
	if n := e.note(t, request{method: "GET", path: form(9, "ballot"), header: basic("alice:wrong")}); n.Code != http.StatusUnauthorized || n.anonymous {
		t.Errorf("a failed login: answered %d, anonymous %t", n.Code, n.anonymous)
	}
}

// A form may be called "form", and is not the list of forms then.
func TestAnonymousFormCalledForm(t *testing.T) {
	enginetest.Each(t, testAnonymousFormCalledForm)
}

func testAnonymousFormCalledForm(t *testing.T, on enginetest.Engine) {
	e := newEnv(t, on, map[string]string{"9.md": strings.Replace(ballotPage, "form: ballot", "form: form", 1)})
	for method, path := range map[string]string{"DELETE": form(9, "form"), "PATCH": form(9, "form") + "/", "POST": form(9, "form") + "/submission"} {
		if n := e.note(t, request{user: "alice", method: method, path: path, body: "{}"}); n.Code < 400 || !n.anonymous {
			t.Errorf("%s %s: answered %d, anonymous %t", method, path, n.Code, n.anonymous)
		}
	}
	list := strings.TrimSuffix(form(9, "form"), "/form")
	if n := e.note(t, request{user: "alice", method: "DELETE", path: list}); n.Code != http.StatusMethodNotAllowed || n.anonymous {
		t.Errorf("DELETE %s: answered %d, anonymous %t", list, n.Code, n.anonymous)
	}
}

// Nor does it tell the address of somebody who mistypes the password first.
func TestFailedLoginAtAnAnonymousFormIsNotedAsAnonymous(t *testing.T) {
	enginetest.Each(t, testFailedLoginAtAnAnonymousFormIsNotedAsAnonymous)
}

func testFailedLoginAtAnAnonymousFormIsNotedAsAnonymous(t *testing.T, on enginetest.Engine) {
	e := newEnv(t, on, house())
	for _, r := range []request{
		{method: "POST", path: ballotPath + "/submission", body: "{}"},
		{method: "POST", path: ballotPath + "/submission", body: "{}", header: basic("alice:wrong")},
	} {
		if n := e.note(t, r); n.Code != http.StatusUnauthorized || !n.anonymous {
			t.Errorf("%v: answered %d, anonymous %t", r.header, n.Code, n.anonymous)
		}
	}
	if n := e.note(t, request{method: "GET", path: allPath}); n.anonymous {
		t.Error("a form that carries names is noted as anonymous")
	}
}

func TestLogNeverNamesWhoSendsToAnAnonymousForm(t *testing.T) {
	enginetest.Each(t, testLogNeverNamesWhoSendsToAnAnonymousForm)
}

func testLogNeverNamesWhoSendsToAnAnonymousForm(t *testing.T, on enginetest.Engine) {
	e := newEnv(t, on, house())
	path, _ := e.create(t, "alice", ballotPath, nestedBody("vote", "yes"))
	for _, fault := range []error{errors.New("unforeseen"), nil} {
		e.store.failWith(func(context.Context, string) error { return fault })
		for _, r := range []request{
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
	log := e.logs.String()
	if !strings.Contains(log, "unforeseen") {
		t.Error("the faults were not logged at all")
	}
	if strings.Contains(log, "alice") {
		t.Errorf("the log names her:\n%s", log)
	}
}
