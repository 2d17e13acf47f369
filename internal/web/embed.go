package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/formulary/formulary/internal/request"
)

// frame tells whether a page is shown by itself or within a wiki's page.
type frame struct{ framed bool }

// embedPrefix begins the paths of the pages that others may embed.
const embedPrefix = "/embed"

// signedInMark in the address of the sign-in says that somebody has just signed
// in there. If they have no session then, the browser has refused the cookie.
const signedInMark = "signed-in"

// isFramed reports whether a request is for a page that others may embed.
func isFramed(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, embedPrefix+"/") }

// path is that of a page by itself, or of the same within a frame.
func (f frame) path(p string) string {
	if f.framed {
		return embedPrefix + p
	}
	return p
}

// unframedPath is the path of a framed page by itself.
func unframedPath(framed string) string { return strings.TrimPrefix(framed, embedPrefix) }

// addFrameLinks sets the links below a framed page: to the same page by itself, and
// to the sign-out. After the sign-out comes the form, because the next person may
// not see the submission that was shown.
func (l *Layout) addFrameLinks(r *http.Request) {
	if !l.Framed || !request.IsClean(r) { // "/embed//host" without its prefix would be an address of another site
		return
	}
	p := r.URL.EscapedPath()
	l.NewTab = unframedPath(p)
	form, _, _ := strings.Cut(p, "/submission/")
	l.Logout += "?next=" + url.QueryEscape(form)
}

// newTabPage has a link to a form that can't be filled in within a frame.
type newTabPage struct {
	Layout
	Reason  string
	Address string // path
}

// Reasons of a newTabPage.
const (
	cookieRefused = "Your browser does not keep you signed in to a form within another site's page."
	notEncrypted  = "Nobody can sign in within another site's page here: the connection to this service is not encrypted."
)

// offerNewTab answers in a frame in which a sign-in would fail.
func (s *Site) offerNewTab(w http.ResponseWriter, r *http.Request, next, reason string) error {
	return s.render(w, r, http.StatusOK, "newtab", &newTabPage{
		Layout: s.layout(frame{framed: true}, "", "This form opens in a new tab"), Reason: reason, Address: unframedPath(next),
	})
}

// overTLS answers framed pages over a connection without TLS by itself: browsers
// take cookies for frames over TLS only.
func (s *Site) overTLS(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if request.IsSecure(r) {
			h.ServeHTTP(w, r)
			return
		}
		f := frame{framed: true}
		next := r.URL.EscapedPath()
		if next == f.path("/login") || next == f.path("/logout") {
			next = localPath(r.URL.Query().Get("next"), f)
		}
		request.Compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := s.offerNewTab(w, r, next, notEncrypted); err != nil {
				s.fail(w, r, f, "", err)
			}
		}))(w, r)
	})
}
