package request

import (
	"cmp"
	"log/slog"
	"net/http"

	"github.com/formulary/formulary/internal/auth"
	"github.com/formulary/formulary/internal/service"
)

// DefaultMaxBody is the largest request body taken unless configured otherwise.
const DefaultMaxBody = 1 << 20

// Options are what a Backend is made of.
type Options struct {
	Service *service.Service
	Auth    auth.Authenticator
	Logger  *slog.Logger
	MaxBody int64 // bytes; 0 for DefaultMaxBody
	// BasePath begins the path of everything that is served, such as "/forms"; "" for none.
	BasePath string
	Limits   Limits // DefaultLimits if it is zero
}

// Backend is what all HTTP surfaces work with. They share one, so that a limit
// holds for all of them together.
type Backend struct {
	Options
	Limiters limiters
}

// NewBackend makes a Backend.
func NewBackend(opts Options) *Backend {
	opts.MaxBody, opts.Limits = cmp.Or(opts.MaxBody, DefaultMaxBody), cmp.Or(opts.Limits, DefaultLimits)
	return &Backend{Options: opts, Limiters: newLimiters(opts.Limits)}
}

// NewCall makes the call of a request. End must be called when it is answered.
func (b *Backend) NewCall(w http.ResponseWriter, r *http.Request, who auth.Identity) *Call {
	return &Call{Request: r, Who: who, Backend: b, Log: ReporterOf(w)}
}
