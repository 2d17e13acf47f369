package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/request"
)

// frame tells whether a page is shown by itself or within a wiki's page. It makes the
// addresses of all pages.
type frame struct {
	base   string // see request.Options.BasePath
	Framed bool
}

func (s *Site) frame(framed bool) frame { return frame{s.Backend.BasePath, framed} }

// embedPrefix begins the paths of the pages that others may embed.
const embedPrefix = "/embed"

// signedInMark in the address of the sign-in says that somebody has just signed
// in there. If they have no session then, the browser has refused the cookie.
const signedInMark = "signed-in"

// isFramed reports whether a request is for a page that others may embed.
func (s *Site) isFramed(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, s.frame(true).path("/"))
}

// path is the address of a page by itself, or of the same within a frame. Its
// argument is a path of the table of pages.
func (f frame) path(p string) string {
	if f.Framed {
		return f.base + embedPrefix + p
	}
	return f.base + p
}

// alone is for addresses of pages that are never within a frame.
func (f frame) alone() frame { return frame{base: f.base} }

// pagePath is the address of a wiki page.
func (f frame) pagePath(id int64) string { return f.path("/page/" + strconv.FormatInt(id, 10)) }

// formPath is the address of a form's own page.
func (f frame) formPath(form *forms.Form) string {
	return f.pagePath(form.PageID) + "/form/" + url.PathEscape(form.ID)
}

// submissionPath is the address of one submission.
func (f frame) submissionPath(form *forms.Form, id int64) string {
	return f.formPath(form) + "/submission/" + strconv.FormatInt(id, 10)
}

// resultsPath is "" where the caller could see no submission at all.
func (f frame) resultsPath(form *forms.Form, seesAll bool) string {
	if form.Anonymous && !seesAll {
		return ""
	}
	return f.alone().formPath(form) + "/results"
}

// unframedPath is the address of a framed page by itself.
func (f frame) unframedPath(framed string) string {
	return f.base + strings.TrimPrefix(strings.TrimPrefix(framed, f.base), embedPrefix)
}

// newTabPage has a link to a form that can't be filled in within a frame.
type newTabPage struct {
	Layout
	Reason  string
	Address string // path
}

// Reasons of a newTabPage.
var (
	cookieRefused = forms.Say("Your browser does not keep you signed in to a form within another site's page.")
	notEncrypted  = forms.Say("Nobody can sign in within a wiki's page here: " +
		"the connection to this service is not encrypted.")
)

// offerNewTab answers in a frame in which a sign-in would fail.
func (c *call) offerNewTab(next string, reason *forms.Message) error {
	page := &newTabPage{
		Layout: c.layout(c.Lang.Text("This form opens in a new tab")),
		Reason: c.Lang.Say(reason), Address: c.unframedPath(next),
	}
	page.NewTab = "" // the page itself is about that
	return c.render(http.StatusOK, "newtab", page)
}

// maySignIn is false within a frame over a connection without TLS: browsers take
// cookies for frames over TLS only.
func (c *call) maySignIn() bool { return !c.Framed || request.IsSecure(c.Request) }
