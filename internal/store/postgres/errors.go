package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/formulary/formulary/internal/store"
)

// Error codes of PostgreSQL (SQLSTATE).
const (
	codeUniqueViolation      = "23505"
	codeReadOnly             = "25006" // the server is a standby, or was demoted to one
	codeSerializationFailure = "40001"
	codeCompletionUnknown    = "40003"
	codeDeadlock             = "40P01"
	codeUndefinedTable       = "42P01"
	codeDiskFull             = "53100"
	codeLockTimeout          = "55P03"
)

// serverCode returns the SQLSTATE of an error that the server sent; "" for any other error.
func serverCode(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

// connLostError wraps an error after which the connection is closed. The
// statement in flight may have been executed, unless a notExecutedError is
// wrapped around it or within it.
type connLostError struct{ error }

func (e connLostError) Unwrap() error { return e.error }

// notExecutedError wraps an error after which nothing can have been written.
type notExecutedError struct{ error }

func (e notExecutedError) Unwrap() error { return e.error }

// SafeToRetry implements the interface that pgconn.SafeToRetry looks for.
func (notExecutedError) SafeToRetry() bool { return true }

// errInDoubt is the outcome of a write that may have been committed and must
// not be tried again.
var errInDoubt = fmt.Errorf("%w: the connection was lost before the database answered, so a write may have been committed", store.ErrUnavailable)

// isRetryable reports whether another try may succeed at once.
func isRetryable(err error) bool {
	var lost connLostError
	if errors.Is(err, errInDoubt) {
		return false
	}
	switch serverCode(err) {
	case codeSerializationFailure, codeDeadlock, codeCompletionUnknown, codeReadOnly:
		return true
	}
	return errors.As(err, &lost)
}

// mayBeCommitted reports whether the statement that failed may have been
// committed all the same.
func mayBeCommitted(err error) bool {
	var lost connLostError
	if serverCode(err) == codeCompletionUnknown {
		return true
	}
	return errors.As(err, &lost) && !pgconn.SafeToRetry(err)
}

// classify wraps an error in the matching error of the store's contract.
// Unknown errors are returned as they are.
func classify(err error) error {
	var lost connLostError
	code := serverCode(err)
	switch {
	case err == nil, errors.Is(err, store.ErrUnavailable): // such as errInDoubt
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

// isUnavailable reports whether a code means that the server can't do it now.
func isUnavailable(code string) bool {
	// In this order: connection exceptions, conflicts after all tries,
	// insufficient resources, operator intervention (which includes statement
	// timeouts), and system errors.
	for _, class := range []string{"08", "40", "53", "57", "58"} {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return code == codeReadOnly || code == codeLockTimeout
}
