package rest

import (
	"bytes"
	_ "embed"
	"net/http"

	"github.com/formulary/formulary/internal/problem"
	"github.com/formulary/formulary/internal/request"
)

//go:embed openapi.yaml
var openAPI []byte

// OpenAPIPath is the path, after the base path, of the document that describes the
// interface. It needs no credentials: it tells nothing about users.
const OpenAPIPath = Prefix + "/openapi.yaml"

// OpenAPI serves the document at OpenAPIPath. It says that the interface is below base.
func OpenAPI(base string) http.Handler {
	document := bytes.Replace(openAPI, []byte("\n  - url: "+Prefix+"\n"), []byte("\n  - url: "+base+Prefix+"\n"), 1)
	asset := request.NewAsset(document)
	return problem.ReadOnly(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		asset.Send(w, r)
	}))
}
