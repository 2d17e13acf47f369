package cli

import (
	"net/http"
	"strings"

	"github.com/formulary/formulary/internal/api"
	"github.com/formulary/formulary/internal/problem"
)

// routes decides by its path which surface answers a request. It compares paths
// itself, since http.ServeMux would redirect those that are not clean.
func routes(rest http.Handler) http.Handler {
	docs, openAPI := api.Docs(), api.OpenAPI()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch p := r.URL.Path; {
		case p == api.OpenAPIPath:
			openAPI.ServeHTTP(w, r)
		case isBelow(p, api.DocsPath):
			docs.ServeHTTP(w, r)
		case isBelow(p, "/rest"), strings.HasPrefix(p, "//"):
			rest.ServeHTTP(w, r)
		default:
			problem.Write(w, http.StatusNotFound, "There is nothing at this path. The documentation is at "+api.DocsPath+".")
		}
	})
}

// isBelow reports whether a path is dir or below it.
func isBelow(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/')
}
