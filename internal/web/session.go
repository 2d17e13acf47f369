package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
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

// cookie is the cookie of a session. Within the page of another site it is
// partitioned: it counts for forms that are embedded there, and nowhere else. Servers
// with different base paths on one host have cookies of their own: by the path, or by
// the name where the prefix wants the path to be "/".
func (f frame) cookie(r *http.Request, id string) *http.Cookie {
	c := &http.Cookie{Name: cookieName, Value: id, Path: cmp.Or(f.base, "/"), HttpOnly: true, SameSite: http.SameSiteLaxMode}
	switch {
	case f.Framed:
		c.Name, c.Secure, c.Partitioned, c.SameSite = framedCookieName, true, true, http.SameSiteNoneMode
	case request.IsSecure(r):
		c.Name, c.Secure = secureCookieName, true
	}
	if c.Secure {
		c.Name, c.Path = c.Name+strings.ReplaceAll(f.base, "/", "+"), "/"
	}
	if id == "" {
		c.MaxAge = -1
	}
	return c
}

// sessions are those whose cookies count. Within a frame the ordinary one counts, too:
// browsers send it, since it is SameSite=Lax, if the page around is of the same site.
func (f frame) sessions() []frame {
	if f.Framed {
		return []frame{f, f.alone()}
	}
	return []frame{f}
}

// sessionID is what the browser sends; "" without a session.
func (f frame) sessionID(r *http.Request) string {
	c, err := r.Cookie(f.cookie(r, "").Name)
	if err != nil {
		return ""
	}
	return c.Value
}

// caller returns who is signed in: with the proxy in front, with the wiki, or here. The
// error is session.ErrNone if a sign-in here would help.
func (s *Site) caller(r *http.Request, f frame) (auth.Identity, error) {
	if s.Sessions == nil {
		return s.Backend.Auth.Identify(r)
	}
	if s.Browsers != nil {
		if who, err := s.Browsers.IdentifyBrowser(r); !errors.Is(err, auth.ErrNobody) {
			return who, err
		}
	}
	for _, from := range f.sessions() {
		who, err := s.Sessions.Open(r.Context(), from.sessionID(r))
		if !errors.Is(err, session.ErrNone) {
			return who.WithAddress(r.RemoteAddr), err
		}
	}
	return auth.Identity{}, session.ErrNone
}

// hasCredentials reports whether a request has credentials, right or wrong.
func (s *Site) hasCredentials(r *http.Request, f frame) bool {
	if s.Sessions == nil {
		_, err := s.Backend.Auth.Identify(r)
		return err == nil
	}
	if s.Browsers != nil {
		if _, err := s.Browsers.IdentifyBrowser(r); !errors.Is(err, auth.ErrNobody) {
			return true
		}
	}
	return slices.ContainsFunc(f.sessions(), func(from frame) bool { return from.sessionID(r) != "" })
}

// signInPage is the page to sign in.
type signInPage struct {
	Layout
	Action string
	Next   string
	Name   string // user name, as typed
	Errors []errorLine
	Notice string
	Host   string // whose account it is
	Wiki   string // the title of the live wiki whose account it is instead; "" for none

	Expired bool // the form of an expired session is part of the page
	Typed   []hiddenValue
}

// localPath returns where somebody goes after the sign-in: a path of this
// server, whatever the address asks for.
func localPath(next string, f frame) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(next, "/") ||
		strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return f.path("/")
	}
	clean := path.Clean(u.Path)
	if !strings.HasPrefix(clean+"/", f.base+"/") { // another service on this host
		return f.path("/")
	}
	if f.Framed && (!strings.HasPrefix(u.Path, f.path("/")) || clean != u.Path) {
		return f.path("/") // other pages refuse to be framed
	}
	return next
}

// redirect has the browser go on with a GET. The path is one of this server.
func redirect(w http.ResponseWriter, r *http.Request, path string) {
	request.SetNoStore(w.Header())                 // it may set a cookie, and says who may see what
	http.Redirect(w, r, path, http.StatusSeeOther) //nolint:gosec // the path is one of this server
}

func (s *Site) showLogin(w http.ResponseWriter, c *call) error {
	query := c.URL.Query()
	next := localPath(query.Get("next"), c.frame)
	_, err := s.caller(c.Request, c.frame)
	switch {
	case err == nil:
		redirect(w, c.Request, next)
		return nil
	case !errors.Is(err, session.ErrNone):
		return err
	case !c.maySignIn():
		return c.offerNewTab(w, next, notEncrypted)
	case c.Framed && query.Has(signedInMark):
		return c.offerNewTab(w, next, cookieRefused)
	}
	return c.render(w, http.StatusOK, "login", c.newSignInPage(next))
}

// newSignInPage is the page to sign in and to go on to next, or to the same address if
// next is "".
func (c *call) newSignInPage(next string) *signInPage {
	page := &signInPage{Layout: c.layout("Sign in"), Action: c.path("/login"), Next: next, Host: c.Host}
	if c.Site.Browsers != nil {
		page.Wiki = cmp.Or(c.Site.Browsers.Wiki.Title(), "the wiki")
	}
	if c.Framed && next != "" {
		page.NewTab = c.unframedPath(next)
	}
	return page
}

func (s *Site) login(w http.ResponseWriter, c *call) error {
	if !c.maySignIn() {
		return c.offerNewTab(w, c.path("/"), notEncrypted)
	}
	c.Log.SetUser("") // the address, for password guessing to be traced
	sent, err := c.readForm(w, maxForm, errUnreadable)
	if err != nil {
		return err
	}
	page := c.newSignInPage(localPath(sent.Get("next"), c.frame))
	page.Name = sent.Get("username")
	who, err := s.signIn(w, c, page.Name, sent.Get("password"))
	if err != nil {
		return s.refuseSignIn(w, c, page, err)
	}
	// The access log names the user, unless the next page may have an anonymous form.
	if u, err := url.Parse(page.Next); err != nil || s.aroundForms(u.Path) {
		c.Log.Anonymous()
	} else {
		c.Log.SetUser(who.Name)
	}
	to := page.Next
	if c.Framed {
		to = c.path("/login") + "?" + signedInMark + "&next=" + url.QueryEscape(page.Next)
	}
	redirect(w, c.Request, to)
	return nil
}

// signIn begins a session and ends the one that the browser had. If that fails, it
// has begun none: a session without a cookie would stay until it expires.
func (s *Site) signIn(w http.ResponseWriter, c *call, name, password string) (auth.Identity, error) {
	id, who, err := s.Sessions.SignIn(c.Context(), name, password, c.RemoteAddr)
	if err != nil {
		return auth.Identity{}, err
	}
	if old := c.sessionID(c.Request); old != "" {
		if err := s.Sessions.SignOut(c.Context(), old); err != nil {
			return auth.Identity{}, errors.Join(err, s.Sessions.SignOut(c.Context(), id))
		}
	}
	http.SetCookie(w, c.cookie(c.Request, id))
	return who, nil
}

// refuseSignIn shows the page again with what is wrong. A fault that is not the
// caller's is returned.
func (s *Site) refuseSignIn(w http.ResponseWriter, c *call, page *signInPage, err error) error {
	status, text := http.StatusUnprocessableEntity, "The user name or the password is not right."
	if refused, ok := errors.AsType[*auth.RefusedError](err); ok {
		text = refused.Detail
	} else if !errors.Is(err, auth.ErrBadCredentials) {
		failure := request.FailureOf(c.Context(), err)
		if failure.Status != http.StatusTooManyRequests {
			return err
		}
		failure.SetHeader(w.Header())
		status, text = failure.Status, failure.Detail
	}
	page.Errors = []errorLine{{Href: "#username", Text: text}}
	page.Title = "Error: " + page.Title
	return c.render(w, status, "login", page)
}

// logout ends every session that the page could be shown with: otherwise, the frame
// would show the form to the same person, or to another one.
func (s *Site) logout(w http.ResponseWriter, c *call) error {
	for _, from := range c.sessions() {
		if id := from.sessionID(c.Request); id != "" {
			if err := s.Sessions.SignOut(c.Context(), id); err != nil {
				return err
			}
			http.SetCookie(w, from.cookie(c.Request, ""))
		}
	}
	to := c.path("/login")
	if c.Framed { // back to the form, for somebody else
		to += "?next=" + url.QueryEscape(localPath(c.URL.Query().Get("next"), c.frame))
	}
	redirect(w, c.Request, to)
	return nil
}
