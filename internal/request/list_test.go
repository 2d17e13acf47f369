package request

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/testsite"
)

// newBackend has the form "f" on page 1, with a submission of Ann and one of Bob.
func newBackend(t *testing.T) *Backend {
	t.Helper()
	site := testsite.New(t, map[string]string{"1.md": "```form\nform: f\nfields:\n  - {id: name, type: textfield, label: Name}\n```\n"})
	svc := service.New(service.Options{
		Pages: site.Pages, Store: site.Store, Files: site.Store, AnonymousKey: testsite.Key, MaxSubmission: DefaultMaxBody, Now: site.Clock.Now,
	})
	for _, name := range []string{"Ann", "Bob"} {
		access, err := svc.Form(t.Context(), site.Users.Identity("alice"), 1, "f")
		testkit.Must(t, err)
		if _, _, err := access.Create(t.Context(), []forms.Answer{{FieldID: "name", Value: name}}, ""); err != nil {
			t.Fatal(err)
		}
	}
	return NewBackend(Options{Service: svc, Auth: site.Users, Logger: site.Logger})
}

// sendAs asks for a list in a given format.
func sendAs(t *testing.T, b *Backend, model encode.Model, format *encode.Format, query, accept string) (*httptest.ResponseRecorder, error) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/page/1/form/f/results?"+query, nil).WithContext(t.Context())
	r.SetPathValue("pageId", "1")
	r.SetPathValue("formId", "f")
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	c := b.NewCall(w, r, auth.Identity{Name: "alice"})
	defer c.End()
	access, err := c.Form()
	testkit.Must(t, err)
	return w, c.SendList(w, access, ListView{Params: ReadParams(query)}, model, format)
}

// A list that is sent in a given format does not heed what the request says
// about formats, and heeds all else.
func TestListInAGivenFormat(t *testing.T) {
	b := newBackend(t)
	for _, tt := range []struct {
		model                    encode.Model
		format                   *encode.Format
		contentType, disposition string
		begin                    string
	}{
		{encode.Flat, encode.CSV, "text/csv; charset=utf-8", `attachment; filename="f-2025-11-15.csv"; filename*=UTF-8''f-2025-11-15.csv`, "_id,_timestamp,_username,name\r\n"},
		{encode.Flat, encode.XLSX, encode.XLSX.MediaType, `attachment; filename="f-2025-11-15.xlsx"; filename*=UTF-8''f-2025-11-15.xlsx`, "PK"},
		{encode.Flat, encode.NDJSON, "application/x-ndjson", "", `{"_id":`},
		{encode.Nested, encode.JSON, "application/json", "", `[{"formId":"f","pageId":1,`},
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
			if tt.format != encode.XLSX && strings.Contains(body, "Bob") == strings.HasPrefix(query, "filter") {
				t.Errorf("%s?%s: wrong rows: %q", tt.format.Name, query, body)
			}
		}
		if w, err := sendAs(t, b, tt.model, tt.format, "labels=true&labels=true&format=x", ""); err == nil || err.Error() == "" || w.Body.Len() > 0 {
			t.Errorf("%s: labels given twice: %v, %q", tt.format.Name, err, w.Body)
		}
	}
}
