// Package api is the interface on the wire: routes, decoding, encoding, and
// the answers to what goes wrong. Its rules are the service's; nothing is
// decided here but how things look.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzhttp"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/problem"
	"github.com/formulary/formulary/internal/service"
)

// Prefix is what the path of every endpoint of the interface begins with.
const Prefix = "/rest/forms/1.0"

// DefaultMaxBody is the largest request body taken unless configured otherwise.
const DefaultMaxBody = 1 << 20

// Authenticator tells who is asking. See auth.Directory.
type Authenticator interface {
	Authenticate(ctx context.Context, user, password, addr string) (auth.Identity, error)
	Refresh(id auth.Identity) (auth.Identity, error)
}

// Options are what the API works with.
type Options struct {
	Service *service.Service
	Auth    Authenticator
	Logger  *slog.Logger
	MaxBody int64 // bytes; 0 for DefaultMaxBody
	Limits  Limits
}

// API serves the interface.
type API struct {
	Options
	limiters  limiters
	endpoints *http.ServeMux
	paths     *http.ServeMux // the same paths for any method, to tell 404 from 405

	// crossOrigin stops other sites from writing with the credentials that a
	// browser adds on its own, which Basic passwords are.
	crossOrigin *http.CrossOriginProtection
}

// call is one authenticated request.
type call struct {
	*http.Request
	who       auth.Identity
	release   func() // of the slot that it holds, or nil
	anonymous bool   // the form was anonymous when it was opened, at least once
}

// handler answers a call, or returns an error and has written nothing.
type handler func(a *API, w http.ResponseWriter, c *call) error

// endpoint is a row of the interface's table.
type endpoint struct {
	method, path string
	handler      handler
	compress     bool // worth it for what can be long
}

var endpoints = []endpoint{
	{"GET", "/page/{pageId}/form", (*API).listForms, true},
	{"GET", "/page/{pageId}/form/{formId}", (*API).getForm, true},
	{"GET", "/page/{pageId}/form/{formId}/submission", (*API).listSubmissions, true},
	{"POST", "/page/{pageId}/form/{formId}/submission", (*API).createSubmission, false},
	{"GET", "/page/{pageId}/form/{formId}/submission/{id}", (*API).getSubmission, false},
	{"POST", "/page/{pageId}/form/{formId}/submission/{id}", (*API).updateSubmission, false},
	{"GET", "/page/{pageId}/form/{formId}/result", (*API).listResults, true},
	{"GET", "/page/{pageId}/form/{formId}/result/{id}", (*API).getResult, false},
	{"PUT", "/page/{pageId}/form/{formId}/result/{id}", (*API).updateResult, false},
	{"DELETE", "/page/{pageId}/form/{formId}/result/{id}", (*API).deleteResult, false},
}

// New makes the API.
func New(opts Options) *API {
	if opts.MaxBody == 0 {
		opts.MaxBody = DefaultMaxBody
	}
	a := &API{
		Options: opts, limiters: newLimiters(opts.Limits), endpoints: http.NewServeMux(), paths: http.NewServeMux(),
		crossOrigin: http.NewCrossOriginProtection(),
	}
	methods := map[string][]string{}
	for _, e := range endpoints {
		a.endpoints.Handle(e.method+" "+Prefix+e.path, a.serve(e.handler, e.compress))
		methods[e.path] = append(methods[e.path], e.method)
		if e.method == http.MethodGet {
			methods[e.path] = append(methods[e.path], http.MethodHead)
		}
	}
	a.endpoints.Handle("/", a.serve((*API).noEndpoint, false))
	for p, allowed := range methods {
		a.paths.Handle(Prefix+p, allow(strings.Join(allowed, ", ")))
	}
	return a
}

// ServeHTTP answers requests whose path begins with Prefix. A path that the
// mux would redirect to its clean form is left to noEndpoint: an API that
// answers with a redirect surprises.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, "//") || strings.Contains(r.URL.Path, "/.") && path.Clean(r.URL.Path) != r.URL.Path {
		a.serve((*API).noEndpoint, false).ServeHTTP(w, r)
		return
	}
	a.endpoints.ServeHTTP(w, r)
}

// serve turns a handler into an http.Handler: it authenticates before anything
// else is looked at, and answers errors.
func (a *API) serve(h handler, compress bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := a.authenticate(r)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		reporterOf(w).Anonymous() // until it is known what the request is for
		if err := a.crossOrigin.Check(r); err != nil {
			a.fail(w, r, &statusError{http.StatusForbidden, "A browser may not change anything here on behalf of another site."})
			return
		}
		c := &call{Request: r, who: who}
		defer c.end()
		if compress {
			compressed(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { a.answer(h, w, c) }))(w, r)
			return
		}
		a.answer(h, w, c)
	})
}

func (a *API) answer(h handler, w http.ResponseWriter, c *call) {
	err := h(a, w, c)
	if err == nil {
		return
	}
	if isStatus(err, http.StatusTooManyRequests) && !c.anonymous {
		reporterOf(w).SetUser("") // the address tells who to look for, as with failed logins
	}
	a.fail(w, c.Request, err)
}

// compressed offers gzip and nothing else: every client knows it, and an
// encoder of it is small.
var compressed = func() func(http.Handler) http.HandlerFunc {
	wrap, err := gzhttp.NewWrapper(gzhttp.EnableZstd(false))
	if err != nil {
		panic(err) // the options are constant
	}
	return func(h http.Handler) http.HandlerFunc {
		wrapped := wrap(h)
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead && strings.Contains(strings.ToLower(r.Header.Get("Accept-Encoding")), "gzip") {
				w = lengthless{w} // it is not compressed, whatever GET would be
			}
			wrapped(w, r)
		}
	}
}()

// lengthless answers HEAD without a length, where GET may have another.
type lengthless struct{ http.ResponseWriter }

func (w lengthless) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w lengthless) WriteHeader(status int) {
	w.Header().Del("Content-Length")
	w.ResponseWriter.WriteHeader(status)
}

func (w lengthless) Write(p []byte) (int, error) { return len(p), nil }

// noEndpoint answers what no endpoint takes.
func (a *API) noEndpoint(w http.ResponseWriter, c *call) error {
	if h, pattern := a.paths.Handler(c.Request); pattern != "" && c.URL.Path == path.Clean(c.URL.Path) {
		h.ServeHTTP(w, c.Request)
		return nil
	}
	return &service.Error{Kind: service.NotFound, Detail: "There is nothing at this path."}
}

// allow answers 405.
func allow(methods string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", methods)
		problem.Write(w, http.StatusMethodNotAllowed, "This path takes "+methods+".")
	})
}

// form opens the form that the path names. Only now may the caller be named in
// the log, and only if the form is not anonymous. A page may change while a
// request is under way: if the form was anonymous at any time, it stays so
// until the request ends.
func (a *API) form(w http.ResponseWriter, c *call) (*service.Access, error) {
	pageID, err := pathID(c, "pageId")
	if err != nil {
		return nil, err
	}
	access, err := a.Service.Form(c.Context(), c.who, pageID, c.PathValue("formId"))
	if err != nil {
		return nil, err
	}
	c.anonymous = c.anonymous || access.Form.Anonymous
	if c.anonymous {
		access.Anonymize()
		reporterOf(w).Anonymous()
	} else {
		reporterOf(w).SetUser(c.who.Name)
	}
	return access, nil
}

// reopen opens the form again after something that may have taken a while: a
// body that came in, or a part of a list that was sent. What counts is what
// users, groups and the page say by now.
func (a *API) reopen(w http.ResponseWriter, c *call) (*service.Access, error) {
	who, err := a.Auth.Refresh(c.who)
	if err != nil {
		if !c.anonymous {
			reporterOf(w).SetUser("") // as with any failed login: the address, and no name
		}
		return nil, err
	}
	c.who = who
	return a.form(w, c)
}

// pathID reads an id of the path. One that can't exist is not found.
func pathID(c *call, name string) (int64, error) {
	id, ok := parseID(c.PathValue(name))
	if !ok {
		return 0, &service.Error{Kind: service.NotFound, Detail: "An id in this path is not a number that an id can be."}
	}
	return id, nil
}

// parseID accepts decimal digits without sign or leading zero, within 2^63.
func parseID(s string) (int64, bool) {
	if s == "" || s[0] < '1' || s[0] > '9' {
		return 0, false
	}
	id, err := strconv.ParseInt(s, 10, 64)
	return id, err == nil
}

// reporter is the response writer of the server, which takes notes for the
// access log. See server.Reporter.
type reporter interface {
	SetUser(name string)
	Anonymous()
	RequestID() string
}

// reporterOf finds the reporter, which other response writers may wrap.
func reporterOf(w http.ResponseWriter) reporter {
	for {
		if r, ok := w.(reporter); ok {
			return r
		}
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return unreported{}
		}
		w = u.Unwrap()
	}
}

// unreported is for requests that did not come through the server.
type unreported struct{}

func (unreported) SetUser(string)    {}
func (unreported) Anonymous()        {}
func (unreported) RequestID() string { return "" }
