package encode

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/store/enginetest"
)

// anybody lets everybody in.
type anybody struct{}

func (anybody) Authenticate(_ context.Context, user, _, _ string) (auth.Identity, error) {
	return auth.NewIdentity(user), nil
}

func (anybody) Refresh(id auth.Identity) (auth.Identity, error) { return id, nil }

// newBackend has the form "f" on page 1, with a submission of Ann and one of Bob.
func newBackend(t *testing.T, on enginetest.Engine) *request.Backend {
	t.Helper()
	dir := t.TempDir()
	text := "```form\nform: f\nfields:\n  - {id: name, type: textfield, label: Name}\n```\n"
	if err := os.WriteFile(filepath.Join(dir, "1.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	source, err := pages.OpenDirectory(dir, log)
	if err != nil {
		t.Fatal(err)
	}
	engine := on.Open(t)
	svc := service.New(service.Options{
		Pages: source, Store: engine, Files: engine, OnceKey: []byte("a key of thirty-two bytes, or so"), MaxSubmission: request.DefaultMaxBody,
		Now: func() time.Time { return time.Date(2025, 11, 15, 0, 0, 0, 0, time.UTC) },
	})
	for _, name := range []string{"Ann", "Bob"} {
		access, err := svc.Form(t.Context(), auth.NewIdentity("alice"), 1, "f")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := access.Create(t.Context(), []forms.Answer{{FieldID: "name", Value: name}}, ""); err != nil {
			t.Fatal(err)
		}
	}
	return request.NewBackend(request.Options{Service: svc, Auth: anybody{}, Logger: log})
}

// sendAs asks for a list in a given format.
func sendAs(t *testing.T, b *request.Backend, model Model, format *Format, query, accept string) (*httptest.ResponseRecorder, error) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/page/1/form/f/results?"+query, nil).WithContext(t.Context())
	r.SetPathValue("pageId", "1")
	r.SetPathValue("formId", "f")
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	c := b.NewCall(w, r, auth.NewIdentity("alice"))
	defer c.End()
	access, err := c.Form()
	if err != nil {
		t.Fatal(err)
	}
	return w, SendListAs(w, c, access, model, format)
}

// A list that is sent in a given format does not heed what the request says
// about formats, and heeds all else.
func TestListInAGivenFormat(t *testing.T) { enginetest.One(t, testListInAGivenFormat) }

func testListInAGivenFormat(t *testing.T, on enginetest.Engine) {
	b := newBackend(t, on)
	for _, tt := range []struct {
		model                    Model
		format                   *Format
		contentType, disposition string
		begin                    string
	}{
		{Flat, CSV, "text/csv; charset=utf-8", `attachment; filename="f-2025-11-15.csv"; filename*=UTF-8''f-2025-11-15.csv`, "_id,_timestamp,_username,name\r\n"},
		{Flat, XLSX, request.XLSXType, `attachment; filename="f-2025-11-15.xlsx"; filename*=UTF-8''f-2025-11-15.xlsx`, "PK"},
		{Flat, NDJSON, "application/x-ndjson", "", `{"_id":`},
		{Nested, JSON, "application/json", "", `[{"formId":"f","pageId":1,`},
	} {
		for _, query := range []string{"", "format=json", "format=csv&format=xml", "filter[name]=Ann"} {
			w, err := sendAs(t, b, tt.model, tt.format, query, "application/x-ndjson, text/csv;q=0.5")
			if err != nil {
				t.Fatalf("%s?%s: %v", tt.format.Name, query, err)
			}
			h, body := w.Header(), w.Body.String()
			if h.Get("Content-Type") != tt.contentType || h.Get("Content-Disposition") != tt.disposition || h.Get("Vary") != "" {
				t.Errorf("%s?%s: header %v", tt.format.Name, query, h)
			}
			if !strings.HasPrefix(body, tt.begin) {
				t.Errorf("%s?%s: %q", tt.format.Name, query, body)
			}
			if tt.format != XLSX && strings.Contains(body, "Bob") == strings.HasPrefix(query, "filter") {
				t.Errorf("%s?%s: wrong rows: %q", tt.format.Name, query, body)
			}
		}
		if w, err := sendAs(t, b, tt.model, tt.format, "labels=true&labels=true&format=x", ""); err == nil || err.Error() == "" || w.Body.Len() > 0 {
			t.Errorf("%s: labels given twice: %v, %q", tt.format.Name, err, w.Body)
		}
	}
}
