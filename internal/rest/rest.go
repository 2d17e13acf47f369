// Package rest is the interface on the wire: routes, decoding, and the answers to
// errors. The rules are in package service, and how answers look is in package
// encode.
package rest

import (
	"net/http"

	"github.com/formulary/formulary/internal/encode"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/problem"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

// Prefix is what the path of every endpoint of the interface begins with, after the base path.
const Prefix = "/rest/forms/1.0"

// API serves the interface: requests whose path begins with Prefix.
type API struct {
	*request.Backend
	*request.Mux
}

// handler answers a call, or returns an error and has written nothing.
type handler func(w http.ResponseWriter, c *request.Call) error

// endpoint is a row of the interface's table.
type endpoint struct {
	method, path string
	handler      handler
	compress     bool // for answers that can be long
}

var endpoints = []endpoint{
	{"GET", "/page/{pageId}/form", listForms, true},
	{"GET", "/page/{pageId}/form/{formId}", getForm, true},
	{"GET", "/page/{pageId}/form/{formId}/submission", list(encode.Nested, encode.JSON, encode.NDJSON), true},
	{"POST", "/page/{pageId}/form/{formId}/submission", createSubmission, false},
	{"GET", "/page/{pageId}/form/{formId}/submission/{id}", getOne(encode.Nested), false},
	{"POST", "/page/{pageId}/form/{formId}/submission/{id}", updateOne(nested, encode.Nested), false},
	{"GET", "/page/{pageId}/form/{formId}/submission/{id}/file/{fieldId}/{name}", getFile, false},
	{"GET", "/page/{pageId}/form/{formId}/summary", getSummary, true},
	{
		"GET", "/page/{pageId}/form/{formId}/result",
		list(encode.Flat, encode.JSON, encode.NDJSON, encode.CSV, encode.XLSX), true,
	},
	{"GET", "/page/{pageId}/form/{formId}/result/{id}", getOne(encode.Flat), false},
	{"PUT", "/page/{pageId}/form/{formId}/result/{id}", updateOne(flat, encode.Flat), false},
	{"DELETE", "/page/{pageId}/form/{formId}/result/{id}", deleteResult, false},
	{"GET", "/page/{pageId}/form/{formId}/submission/{id}/form", getAsked, true},
	{"GET", "/page/{pageId}/form/{formId}/submission/{id}/history", getHistory, true},
	{"DELETE", "/page/{pageId}/form/{formId}/submission/{id}/history", clearHistory, false},
}

// New makes the API.
func New(backend *request.Backend) *API {
	a := &API{Backend: backend}
	a.Mux = request.NewMux(backend.BasePath, func(w http.ResponseWriter, r *http.Request, allowed []string) {
		a.serve(func(w http.ResponseWriter, _ *request.Call) error { return noEndpoint(w, allowed) }, false).ServeHTTP(w, r)
	})
	for _, e := range endpoints {
		a.Handle(e.method, Prefix+e.path, a.serve(e.handler, e.compress))
	}
	return a
}

// serve turns a handler into an http.Handler: it authenticates before anything
// else is looked at, and answers errors.
func (a *API) serve(h handler, compress bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := a.Auth.Identify(r)
		c := a.NewCall(w, r, who)
		defer c.End()
		if err == nil {
			c.Log.Anonymous() // until it is known what the request is for
			err = request.CheckOrigin(r)
		}
		switch {
		case err != nil:
			fail(w, c, err) //nolint:contextcheck // c has it
		case compress:
			request.Compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				h.answer(w, c) //nolint:contextcheck // c has it
			}))(w, r)
		default:
			h.answer(w, c) //nolint:contextcheck // c has it
		}
	})
}

// answer calls the handler, and answers its error.
func (h handler) answer(w http.ResponseWriter, c *request.Call) {
	if err := h(w, c); err != nil {
		fail(w, c, err)
	}
}

// noEndpoint answers requests that match no endpoint.
func noEndpoint(w http.ResponseWriter, allowed []string) error {
	if len(allowed) == 0 {
		return service.NewError(service.NotFound, forms.English("There is nothing at this path."))
	}
	problem.MethodNotAllowed(w, allowed...)
	return nil
}
