package rest

import (
	"bytes"
	_ "embed"
	"net/http"

	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"

	"github.com/formulary/formulary/internal/problem"
	"github.com/formulary/formulary/internal/request"
)

//go:embed openapi.yaml
var openAPI []byte

// OpenAPIPath and DocsPath are the paths, after the base path, of the document that
// describes the interface and of the page that shows it. The files that the page loads are
// below DocsPath. Neither needs credentials: they tell nothing about users.
const (
	OpenAPIPath = Prefix + "/openapi.yaml"
	DocsPath    = "/docs"
)

// docsPolicy lets the documentation load from here alone. Its page has a
// script of its own within it, hence unsafe-inline; nothing that users wrote
// is ever shown there.
const docsPolicy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// OpenAPI serves the document at OpenAPIPath. It says that the interface is below base.
func OpenAPI(base string) http.Handler {
	document := bytes.Replace(openAPI, []byte("\n  - url: "+Prefix+"\n"), []byte("\n  - url: "+base+Prefix+"\n"), 1)
	asset := request.NewAsset(document)
	return problem.ReadOnly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		asset.Send(w, r)
	}))
}

// Docs serves DocsPath and what is below it, all of it below base.
func Docs(base string) http.Handler {
	page := problem.ReadOnly(v5emb.NewWithConfig(swgui.Config{
		ShowTopBar: false,
		SettingsUI: map[string]string{"validatorUrl": "null", "tryItOutEnabled": "true"},
	})("Formulary", base+OpenAPIPath, base+DocsPath))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", docsPolicy)
		page.ServeHTTP(w, r)
	})
}
