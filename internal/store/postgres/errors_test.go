package postgres

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/formulary/formulary/internal/store"
	"github.com/formulary/formulary/internal/testkit"
)

// TestRetryable: conflicts and lost connections are tried again, but nothing that may be stored.
func TestRetryable(t *testing.T) {
	for code, want := range map[string]bool{"40001": true, "40P01": true, "25006": true, "53300": false, "23505": false, "57014": false} {
		testkit.Same(t, code, isRetryable(&pgconn.PgError{Code: code}), want)
	}
	if !isRetryable(errLost) || isRetryable(fmt.Errorf("%w: %w", store.ErrInDoubt, errLost)) {
		t.Error("a lost connection is retryable, unless a commit is in doubt")
	}
}

func TestClassify(t *testing.T) {
	answer := func(code string) error { return fmt.Errorf("create: %w", &pgconn.PgError{Code: code}) }
	plain := errors.New("plain")
	for _, c := range []struct {
		err, want error
	}{
		{answer("53100"), store.ErrFull},
		{answer("53300"), store.ErrUnavailable}, // too many connections
		{answer("57P01"), store.ErrUnavailable}, // shut down
		{answer("57P03"), store.ErrUnavailable}, // starting up
		{answer("57014"), store.ErrUnavailable}, // the statement's timeout
		{answer("55P03"), store.ErrUnavailable}, // a lock's
		{answer("08006"), store.ErrUnavailable},
		{answer("25006"), store.ErrUnavailable},
		{answer("58030"), store.ErrUnavailable},
		{answer("40001"), store.ErrUnavailable},
		{errLost, store.ErrUnavailable},
		{store.ErrInDoubt, store.ErrUnavailable},
		{plain, plain},
		{store.ErrNotFound, store.ErrNotFound},
	} {
		err := classify(c.err)
		if !errors.Is(err, c.want) || !errors.Is(err, c.err) {
			t.Errorf("%v is classified as %v, want %v", c.err, err, c.want)
		}
	}
	for _, code := range []string{"22021", "54000", "42P01", "23505"} {
		if err := classify(answer(code)); errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrFull) {
			t.Errorf("%s is classified as %v", code, err)
		}
	}
}
