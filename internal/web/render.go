package web

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

//go:embed templates/*.html
var templateFiles embed.FS

// parseTemplates reads all templates into one set. A page is executed by the
// name of its file.
func parseTemplates(static *staticFiles) *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"static": static.path,
		"date":   func(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04") + " UTC" },
		"iso":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"number": groupDigits,
	}).ParseFS(templateFiles, "templates/*.html"))
}

// groupDigits writes a number with commas, as in 12,345.
func groupDigits(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Layout is what surrounds every page. It is exported, as are other structs that
// pages embed, for templates to name it: to find a field of an embedded struct
// by its own name alone takes reflection ten times as long.
type Layout struct {
	Title    string
	Brand    string
	BrandCSS bool
	User     string // "" if nobody is signed in
	Framed   bool
	Wide     bool // the page uses the width of the window
	Script   string
	Logout   string // path
	Outside  string // path of the same page by itself; "" unless framed
}

func (s *Site) layout(f frame, user, title string) Layout {
	return Layout{
		Title: title, Brand: s.BrandName, BrandCSS: s.BrandCSS != nil, User: user, Framed: f.framed, Logout: f.path("/logout"),
	}
}

// layout is that of a page for the caller.
func (c *call) layout(title string) Layout {
	l := c.site.layout(c.frame, c.Who.Name, title)
	l.lead(c.Request)
	return l
}

// formLayout is that of a page about a form, whose title says which.
func (c *call) formLayout(title string, access *service.Access) Layout {
	return c.layout(title + ": " + access.PageTitle)
}

// buffers hold pages until they are complete, so that an error can still be
// answered.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxKeptBuffer keeps the buffer of a huge page from staying in memory.
const maxKeptBuffer = 1 << 20

// render answers with a page.
func (s *Site) render(w http.ResponseWriter, r *http.Request, status int, name string, page any) error {
	buf := buffers.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= maxKeptBuffer {
			buf.Reset()
			buffers.Put(buf)
		}
	}()
	if err := s.templates.ExecuteTemplate(buf, name+".html", page); err != nil {
		return fmt.Errorf("render page %s: %w", name, err)
	}
	sendPage(w, r, status, buf.Bytes())
	return nil
}

// sendPage answers with a page, or with a part of one. Pages hold personal data,
// so no cache may store them.
func sendPage(w http.ResponseWriter, r *http.Request, status int, html []byte) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	request.SetNoStore(h)
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(html) // a browser that is gone can't be told
	}
}

// setPolicy sets what a browser may do with any answer of this package. Pages
// load from here alone, run no script that stands in them, and only the pages
// below embedPrefix can be embedded, by the sites that the operator names.
func (s *Site) setPolicy(h http.Header, framed bool) {
	ancestors := "'none'"
	if framed && len(s.FrameAncestors) > 0 {
		ancestors = strings.Join(s.FrameAncestors, " ")
	} else {
		h.Set("X-Frame-Options", "DENY")
	}
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors "+ancestors)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "same-origin") // with less, browsers tell no origin when they send a form
}

// errorPage tells what went wrong.
type errorPage struct {
	Layout
	Detail    string
	RequestID string // for whoever runs the service; "" if the fault is not theirs
}

// errorTitles are headings of error pages. Others have that of http.StatusText.
var errorTitles = map[int]string{
	http.StatusBadRequest:            "This can't be read",
	http.StatusMethodNotAllowed:      "This page can't be opened",
	http.StatusConflict:              "Nothing was changed",
	http.StatusNotFound:              "Page not found",
	http.StatusForbidden:             "You may not do that",
	http.StatusRequestEntityTooLarge: "That is too much",
	http.StatusServiceUnavailable:    "This can't be done right now",
	http.StatusInternalServerError:   "Something went wrong",
	http.StatusInsufficientStorage:   "There is no room left",
	http.StatusTooManyRequests:       "Too many requests",
}

// fail answers an error with a page. user is who is signed in, if that is known.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, f frame, user string, err error) {
	failure := request.FailureOf(r.Context(), err)
	var invalid *forms.Invalid
	if errors.As(err, &invalid) {
		failure = request.Failure{Status: http.StatusBadRequest, Detail: strings.Join(invalid.Errors, "; ")}
	}
	page := &errorPage{Layout: s.layout(f, user, http.StatusText(failure.Status)), Detail: failure.Detail}
	page.lead(r)
	if title := errorTitles[failure.Status]; title != "" {
		page.Title = title
	}
	if failure.Log {
		s.Backend.LogError(w, r, "request failed", err)
		page.RequestID = request.ReporterOf(w).RequestID()
	}
	if failure.Status != http.StatusUnauthorized { // browsers would ask for a password
		failure.SetHeader(w.Header())
	}
	if err := s.render(w, r, failure.Status, "error", page); err != nil {
		s.Backend.LogError(w, r, "render an error page", err)
		http.Error(w, failure.Detail, failure.Status)
	}
}
