package web

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/session"
)

// The cookies of a session. The prefix __Host- has browsers take a cookie over
// TLS only, and from no other host; so it is not for development in the clear.
const (
	cookieName       = "formulary"
	secureCookieName = "__Host-formulary"
	framedCookieName = "__Host-formulary-embed"
)

// maxControlsBody bounds a form without answers, such as the sign-in.
const maxControlsBody = 16 << 10

// cookie is the cookie of a session. Within the page of another site it is
// partitioned: it counts for forms that are embedded there, and nowhere else.
func (f frame) cookie(r *http.Request, id string) *http.Cookie {
	c := &http.Cookie{Name: cookieName, Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
	switch {
	case f.framed:
		c.Name, c.Secure, c.Partitioned, c.SameSite = framedCookieName, true, true, http.SameSiteNoneMode
	case request.IsSecure(r):
		c.Name, c.Secure = secureCookieName, true
	}
	if id == "" {
		c.MaxAge = -1
	}
	return c
}

// sessionID is what the browser sends; "" without a session.
func (f frame) sessionID(r *http.Request) string {
	c, err := r.Cookie(f.cookie(r, "").Name)
	if err != nil {
		return ""
	}
	return c.Value
}

// caller returns who is signed in.
func (s *Site) caller(r *http.Request, f frame) (auth.Identity, error) {
	id := f.sessionID(r)
	if id == "" {
		return auth.Identity{}, session.ErrNone
	}
	return s.Sessions.Open(r.Context(), id)
}

func isNoSession(err error) bool {
	return errors.Is(err, session.ErrNone) || errors.Is(err, auth.ErrBadCredentials)
}

// signInPage is the page to sign in.
type signInPage struct {
	Layout
	Action string
	Next   string
	Name   string // user name, as typed
	Error  string
	Kept   []keptValue // of a form that was sent without a session
	Notice string
}

// localPath returns where somebody goes after the sign-in: a path of this
// server, whatever the address asks for.
func localPath(next string, f frame) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(next, "/") ||
		strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return f.path("/")
	}
	if f.framed && (!strings.HasPrefix(u.Path, embedPrefix+"/") || path.Clean(u.Path) != u.Path) {
		return f.path("/") // other pages refuse to be framed
	}
	return next
}

// redirect has the browser go on with a GET. The path is one of this server.
func redirect(w http.ResponseWriter, r *http.Request, path string) {
	http.Redirect(w, r, path, http.StatusSeeOther) //nolint:gosec // see localPath; other paths are made here, or were asked for and found
}

func (s *Site) showLogin(w http.ResponseWriter, r *http.Request, f frame) error {
	query := r.URL.Query()
	next := localPath(query.Get("next"), f)
	_, err := s.caller(r, f)
	switch {
	case err == nil:
		redirect(w, r, next)
		return nil
	case !isNoSession(err):
		return err
	case f.framed && query.Has(signedInMark):
		return s.elsewhere(w, r, next)
	}
	return s.render(w, r, http.StatusOK, "login", s.newSignInPage(f, next))
}

// newSignInPage is the page to sign in and to go on to next.
func (s *Site) newSignInPage(f frame, next string) *signInPage {
	page := &signInPage{Layout: s.layout(f, "", "Sign in"), Action: f.path("/login"), Next: next}
	if f.framed {
		page.Outside = outside(next)
	}
	return page
}

func (s *Site) login(w http.ResponseWriter, r *http.Request, f frame) error {
	request.ReporterOf(w).SetUser("") // the address, for password guessing to be traced
	r.Body = http.MaxBytesReader(w, r.Body, maxControlsBody)
	if err := r.ParseForm(); err != nil {
		return errUnreadable
	}
	page := s.newSignInPage(f, localPath(r.PostForm.Get("next"), f))
	page.Name = r.PostForm.Get("username")
	who, err := s.signIn(w, r, f, page.Name, r.PostForm.Get("password"))
	if err != nil {
		return s.refuseSignIn(w, r, page, err)
	}
	noteSignIn(w, who, page.Next)
	to := page.Next
	if f.framed {
		to = f.path("/login") + "?" + signedInMark + "&next=" + url.QueryEscape(page.Next)
	}
	redirect(w, r, to)
	return nil
}

// noteSignIn names the user in the access log, unless they go on to a page that
// may have an anonymous form.
func noteSignIn(w http.ResponseWriter, who auth.Identity, next string) {
	if u, err := url.Parse(next); err != nil || aroundForms(u.Path) {
		request.ReporterOf(w).Anonymous()
		return
	}
	request.ReporterOf(w).SetUser(who.Name)
}

// signIn begins a session and ends the one that the browser had.
func (s *Site) signIn(w http.ResponseWriter, r *http.Request, f frame, name, password string) (auth.Identity, error) {
	id, who, err := s.Sessions.SignIn(r.Context(), name, password, r.RemoteAddr)
	if err != nil {
		return auth.Identity{}, err
	}
	if old := f.sessionID(r); old != "" {
		if err := s.Sessions.SignOut(r.Context(), old); err != nil {
			return auth.Identity{}, err
		}
	}
	http.SetCookie(w, f.cookie(r, id))
	return who, nil
}

// refuseSignIn shows the page again with what is wrong. A fault that is not the
// caller's is returned.
func (s *Site) refuseSignIn(w http.ResponseWriter, r *http.Request, page *signInPage, err error) error {
	status := http.StatusUnprocessableEntity
	page.Error = "The user name or the password is not right."
	if !errors.Is(err, auth.ErrBadCredentials) {
		failure := request.FailureOf(r.Context(), err)
		if failure.Status != http.StatusTooManyRequests {
			return err
		}
		failure.SetHeader(w.Header())
		status, page.Error = failure.Status, failure.Detail
	}
	page.Title = "Error: " + page.Title
	return s.render(w, r, status, "login", page)
}

func (s *Site) logout(w http.ResponseWriter, r *http.Request, f frame) error {
	if id := f.sessionID(r); id != "" {
		if err := s.Sessions.SignOut(r.Context(), id); err != nil {
			return err
		}
	}
	http.SetCookie(w, f.cookie(r, ""))
	to := f.path("/login")
	if f.framed { // back to the form, for somebody else
		to += "?next=" + url.QueryEscape(localPath(r.URL.Query().Get("next"), f))
	}
	redirect(w, r, to)
	return nil
}
