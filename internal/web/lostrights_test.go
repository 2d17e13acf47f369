package web

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/testkit"
)

// lateBody is a body before whose first byte something happens.
type lateBody struct {
	io.Reader
	before func()
}

func (b *lateBody) Read(p []byte) (int, error) {
	if b.before != nil {
		b.before()
		b.before = nil
	}
	return b.Reader.Read(p)
}

// Rights that are taken away while a body comes in count at once.
func TestRightsAreReadAfterTheBody(t *testing.T) {
	for _, action := range []string{"", "/change", "/delete"} {
		t.Run("POST form"+action, func(t *testing.T) {
			e := newEnv(t, wiki)
			b := e.signedIn("carol")
			const form = "/page/2/form/once"
			page := b.get(form)
			path := form
			if action != "" {
				path = strings.TrimSuffix(b.send(form, with(page.values(), "text", "first")).path, "?sent") + action
				page = b.get(path)
			}
			stored := e.count("carol", 2, "once")
			values := with(page.values(), "text", "late")
			body, contentType := multipartForm(t, values)
			if action == "/delete" {
				body, contentType = values.Encode(), "application/x-www-form-urlencoded"
			}
			b.request(http.MethodPost, path, contentType, &lateBody{strings.NewReader(body), func() {
				e.Write(t, "2-once.md", strings.Replace(wiki["2-once.md"], "edit: [carol]", "view: [bob]", 1))
			}}).want(404)
			testkit.Same(t, "submissions, before", e.count("carol", 2, "once"), stored)
			if stored > 0 && valuesOf(t, e.latest("carol", 2, "once"))["text"] != "first" {
				t.Error("the submission is changed")
			}
		})
	}
}

// A sign-out while a body comes in has nothing stored, and neither has the removal of
// the user.
func TestSignOutEndsASendInFlight(t *testing.T) {
	for name, leave := range map[string]func(e *env, b *browser){
		"signs out":  func(_ *env, b *browser) { b.postForm("/logout", nil) },
		"is removed": func(e *env, _ *browser) { e.Users.Remove("carol") },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, wiki)
			b := e.signedIn("carol")
			const form = "/page/2/form/once"
			body, contentType := multipartForm(t, with(b.get(form).values(), "text", "late"))
			late := &lateBody{strings.NewReader(body), func() { leave(e, b) }}
			p := b.request(http.MethodPost, form, contentType, late)
			p.want(403, "not signed in any more")
			p.wantNoHTML("Basic") // the API's way to sign in
			testkit.Same(t, "submissions are stored", e.count("carol", 2, "once"), 0)
		})
	}
}

// afterFirst calls do once the first part of an answer was written.
type afterFirst struct {
	*httptest.ResponseRecorder
	do func()
}

func (w *afterFirst) Write(p []byte) (int, error) {
	n, err := w.ResponseRecorder.Write(p)
	if w.do != nil {
		w.do()
		w.do = nil
	}
	return n, err
}

// An export and a download end when their reader signs out.
func TestSignOutEndsWhatIsBeingRead(t *testing.T) {
	e := newEnv(t, map[string]string{"1-large.md": "---\ntitle: Large\n---\n```form\nform: large\nfields:\n" +
		"  - {id: text, type: textbox, label: Text}\n  - {id: doc, type: file, label: Document}\n```\n"})
	b := e.signedIn("alice")
	const form = "/page/1/form/large"
	var last string
	for range 6 {
		last = b.send(form, with(b.get(form).values(), "text", strings.Repeat("x", 50_000)), chosenFile{"doc", "a.txt", strings.Repeat("y", 600_000)}).path
	}
	for _, path := range []string{form + "/results.csv", form + "/results.ndjson", strings.TrimSuffix(last, "?sent") + "/file/doc/a.txt"} {
		b := e.signedIn("alice")
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.AddCookie(&http.Cookie{Name: cookieName, Value: b.cookie()})
		w := httptest.NewRecorder()
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
					t.Errorf("%s goes on after the sign-out: status %d, %d bytes", path, w.Code, w.Body.Len())
				}
			}()
			e.site.ServeHTTP(&afterFirst{w, func() { b.postForm("/logout", nil) }}, r)
		}()
		if n := w.Body.Len(); n == 0 || n > 350_000 {
			t.Errorf("%s: %d bytes came", path, n)
		}
	}
}
