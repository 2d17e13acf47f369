package request

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/forms"
	"github.com/formulary/formulary/internal/pages"
	"github.com/formulary/formulary/internal/service"
	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
	"github.com/formulary/formulary/internal/wiki"
)

func TestEveryErrorHasItsStatus(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	kind := func(k service.Kind) error { return &service.Error{Kind: k, Detail: forms.English("detail")} }
	ofAPage := func(err error) error { return fmt.Errorf("%w: %w", pages.ErrUnavailable, err) }
	for _, tt := range []struct {
		name       string
		err        error
		status     int
		retryAfter string
		log        bool
	}{
		{"not found", kind(service.NotFound), 404, "", false},
		{"forbidden", kind(service.Forbidden), 403, "", false},
		{"too large", kind(service.TooLarge), 413, "", false},
		{"full", kind(service.Full), 507, "2", true},
		{"unavailable", kind(service.Unavailable), 503, "2", true},
		{"full store", store.ErrFull, 507, "2", true},
		{"unavailable store", store.ErrUnavailable, 503, "2", true},
		{"in doubt", kind(service.InDoubt), 503, "2", true},
		{"key reused", kind(service.KeyReused), 422, "", false},
		{"changed", kind(service.Changed), 409, "", false},
		{"credentials", auth.ErrBadCredentials, 401, "", false},
		{"nobody", auth.ErrNobody, 401, "", false},
		{"throttled", &auth.ThrottledError{RetryAfter: 1500 * time.Millisecond}, 429, "2", false},
		{"busy", &auth.ThrottledError{RetryAfter: 3 * time.Second, Busy: true}, 429, "3", false},
		{"too many pages", pages.ErrBusy, 429, "2", false},
		{"the wiki's throttle", &wiki.ThrottledError{RetryAfter: 90 * time.Second}, 429, "90", false},
		{"its throttle, for a page", ofAPage(&wiki.ThrottledError{RetryAfter: 90 * time.Second}), 429, "90", false},
		{"its own time", ofAPage(&wiki.UnavailableError{RetryAfter: 300 * time.Second}), 503, "300", true},
		{"media type", &StatusError{415, forms.English("detail")}, 415, "", false},
		{"too many", &StatusError{429, forms.English("detail")}, 429, "2", false},
		{"overloaded", &StatusError{503, forms.English("detail")}, 503, "2", false},
		{"client is gone", errors.New("secret"), 503, "2", false},
		{"unknown", errors.New("secret"), 500, "", true},
	} {
		ctx := t.Context()
		if tt.name == "client is gone" {
			ctx = canceled
		}
		f := FailureOf(ctx, fmt.Errorf("wrapped: %w", tt.err))
		h := http.Header{}
		f.SetHeader(h)
		if f.Status != tt.status || f.Log != tt.log || h.Get("Retry-After") != tt.retryAfter {
			t.Errorf("%s: %+v, Retry-After %q", tt.name, f, h.Get("Retry-After"))
		}
		if f.Detail.String() == "" || f.Detail.String() == "secret" {
			t.Errorf("%s: detail %q", tt.name, f.Detail)
		}
		if challenged := h.Get("WWW-Authenticate") != ""; challenged != errors.Is(tt.err, auth.ErrBadCredentials) {
			t.Errorf("%s: WWW-Authenticate %q", tt.name, h.Get("WWW-Authenticate"))
		}
	}
}

func TestRefusedLoginsSayHowLongToWait(t *testing.T) {
	for err, want := range map[error]string{
		&auth.ThrottledError{RetryAfter: time.Second}:             "Too many failed attempts to log in. Try again in 1 second.",
		&auth.ThrottledError{RetryAfter: 1500 * time.Millisecond}: "Too many failed attempts to log in. Try again in 2 seconds.",
		&wiki.ThrottledError{RetryAfter: 90 * time.Second}:        "The wiki takes no sign-in of yours right now. Try again in 90 seconds.",
		&wiki.ThrottledError{RetryAfter: 15 * time.Second, Captcha: true}: "After failed attempts the wiki wants a CAPTCHA solved. " +
			"Sign in to the wiki itself, then try again in 15 seconds.",
		&auth.ThrottledError{RetryAfter: 5 * time.Second, Busy: true}: "Too many logins at the same time. Try again in 5 seconds.",
	} {
		testkit.Same(t, err, FailureOf(t.Context(), err).Detail.String(), want)
	}
}

func TestParseID(t *testing.T) {
	for s, want := range map[string]int64{
		"1": 1, "9223372036854775807": 1<<63 - 1,
		"": 0, "0": 0, "01": 0, "+1": 0, "-1": 0, "1.0": 0, "1_0": 0, "٣": 0, "9223372036854775808": 0,
	} {
		if id, ok := ParseID(s); ok != (want != 0) || ok && id != want {
			t.Errorf("%q: %d, %t", s, id, ok)
		}
	}
}

type wrapper struct{ http.ResponseWriter }

func (w wrapper) Unwrap() http.ResponseWriter { return w.ResponseWriter }

type recorder struct {
	http.ResponseWriter
	noReporter
}

func TestReporterIsFoundBelowOtherWriters(t *testing.T) {
	r := &recorder{ResponseWriter: httptest.NewRecorder()}
	testkit.Same(t, "ReporterOf(wrapper{wrapper{r}})", ReporterOf(wrapper{wrapper{r}}), Reporter(r))
	testkit.Same(t, "without a reporter", ReporterOf(wrapper{httptest.NewRecorder()}), Reporter(noReporter{}))
}
