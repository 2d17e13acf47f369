package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/formulary/formulary/internal/store"
)

// What the server may answer with. The names are PostgreSQL's own.
const (
	codeUniqueViolation      = "23505"
	codeReadOnly             = "25006" // the server was demoted under us
	codeSerializationFailure = "40001"
	codeCompletionUnknown    = "40003"
	codeDeadlock             = "40P01"
	codeUndefinedTable       = "42P01"
	codeDiskFull             = "53100"
	codeLockTimeout          = "55P03"
)

// serverCode is the code of an error that the server answered with; "" for any other.
func serverCode(err error) string {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.Code
	}
	return ""
}

// lostError is what happened to a connection that is gone. Whether a statement
// was carried out that was under way on it, nobody knows.
type lostError struct{ error }

func (e lostError) Unwrap() error { return e.error }

// harmlessError is one after which nothing can have been written.
type harmlessError struct{ error }

func (e harmlessError) Unwrap() error { return e.error }

// SafeToRetry is what pgconn.SafeToRetry asks for.
func (harmlessError) SafeToRetry() bool { return true }

// errUnknown is for a write that may have been carried out, and must not be
// tried again for that reason.
var errUnknown = fmt.Errorf("%w: the connection was lost, and with it whether this was done", store.ErrUnavailable)

// passes tells whether an error may be over when tried again at once.
func passes(err error) bool {
	var lost lostError
	if errors.Is(err, errUnknown) {
		return false
	}
	switch serverCode(err) {
	case codeSerializationFailure, codeDeadlock, codeCompletionUnknown, codeReadOnly:
		return true
	}
	return errors.As(err, &lost)
}

// leavesDoubt tells whether what failed may have been carried out all the same.
func leavesDoubt(err error) bool {
	var lost lostError
	if serverCode(err) == codeCompletionUnknown {
		return true
	}
	return errors.As(err, &lost) && !pgconn.SafeToRetry(err)
}

// classify gives an error its place in the store's contract. What it does not
// know stays as it is.
func classify(err error) error {
	var lost lostError
	code := serverCode(err)
	switch {
	case err == nil, errors.Is(err, store.ErrUnavailable): // as errUnknown is
		return err
	case errors.As(err, &lost):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	case code == codeDiskFull:
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case isUnavailable(code):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	default:
		return err
	}
}

// isUnavailable tells of a code whether the server can't do it now: connection
// exceptions, conflicts that stayed after all tries, too few resources,
// an operator who intervenes (a statement's timeout is counted as that), and
// errors of the system below.
func isUnavailable(code string) bool {
	for _, class := range []string{"08", "40", "53", "57", "58"} {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return code == codeReadOnly || code == codeLockTimeout
}

// unreachable is the error of who got no connection. Where it is the caller
// who did not wait, it is the caller's.
func unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("wait for a connection: %w", ctx.Err())
	}
	return harmlessError{lostError{fmt.Errorf("connect: %w", err)}}
}
