package wiki

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/formulary/formulary/internal/forms"
)

const (
	currentUser   = "/rest/api/user/current" // of REST v1: v2 has nothing like it
	userHeader    = "X-Ausername"            // in Data Center's answers: the user whom they are for
	maxUserName   = 255                      // bytes
	throttlePause = 30 * time.Second         // of a throttle that names no time
)

// confluence is Confluence Data Center or Cloud. Every call carries the password,
// the token or the cookies, so there is no session to renew.
type confluence struct {
	*client
	edition
}

// edition is where Data Center and Cloud differ.
type edition struct {
	cookies []string // names of the session cookies
	name    func(confluenceUser) string
	advice  *forms.Message // for users, where passwords are switched off

	pages      string     // path of the pages
	page       url.Values // parameters for a page with its version
	text       url.Values // parameters for a page with its text and version
	list       url.Values // parameters for pages with texts and versions
	next       string     // parameter that says where a list goes on
	signIn     string     // path of the page to sign in, "" if its cookies stay there
	operations string     // path below that of a page, "" if they come with the page
}

var dataCenter = edition{
	cookies: []string{"JSESSIONID", "seraph.confluence"},
	name:    func(u confluenceUser) string { return u.Username },
	advice: forms.Say("Confluence takes no passwords here. " +
		"In a browser, sign in to Confluence itself, then open this page again. " +
		"In programs, use a personal access token, which you make in your profile there."),
	pages: "/rest/api/content",
	page:  url.Values{"expand": {"version,operations"}},
	text:  url.Values{"expand": {"version,body.storage"}},
	list:  url.Values{"expand": {"version,body.storage"}, "type": {"page"}, "status": {"current"}, "limit": {"25"}},
	next:  "start", signIn: "/login.action",
}

// cloud names those by their account id who hide their e-mail address. Its cookies reach
// this server only if the site has a domain of its own.
var cloud = edition{
	cookies: []string{"cloud.session.token", "tenant.session.token"},
	name:    func(u confluenceUser) string { return cmp.Or(u.Email, u.AccountID) },
	advice: forms.Say("Confluence takes no passwords here: sign in with your e-mail address and an API token, " +
		"which you make in your Atlassian account."),
	pages:      "/api/v2/pages",
	text:       url.Values{"body-format": {"storage"}},
	list:       url.Values{"body-format": {"storage"}, "status": {"current"}, "sort": {"id"}, "limit": {"25"}},
	next:       "cursor",
	operations: "/operations",
}

func newConfluence(e edition) func(*client, Options) Wiki {
	return func(c *client, opts Options) Wiki {
		wiki := &confluence{c, e}
		if len(opts.Cookies) > 0 {
			wiki.cookies = opts.Cookies
		}
		return wiki
	}
}

// confluenceUser is the answer of currentUser.
type confluenceUser struct {
	Type      string `json:"type"` // "known", or "anonymous"
	Username  string `json:"username"`
	Email     string `json:"email"`
	AccountID string `json:"accountId"`
}

// Login implements Wiki.
func (c *confluence) Login(ctx context.Context, credential Credential, from string) (*Session, error) {
	value := c.authorization(credential)
	if value == "" {
		return nil, ErrRefused
	}
	header := http.Header{"Authorization": {value}}
	a, err := c.do(ctx, call{path: currentUser, header: header, from: from, stranger: !credential.Known})
	switch {
	case err != nil:
		return nil, err
	case wantsCaptcha(a):
		return nil, &ThrottledError{RetryAfter: MaxSilence, Captcha: true}
	case a.status == http.StatusTooManyRequests:
		return nil, &ThrottledError{RetryAfter: cmp.Or(a.retryAfter(), throttlePause)}
	case passwordsOff(a):
		return nil, &AdviceError{c.advice}
	}
	return c.session(a, header)
}

// authorization returns the header of that name, or "" if there can be none. Cloud's
// API tokens are sent with the user's e-mail address, as passwords are.
func (c *confluence) authorization(credential Credential) string {
	user, secret := credential.User, credential.Password
	if token := credential.Token; token != "" {
		if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return ""
		}
		if c.operations == "" || user == "" {
			return "Bearer " + token
		}
		secret = token
	}
	if user == "" || secret == "" || strings.Contains(user, ":") {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+secret))
}

// wantsCaptcha reports whether the password was not checked, since a CAPTCHA must be
// solved first.
func wantsCaptcha(a answer) bool {
	return strings.Contains(a.header.Get("X-Authentication-Denied-Reason"), "CAPTCHA") ||
		strings.Contains(strings.Join(a.header.Values("X-Seraph-LoginReason"), ","), "AUTHENTICATION_DENIED")
}

var passwordsOffText = regexp.MustCompile(`(?is)basic auth.{0,100}(disabled|not allowed|deprecated)`)

// passwordsOff reports whether Confluence takes no passwords at all. Only its message
// tells.
func passwordsOff(a answer) bool {
	return (a.status == http.StatusUnauthorized || a.status == http.StatusForbidden) &&
		passwordsOffText.Match(a.body[:min(len(a.body), 64<<10)])
}

// SessionCookies implements Wiki.
func (c *confluence) SessionCookies(_ context.Context, cookies []*http.Cookie) ([]*http.Cookie, error) {
	return selectCookies(cookies, func(name string) bool { return slices.Contains(c.cookies, name) }), nil
}

// Resume implements Wiki.
func (c *confluence) Resume(ctx context.Context, cookies []*http.Cookie, from string, known bool) (*Session, error) {
	if len(cookies) == 0 {
		return nil, ErrRefused
	}
	header := cookieHeader(cookies)
	a, err := c.do(ctx, call{path: currentUser, header: header, from: from, stranger: !known})
	if err != nil {
		return nil, err
	}
	return c.session(a, header)
}

// session makes the session of the user whom an answer of currentUser names.
func (c *confluence) session(a answer, header http.Header) (*Session, error) {
	name, err := c.user(a)
	if err != nil {
		return nil, err
	}
	s := newSession(name, Credential{}, header)
	if mark := a.header.Get(userHeader); mark != "anonymous" {
		s.mark = mark
	}
	return s, nil
}

// user reads an answer of currentUser. For a wrong token, or cookies of a session
// that has ended, it names an anonymous user, whom private wikis forbid to ask.
func (c *confluence) user(a answer) (name string, err error) {
	if a.status == http.StatusUnauthorized {
		return "", ErrRefused // in HTML
	}
	var user confluenceUser
	if err := a.decode(&user); err != nil {
		return "", err
	}
	name = c.name(user)
	switch {
	case a.status == http.StatusForbidden, a.status == http.StatusOK && user.Type != "known" && user.Type != "":
		return "", ErrRefused
	case a.status != http.StatusOK, user.Type == "",
		name == "", len(name) > maxUserName, strings.ContainsFunc(name, unicode.IsControl):
		return "", a.odd()
	}
	return name, nil
}

// Ready implements Wiki.
func (c *confluence) Ready(ctx context.Context) error {
	a, err := c.do(ctx, call{path: currentUser})
	if err != nil {
		return err
	}
	if a.status == http.StatusOK || a.status == http.StatusUnauthorized || a.status == http.StatusForbidden {
		return a.decode(&confluenceUser{})
	}
	return a.odd()
}

// SignInURL implements Wiki.
func (c *confluence) SignInURL(pageID int64) string {
	if c.signIn == "" {
		return ""
	}
	query := url.Values{}
	if pageID != 0 {
		query.Set("os_destination", "/pages/viewpage.action?pageId="+strconv.FormatInt(pageID, 10))
	}
	return c.base.String() + c.signIn + "?" + query.Encode()
}

// Title implements Wiki. Confluence tells its title to administrators only.
func (*confluence) Title() string { return "Confluence" }

// query asks for one caller. Its answers count once verify has returned nil.
type query struct {
	*confluence
	Caller
	unmarked atomic.Bool // an answer does not say whom it is for
	foreign  atomic.Bool // an answer is for somebody else
}

// get returns false for what is not there for the caller: Confluence does not say
// whether it exists.
func (q *query) get(ctx context.Context, path string, parameters url.Values, into any) (bool, error) {
	if q.Ended() {
		return false, ErrRefused
	}
	a, err := q.do(ctx, call{path: path, query: parameters, header: q.authentication(), from: q.From})
	if err != nil {
		return false, err
	}
	switch mark := a.header.Get(userHeader); {
	case q.mark == "" || mark == "":
		q.unmarked.Store(true)
	case mark != q.mark:
		q.foreign.Store(true)
	}
	switch {
	case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden && (wantsCaptcha(a) || passwordsOff(a)):
		return false, q.end()
	case a.status == http.StatusForbidden, a.status == http.StatusNotFound:
		return false, a.decode(&struct{}{}) // what is not JSON is from a proxy
	case a.status != http.StatusOK:
		return false, a.odd()
	}
	return true, a.decode(into)
}

func (q *query) end() error {
	q.ended.Store(true)
	return ErrRefused
}

// verify makes sure that the answers so far are for the caller, unless there is an error
// already. A token that has expired gets answers for anonymous users, without an
// error. Data Center marks its answers with the user. Without that, the credential
// must be the user's still, after the answers: one that has expired does not come back.
func (q *query) verify(ctx context.Context, err error) error {
	foreign := q.foreign.Load()
	if err != nil || !q.unmarked.Swap(false) && !foreign {
		return err
	}
	a, err := q.do(ctx, call{path: currentUser, header: q.authentication(), from: q.From})
	if err != nil {
		return err
	}
	name, err := q.user(a)
	switch {
	case errors.Is(err, ErrRefused), err == nil && name != q.Name:
		return q.end()
	case err == nil && foreign:
		return unavailablef("an answer for another user")
	}
	return err
}
