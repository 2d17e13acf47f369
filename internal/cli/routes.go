package cli

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/formulary/formulary/internal/problem"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/rest"
)

// routes decides by its path which surface answers a request. Everything is below
// base. It compares paths itself, since http.ServeMux would redirect those that are
// not clean.
func routes(base string, api, pages http.Handler) http.Handler {
	openAPI := rest.OpenAPI(base)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch p := strings.TrimPrefix(r.URL.Path, base); {
		case base != "" && !isBelow(r.URL.Path, base):
			request.ReporterOf(w).Anonymous() // they may have meant an anonymous form
			problem.Write(w, http.StatusNotFound, "There is nothing at this path.")
		case base != "" && p == "":
			home := url.URL{Path: base + "/", RawQuery: r.URL.RawQuery}
			http.Redirect(w, r, home.String(), http.StatusTemporaryRedirect)
		case p == rest.OpenAPIPath:
			openAPI.ServeHTTP(w, r)
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
