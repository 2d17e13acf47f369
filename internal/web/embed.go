package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/formulary/formulary/internal/request"
)

// frame tells whether a page stands by itself or within a wiki's page.
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

// outside is the path of a framed page by itself.
func outside(framed string) string { return strings.TrimPrefix(framed, embedPrefix) }

// lead sets the links below a framed page: to the same page by itself, and out
// of the session. Whoever signs in next begins with the form, since they may not
// see the submission that was there.
func (l *Layout) lead(r *http.Request) {
	if !l.Framed || !request.IsClean(r) { // "/embed//host" without its prefix would be an address of another site
		return
	}
	p := r.URL.EscapedPath()
	l.Outside = outside(p)
	form, _, _ := strings.Cut(p, "/submission/")
	l.Logout += "?next=" + url.QueryEscape(form)
}

// elsewherePage leads somebody out of a frame in which they can't sign in.
type elsewherePage struct {
	Layout
	Reason  string
	Address string // path
}

// elsewhere answers in a frame whose cookie the browser has refused. Another
// sign-in would only lead here again.
func (s *Site) elsewhere(w http.ResponseWriter, r *http.Request, next string) error {
	return s.render(w, r, http.StatusOK, "elsewhere", &elsewherePage{
		Layout:  s.layout(frame{framed: true}, "", "This form opens in a new tab"),
		Reason:  "Your browser does not keep you signed in to a form within another site's page.",
		Address: outside(next),
	})
}

// sendElsewhere answers all framed pages over a connection without TLS: browsers
// take cookies for frames over TLS only.
func (s *Site) sendElsewhere(w http.ResponseWriter, r *http.Request) {
	f := frame{framed: true}
	next := r.URL.EscapedPath()
	if next == f.path("/login") || next == f.path("/logout") {
		next = localPath(r.URL.Query().Get("next"), f)
	}
	request.Compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := s.render(w, r, http.StatusOK, "elsewhere", &elsewherePage{
			Layout:  s.layout(f, "", "This form opens in a new tab"),
			Reason:  "Nobody can sign in within another site's page here: the connection to this service is not encrypted.",
			Address: outside(next),
		})
		if err != nil {
			s.fail(w, r, f, "", err)
		}
	}))(w, r)
}
