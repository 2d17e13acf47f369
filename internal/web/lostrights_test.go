package web

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/store/enginetest"
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
			e := newEnv(t, enginetest.SQLite, wiki)
			b := e.signedIn(t, "carol")
			const form = "/page/2/form/once"
			page := b.get(form)
			path := form
			if action != "" {
				path = strings.TrimSuffix(b.send(form, with(page.values(), "text", "first")).path, "?sent") + action
				page = b.get(path)
			}
			stored := e.count(t, "carol", 2, "once")
			body, contentType := encodeForm(t, with(page.values(), "text", "late"), action != "/delete")
			r := httptest.NewRequest(http.MethodPost, path, &lateBody{strings.NewReader(body), func() {
				e.put(t, "2-once.md", strings.Replace(wiki["2-once.md"], "edit: [carol]", "view: [bob]", 1))
			}})
			r.Header.Set("Content-Type", contentType)
			r.AddCookie(&http.Cookie{Name: cookieName, Value: b.cookie()})
			w := httptest.NewRecorder()
			e.site.ServeHTTP(w, r)
			if w.Code != http.StatusNotFound {
				t.Errorf("status %d", w.Code)
			}
			if n := e.count(t, "carol", 2, "once"); n != stored {
				t.Errorf("%d submissions, before %d", n, stored)
			}
			if stored > 0 && valuesOf(t, e.latest(t, "carol", 2, "once"))["text"] != "first" {
				t.Error("the submission is changed")
			}
		})
	}
}

// encodeForm is a body as browsers send it.
func encodeForm(t *testing.T, values url.Values, parts bool) (body, contentType string) {
	t.Helper()
	if !parts {
		return values.Encode(), "application/x-www-form-urlencoded"
	}
	var text bytes.Buffer
	w := multipart.NewWriter(&text)
	for name := range values {
		if err := w.WriteField(name, values.Get(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return text.String(), w.FormDataContentType()
}
