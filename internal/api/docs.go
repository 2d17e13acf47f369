package api

import (
	_ "embed"
	"io/fs"
	"net/http"
	"strings"

	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5/static"
	"github.com/swaggest/swgui/v5emb"

	"github.com/formulary/formulary/internal/problem"
)

//go:embed openapi.yaml
var openAPI []byte

const (
	openAPIPath = Prefix + "/openapi.yaml"
	docsPath    = "/docs"
)

// docsPolicy lets the documentation load from here alone. Its page has a
// script of its own within it, hence unsafe-inline; nothing that users wrote
// is ever shown there.
const docsPolicy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the interface, the document that describes it and the page
// that shows that document. The latter two need no credentials: they tell
// nothing about anybody.
func (a *API) Handler() http.Handler {
	docs := v5emb.NewWithConfig(swgui.Config{
		ShowTopBar: false,
		SettingsUI: map[string]string{"validatorUrl": "null", "tryItOutEnabled": "true"},
	})("Formulary", openAPIPath, docsPath)
	document := compressed(http.HandlerFunc(serveOpenAPI))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := r.URL.Path
		switch {
		case p == openAPIPath:
			readOnly(document, w, r)
		case p == docsPath || isAsset(p):
			w.Header().Set("Content-Security-Policy", docsPolicy)
			readOnly(docs, w, r)
		case p == "/rest" || strings.HasPrefix(p, "/rest/") || strings.HasPrefix(p, "//"):
			a.ServeHTTP(w, r)
		default:
			problem.Write(w, http.StatusNotFound, "There is nothing at this path. The documentation is at /docs.")
		}
	})
}

// isAsset reports whether the path is that of a file of the documentation's
// page; the server of these files has an answer of its own to any other.
func isAsset(p string) bool {
	name, ok := strings.CutPrefix(p, docsPath+"/")
	return ok && (name == "" || isFile(static.FS, name) || isFile(static.FS, name+".gz"))
}

func isFile(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	return err == nil && !info.IsDir()
}

func readOnly(h http.Handler, w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		allow("GET, HEAD").ServeHTTP(w, r)
		return
	}
	h.ServeHTTP(w, r)
}

func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(openAPI)
}
