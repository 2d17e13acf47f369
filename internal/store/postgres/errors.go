package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/formulary/formulary/internal/store"
)

// Error codes of PostgreSQL (SQLSTATE).
const (
	codeUniqueViolation      = "23505"
	codeReadOnly             = "25006" // the server is a standby, or was demoted to one
	codeSerializationFailure = "40001"
	codeDeadlock             = "40P01"
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

// errLost wraps the error of an attempt whose connection was closed, or that
// got none. Nothing is known to be wrong with the statement: it is tried again,
// unless it may be committed.
var errLost = fmt.Errorf("%w: the connection to the database was lost", store.ErrUnavailable)

// commitError is for the error of a statement that commits. Without an answer of
// the server, the error becomes ErrInDoubt, which is not tried again. That the
// driver calls an error safe to retry does not count: it does so for some errors
// that occur after the statement was sent.
func commitError(conn *pgx.Conn, err error) error {
	if err != nil && conn.IsClosed() {
		return fmt.Errorf("%w: %w", store.ErrInDoubt, err)
	}
	return err
}

// isRetryable reports whether another try may succeed at once.
func isRetryable(err error) bool {
	if errors.Is(err, store.ErrInDoubt) {
		return false
	}
	switch serverCode(err) {
	case codeSerializationFailure, codeDeadlock, codeReadOnly:
		return true
	}
	return errors.Is(err, errLost)
}

// classify wraps an error in the matching error of the store's contract.
// Unknown errors are returned as they are.
func classify(err error) error {
	code := serverCode(err)
	switch {
	case err == nil, errors.Is(err, store.ErrUnavailable): // such as errLost
		return err
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
