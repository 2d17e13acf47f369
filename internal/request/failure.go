package request

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/service"
)

// StatusError is an error of HTTP itself, such as a body that is too long or a
// media type that is not supported. Detail is for the client.
type StatusError struct {
	Status int
	Detail *forms.Message
}

// NewStatusError makes a StatusError.
func NewStatusError(status int, detail *forms.Message) *StatusError {
	return &StatusError{status, detail}
}

func (e *StatusError) Error() string { return e.Detail.String() }

// kindStatus is the status for each kind of error of the service.
var kindStatus = map[service.Kind]int{
	service.NotFound:    http.StatusNotFound,
	service.Forbidden:   http.StatusForbidden,
	service.TooLarge:    http.StatusRequestEntityTooLarge,
	service.Full:        http.StatusInsufficientStorage,
	service.Unavailable: http.StatusServiceUnavailable,
	service.InDoubt:     http.StatusServiceUnavailable,
	service.KeyReused:   http.StatusUnprocessableEntity,
	service.TooMany:     http.StatusTooManyRequests,
	service.Changed:     http.StatusConflict,
}

// retryDelay is how long a client is asked to wait when the service can't
// serve.
const retryDelay = 2 * time.Second

// Failure is what a client is told about an error.
type Failure struct {
	Status     int
	Detail     *forms.Message // for the client; names no internals
	RetryAfter time.Duration  // 0 for no advice
	challenge  bool           // Basic credentials would help
	Log        bool           // the server is at fault: log the error
}

// FailureOf maps errors to statuses; nothing else does. Any error that
// it does not know is a 500. *forms.Invalid is not for it: the answer to that
// is a validation result. ctx is the context of the request.
func FailureOf(ctx context.Context, err error) Failure {
	var (
		known     *service.Error
		status    *StatusError
		throttled *auth.ThrottledError
		refused   *auth.RefusedError
		waits     *auth.WikiThrottledError
		down      *auth.WikiUnavailableError
	)
	switch {
	case errors.As(err, &status):
		f := Failure{Status: status.Status, Detail: status.Detail}
		if f.Status == http.StatusTooManyRequests || f.Status == http.StatusServiceUnavailable {
			f.RetryAfter = retryDelay
		}
		return f
	case errors.As(err, &refused):
		return Failure{Status: http.StatusUnauthorized, challenge: true, Detail: refused.Detail}
	case errors.Is(err, auth.ErrBadCredentials):
		return Failure{
			Status: http.StatusUnauthorized, challenge: true,
			Detail: forms.Say("Send a user name and password with HTTP Basic authentication."),
		}
	case errors.Is(err, auth.ErrNobody):
		return Failure{
			Status: http.StatusUnauthorized,
			Detail: forms.Say("The proxy in front of this service has not said who you are, and nothing was changed. " +
				"Sign in again in another tab, then go back and try once more."),
		}
	case errors.As(err, &waits) && waits.Captcha:
		return tooMany(waits.RetryAfter, forms.SayN(
			"After failed attempts the wiki wants a CAPTCHA solved. Sign in to the wiki itself, then try again in {0} second.",
			"After failed attempts the wiki wants a CAPTCHA solved. Sign in to the wiki itself, then try again in {0} seconds.",
			wholeSeconds(waits.RetryAfter)))
	case errors.As(err, &waits):
		return tooMany(waits.RetryAfter, forms.SayN(
			"The wiki takes no sign-in of yours right now. Try again in {0} second.",
			"The wiki takes no sign-in of yours right now. Try again in {0} seconds.", wholeSeconds(waits.RetryAfter)))
	case errors.As(err, &throttled) && throttled.Busy:
		return tooMany(throttled.RetryAfter, forms.SayN(
			"Too many logins at the same time. Try again in {0} second.",
			"Too many logins at the same time. Try again in {0} seconds.", wholeSeconds(throttled.RetryAfter)))
	case errors.As(err, &throttled):
		return tooMany(throttled.RetryAfter, forms.SayN(
			"Too many failed attempts to log in. Try again in {0} second.",
			"Too many failed attempts to log in. Try again in {0} seconds.", wholeSeconds(throttled.RetryAfter)))
	case errors.As(err, &down):
		return Failure{
			Status: http.StatusServiceUnavailable, RetryAfter: cmp.Or(down.RetryAfter, retryDelay), Log: true,
			Detail: forms.Say("The wiki does not answer right now. Try again in a moment."),
		}
	case errors.As(err, &known), errors.As(service.Explain(err), &known): // sessions ask the store without the service
		f := Failure{Status: kindStatus[known.Kind], Detail: known.Detail}
		if f.Log = f.Status >= http.StatusInternalServerError; f.Log || known.Kind == service.TooMany {
			f.RetryAfter = retryDelay
		}
		return f
	case ctx.Err() != nil:
		return Failure{
			Status: http.StatusServiceUnavailable, RetryAfter: retryDelay,
			Detail: forms.Say("The request was given up before it was answered."),
		}
	default:
		return Failure{
			Status: http.StatusInternalServerError, Log: true,
			Detail: forms.Say("Something went wrong here; it was logged. Nothing is known to be wrong with the request."),
		}
	}
}

// tooMany is the failure of a login that may be tried again after a while.
func tooMany(wait time.Duration, detail *forms.Message) Failure {
	return Failure{Status: http.StatusTooManyRequests, RetryAfter: wait, Detail: detail}
}

// wholeSeconds rounds up.
func wholeSeconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// SetHeader sets the headers that go with the failure.
func (f Failure) SetHeader(h http.Header) {
	if f.challenge {
		h.Set("WWW-Authenticate", `Basic realm="formulary", charset="UTF-8"`)
	}
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(wholeSeconds(f.RetryAfter)))
	}
}
