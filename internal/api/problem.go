package api

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/problem"
	"github.com/formulary/formulary/internal/service"
)

// statusError is an error of the wire itself: a body too long, a media type not taken.
type statusError struct {
	status int
	detail string
}

func (e *statusError) Error() string { return e.detail }

func isStatus(err error, status int) bool {
	var wire *statusError
	return errors.As(err, &wire) && wire.status == status
}

// kindStatus is the one table from what went wrong to a status.
var kindStatus = map[service.Kind]int{
	service.NotFound:    http.StatusNotFound,
	service.Forbidden:   http.StatusForbidden,
	service.TooLarge:    http.StatusRequestEntityTooLarge,
	service.Full:        http.StatusInsufficientStorage,
	service.Unavailable: http.StatusServiceUnavailable,
}

// retryAfter is what a client is asked to wait when the service can't serve.
const retryAfter = 2 * time.Second

// fail answers an error. What nobody foresaw is a plain 500, and is logged.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	var (
		invalid   *forms.Invalid
		explained *service.Error
		wire      *statusError
		throttled *auth.ThrottledError
		busy      *auth.BusyError
	)
	switch {
	case errors.As(err, &invalid):
		writeInvalid(w, invalid)
	case errors.As(err, &wire):
		if wire.status == http.StatusTooManyRequests || wire.status == http.StatusServiceUnavailable {
			setRetryAfter(w, retryAfter)
		}
		problem.Write(w, wire.status, wire.detail)
	case errors.Is(err, auth.ErrBadCredentials):
		w.Header().Set("WWW-Authenticate", `Basic realm="formulary", charset="UTF-8"`)
		problem.Write(w, http.StatusUnauthorized, "Send a user name and password with HTTP Basic authentication.")
	case errors.As(err, &throttled):
		setRetryAfter(w, throttled.RetryAfter)
		problem.Write(w, http.StatusTooManyRequests, "Too many failed attempts to log in. Wait before the next one.")
	case errors.As(err, &busy):
		setRetryAfter(w, busy.RetryAfter)
		problem.Write(w, http.StatusTooManyRequests, "Too many logins at the same time. Wait before the next attempt.")
	case errors.As(err, &explained):
		if explained.Kind == service.Full || explained.Kind == service.Unavailable {
			a.logError(w, r, "request failed", err)
			setRetryAfter(w, retryAfter)
		}
		problem.Write(w, kindStatus[explained.Kind], explained.Detail)
	case r.Context().Err() != nil:
		setRetryAfter(w, retryAfter)
		problem.Write(w, http.StatusServiceUnavailable, "The request was given up before it was answered.")
	default:
		a.logError(w, r, "request failed", err)
		problem.Write(w, http.StatusInternalServerError, "Something went wrong here; it was logged. Nothing is known to be wrong with the request.")
	}
}

// logError logs what went wrong with a request under the id that the access
// log has for it.
func (a *API) logError(w http.ResponseWriter, r *http.Request, message string, err error) {
	a.Logger.Error(message, "route", r.Pattern, "request_id", reporterOf(w).RequestID(), "error", err)
}

func setRetryAfter(w http.ResponseWriter, d time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(d.Seconds()))))
}

// writeInvalid answers 400 with the interface's validation result.
func writeInvalid(w http.ResponseWriter, invalid *forms.Invalid) {
	writeBody(w, http.StatusBadRequest, jsonTypes, appendInvalid(nil, invalid))
}

const jsonType = "application/json"

// Header values that all answers share: nobody writes to them, and it saves
// the allocations that Set makes.
var (
	jsonTypes = []string{jsonType}
	noStore   = []string{"no-store"}
)

// countedBody is the size up to which net/http finds out the length by itself.
const countedBody = 2000

func writeBody(w http.ResponseWriter, status int, contentType []string, body []byte) {
	h := w.Header()
	h["Content-Type"] = contentType
	h["Cache-Control"] = noStore
	if len(body) > countedBody {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone can't be told
}
