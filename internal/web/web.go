// Package web is the pages people see: sign-in, home, forms to fill in,
// submissions, results, and the author's page. Every page works without
// JavaScript; a few small modules make it quicker. The rules are in package
// service; this package only decides how requests and answers look.
package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"path"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/session"
)

// Options are what the pages work with.
type Options struct {
	Backend *request.Backend
	// Sessions are nil where the Authenticator of the Backend tells who sends a request to
	// a page, too: then there is no sign-in or sign-out here.
	Sessions *session.Sessions
	// Browsers knows those that have signed in with the wiki; nil where there is no live one.
	Browsers *auth.Wiki
	// LogoutURL is where people sign out who do not do so here; "" for nowhere.
	LogoutURL string
	// Key is a secret that all servers on one store share. Pages carry a keyed
	// hash of the user that they were made for.
	Key []byte
	// FrameAncestors are the origins that may embed forms.
	FrameAncestors []string
	BrandName      string          // "" for Formulary
	Version        string          // home tells it those who may edit a page
	BrandCSS       []byte          // a stylesheet after the own one; nil for none
	Markup         *markup.Options // as for markup.Parse, for the page for authors
	Language       string          // of pages whose readers ask for none that there is; "" for English
}

// Site serves the pages.
type Site struct {
	Options
	routes    *request.Mux
	static    *staticFiles
	speak     map[*lang.Language]func() *spoken // made when a language is used first
	summaries summaryCache
	turns     chan struct{} // one for each request that renders something large
}

// call is one request, with its answer.
type call struct {
	*request.Call
	w    http.ResponseWriter
	Site *Site
	Lang *lang.Language // the reader's
	frame
	rendering bool // something large
}

// handler answers a call, or returns an error and has written nothing.
type handler func(c *call) error

// resumer shows what somebody had typed into a form before they had to sign in
// again. It stores nothing.
type resumer func(c *call, typed url.Values) error

// route is a row of the table of pages.
type route struct {
	pattern string // method and path
	handler handler
	framed  bool    // there is a second one below /embed
	resume  resumer // nil if nothing is shown again after a sign-in
	public  bool    // to sign in or out: it needs no session
}

var routes = []route{
	{pattern: "GET /login", handler: (*call).showLogin, framed: true, public: true},
	{pattern: "POST /login", handler: (*call).login, framed: true, public: true},
	{pattern: "POST /logout", handler: (*call).logout, framed: true, public: true},
	{pattern: "GET /{$}", handler: (*call).home},
	{pattern: "POST /{$}", handler: (*call).shortcut},
	{pattern: "GET /page/{pageId}", handler: (*call).page},
	{pattern: "GET /page/{pageId}/form/{formId}", handler: (*call).showForm, framed: true},
	{
		pattern: "POST /page/{pageId}/form/{formId}",
		handler: (*call).sendForm, framed: true, resume: (*call).resumeForm,
	},
	{pattern: "GET /page/{pageId}/form/{formId}/sent", handler: (*call).sent, framed: true},
	{
		pattern: "GET /page/{pageId}/form/{formId}/submission/{id}",
		handler: (*call).showSubmission, framed: true,
	},
	{
		pattern: "GET /page/{pageId}/form/{formId}/submission/{id}/change",
		handler: (*call).changeSubmission, framed: true,
	},
	{
		pattern: "POST /page/{pageId}/form/{formId}/submission/{id}/change",
		handler: (*call).saveSubmission, framed: true, resume: (*call).resumeChange,
	},
	{pattern: "GET /page/{pageId}/form/{formId}/submission/{id}/delete", handler: (*call).confirmDelete},
	{pattern: "POST /page/{pageId}/form/{formId}/submission/{id}/delete", handler: (*call).deleteSubmission},
	{pattern: "POST /page/{pageId}/form/{formId}/submission/{id}/history", handler: (*call).clearHistory},
	{
		pattern: "GET /page/{pageId}/form/{formId}/submission/{id}/file/{fieldId}/{name}",
		handler: (*call).file, framed: true,
	},
	{pattern: "GET /page/{pageId}/form/{formId}/results", handler: (*call).results},
	{pattern: "POST /page/{pageId}/form/{formId}/results", handler: (*call).changeSeveral},
	{pattern: "GET /page/{pageId}/form/{formId}/results.csv", handler: export(encode.CSV)},
	{pattern: "GET /page/{pageId}/form/{formId}/results.xlsx", handler: export(encode.XLSX)},
	{pattern: "GET /page/{pageId}/form/{formId}/results.ndjson", handler: export(encode.NDJSON)},
	{pattern: "GET /author", handler: (*call).author},
	{pattern: "POST /author", handler: (*call).author, resume: (*call).resumeAuthor},
}

// New makes the pages.
func New(opts Options) *Site {
	s := &Site{
		Options: opts, static: newStaticFiles(opts.BrandCSS), summaries: newSummaryCache(time.Now),
		turns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
	}
	s.BrandName = cmp.Or(s.BrandName, "Formulary")
	s.Language = cmp.Or(s.Language, lang.English)
	s.speak = map[*lang.Language]func() *spoken{}
	for _, l := range lang.All() {
		s.speak[l] = sync.OnceValue(func() *spoken { return s.newSpoken(l) })
	}
	s.speak[lang.Find(s.Language)]()
	s.routes = request.NewMux(s.Backend.BasePath, s.noRoute)
	for _, route := range routes {
		if route.public && s.Sessions == nil {
			continue
		}
		method, path, _ := strings.Cut(route.pattern, " ")
		s.routes.Handle(method, path, s.handle(route, s.frame(false)))
		if route.framed {
			s.routes.Handle(method, embedPrefix+path, s.handle(route, s.frame(true)))
		}
	}
	s.routes.Handle("GET", docsPath, s.handle(route{handler: (*call).docs, public: true}, s.frame(false)))
	s.routes.Handle("GET", docsPath+"/{name}", s.swaggerUI())
	s.routes.Handle("GET", "/embed.js", http.HandlerFunc(s.serveEmbedScript))
	s.routes.Handle("GET", staticPrefix+"{fingerprint}/{name}", http.HandlerFunc(s.serveStatic))
	return s
}

// ServeHTTP answers every path that no other surface has.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.aroundForms(r.URL.Path) {
		request.ReporterOf(w).Anonymous() // until it is known what the request is for
	}
	s.setPolicy(w.Header(), s.isFramed(r))
	s.routes.ServeHTTP(w, r)
}

// aroundForms reports whether a browser may ask for a path on its way to or from
// an anonymous form. The log must not tell where such a request comes from: it
// would be next to the line of the form.
func (s *Site) aroundForms(p string) bool {
	switch p = strings.TrimPrefix(path.Clean(p), s.Backend.BasePath); p {
	case "/login", "/logout", "/embed.js", "/favicon.ico":
		return true
	}
	return strings.HasPrefix(p, "/page/") || strings.HasPrefix(p, embedPrefix+"/") || strings.HasPrefix(p, staticPrefix)
}

// noRoute answers what matches no page: another method than the page takes, or
// a path that there is no page at.
func (s *Site) noRoute(w http.ResponseWriter, r *http.Request, allowed []string) {
	c := s.newCall(w, r, s.frame(s.isFramed(r)))
	defer c.End()
	if s.hasCredentials(r) { // they may have meant an anonymous form
		c.Log.Anonymous()
	}
	err := request.NewStatusError(http.StatusNotFound, forms.Say("There is no page at this address."))
	if len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		err = request.NewStatusError(http.StatusMethodNotAllowed,
			forms.Say("This address does not take {0} requests.", r.Method))
	}
	c.fail(err)
}

func (s *Site) newCall(w http.ResponseWriter, r *http.Request, f frame) *call {
	c := &call{Call: s.Backend.NewCall(w, r, auth.Identity{}), w: w, Site: s, frame: f}
	c.takeLanguage()
	return c
}

// handle is the handler of a route.
func (s *Site) handle(to route, f frame) http.Handler {
	return request.Compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := s.newCall(w, r, f)
		defer c.End()
		c.serve(to) //nolint:contextcheck // the call has the request
	}))
}

// serve answers the call. Those who are not signed in are sent to the sign-in, unless the
// page is public.
func (c *call) serve(to route) {
	var err error
	if !to.public {
		if c.Who, err = c.caller(); err == nil {
			c.Log.Anonymous() // until it is known what the request is for
		}
	}
	if err == nil {
		err = request.CheckOrigin(c.Request)
	}
	signedIn := err == nil
	if signedIn {
		c.Refresh = c.caller // a sign-out ends what still runs
		err = to.handler(c)
		c.NoteRefusal(err)
	}
	switch {
	case !errors.Is(err, session.ErrNone):
	case signedIn: // and no more since the request began
		c.Who, err = auth.Identity{}, errSignedOut
	default:
		err = c.askToSignIn(to.resume)
	}
	if err != nil {
		c.fail(err)
	}
}
