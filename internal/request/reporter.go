package request

import "net/http"

// Reporter takes notes about a request for the access log, and is told that a
// handler is at work. The server's response writer is one. See server.Reporter.
type Reporter interface {
	SetUser(name string)
	Anonymous()
	RequestID() string
	Working()
}

// ReporterOf returns the reporter of a request from its response writer, which
// other response writers may wrap.
func ReporterOf(w http.ResponseWriter) Reporter {
	for {
		if r, ok := w.(Reporter); ok {
			return r
		}
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return noReporter{}
		}
		w = u.Unwrap()
	}
}

// noReporter is for requests that did not come through the server.
type noReporter struct{}

func (noReporter) SetUser(string)    {}
func (noReporter) Anonymous()        {}
func (noReporter) RequestID() string { return "" }
func (noReporter) Working()          {}
