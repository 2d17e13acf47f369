package web

import (
	"net/http"

	"github.com/swaggest/swgui/v5/static"
	"github.com/vearutop/statigz"
)

// docsPath is the page with the documentation of the API. The files of Swagger UI are below it.
const docsPath = "/docs"

type docsPage struct{ Layout }

// docs shows everybody the documentation of the API: it tells nothing about users.
func (c *call) docs() error {
	c.Who, _ = c.caller()
	page := &docsPage{c.layout(c.Lang.Text("API documentation"))}
	page.Wide = true
	return c.render(http.StatusOK, "docs", page)
}

// swaggerUI serves the files of Swagger UI.
func (s *Site) swaggerUI() http.Handler {
	files := statigz.FileServer(static.FS, statigz.OnNotFound(func(w http.ResponseWriter, r *http.Request) {
		s.noRoute(w, r, nil) //nolint:contextcheck // it has the request
	}))
	return http.StripPrefix(s.Backend.BasePath+docsPath, files)
}
