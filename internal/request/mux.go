package request

import (
	"net/http"
	"path"
	"slices"
)

// Mux routes requests by the patterns of http.ServeMux. It redirects none: a path
// that is not clean matches nothing.
type Mux struct {
	mux     *http.ServeMux
	base    string
	methods []string
	other   func(w http.ResponseWriter, r *http.Request, allowed []string)
}

// NewMux returns a Mux for paths that begin with base. Requests that match no route go
// to other, with the methods that the path does allow: none if the path is unknown.
func NewMux(base string, other func(w http.ResponseWriter, r *http.Request, allowed []string)) *Mux {
	m := &Mux{mux: http.NewServeMux(), base: base, other: other}
	m.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { other(w, r, m.allowed(r)) })
	return m
}

// Handle has h called for a method and a path below the base, which is a pattern.
// GET includes HEAD.
func (m *Mux) Handle(method, path string, h http.Handler) {
	m.mux.Handle(method+" "+m.base+path, h)
	if !slices.Contains(m.methods, method) {
		m.methods = append(m.methods, method)
	}
}

func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !IsClean(r) && r.URL.EscapedPath() != m.base+"/" {
		m.other(w, r, nil)
		return
	}
	m.mux.ServeHTTP(w, r)
}

func (m *Mux) allowed(r *http.Request) (methods []string) {
	// A path with an escaped "." or "/" is none of the interface's.
	if p := r.URL.Path; path.Clean(p) != p && p != m.base+"/" {
		return nil
	}
	for _, method := range m.methods {
		if !m.Takes(method, r) {
			continue
		}
		methods = append(methods, method)
		if method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	return methods
}

// Takes reports whether a route takes requests of a method at the path of a request.
func (m *Mux) Takes(method string, r *http.Request) bool {
	as := *r
	as.Method = method
	_, pattern := m.mux.Handler(&as)
	return pattern != "/"
}

// IsClean is false of a path that http.ServeMux would redirect. Names of files and
// ids of fields may hold an escaped "/" or "..".
func IsClean(r *http.Request) bool {
	p := r.URL.EscapedPath()
	return path.Clean(p) == p
}
