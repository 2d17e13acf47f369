package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/formulary/formulary/internal/limit"
	"github.com/formulary/formulary/internal/wiki"
)

// maxLogins is how many logins the wiki is sent at the same time.
const maxLogins = 16

// refusedFor is how long a credential that the wiki has refused is not sent to it
// again.
const refusedFor = 15 * time.Second

// WikiOptions configure a Wiki.
type WikiOptions struct {
	Wiki    wiki.Wiki
	Relogin time.Duration    // how long a verified password counts
	Recheck time.Duration    // how long the cookies of a browser count
	Now     func() time.Time // nil is time.Now
}

// Wiki knows people by their accounts of a live wiki: by name and password, by a
// token, and in browsers by the wiki's own cookies. Its methods may be called
// concurrently.
type Wiki struct {
	WikiOptions
	unwatched // users are looked up when they come, and the source of pages tells whether the wiki answers
	gate      // knows the hosts that a credential was used from; sessions has what is verified
	sessions  *otter.Cache[mac, verifiedLogin]
	accounts  *otter.Cache[string, verifiedLogin] // the last of each account, by its name
	refused   *otter.Cache[mac, error]            // why
	browsers  *otter.Cache[mac, *wiki.Session]    // by cookies; nil for those of no user
	blocked   *otter.Cache[blockedKey, blocked]
	unknown   *limit.Limiter     // cookies that were not good lately, by address
	flights   singleflight.Group // by the MAC of the credential and the host
}

// verifiedLogin is a credential that the wiki has taken.
type verifiedLogin struct {
	*wiki.Session
	account  string // "" for a token: a user may have many
	password mac
}

// blockedKey is whom the wiki lets try no password, and from where.
type blockedKey struct {
	user string
	from netip.Addr
}

// blocked is until when, and why.
type blocked struct {
	until   time.Time
	captcha bool
}

// NewWiki makes a Wiki. It asks nothing yet.
func NewWiki(opts WikiOptions) *Wiki {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	now := Clock(opts.Now)
	return &Wiki{
		WikiOptions: opts, gate: newGate(now, maxLogins),
		sessions: newTable(now, otter.ExpiryWriting[mac, verifiedLogin](opts.Relogin)),
		accounts: newTable(now, otter.ExpiryWriting[string, verifiedLogin](opts.Relogin)),
		refused:  newTable(now, otter.ExpiryWriting[mac, error](refusedFor)),
		browsers: newTable(now, otter.ExpiryWriting[mac, *wiki.Session](opts.Recheck)),
		blocked:  newTable(now, otter.ExpiryWriting[blockedKey, blocked](wiki.MaxSilence)),
		unknown: limit.New(limit.Options{
			Total: 64, PerKey: 4, Wait: maxWait, Pace: 200 * time.Millisecond,
			Busy: errBusy, Overloaded: errSilent, Stuck: errSilent,
		}),
	}
}

// Identify authenticates a request by its Basic credentials or its bearer token. Cookies
// do not count here: see IdentifyBrowser.
func (w *Wiki) Identify(r *http.Request) (Identity, error) {
	var c wiki.Credential
	var ok bool
	if c.User, c.Password, ok = BasicCredentials(r); !ok {
		c.Token, ok = bearerToken(r)
	}
	if !ok {
		return Identity{}, ErrBadCredentials
	}
	return w.authenticate(r.Context(), c, r.RemoteAddr)
}

// bearerToken is the token of a request with one Authorization header.
func bearerToken(r *http.Request) (string, bool) {
	headers := r.Header["Authorization"]
	if len(headers) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// Authenticate is as that of Directory. The error can also be a *RefusedError, a
// *wiki.ThrottledError or a *wiki.UnavailableError, and is never a busy *ThrottledError.
func (w *Wiki) Authenticate(ctx context.Context, user, password, addr string) (Identity, error) {
	return w.authenticate(ctx, wiki.Credential{User: user, Password: password}, addr)
}

// maxCredential bounds what is sent to the wiki, in bytes.
const maxCredential = 4 << 10

func (w *Wiki) authenticate(ctx context.Context, c wiki.Credential, addr string) (Identity, error) {
	if len(c.User)+len(c.Password)+len(c.Token) > maxCredential || c.Token == "" && (c.User == "" || c.Password == "") {
		return Identity{}, ErrBadCredentials
	}
	m, from := w.mac(c), ClientHost(addr)
	if s := w.session(m); s != nil && w.verified.usedFrom(m, from) {
		return identity(s, addr), nil
	}
	s, err := wiki.Coalesce(ctx, &w.flights, string(m[:])+from.String(), func(ctx context.Context) (*wiki.Session, error) {
		return w.lead(ctx, c, m, from, addr)
	})
	return identity(s, addr), err
}

// identity is zero without a session.
func identity(s *wiki.Session, addr string) Identity {
	if s == nil {
		return Identity{}
	}
	return Identity{Name: s.Name, wiki: wiki.Caller{Session: s, From: addr}}
}

func (w *Wiki) mac(c wiki.Credential) mac { return w.verified.mac(c.User, c.Password, c.Token) }

// session is that of a credential which the wiki has verified lately, unless its
// account has signed in with another password since.
func (w *Wiki) session(m mac) *wiki.Session {
	login, ok := w.sessions.GetIfPresent(m)
	if !ok || login.Ended() {
		return nil
	}
	if login.account != "" {
		if last, ok := w.accounts.GetIfPresent(login.account); !ok || last.password != login.password {
			return nil
		}
	}
	return login.Session
}

// errSilent is for those who have waited in vain for others' calls to end.
var errSilent = &wiki.UnavailableError{RetryAfter: maxWait, Err: errors.New("too many sign-ins wait for the wiki")}

// lead verifies a credential, within the bounds of the throttle.
func (w *Wiki) lead(
	ctx context.Context, c wiki.Credential, m mac, from netip.Addr, addr string,
) (s *wiki.Session, err error) {
	name := throttledName(c, m)
	c.Known = w.verified.usedFrom(m, from)
	err = w.pass(ctx, m, from, name, func() error {
		s, err = w.verify(ctx, c, m, addr)
		return err
	})
	if errors.Is(err, errBusy) {
		err = errSilent
	}
	if err != nil {
		return nil, err
	}
	w.throttle.succeeded(from, name)
	return s, nil
}

// throttledName is whom failures count for. A token names no user: all users of tokens
// would wait for the failures of one.
func throttledName(c wiki.Credential, m mac) string {
	if c.Token != "" {
		return string(m[:])
	}
	return c.User
}

// verify returns the session of a credential, by a login if there is none yet. There
// is one login at a time for a credential, whatever hosts it comes from.
func (w *Wiki) verify(ctx context.Context, c wiki.Credential, m mac, addr string) (*wiki.Session, error) {
	if s := w.session(m); s != nil {
		return s, nil
	}
	return wiki.Coalesce(ctx, &w.flights, "login"+string(m[:]), func(ctx context.Context) (*wiki.Session, error) {
		if s := w.session(m); s != nil {
			return s, nil // since another login that has just ended
		}
		if refusal, ok := w.refused.GetIfPresent(m); ok {
			return nil, refusal
		}
		return w.login(ctx, c, m, addr)
	})
}

// login asks the wiki, unless it has said lately that it wants no password for a while.
func (w *Wiki) login(ctx context.Context, c wiki.Credential, m mac, addr string) (*wiki.Session, error) {
	key := blockedKey{throttledName(c, m), ClientHost(addr)}
	if b, ok := w.blocked.GetIfPresent(key); ok && w.Now().Before(b.until) {
		return nil, w.throttled(b)
	}
	s, err := w.Wiki.Login(ctx, c, addr)
	var throttled *wiki.ThrottledError
	switch {
	case errors.As(err, &throttled):
		b := blocked{w.Now().Add(throttled.RetryAfter), throttled.Captcha}
		w.blocked.Set(key, b)
		return nil, w.throttled(b)
	case errors.Is(err, wiki.ErrRefused):
		refusal := fmt.Errorf("%w: %w", ErrBadCredentials, err)
		_, _ = w.refused.Set(m, refusal)
		return nil, refusal
	case err != nil:
		return nil, err
	}
	w.remember(c, m, s)
	return s, nil
}

func (w *Wiki) throttled(b blocked) error {
	wait := b.until.Sub(w.Now()) + time.Second - 1
	return &wiki.ThrottledError{RetryAfter: max(wait.Truncate(time.Second), time.Second), Captcha: b.captcha}
}

// remember has a session count for its credential. It ends that of another password of
// the same account, which was changed since. A bot password is an account of its own.
func (w *Wiki) remember(c wiki.Credential, m mac, s *wiki.Session) {
	login := verifiedLogin{Session: s, password: w.verified.mac("", c.Password, "")}
	if c.Token == "" {
		_, bot, _ := strings.Cut(c.User, "@")
		login.account = s.Name + "@" + bot
		old, isNew := w.accounts.Set(login.account, login)
		if !isNew && old.password != login.password {
			old.End()
		}
	}
	w.sessions.Set(m, login)
}

// Reverify returns the identity of a user whose password was right before, and is that
// of a session here. As that of Directory, it knows no address and is not throttled.
func (w *Wiki) Reverify(ctx context.Context, user, password string) (Identity, error) {
	c := wiki.Credential{User: user, Password: password, Known: true}
	s, err := w.verify(ctx, c, w.mac(c), "")
	return identity(s, ""), err
}

// Refresh returns the caller of a request that is still under way, unless their
// session has ended.
func (w *Wiki) Refresh(id Identity) (Identity, error) {
	if id.wiki.Session == nil || id.wiki.Ended() {
		return Identity{}, ErrBadCredentials
	}
	return id, nil
}

// IdentifyBrowser returns who sends the request of a browser by the wiki's cookies.
// The error is ErrNobody if they are those of no user, or of a request that another
// site has caused. It can be a *ThrottledError or a *wiki.UnavailableError.
func (w *Wiki) IdentifyBrowser(r *http.Request) (Identity, error) {
	if !lax(r) {
		return Identity{}, ErrNobody
	}
	cookies, err := w.Wiki.SessionCookies(r.Context(), r.Cookies())
	if err != nil {
		return Identity{}, err
	}
	if len(cookies) == 0 {
		return Identity{}, ErrNobody
	}
	m := w.verified.mac("", "", fmt.Sprint(cookies))
	session, ok := w.browsers.GetIfPresent(m)
	if !ok {
		key := "cookies" + string(m[:])
		session, err = wiki.Coalesce(r.Context(), &w.flights, key, func(ctx context.Context) (*wiki.Session, error) {
			return w.resume(ctx, cookies, m, r.RemoteAddr)
		})
	}
	switch {
	case err != nil:
		return Identity{}, err
	case session == nil || session.Ended():
		return Identity{}, ErrNobody
	}
	who := identity(session, r.RemoteAddr)
	who.ByWikiCookies = true
	return who, nil
}

// SignInURL is where the browser of a request can sign in to the wiki, and come to a page if it is not 0. It is "" if
// the wiki's cookies would not be sent here.
func (w *Wiki) SignInURL(r *http.Request, pageID int64) string {
	address := w.Wiki.SignInURL(pageID)
	u, err := url.Parse(address)
	cookies, _ := w.Wiki.SessionCookies(r.Context(), r.Cookies())
	if err != nil || u.Hostname() != (&url.URL{Host: r.Host}).Hostname() && len(cookies) == 0 {
		return ""
	}
	return address
}

// resume asks the wiki whose cookies these are, and returns nil if they belong to no user.
// Cookies that were good lately pass at once. Of others, few are asked about at a time from
// one address: anybody can send them.
func (w *Wiki) resume(ctx context.Context, cookies []*http.Cookie, m mac, addr string) (*wiki.Session, error) {
	anywhere := netip.Addr{} // people carry their browsers around
	known := w.verified.usedFrom(m, anywhere)
	if !known {
		release, err := w.unknown.Acquire(ctx, ClientHost(addr).String())
		if err != nil {
			return nil, err
		}
		defer release()
	}
	s, err := w.Wiki.Resume(ctx, cookies, addr, known)
	switch {
	case errors.Is(err, wiki.ErrRefused):
		w.verified.uses.Invalidate(use{m, anywhere})
		s = nil
	case err != nil:
		return nil, err
	default:
		w.verified.addUse(m, anywhere)
	}
	w.browsers.Set(m, s)
	return s, nil
}

// lax reports whether a browser would send cookies with SameSite=Lax: those of the
// wiki may have no such attribute. A request that another site causes counts only if it
// opens a page at the top.
func lax(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Site") != "cross-site" ||
		(r.Method == http.MethodGet || r.Method == http.MethodHead) &&
			r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// Reload implements People: all have to be verified again.
func (w *Wiki) Reload(context.Context) {
	w.sessions.InvalidateAll()
	w.refused.InvalidateAll()
	w.browsers.InvalidateAll()
}
