// Package wiki asks a live wiki, MediaWiki or Confluence: who somebody is, what
// they may do with a page, and what the page says. It changes nothing there. It
// remembers sessions only; packages auth and pages have the caches.
package wiki

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/formulary/formulary/internal/forms"
)

// Wiki is a live wiki. All methods are safe for concurrent use. Each can return
// an *UnavailableError, for everything that is not the answer that was asked for.
type Wiki interface {
	// Login verifies a credential. The session has the user's name as the wiki
	// writes it. Errors: ErrRefused, *AdviceError, *ThrottledError.
	Login(ctx context.Context, c Credential, from string) (*Session, error)

	// SessionCookies returns those of a browser's cookies that belong to the wiki's
	// session, in an order that does not depend on the browser.
	SessionCookies(ctx context.Context, cookies []*http.Cookie) ([]*http.Cookie, error)

	// Resume returns the session that the cookies of a browser belong to. They are
	// from SessionCookies. Known ones were good before: they do not wait behind strangers.
	// Error: ErrRefused, when they are those of no user.
	Resume(ctx context.Context, cookies []*http.Cookie, from string, known bool) (*Session, error)

	// Pages returns what the caller may do with pages, by their ids. Pages that are
	// not there or that the caller may not read are left out. At most MaxPages ids.
	// Error: ErrRefused, when the session has ended and can't be renewed.
	Pages(ctx context.Context, c Caller, ids ...int64) (map[int64]Page, error)

	// Text returns the source of a page and its version. Errors: ErrRefused, as for
	// Pages; ErrNoText, when the page is not there, is not readable, or has no
	// text that can contain forms.
	Text(ctx context.Context, c Caller, id int64) (Text, error)

	// All calls visit with every page that the caller may read and that can contain
	// forms, until visit returns an error. Total is how many pages there are as far
	// as it is known, 0 before that. Error: ErrRefused, and that of visit.
	All(ctx context.Context, c Caller, visit func(page Page, text Text, total int) error) error

	// Ready returns an *UnavailableError if the wiki does not answer. A wiki that
	// answers its own users alone is ready.
	Ready(ctx context.Context) error

	// Title is how people know the wiki; "" if it has not told.
	Title() string

	// SignInURL is where people sign in to the wiki with their browsers, and come to a page if it is not 0. It is ""
	// for a wiki whose cookies no other server gets.
	SignInURL(pageID int64) string

	// Run asks for the title, and reads the certificates of authorities again when they change, until ctx
	// ends; Reload reads them now.
	Run(ctx context.Context)
	Reload(ctx context.Context)
}

// MaxPages is how many pages can be asked for with one call of Pages.
const MaxPages = 50

var (
	// ErrRefused says that the wiki knows no user by a credential or by cookies, or that
	// a session has ended.
	ErrRefused = errors.New("the wiki refuses the credential")
	// ErrNoText says that a page has no text to read.
	ErrNoText = errors.New("the wiki has no such text")
)

// AdviceError is ErrRefused with what the user can do about it.
type AdviceError struct{ Detail *forms.Message }

func (e *AdviceError) Error() string { return e.Detail.String() }
func (e *AdviceError) Unwrap() error { return ErrRefused }

// MaxSilence is how long the wiki is not asked, at most, after it has told somebody to wait:
// they may solve its CAPTCHA, or sign in there, at any time.
const MaxSilence = 15 * time.Second

// ThrottledError says that the wiki takes no password of this user, or from this
// address, for some time. The password was not checked.
type ThrottledError struct {
	RetryAfter time.Duration // within 1 to 300 seconds
	Captcha    bool          // it would with a CAPTCHA solved
}

func (e *ThrottledError) Error() string {
	return fmt.Sprintf("the wiki takes no sign-in for %s", e.RetryAfter)
}

// UnavailableError says that the wiki did not answer as it should. Err has no
// address, name, or part of an answer: it goes to the log.
type UnavailableError struct {
	RetryAfter time.Duration // the wiki's own advice, within 1 to 300 seconds; 0 for none
	Err        error
}

func (e *UnavailableError) Error() string { return "ask the wiki: " + e.Err.Error() }
func (e *UnavailableError) Unwrap() error { return e.Err }

func unavailablef(format string, args ...any) error {
	return &UnavailableError{Err: fmt.Errorf(format, args...)}
}

// Credential is what somebody signs in with: a name and a password, or a token.
type Credential struct {
	User, Password, Token string
	Known                 bool // it was right before: it does not wait behind strangers
}

// Page is a page as one caller may use it.
type Page struct {
	ID      int64
	Title   string
	Version int64 // another one after each edit
	Edit    bool  // the caller may edit it
	Blocked bool  // the caller may edit no page at all
	HasText bool  // it is in a format that can contain forms
}

// Text is the source of a page.
type Text struct {
	Version int64
	Source  []byte
}

// Session is a user who has signed in to the wiki, or a credential that is sent
// with each call.
type Session struct {
	Name string // as the wiki writes it
	ID   uint64 // of no other session of this process

	credential Credential         // to renew the session; zero if it is that of a browser
	ended      atomic.Bool        // the wiki knows it no more
	header     atomic.Value       // http.Header: what authenticates a call
	renewing   singleflight.Group // has concurrent calls share one renewal
	notBefore  time.Time          // the wiki's throttle ends; for the renewal only
	mark       string             // Confluence: how answers for this user are marked; "" if they are not
}

var lastSession atomic.Uint64

func newSession(name string, c Credential, header http.Header) *Session {
	s := &Session{Name: name, ID: lastSession.Add(1), credential: c}
	s.header.Store(header)
	return s
}

// End marks the session as ended. Its user has to sign in again.
func (s *Session) End() { s.ended.Store(true) }

// Ended reports whether the wiki knows the session no more.
func (s *Session) Ended() bool { return s.ended.Load() }

// String and GoString keep secrets out of logs.
func (s *Session) String() string { return "a session of the wiki" }

// GoString implements fmt.GoStringer.
func (s *Session) GoString() string { return s.String() }

// Caller is somebody with a session, and the address that their request comes from.
type Caller struct {
	*Session
	From string
}

// authentication is what authenticates a call in this session.
func (s *Session) authentication() http.Header {
	return s.header.Load().(http.Header) //nolint:forcetypeassert // newSession stores it
}
