package web

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/formulary/formulary/internal/store/enginetest"
)

// BenchmarkFormPage is a form to fill in, from the request to the last byte.
func BenchmarkFormPage(b *testing.B) { benchmarkPage(b, survey) }

func benchmarkPage(b *testing.B, path string) {
	e := newEnv(b, enginetest.SQLite, wiki)
	cookie := e.signedIn(b, "alice").cookie()
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		r.AddCookie(&http.Cookie{Name: cookieName, Value: cookie})
		w := httptest.NewRecorder()
		if e.site.ServeHTTP(w, r); w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}
