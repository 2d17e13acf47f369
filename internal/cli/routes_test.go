package cli

import (
	"errors"
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
	for _, base := range []string{"", "/team/forms"} {
		handler := routes(base, answer(fromAPI), answer(fromWeb))
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
			{"/docs", 200, fromWeb},
			{"/", 200, fromWeb},
			{"/favicon.ico", 200, fromWeb},
			{"/restful", 200, fromWeb},
			{"/openapi.yaml", 200, fromWeb},
			{"/x/../rest/forms/1.0/page/1/form", 200, fromWeb},
		} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
			r.URL.Path = base + tt.path
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("GET %s: %d %.100q, want %d with %q in it", r.URL.Path, w.Code, w.Body, tt.status, tt.want)
			}
		}
	}
}

// TestOutsideOfTheBasePath: there is nothing, and nothing that leads elsewhere.
func TestOutsideOfTheBasePath(t *testing.T) {
	handler := routes("/team/forms", http.NotFoundHandler(), http.NotFoundHandler())
	ask := func(method, target string) *notedAnswer {
		w := &notedAnswer{ResponseRecorder: httptest.NewRecorder()}
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, http.NoBody))
		return w
	}
	for _, path := range []string{
		"/", "/team", "/team/", "/team/formsx", "/team/forms.", "/Team/forms/", "//team/forms/", "/x/../team/forms/", "/page/1/form/ballot", "/rest/forms/1.0/page/1/form",
		"/docs", "/login", "/embed.js", "/favicon.ico",
	} {
		w := ask(http.MethodGet, path)
		if w.Code != http.StatusNotFound || w.Header().Get("Content-Type") != "application/problem+json" || strings.Contains(w.Body.String(), "/team") || !w.anonymous {
			t.Errorf("GET %s: %d %q, anonymous %v", path, w.Code, w.Body, w.anonymous)
		}
	}
	for target, want := range map[string]string{"/team/forms": "/team/forms/", "/team/forms?q=%0D%0Aa&b": "/team/forms/?q=%0D%0Aa&b", "/team%2Fforms": "/team/forms/"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if w := ask(method, target); w.Code != http.StatusTemporaryRedirect || w.Header().Get("Location") != want {
				t.Errorf("%s %s: %d %q", method, target, w.Code, w.Header().Get("Location"))
			}
		}
	}
}

// notedAnswer is an answer with what the access log would say about it.
type notedAnswer struct {
	*httptest.ResponseRecorder
	anonymous bool
}

func (*notedAnswer) SetUser(string)    {}
func (n *notedAnswer) Anonymous()      { n.anonymous = true }
func (*notedAnswer) RequestID() string { return "" }
func (*notedAnswer) Working()          {}

func TestBasePath(t *testing.T) {
	for good, want := range map[string]string{
		"/": "", "/forms": "/forms", "/forms/": "/forms", "/a/b.c/~d_e-F9": "/a/b.c/~d_e-F9", "/...": "/...", "/docs": "/docs",
		"/" + strings.Repeat("a", maxBasePath-1): "/" + strings.Repeat("a", maxBasePath-1),
	} {
		if got, err := parseBasePath(good); got != want || err != nil {
			t.Errorf("%q: %q, %v", good, got, err)
		}
	}
	for _, bad := range []string{
		"", " ", "forms", "forms/", "//", "//forms", "/forms//", "/a//b", "/.", "/..", "/../", "/a/..", "/a/./b", "/a/../b", "/ä", "/a b", "/a%20b", "/%2e%2e", "/a?b", "/a#b",
		"/a;b", "/a+b", "/{a}", "/a{$}", "/a/*", "/a\\b", "/a\n", "\n/a", "/a\x00", "https://wiki.example.org/forms", "C:/forms", "/<b>", `/"`, "/a:b", "/a@b",
		"/" + strings.Repeat("a", maxBasePath),
	} {
		var usage *configError
		if got, err := parseBasePath(bad); !errors.As(err, &usage) || !usage.usage || !strings.Contains(err.Error(), "--base-path ") || got != "" {
			t.Errorf("%q: %q, %v", bad, got, err)
		}
	}
}
