package web

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/lang"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/service"
)

//go:embed templates
var templateFiles embed.FS

// parseTemplates reads all templates into one set, in a language. A page is executed by the
// name of its file.
func parseTemplates(base string, static *staticFiles, zone *time.Location, l *lang.Language) *template.Template {
	alone, options := frame{base: base}, languageOptions(l)
	funcs := template.FuncMap{
		"path":     alone.path, // of a page that is never within a frame
		"formPath": alone.formPath,
		"static":   func(name string) (string, error) { p, err := static.path(name, l); return base + p, err },
		"imported": static.imported,
		"say":      l.Say,
		"day":      l.Day,
		"dayText":  l.DayText,
		"sentence": func(m *forms.Message) template.HTML {
			return template.HTML(upperFirst(string(l.HTML(m)))) //nolint:gosec // it was HTML
		},
		"minute":       func(t time.Time) string { return l.Time(t.In(zone)) },
		"iso":          func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"languages":    func() template.HTML { return options },
		"kinds":        kindButtons(l),
		"plus":         func(i int) int { return i + 1 },
		"control":      control,
		"idOf":         idOf,
		"errorSummary": func(errors []errorLine, framed bool) errorSummary { return errorSummary{errors, framed} },
	}
	set := template.New("").Funcs(funcs).Funcs(l.Funcs())
	constants := strings.NewReplacer("{{tag}}", l.Tag, "{{dir}}", l.Dir(), "{{zone}}", zone.String())
	err := fs.WalkDir(templateFiles, ".", func(name string, file fs.DirEntry, err error) error {
		if err == nil && !file.IsDir() {
			_, err = set.New(file.Name()).Parse(constants.Replace(l.Translate(string(readEmbedded(templateFiles, name)))))
		}
		return err
	})
	return template.Must(set, err)
}

// Layout is what every page has. It is exported, as are other structs that
// pages embed, so that templates can write .Layout.Title: promoted fields are ten
// times slower to look up.
type Layout struct {
	Title   string
	Call    *call
	User    string // "" for none
	Framed  bool
	Writes  bool   // the header leads to the author's page
	Done    *done  // just now; nil for nothing
	About   *about // the form that the page is about; nil for none
	Lang    string // language tag of the page's own texts, or ""
	Script  string
	Wide    bool   // the page uses the width of the window
	Missing bool   // there is no such form to show in a frame
	Logout  string // path to post to; "" where Formulary has no sign-out of its own
	NewTab  string // path of the same page by itself; "" unless framed
	// LangForm is the id of a form, which comes back in the chosen language with its answers; "" for none.
	LangForm   string
	LangAction string // where the page is in the chosen language; "" for the same address
}

// about is a form, and where its pages lead.
type about struct {
	Access             *service.Access
	PagePath, FormPath string
	FormLink           bool            // its title differs from that of the page
	Results            string          // path; "" if the caller can see no results
	Edit               string          // path of its text; "" unless the caller may edit the page
	Shortcuts          *shortcuts      // nil on pages without
	Findings           []forms.Finding // see service.Access.Findings
	Back               string          // path of the results that the page was opened from; or ""
}

func (c *call) about(access *service.Access) *about {
	form := access.Form
	results := c.resultsPath(form, access.Rights.SeeAll)
	about := &about{
		Access: access, PagePath: c.alone().pagePath(form.PageID), FormPath: c.formPath(form),
		FormLink: form.Title != access.PageTitle, Results: results, Back: results,
	}
	if access.Rights.Edit {
		about.Edit = c.authorPath(form.PageID, form.ID)
	}
	return about
}

// layout is that of a page for the caller.
func (c *call) layout(title string) Layout {
	l := Layout{Title: title, Call: c, User: c.Who.Name, Framed: c.Framed, Done: c.done()}
	l.Writes = !errors.Is(c.Backend.Service.MayAuthor(c.Who), service.ErrNoAuthor)
	if c.Site.Sessions != nil && !c.Who.ByWikiCookies {
		l.Logout = c.path("/logout")
	}
	if c.Framed && request.IsClean(c.Request) { // "/embed//host" without its prefix would be an address of another site
		p := c.URL.EscapedPath()
		l.NewTab = c.unframedPath(p)
		if l.Logout != "" { // the next person may not see the submission that is shown
			form, _, _ := strings.Cut(p, "/submission/")
			l.Logout += "?next=" + url.QueryEscape(form)
		}
	}
	return l
}

// formLayout is that of a page about a form, whose title says which.
func (c *call) formLayout(title string, access *service.Access) Layout {
	about := access.Form.Title
	if title != "" {
		about = c.Lang.Text("{0}: {1}", title, about)
	}
	l := c.layout(about)
	l.Lang, l.About = access.Lang(), c.about(access)
	return l
}

// render answers with a page.
func (c *call) render(status int, name string, page any) error {
	// A page has room for what somebody may send, also where each character is escaped: a quotation mark takes five bytes.
	most := 6 * max(c.Backend.MaxBody, request.DefaultMaxBody)
	html, err := c.execute(name+".html", page, 0, int(most))
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", c.Lang.Tag)
	h.Add("Vary", "Accept-Language, Cookie")
	request.SetNoStore(h) // pages hold personal data
	c.w.WriteHeader(status)
	if c.Method != http.MethodHead {
		_, _ = html.WriteTo(c.w) // a browser that is gone can't be told
	}
	return nil
}

// execute executes a template. It returns errPageTooLarge beyond the limit. used is the
// size of the parts of the page that were executed before.
func (c *call) execute(name string, data any, used, limit int) (*pageBuffer, error) {
	html := &pageBuffer{limit: limit, hold: func(size int) error { return c.holdPage(used + size) }}
	err := c.Site.speak[c.Lang]().templates.ExecuteTemplate(html, name, data)
	c.endTurn()
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", name, err)
	}
	return html, nil
}

// renderForm renders a form as a part of a page that is left out if it is too large: see execute.
func (c *call) renderForm(view *formView, used, limit int) (template.HTML, error) {
	html, err := c.execute("form", view, used, limit)
	if err != nil {
		return "", err
	}
	return template.HTML(html.String()), nil //nolint:gosec // a template has made it
}

// holdPage takes a slot for a page of this size that is being rendered, if it is
// large.
func (c *call) holdPage(size int) error {
	if size <= request.LargeBody {
		return nil
	}
	if err := c.HoldBody(); err != nil {
		return err
	}
	return c.takeTurn()
}

// takeTurn waits until it may do what takes long, such as to render something
// large. That is done on half of the cores, so that it does not delay all else.
func (c *call) takeTurn() error {
	if c.rendering {
		return nil
	}
	select {
	case c.Site.turns <- struct{}{}:
		c.rendering = true
		return nil
	case <-c.Context().Done():
		return c.Context().Err()
	}
}

// endTurn lets the next request begin.
func (c *call) endTurn() {
	if c.rendering {
		<-c.Site.turns
		c.rendering = false
	}
}

var errPageTooLarge = request.NewStatusError(http.StatusInternalServerError,
	forms.Say("This page can't be shown because it would be too large."))

// pageBuffer holds a page until it is complete, so that an error can still be
// answered.
type pageBuffer struct {
	bytes.Buffer
	limit int
	hold  func(size int) error // takes a slot if the page is large; called before it grows
}

// Write implements io.Writer. Templates use no other method.
func (b *pageBuffer) Write(p []byte) (int, error) {
	size := b.Len() + len(p)
	if size > b.limit {
		return 0, errPageTooLarge
	}
	if err := b.hold(size); err != nil {
		return 0, err
	}
	return b.Buffer.Write(p)
}

// setPolicy sets what a browser may do with any answer of this package. Pages
// load from here alone, run no inline script, and only the pages
// below embedPrefix can be embedded, by the sites that the operator names.
func (s *Site) setPolicy(h http.Header, framed bool) {
	ancestors := "'none'"
	if framed && len(s.FrameAncestors) > 0 {
		ancestors = strings.Join(s.FrameAncestors, " ")
	} else {
		h.Set("X-Frame-Options", "DENY")
	}
	h.Set("Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
			"form-action 'self'; base-uri 'none'; frame-ancestors "+ancestors)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	// With a stricter policy, browsers leave out the Origin of a form, which CheckOrigin needs.
	h.Set("Referrer-Policy", "same-origin")
}

// errorPage tells what went wrong.
type errorPage struct {
	Layout
	Detail     string
	RequestID  string // to find the error in the log; "" if nothing was logged
	Submission string // path of the one that was not changed; "" for none
}

// errorTitles are headings of error pages. Others have that of http.StatusBadRequest.
var errorTitles = map[int]*forms.Message{
	http.StatusBadRequest:            forms.Say("This can't be read"),
	http.StatusMethodNotAllowed:      forms.Say("This page can't be opened"),
	http.StatusConflict:              forms.Say("Nothing was changed"),
	http.StatusNotFound:              forms.Say("Page not found"),
	http.StatusForbidden:             forms.Say("You may not do that"),
	http.StatusUnauthorized:          forms.Say("You are not signed in"),
	http.StatusRequestEntityTooLarge: forms.Say("That is too much"),
	http.StatusServiceUnavailable:    forms.Say("This can't be done right now"),
	http.StatusInternalServerError:   forms.Say("Something went wrong"),
	http.StatusInsufficientStorage:   forms.Say("There is no room left"),
	http.StatusTooManyRequests:       forms.Say("Too many requests"),
}

// fail answers an error with a page.
func (c *call) fail(err error) {
	failure := request.FailureOf(c.Context(), err)
	if invalid, ok := errors.AsType[*forms.Invalid](err); ok {
		failure = request.Failure{Status: http.StatusBadRequest, Detail: forms.Join(otherErrors(invalid, nil))}
	}
	if isKind(err, service.InDoubt) {
		failure.Detail = forms.Say("The connection to the database was lost, so this may be stored or not. " +
			"Reload this page to send it again: a form is stored only once.")
	}
	if d := failure.Detail; d != nil && d.EnglishOnly { // programs alone cause it
		failure.Detail = errUnreadable.Detail
	}
	title := c.Lang.Say(cmp.Or(errorTitles[failure.Status], errorTitles[http.StatusBadRequest]))
	page := &errorPage{Layout: c.layout(title), Detail: upperFirst(c.Lang.Say(failure.Detail))}
	page.Missing = c.Framed && failure.Status == http.StatusNotFound && c.PathValue("id") == ""
	if id := c.PathValue("id"); id != "" && failure.Status != http.StatusNotFound {
		form, _, _ := strings.Cut(c.URL.EscapedPath(), "/submission/")
		page.Submission = withQuery(form+"/submission/"+id, c.URL.RawQuery)
	}
	if c.Method != http.MethodGet && !c.Site.routes.Takes(http.MethodGet, c.Request) {
		page.LangAction = cmp.Or(page.Submission, c.path("/"))
	}
	if failure.Log {
		c.LogError("request failed", err)
		page.RequestID = c.Log.RequestID()
	}
	if failure.Status != http.StatusUnauthorized { // browsers would ask for a password
		failure.SetHeader(c.w.Header())
	}
	if err := c.render(failure.Status, "error", page); err != nil {
		c.LogError("render an error page", err)
		http.Error(c.w, page.Detail, failure.Status)
	}
}
