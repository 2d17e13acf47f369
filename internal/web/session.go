package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/request"
	"github.com/formulary/formulary/internal/session"
)

// cookieName is that of the cookie of a session.
const cookieName = "formulary"

// cookie is a cookie for the pages. Within the page of another site it is
// partitioned: it counts for forms that are embedded there, and nowhere else. The prefix
// __Host- has browsers take a cookie over TLS only, and from no other host; so it is not
// for development in the clear. Servers with different base paths on one host have cookies
// of their own: by the path, or by the name where the prefix wants the path to be "/".
func (f frame) cookie(r *http.Request, name, value string) *http.Cookie {
	c := &http.Cookie{ //nolint:gosec // G124: development is without TLS
		Name: name, Value: value, Path: cmp.Or(f.base, "/"), HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: f.Framed || request.IsSecure(r),
	}
	if f.Framed {
		c.Name, c.Partitioned, c.SameSite = name+"-embed", true, http.SameSiteNoneMode
	}
	if c.Secure {
		c.Name, c.Path = "__Host-"+c.Name+strings.ReplaceAll(f.base, "/", "+"), "/"
	}
	if value == "" {
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
	c, err := r.Cookie(f.cookie(r, cookieName, "").Name)
	if err != nil {
		return ""
	}
	return c.Value
}

// caller returns who is signed in: with the proxy in front, with the wiki, or here. The
// error is session.ErrNone if a sign-in here would help.
func (c *call) caller() (auth.Identity, error) {
	if c.Site.Sessions == nil {
		return c.Backend.Auth.Identify(c.Request)
	}
	if c.Site.Browsers != nil {
		if who, err := c.Site.Browsers.IdentifyBrowser(c.Request); !errors.Is(err, auth.ErrNobody) {
			return who, err
		}
	}
	for _, from := range c.sessions() {
		who, err := c.Site.Sessions.Open(c.Context(), from.sessionID(c.Request))
		if !errors.Is(err, session.ErrNone) {
			return who.WithAddress(c.RemoteAddr), err
		}
	}
	return auth.Identity{}, session.ErrNone
}

// hasCredentials reports whether a request may have credentials, right or wrong: a cookie
// of ours, of the wiki, or of another service.
func (s *Site) hasCredentials(r *http.Request) bool {
	if s.Sessions != nil {
		return r.Header.Get("Cookie") != ""
	}
	_, err := s.Backend.Auth.Identify(r)
	return err == nil
}

// signInPage is the page to sign in.
type signInPage struct {
	Layout
	Action string
	Next   string
	Name   string // user name, as typed
	Errors []errorLine
	Notice string
	Wiki   string // address of the wiki's own sign-in; "" for none

	Expired bool // the form of an expired session is part of the page
	Typed   []hiddenValue
}

// localPath returns where somebody goes after the sign-in: a path of this
// server, whatever the address asks for.
func localPath(next string, f frame) string {
	u, err := url.Parse(next)
	if err != nil || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") ||
		strings.ContainsAny(next, "\\\r\n\t") {
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
func (c *call) redirect(path string) error {
	request.SetNoStore(c.w.Header()) // it may set a cookie, and says who may see what
	http.Redirect(c.w, c.Request, path, http.StatusSeeOther)
	return nil
}

func (c *call) showLogin() error {
	query := c.URL.Query()
	next := localPath(query.Get("next"), c.frame)
	_, err := c.caller()
	switch {
	case err == nil:
		return c.redirect(next)
	case !errors.Is(err, session.ErrNone):
		return err
	case !c.maySignIn():
		return c.offerNewTab(next, notEncrypted)
	case c.Framed && query.Has(signedInMark):
		return c.offerNewTab(next, cookieRefused)
	}
	return c.render(http.StatusOK, "login", c.newSignInPage(next))
}

// newSignInPage is the page to sign in and to go on to next, or to the same address if
// next is "".
func (c *call) newSignInPage(next string) *signInPage {
	page := &signInPage{Layout: c.layout(c.Lang.Text("Sign in")), Action: c.path("/login"), Next: next}
	page.LangForm = "sign-in"
	if next != "" && c.Site.Browsers != nil {
		_, id, _ := strings.Cut(next, "/page/")
		id, _, _ = strings.Cut(id, "/")
		pageID, _ := request.ParseID(id) // 0 for any other page
		page.Wiki, page.Script = c.Site.Browsers.SignInURL(c.Request, pageID), "signin.js"
	}
	if c.Framed && next != "" {
		page.NewTab = c.unframedPath(next)
	}
	return page
}

func (c *call) login() error {
	if !c.maySignIn() {
		return c.offerNewTab(c.path("/"), notEncrypted)
	}
	c.Log.SetUser("") // the address, for password guessing to be traced
	sent, err := c.readForm(maxForm, errUnreadable)
	if err != nil {
		return err
	}
	page := c.newSignInPage(localPath(sent.Get("next"), c.frame))
	page.Name = sent.Get("username")
	if sent.Has(updateControl) {
		return c.render(http.StatusOK, "login", page)
	}
	who, err := c.signIn(page.Name, sent.Get("password"))
	if err != nil {
		return c.refuseSignIn(page, err)
	}
	// The access log names the user, unless the next page may have an anonymous form.
	if u, err := url.Parse(page.Next); err != nil || c.Site.aroundForms(u.Path) {
		c.Log.Anonymous()
	} else {
		c.Log.SetUser(who.Name)
	}
	to := page.Next
	if c.Framed {
		to = c.path("/login") + "?" + signedInMark + "&next=" + url.QueryEscape(page.Next)
	}
	return c.redirect(to)
}

// signIn begins a session and ends the one that the browser had. If that fails, it
// has begun none: a session without a cookie would stay until it expires.
func (c *call) signIn(name, password string) (who auth.Identity, err error) {
	id, who, err := c.Site.Sessions.SignIn(c.Context(), name, password, c.RemoteAddr)
	if err != nil {
		return who, err
	}
	if old := c.sessionID(c.Request); old != "" {
		if err := c.Site.Sessions.SignOut(c.Context(), old); err != nil {
			return who, errors.Join(err, c.Site.Sessions.SignOut(c.Context(), id))
		}
	}
	http.SetCookie(c.w, c.cookie(c.Request, cookieName, id))
	return who, nil
}

// refuseSignIn shows the page again with what is wrong. A fault that is not the
// caller's is returned.
func (c *call) refuseSignIn(page *signInPage, err error) error {
	status, text := http.StatusUnprocessableEntity, c.Lang.Text("The user name or the password is not right.")
	if refused, ok := errors.AsType[*auth.RefusedError](err); ok {
		text = c.Lang.Say(refused.Detail)
	} else if !errors.Is(err, auth.ErrBadCredentials) {
		failure := request.FailureOf(c.Context(), err)
		if failure.Status != http.StatusTooManyRequests {
			return err
		}
		failure.SetHeader(c.w.Header())
		status, text = failure.Status, c.Lang.Say(failure.Detail)
	}
	page.Errors = []errorLine{{Href: "#username", Text: text}}
	page.Title = c.Lang.Text("Error: {0}", page.Title)
	return c.render(status, "login", page)
}

// logout ends every session that the page could be shown with: otherwise, the frame
// would show the form to the same person, or to another one.
func (c *call) logout() error {
	for _, from := range c.sessions() {
		if id := from.sessionID(c.Request); id != "" {
			if err := c.Site.Sessions.SignOut(c.Context(), id); err != nil {
				return err
			}
			http.SetCookie(c.w, from.cookie(c.Request, cookieName, ""))
		}
	}
	to := c.path("/login")
	if c.Framed { // back to the form, for somebody else
		to += "?next=" + url.QueryEscape(localPath(c.URL.Query().Get("next"), c.frame))
	}
	return c.redirect(to)
}
