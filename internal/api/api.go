// Package api is the interface on the wire: routes, decoding, encoding, and
// the answers to errors. The rules are in package service; this package only
// decides how requests and answers look.
package api

import (
	"errors"
	"log/slog"
	"net/http"
	"path"
	"strings"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/httpx"
	"github.com/formulary/formulary/internal/service"
)

// Prefix is what the path of every endpoint of the interface begins with.
const Prefix = "/rest/forms/1.0"

// DefaultMaxBody is the largest request body taken unless configured otherwise.
const DefaultMaxBody = 1 << 20

// Options are what the API works with.
type Options struct {
	Service *service.Service
	Auth    httpx.Authenticator
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
	compress     bool // for answers that can be long
}

var endpoints = []endpoint{
	{"GET", "/page/{pageId}/form", (*API).listForms, true},
	{"GET", "/page/{pageId}/form/{formId}", (*API).getForm, true},
	{"GET", "/page/{pageId}/form/{formId}/submission", (*API).listSubmissions, true},
	{"POST", "/page/{pageId}/form/{formId}/submission", (*API).createSubmission, false},
	{"GET", "/page/{pageId}/form/{formId}/submission/{id}", (*API).getSubmission, false},
	{"POST", "/page/{pageId}/form/{formId}/submission/{id}", (*API).updateSubmission, false},
	{"GET", "/page/{pageId}/form/{formId}/submission/{id}/file/{fieldId}/{name}", (*API).getFile, false},
	{"GET", "/page/{pageId}/form/{formId}/summary", (*API).getSummary, true},
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
		a.paths.Handle(Prefix+p, httpx.MethodNotAllowed(allowed...))
	}
	return a
}

// ServeHTTP answers requests whose path begins with Prefix. A path that the
// mux would redirect to its clean form is left to noEndpoint: clients of an API
// don't expect redirects.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := r.URL.Path
	if r.URL.RawPath != "" { // with "/" or "." escaped, as within the id of a field
		p = r.URL.RawPath
	}
	if strings.Contains(p, "//") || strings.Contains(p, "/.") && path.Clean(p) != p {
		a.serve((*API).noEndpoint, false).ServeHTTP(w, r)
		return
	}
	a.endpoints.ServeHTTP(w, r)
}

// serve turns a handler into an http.Handler: it authenticates before anything
// else is looked at, and answers errors.
func (a *API) serve(h handler, compress bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := httpx.BasicCaller(a.Auth, r)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		httpx.ReporterOf(w).Anonymous() // until it is known what the request is for
		if err := httpx.CheckOrigin(r); err != nil {
			a.fail(w, r, err)
			return
		}
		c := &call{Request: r, who: who}
		defer c.end()
		if compress {
			httpx.Compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { a.answer(h, w, c) }))(w, r)
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
	var refused *httpx.StatusError
	if errors.As(err, &refused) && refused.Status == http.StatusTooManyRequests && !c.anonymous {
		httpx.ReporterOf(w).SetUser("") // the address tells who to look for, as with failed logins
	}
	a.fail(w, c.Request, err)
}

// noEndpoint answers requests that match no endpoint.
func (a *API) noEndpoint(w http.ResponseWriter, c *call) error {
	if h, pattern := a.paths.Handler(c.Request); pattern != "" && c.URL.Path == path.Clean(c.URL.Path) {
		h.ServeHTTP(w, c.Request)
		return nil
	}
	return &service.Error{Kind: service.NotFound, Detail: "There is nothing at this path."}
}

// form opens the form that the path names. Only now may the caller be named in
// the log, and only if the form is not anonymous. A page may change while a
// request is under way: if the form was anonymous at any time, it stays so
// until the request ends.
func (a *API) form(w http.ResponseWriter, c *call) (*service.Access, error) {
	pageID, err := httpx.PathID(c.Request, "pageId")
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
		httpx.ReporterOf(w).Anonymous()
	} else {
		httpx.ReporterOf(w).SetUser(c.who.Name)
	}
	return access, nil
}

// reopen opens the form again after something that may have taken a while: a
// body that came in, or a part of a list that was sent. The current users,
// groups and page decide.
func (a *API) reopen(w http.ResponseWriter, c *call) (*service.Access, error) {
	who, err := a.Auth.Refresh(c.who)
	if err != nil {
		if !c.anonymous {
			httpx.ReporterOf(w).SetUser("") // as with any failed login: the address, and no name
		}
		return nil, err
	}
	c.who = who
	return a.form(w, c)
}
