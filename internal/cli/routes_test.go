package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRoutes(t *testing.T) {
	const fromAPI, fromWeb = "the interface", "the pages"
	answer := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) })
	}
	handler := routes(answer(fromAPI), answer(fromWeb))
	for _, tt := range []struct {
		path   string
		status int
		want   string // what the body has in it
	}{
		{"/rest", 200, fromAPI},
		{"/rest/", 200, fromAPI},
		{"/rest/forms/1.0/page/1/form", 200, fromAPI},
		{"/rest/../docs", 200, fromAPI}, // paths are never cleaned
		{"//rest/forms/1.0/page/1/form", 200, fromAPI},
		{"/rest/forms/1.0/openapi.yaml", 200, "openapi: 3"},
		{"/docs", 200, "<html"},
		{"/docs/", 200, "<html"},
		{"/docs/nope", 404, "not found"},
		{"/docs/../etc", 404, "not found"},
		{"/docsx", 200, fromWeb},
		{"/", 200, fromWeb},
		{"/favicon.ico", 200, fromWeb},
		{"/restful", 200, fromWeb},
		{"/openapi.yaml", 200, fromWeb},
		{"/x/../rest/forms/1.0/page/1/form", 200, fromWeb},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.URL.Path = tt.path
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("GET %s: %d %.100q, want %d with %q in it", tt.path, w.Code, w.Body, tt.status, tt.want)
		}
	}
}
