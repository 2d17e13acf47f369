package cli

import (
	"net/http"
	"strings"

	"github.com/formulary/formulary/internal/rest"
)

// routes decides by its path which surface answers a request. It compares paths
// itself, since http.ServeMux would redirect those that are not clean.
func routes(api, pages http.Handler) http.Handler {
	docs, openAPI := rest.Docs(), rest.OpenAPI()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch p := r.URL.Path; {
		case p == rest.OpenAPIPath:
			openAPI.ServeHTTP(w, r)
		case isBelow(p, rest.DocsPath):
			docs.ServeHTTP(w, r)
		case isBelow(p, "/rest"), strings.HasPrefix(p, "//"):
			api.ServeHTTP(w, r)
		default:
			pages.ServeHTTP(w, r)
		}
	})
}

// isBelow reports whether a path is dir or below it.
func isBelow(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/')
}
