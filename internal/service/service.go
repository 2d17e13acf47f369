// Package service holds the rules: who may do what, and what a submission must
// satisfy. Every read and write of every interface goes through it.
package service

import (
	"cmp"
	"context"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/markup"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/query"
	"github.com/formulary/formulary/internal/store"
)

// Options are what a service works with.
type Options struct {
	Pages pages.Source // nil if no page is known
	Store store.Store
	Files store.Files // of the same engine
	// AnonymousKey keys the hashes that hold anonymous submitters to one submission
	// each, those of idempotency keys, and the cursors of lists; it must stay
	// the same over restarts and replicas.
	AnonymousKey []byte
	Now          func() time.Time
	Zone         *time.Location // in which days begin; nil for UTC
	// MaxSubmission bounds a submission as a whole: the bytes of its field ids
	// and values together.
	MaxSubmission int64
	MaxFile       int64 // bytes of one file; 0 for DefaultMaxFile
	// Authors may save forms: users, groups with "@" before them, or Everybody. Without any, saving is off.
	Authors []string
	Markup  *markup.Options
	Log     *slog.Logger // nil for none
	// Events returns what listeners are to be told of a change, to be stored with it; nil for nothing.
	// Of an update, before has the values that it changes.
	Events func(
		form *forms.Form, pageLang string, anonymous bool, eventType string, at time.Time, before map[string]string,
	) []store.Event
}

// Service answers callers.
type Service struct {
	opts           Options
	cursors        cipher.AEAD
	idempotencyKey []byte
	largeWrites    largeWrites
	writes         writeCounts
	savers         sync.Map // the names of authors whose save is under way
}

// New makes a service.
func New(opts Options) *Service {
	opts.Zone, opts.MaxFile = cmp.Or(opts.Zone, time.UTC), cmp.Or(opts.MaxFile, DefaultMaxFile)
	opts.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	return &Service{
		opts: opts, cursors: query.NewCursors(derive(opts.AnonymousKey, "cursor")),
		idempotencyKey: derive(opts.AnonymousKey, "idempotency"),
		largeWrites:    make(largeWrites, max(1, runtime.GOMAXPROCS(0)/2)), // half of the cores is for everything else
	}
}

// derive returns the key for one purpose from the secret that all replicas share.
func derive(secret []byte, purpose string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

// Now is the current time, in the zone in which days begin.
func (s *Service) Now() time.Time { return s.opts.Now().In(s.opts.Zone) }

// Today is the current day in the zone of the service, as 2006-01-02.
func (s *Service) Today() string { return s.Now().Format(time.DateOnly) }

// Zone is the time zone in which days begin.
func (s *Service) Zone() *time.Location { return s.opts.Zone }

// MaxFile is the size of the largest file that is taken, in bytes.
func (s *Service) MaxFile() int64 { return s.opts.MaxFile }

// Ready reports whether the service can serve.
func (s *Service) Ready(ctx context.Context) error {
	return errors.Join(s.opts.Pages.Ready(ctx), s.opts.Store.Ping(ctx))
}

// Kind sorts the errors of the service by what a caller can do about them.
type Kind int

// The kinds of error, besides *forms.Invalid. Whatever is neither is a fault
// of the service itself.
const (
	NotFound    Kind = iota + 1 // there is no such thing, or the caller may not know of it
	Forbidden                   // the caller may see it, but not do that with it
	TooLarge                    // more than a submission may hold
	Full                        // no room to store it
	Unavailable                 // temporary; try again
	InDoubt                     // it may be stored or not
	KeyReused                   // the idempotency key was used with another body
	TooMany                     // the caller does too much at one time
	Changed                     // somebody else was faster
)

// Error is an error that a caller is told of. Detail is for the caller and
// names no internals; the cause is for the log.
type Error struct {
	Kind   Kind
	Detail *forms.Message
	cause  error
}

func (e *Error) Error() string {
	if e.cause != nil {
		return e.Detail.String() + ": " + e.cause.Error()
	}
	return e.Detail.String()
}

func (e *Error) Unwrap() error { return e.cause }

// NewError makes an error without a cause.
func NewError(kind Kind, detail *forms.Message) error { return &Error{Kind: kind, Detail: detail} }

// Explain gives the errors of store and page source their kind. Sessions ask the
// store without this package, so it is exported.
func Explain(err error) error {
	switch {
	case errors.Is(err, store.ErrUnsettled):
		return query.ErrUnsettled
	case errors.Is(err, store.ErrNotFound):
		return NewError(NotFound, forms.Say("There is no such submission."))
	case errors.Is(err, pages.ErrSignedOut):
		return auth.ErrBadCredentials // no more, though they were right when the request began
	case errors.Is(err, store.ErrAlreadySubmitted):
		return forms.InvalidRequest(forms.Say("this form takes one submission from each person, and yours is already there"))
	case errors.Is(err, store.ErrNoFile):
		return &Error{Unavailable, forms.Say("The files took too long to arrive. Send them again."), err}
	case errors.Is(err, store.ErrFull):
		return &Error{Full, forms.Say("There is no room to store this. Nothing was changed; " +
			"tell whoever runs this service."), err}
	case errors.Is(err, store.ErrInDoubt):
		return &Error{InDoubt, forms.Say("The connection to the database was lost, so this may be stored or not. " +
			"A submission that was sent with an Idempotency-Key can safely be sent again with the same key."), err}
	case errors.Is(err, pages.ErrConflict):
		return &Error{Changed, forms.Say("This page has changed since, or has gone. Nothing was saved."), err}
	case errors.Is(err, pages.ErrReadOnly):
		return &Error{Unavailable, forms.Say("The server can't write this page. Nothing was saved. " +
			"Tell its operator."), err}
	case errors.Is(err, pages.ErrBusy):
		return NewError(TooMany, forms.Say("You are asking for too many pages at one time. "+
			"Wait until some of your requests are answered."))
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, pages.ErrUnavailable):
		return &Error{Unavailable, forms.Say("This can't be done right now. Try again in a moment."), err}
	default:
		return err
	}
}

// Forms returns the forms of a page in page order.
func (s *Service) Forms(ctx context.Context, who auth.Identity, pageID int64) ([]*forms.Form, error) {
	page, err := s.page(ctx, who, pageID)
	if err != nil {
		return nil, err
	}
	return page.Forms, nil
}

// Form opens a form for the caller.
func (s *Service) Form(ctx context.Context, who auth.Identity, pageID int64, formID string) (*Access, error) {
	page, err := s.page(ctx, who, pageID)
	if err != nil {
		return nil, err
	}
	form := page.Form(formID)
	if form == nil {
		return nil, noSuchForm(pageID)
	}
	return s.access(page, form, who), nil
}

// Current returns a submission by the ids that its fields have now.
func (s *Service) Current(sub forms.Submission) (forms.Submission, error) {
	return s.lastForm(sub).Current(sub)
}

// lastForm returns the form of a submission, or one without names if it is not known.
func (s *Service) lastForm(sub forms.Submission) *forms.Form {
	if s.opts.Pages != nil {
		if page := s.opts.Pages.LastKnown(sub.PageID); page != nil && page.Form(sub.FormID) != nil {
			return page.Form(sub.FormID)
		}
	}
	return &forms.Form{}
}

func (s *Service) access(page pages.View, form *forms.Form, who auth.Identity) *Access {
	return &Access{
		Form: form, PageTitle: page.Title, page: page.Page, Rights: page.Rights,
		service: s, conf: &s.opts, who: who, user: who.Name, anonymous: form.Anonymous,
	}
}
