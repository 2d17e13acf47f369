package wiki

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"

	"github.com/formulary/formulary/internal/forms"
)

// mwSignIn is what the wiki asks of somebody who signs in.
type mwSignIn struct {
	Requests []struct {
		ID     string         `json:"id"`
		Fields map[string]any `json:"fields"`
	} `json:"requests"`
}

// mwLogin is the answer to a sign-in: with a bot password, or with that of the
// account.
type mwLogin struct {
	Result  string    `json:"result"`
	BotUser string    `json:"lgusername"`
	Reason  mwMessage `json:"reason"`

	Status  string    `json:"status"`
	User    string    `json:"username"`
	Message mwMessage `json:"message"`
}

// mwMessage is a message of the wiki, not put into words.
type mwMessage struct {
	Key    string         `json:"key"`
	Params jsontext.Value `json:"params"`
}

// defaultThrottle is how long a throttle lasts in seconds, if the wiki does not say so.
const defaultThrottle = 300

func botPasswordAdvice() error {
	return &AdviceError{forms.Say("Your password alone does not sign you in to this wiki from here. Make a bot password " +
		"on its page Special:BotPasswords, and sign in with that and its name, such as Alice@forms.")}
}

// Login implements Wiki.
func (m *mediaWiki) Login(ctx context.Context, c Credential, from string) (*Session, error) {
	if c.User == "" || c.Password == "" { // there are no tokens
		return nil, ErrRefused
	}
	name, header, err := m.signIn(ctx, c, from)
	if err != nil {
		return nil, err
	}
	if owner, _, _ := strings.Cut(c.User, "@"); !sameUser(owner, name) { // and it has their cookies
		return nil, unavailablef("the answer to a sign-in is for another user")
	}
	c.Known = true
	return newSession(name, c, header), nil
}

// signIn returns the name of the user, and what authenticates calls.
func (m *mediaWiki) signIn(ctx context.Context, c Credential, from string) (string, http.Header, error) {
	bot := strings.Contains(c.User, "@")
	a, err := m.loginToken(ctx, c.Known, from, !bot)
	if err != nil {
		return "", nil, err
	}
	cookies, token := addCookies(nil, a.header), a.Query.Tokens["logintoken"]
	action, form := "login", url.Values{"lgname": {c.User}, "lgpassword": {c.Password}, "lgtoken": {token}}
	if !bot {
		if err := a.Query.SignIn.obstacle(); err != nil {
			return "", nil, err
		}
		action, form = "clientlogin", url.Values{
			"username": {c.User}, "password": {c.Password}, "logintoken": {token},
			"loginmessageformat": {"raw"}, "loginreturnurl": {m.base.Scheme + "://" + m.base.Host + "/"},
		}
	}
	a, err = m.ask(ctx, call{
		query: url.Values{"action": {action}}, form: form, header: cookieHeader(cookies), from: from, stranger: !c.Known,
	})
	if err != nil {
		return "", nil, err
	}
	login := a.ClientLogin
	if bot {
		login = a.Login
	}
	name, err := login.user()
	if bot && sameUser(c.User, name) && err == nil {
		err = ErrRefused // the wiki took all of it for the name of an account
	}
	return name, cookieHeader(addCookies(cookies, a.header)), err
}

// sameUser reports whether MediaWiki can take the first name for the second one. It
// changes spaces, and the case of the first letter.
func sameUser(typed, name string) bool {
	words := strings.Fields(norm.NFC.String(strings.ReplaceAll(typed, "_", " ")))
	return strings.EqualFold(strings.Join(words, " "), name)
}

// loginToken asks for what a sign-in needs: a token, the cookie of the session that
// it belongs to, and what the wiki wants to know of people. It learns the prefix of
// cookies by the way.
func (m *mediaWiki) loginToken(ctx context.Context, known bool, from string, people bool) (*mwAnswer, error) {
	params := url.Values{"action": {"query"}, "meta": {"tokens"}, "type": {"login"}}
	if people {
		params["meta"], params["amirequestsfor"] = []string{"tokens|authmanagerinfo"}, []string{"login"}
	}
	a, err := m.ask(ctx, call{query: params, from: from, stranger: !known})
	if err != nil {
		return nil, err
	}
	if a.Query.Tokens["logintoken"] == "" {
		return nil, unavailablef("the answer has no token")
	}
	prefix := ""
	for _, c := range addCookies(nil, a.header) {
		if begin, found := strings.CutSuffix(c.Name, "_session"); found {
			prefix = begin
		}
	}
	if prefix != "" || m.prefix.Load() == nil {
		m.prefix.Store(&prefix)
	}
	return a, nil
}

// obstacle is why no password needs to be sent.
func (s mwSignIn) obstacle() error {
	takesPassword := false
	for _, r := range s.Requests {
		if strings.Contains(r.ID, "Captcha") { // without it the right password counts as wrong
			return &ThrottledError{RetryAfter: MaxSilence, Captcha: true}
		}
		takesPassword = takesPassword || r.Fields["password"] != nil
	}
	if !takesPassword {
		return botPasswordAdvice()
	}
	return nil
}

// user is the name of the user who has signed in.
func (l mwLogin) user() (string, error) {
	name := cmp.Or(l.BotUser, l.User)
	switch cmp.Or(l.Result, l.Status) {
	case "Success", "PASS":
		if name != "" {
			return name, nil
		}
	case "UI", "REDIRECT", "RESTART", "Aborted":
		return "", botPasswordAdvice()
	case "Failed":
		return "", l.Reason.refusal()
	case "FAIL":
		return "", l.Message.refusal()
	}
	return "", unavailablef("the sign-in has no result")
}

var mwNumber = regexp.MustCompile(`[0-9]{1,9}`)

// refusal is the error for a password that the wiki did not take.
func (m mwMessage) refusal() error {
	switch m.Key {
	case "login-throttled": // its only parameter is the time, such as {"duration":300}
		seconds, err := strconv.Atoi(mwNumber.FindString(string(m.Params)))
		if err != nil {
			seconds = defaultThrottle
		}
		return &ThrottledError{RetryAfter: pause(seconds)}
	case "authpage-cannot-login-continue":
		return unavailablef("the wiki has lost the session of the sign-in")
	}
	return ErrRefused
}

// renew signs in again after the wiki has ended a session, and returns what
// authenticates calls from now on. Used is what did so before.
func (m *mediaWiki) renew(ctx context.Context, c Caller, used http.Header) (http.Header, error) {
	if c.credential == (Credential{}) {
		c.ended.Store(true)
		return nil, ErrRefused
	}
	return Coalesce(ctx, &c.renewing, "", func(ctx context.Context) (http.Header, error) {
		if current := c.authentication(); current.Get("Cookie") != used.Get("Cookie") {
			return current, nil // another call has renewed it
		}
		if wait := time.Until(c.notBefore); wait > 0 {
			return nil, &ThrottledError{RetryAfter: max(wait, time.Second)}
		}
		name, header, err := m.signIn(ctx, c.credential, c.From)
		if err == nil && name != c.Name {
			err = ErrRefused // the user has been renamed
		}
		var throttled *ThrottledError
		switch {
		case err == nil:
			c.header.Store(header)
		case errors.Is(err, ErrRefused):
			c.ended.Store(true)
		case errors.As(err, &throttled):
			c.notBefore = time.Now().Add(min(throttled.RetryAfter, MaxSilence))
		}
		return header, err
	})
}

// SessionCookies implements Wiki.
func (m *mediaWiki) SessionCookies(ctx context.Context, cookies []*http.Cookie) ([]*http.Cookie, error) {
	if len(m.cookies) > 0 {
		return selectCookies(cookies, func(name string) bool { return slices.Contains(m.cookies, name) }), nil
	}
	// Most browsers have none of the wiki's: then the wiki need not be asked.
	mayBe := func(c *http.Cookie) bool {
		return strings.HasSuffix(c.Name, "_session") || strings.HasSuffix(c.Name, "Token")
	}
	if !slices.ContainsFunc(cookies, mayBe) {
		return nil, nil
	}
	prefix, err := m.cookiePrefix(ctx)
	if err != nil || prefix == "" || !hasCookie(cookies, prefix+"_session") && !hasCookie(cookies, prefix+"Token") {
		return nil, err
	}
	return selectCookies(cookies, func(name string) bool {
		rest, found := strings.CutPrefix(name, prefix)
		return found && rest != "" && !strings.HasPrefix(rest, "formulary") // our own cookies are not for the wiki
	}), nil
}

// cookiePrefix returns what the names of the wiki's cookies begin with.
func (m *mediaWiki) cookiePrefix(ctx context.Context) (string, error) {
	if prefix := m.prefix.Load(); prefix != nil {
		return *prefix, nil
	}
	return Coalesce(ctx, &m.learning, "", func(ctx context.Context) (string, error) {
		if _, err := m.loginToken(ctx, false, "", false); err != nil {
			return "", err
		}
		return *m.prefix.Load(), nil
	})
}

// Resume implements Wiki.
func (m *mediaWiki) Resume(ctx context.Context, cookies []*http.Cookie, from string, known bool) (*Session, error) {
	if len(cookies) == 0 {
		return nil, ErrRefused
	}
	header := cookieHeader(cookies)
	params := url.Values{"action": {"query"}, "meta": {"userinfo"}, "assert": {"user"}}
	a, err := m.ask(ctx, call{query: params, header: header, from: from, stranger: !known})
	switch {
	case isMWError(err, "assertuserfailed", closedWiki):
		return nil, ErrRefused
	case err != nil:
		return nil, err
	case a.Query.User.Anon || a.Query.User.Temp:
		return nil, ErrRefused
	case a.Query.User.ID < 1 || a.Query.User.Name == "":
		return nil, unavailablef("the answer has no user")
	case !m.namesUser(cookies, a.Query.User.ID):
		return nil, unavailablef("the answer is for another user")
	}
	return newSession(a.Query.User.Name, Credential{}, header), nil
}

// namesUser reports whether cookies are those of a user, as far as they tell. MediaWiki
// itself takes no session whose cookies name another one.
func (m *mediaWiki) namesUser(cookies []*http.Cookie, id int64) bool {
	prefix := m.prefix.Load()
	return prefix == nil || *prefix == "" || !slices.ContainsFunc(cookies, func(c *http.Cookie) bool {
		return c.Name == *prefix+"UserID" && c.Value != strconv.FormatInt(id, 10)
	})
}

// addCookies returns cookies with what an answer has set and deleted. It ignores
// attributes: the wiki may be known to browsers by another address.
func addCookies(cookies []*http.Cookie, header http.Header) []*http.Cookie {
	for _, c := range (&http.Response{Header: header}).Cookies() {
		cookies = slices.DeleteFunc(cookies, func(old *http.Cookie) bool { return old.Name == c.Name })
		if c.Value != "" && c.MaxAge >= 0 { // PHP deletes with Max-Age=0, which Go reads as -1
			cookies = append(cookies, c)
		}
	}
	return cookies
}
